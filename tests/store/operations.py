"""What the fault tests run in processes of their own: one function, one operation; no test library."""

from __future__ import annotations

import os
import time

from reflect_git import paths, workflow
from reflect_git.model.ids import utc
from reflect_git.store import backups, copies, exposures, mainline, memory, policy, reading, spool, sweep, upkeep
from reflect_git.store.repository import Store
from reflect_git.workflow import sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.model.schema import By

BY: By = {"road": "terminal", "name": "Ada", "email": "ada@example.com"}
DAY = 86400.0


def say(word: str) -> None:
    """Onto the pipe at once: a killed process has no time to flush."""
    os.write(1, f"{word}\n".encode())


def tell_acknowledged() -> None:
    """From now on every id is printed right after the store acknowledged it."""
    acknowledge = spool.acknowledge

    def told(store: Store, record: Mapping[str, Any]) -> bytes:
        data = acknowledge(store, record)
        say(record["id"])
        return data

    spool.acknowledge = told


def facts(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "correction", "trust": "user_typed", "content": content, "session_id": "session-1", **more}


def capture(store: Store, env: Mapping[str, str]) -> None:
    tell_acknowledged()
    workflow.capture(store, facts("use pnpm and not npm", project={"key": "example.com/app", "name": "app"}), env)


def capture_two(store: Store, env: Mapping[str, str]) -> None:
    tell_acknowledged()
    workflow.capture(store, facts("first of two"), env)
    workflow.capture(store, facts("second of two"), env)


def dismiss(store: Store, env: Mapping[str, str]) -> None:
    snapshot = reading.read(store)
    made = memory.update(store, snapshot, snapshot.signals[0]["id"], {"status": "dismissed"}, BY, utc())
    say(made["id"])


def promote(store: Store, env: Mapping[str, str]) -> None:
    snapshot = reading.read(store)
    made = memory.promote(
        store, snapshot, snapshot.signals[0]["id"], {"kind": "project", "path": "CLAUDE.md"}, "Use pnpm.", BY, utc()
    )
    say(made["id"])


def expire(store: Store, env: Mapping[str, str]) -> None:
    """Twenty days later: what was captured goes, and is taken out of the object store."""
    sweep.sweep(store)
    now = time.time() + 20 * DAY
    with store.locked(5):
        gone = upkeep.upkeep(store, reading.read(store), now)
    say(f"gone:{gone}")


def free(store: Store, env: Mapping[str, str]) -> None:
    sweep.sweep(store)
    with store.locked(5):
        upkeep.free(store)


def record_several(store: Store, env: Mapping[str, str]) -> None:
    new = {f"machines/m{number}.yaml": f'name: "m{number}"\n'.encode() for number in range(3)}
    with store.locked(5):
        sweep.finish_interrupted(store)
        say(mainline.record(store, new, "sync: three machines\n"))


def switch(store: Store, env: Mapping[str, str]) -> None:
    policy.switch(store, {"reflect.sync.auto": "true", "reflect.ignore": None}, BY, utc())
    say("switched")


def restore_copies(store: Store, env: Mapping[str, str]) -> None:
    with store.locked(5):
        say(f"restored:{copies.restore(store)}")


def back_up(store: Store, env: Mapping[str, str]) -> None:
    with store.locked(5):
        kept = [("/home/ada/CLAUDE.md", b"# mine\r\n\xff"), ("/home/ada/AGENTS.md", None)]
        say(backups.make(store, "LRN-20260211-4c8d2a1f", kept, time.time()))


def end_session(store: Store, env: Mapping[str, str]) -> None:
    """The one transcript that the test wrote."""
    (folder,) = os.listdir(paths.projects_dir(env))
    (name,) = os.listdir(os.path.join(paths.projects_dir(env), folder))
    sessions.end(store, env, os.path.join(paths.projects_dir(env), folder, name), "SessionEnd")
    say("ended")


def move_exposures(store: Store, env: Mapping[str, str]) -> None:
    sweep.sweep(store)
    with store.locked(5):
        say(f"moved:{exposures.move(store)}")
