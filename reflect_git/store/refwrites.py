"""Write and delete refs so that a killed git leaves no lock behind for good.

git makes `REF.lock` for each ref that it writes, and `packed-refs.lock` to delete one. If it is killed, they stay, and
every later git fails on them. So each step is named in a journal first: the next command moves the locks of its refs
away. That journal is not synced: after a power cut, locks on our own refs are moved away when git meets them.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters.git import GitError
from reflect_git.store import corpses, journal
from reflect_git.store.repository import BACKUP, INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    from reflect_git.adapters.child import Result
    from reflect_git.store.repository import Store

    T = TypeVar("T")

PACKED = "packed-refs.lock"
_KIND = "upkeep"  # its steps need no repair after a kill, only their locks moved away; older versions know it, too
_OPTION = "option"  # a line of `git update-ref --stdin` that names no ref
# Only the holder of the store's lock writes these, so a lock on one of them that is two seconds old has no owner.
_OURS = (INBOX, BACKUP, "refs/reflect/")


def update(store: Store, commands: str) -> None:
    """Run `git update-ref --stdin` with these commands, all or none of them. The caller holds the lock."""
    words = [line.split() for line in commands.splitlines()]
    refs = [line[1] for line in words if line[0] != _OPTION]
    deletes = any(line[0] == "delete" for line in words)
    if refs:
        take(store, locks_of(refs, deletes), lambda: store.git.update_refs(commands))


def run(store: Store, locks: Sequence[str], *words: str, **options: Any) -> Result:
    """Run a git command that makes these lock files; see `Git.run` for the options. The caller holds the lock."""
    return take(store, locks, lambda: store.git.run(*words, **options))


def take(store: Store, locks: Sequence[str], step: Callable[[], T]) -> T:
    """Take a step in which git makes these lock files. The caller holds the lock.

    When git fails in it, because it was killed or met a dead lock, the lock is moved away before the error is raised.
    """
    standing = journal.begin(store, _KIND, locks, {}, sync=False)
    try:
        result = step()
    except GitError:
        _bury(store, standing, locks)
        journal.end(standing)
        raise
    journal.end(standing)
    return result


def locks_of(refs: Iterable[str], deletes: bool = False) -> list[str]:
    """Return the lock files that git makes to write these refs."""
    return [*(f"{ref}.lock" for ref in refs), *([PACKED] if deletes else [])]


def _bury(store: Store, standing: str, locks: Iterable[str]) -> None:
    deadline = time.monotonic() + corpses.AGE + 0.5
    begun = os.stat(standing).st_mtime
    for lock in locks:
        corpses.bury(store, lock, deadline, not_before=0.0 if lock.startswith(_OURS) else begun)
