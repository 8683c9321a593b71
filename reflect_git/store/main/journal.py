"""The journal of interrupted steps, and stale lock files that killed git processes left.

Stale lock files are moved away, never deleted, and never while they may have a living owner.
"""

from __future__ import annotations

import os
import time

from reflect_git.platform import files
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from reflect_git.store.repository import Store


STALE_SECONDS = 2.0


def move_stale_lock(store: Store, lock_file: str, deadline: float, not_before: float = 0.0) -> bool:
    """Move a stale lock file of ours away after two seconds without change; return whether it was moved.

    It stays if it is older than the step that could have left it (`not_before`), or too young to be sure before
    `deadline`.
    """
    path = os.path.join(store.git_dir, lock_file)
    while True:
        try:
            made = os.lstat(path).st_mtime
        except OSError:
            return False
        if made < not_before:
            return False
        age = time.time() - made
        if age >= STALE_SECONDS or age < -STALE_SECONDS:
            move_lock_aside(store, lock_file)
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)


def move_lock_aside(store: Store, lock_file: str) -> None:
    """Move a lock file into the store's private folder."""
    name = f"{lock_file.replace('/', '_')}-{os.urandom(4).hex()}"
    store.log(f"moved the dead lock '{lock_file}' away")
    files.rename(os.path.join(store.git_dir, lock_file), store.private_path("corpses", name))


_MAX_BYTES = 64 << 20


def begin(store: Store, kind: str, locks: Sequence[str], facts: Mapping[str, Any], sync: bool = True) -> str:
    """Write a journal and return its path. Without `sync` it survives a kill, but perhaps not a power cut."""
    path = store.private_path("journal", f"{kind}-{os.urandom(4).hex()}.json")
    try:
        files.write_atomic(path, json_form.dumps({"kind": kind, "locks": list(locks), **facts}), sync)
    except OSError:  # perhaps written but not synced: the step has not begun, so nothing may finish it
        files.discard(path)
        raise
    return path


def end(path: str) -> None:
    """Delete a journal: its step is done."""
    files.remove(path)


def has_entries(store: Store) -> bool:
    """Return whether a step was interrupted."""
    return bool(files.list_names(store.private_path("journal")))


def load_entries(store: Store) -> list[tuple[str, dict[str, Any]]]:
    """Return (path, facts) of every journal. Quarantine unreadable ones: their step never started."""
    found = []
    for name in files.list_names(store.private_path("journal")):
        path = store.private_path("journal", name)
        try:
            facts = json_form.loads(files.read_regular(path, _MAX_BYTES))
            if not isinstance(facts, dict):
                raise ValueError("not a mapping")
        except (OSError, ValueError, RecursionError):
            files.rename(path, store.private_path("quarantine", name))
            continue
        found.append((path, facts))
    return found


def move_stale_locks(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Move away the locks that a killed git left in this step, and mark a new attempt.

    A lock older than the attempt belongs to another process: the attempt may have failed because of it.
    """

    deadline = time.monotonic() + STALE_SECONDS + 0.5
    begun = os.stat(path).st_mtime
    for lock in facts.get("locks", ()):
        move_stale_lock(store, lock, deadline, not_before=begun)
    os.utime(path)
