"""Operations that the fault tests run in separate processes: one function each, no test library."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.capture import service, sessions
from reflect_git.records.ids import utc
from reflect_git.store import api, copies, maintenance, pending, policy, recover
from reflect_git.store.local import session_state
from reflect_git.store.main import backups, main_branch
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.records.schema import DecisionAuthor

BY: DecisionAuthor = {"road": "terminal", "name": "Ada", "email": "ada@example.com"}
DAY = 86400.0


def print_now(word: str) -> None:
    """Print at once: a killed process has no time to flush."""
    os.write(1, f"{word}\n".encode())


def print_acknowledged() -> None:
    """Print every id from now on, as soon as the store has acknowledged it."""
    acknowledge = pending.write_record

    def told(store: Store, record: Mapping[str, Any]) -> bytes:
        data = acknowledge(store, record)
        print_now(record["id"])
        return data

    pending.write_record = told


def facts(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "correction", "trust": "user_typed", "content": content, "session_id": "session-1", **more}


def capture(store: Store, env: Mapping[str, str]) -> None:
    print_acknowledged()
    service.capture_signal(store, facts("use pnpm and not npm", project={"key": "example.com/app", "name": "app"}), env)


def capture_two(store: Store, env: Mapping[str, str]) -> None:
    print_acknowledged()
    service.capture_signal(store, facts("first of two"), env)
    service.capture_signal(store, facts("second of two"), env)


def dismiss(store: Store, env: Mapping[str, str]) -> None:
    snapshot = reader.read(store)
    made = api.update(store, snapshot, snapshot.signals[0]["id"], {"status": "dismissed"}, BY, utc())
    print_now(made["id"])


def promote(store: Store, env: Mapping[str, str]) -> None:
    snapshot = reader.read(store)
    made = api.promote(
        store, snapshot, snapshot.signals[0]["id"], {"kind": "project", "path": "CLAUDE.md"}, "Use pnpm.", BY, utc()
    )
    print_now(made["id"])


def expire(store: Store, env: Mapping[str, str]) -> None:
    """Expire signals twenty days later, and remove them from the object store."""
    recover.recover_store(store)
    now = time.time() + 20 * DAY
    with store.locked(5):
        gone = maintenance.run_maintenance(store, reader.read(store), now)
    print_now(f"gone:{gone}")


def prune_objects(store: Store, env: Mapping[str, str]) -> None:
    recover.recover_store(store)
    with store.locked(5):
        maintenance.remove_unreachable(store)


def record_several(store: Store, env: Mapping[str, str]) -> None:
    new = {f"machines/m{number}.yaml": f'name: "m{number}"\n'.encode() for number in range(3)}
    with store.locked(5):
        recover.finish_interrupted(store)
        print_now(main_branch.commit_files(store, new, "sync: three machines\n"))


def switch(store: Store, env: Mapping[str, str]) -> None:
    policy.set_policies(store, {"reflect.sync.auto": "true", "reflect.ignore": None}, BY, utc())
    print_now("switched")


def restore_copies(store: Store, env: Mapping[str, str]) -> None:
    with store.locked(5):
        print_now(f"restored:{copies.restore_missing(store)}")


def back_up(store: Store, env: Mapping[str, str]) -> None:
    with store.locked(5):
        kept = [("/home/ada/CLAUDE.md", b"# mine\r\n\xff"), ("/home/ada/AGENTS.md", None)]
        print_now(backups.create(store, "LRN-20260211-4c8d2a1f", kept, time.time()))


def end_session(store: Store, env: Mapping[str, str]) -> None:
    """End the session of the one transcript that the test wrote."""
    (folder,) = os.listdir(paths.projects_dir(env))
    (name,) = os.listdir(os.path.join(paths.projects_dir(env), folder))
    sessions.end_session(store, env, os.path.join(paths.projects_dir(env), folder, name), "SessionEnd")
    print_now("ended")


def move_exposures(store: Store, env: Mapping[str, str]) -> None:
    recover.recover_store(store)
    with store.locked(5):
        print_now(f"moved:{session_state.move_to_main(store)}")
