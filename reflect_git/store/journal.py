"""What was under way when a process died: written before the first step, dropped after the last.

A standing journal is finished or dropped by the next command that is not a hook; until then hooks only add to pending/.
`locks` names the lock files a git child may leave when it is killed in this step. Only the holder of the store's lock
takes such steps, so a lock named by a standing journal and unchanged for two seconds has no living owner.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from reflect_git.store.repository import Store

_LIMIT = 64 << 20


def begin(store: Store, kind: str, locks: Sequence[str], facts: Mapping[str, Any], sync: bool = True) -> str:
    """Write a journal; returns its path. Without `sync` it outlives a kill, and perhaps not a power cut."""
    path = store.private_path("journal", f"{kind}-{os.urandom(4).hex()}.json")
    try:
        files.write_whole(path, jsontext.dumps({"kind": kind, "locks": list(locks), **facts}), sync)
    except OSError:  # written, perhaps, and not synced: the step is not begun, so nobody may finish it
        files.discard(path)
        raise
    return path


def end(path: str) -> None:
    files.remove(path)


def is_standing(store: Store) -> bool:
    return bool(files.names_in(store.private_path("journal")))


def standing(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """(path, facts) of every journal; one that cannot be read is set aside, as its step never started."""
    found = []
    for name in files.names_in(store.private_path("journal")):
        path = store.private_path("journal", name)
        try:
            facts = jsontext.loads(files.read_regular(path, _LIMIT))
            if not isinstance(facts, dict):
                raise ValueError("not a mapping")
        except (OSError, ValueError, RecursionError):
            files.rename(path, store.private_path("quarantine", name))
            continue
        found.append((path, facts))
    return found


def bury_locks(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Move the locks away that a git child left when it was killed in this step, and mark a new attempt at it.

    A lock that is older than the attempt is somebody else's: the attempt may have failed because of it.
    """
    from reflect_git.store import corpses  # most stores have none

    deadline = time.monotonic() + corpses.AGE + 0.5
    begun = os.stat(path).st_mtime
    for lock in facts.get("locks", ()):
        corpses.bury(store, lock, deadline, not_before=begun)
    os.utime(path)
