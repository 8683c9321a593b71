"""Lock files that stand in the store: whose they are, and whether their owner can still be alive.

Ours are recognised by inode (index and config), by a standing journal that names them, or by lying on our own inbox,
which only holders of the store's lock write. A file older than the boot has no owner. Any other is somebody's: named,
never broken.
"""

from __future__ import annotations

import json
import os

from reflect_git.adapters import files, host
from reflect_git.store import corpses
from reflect_git.store.repository import INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple, Optional

    from reflect_git.store.repository import Store

    class LockFile(NamedTuple):
        name: str
        age: float
        owner: str

else:
    from collections import namedtuple

    LockFile = namedtuple("LockFile", "name age owner")

DEAD, BUSY, FOREIGN = "dead", "busy", "foreign"
_LIMIT = 1 << 20


def standing(store: Store, now: float) -> list[LockFile]:
    """Every lock file of git's in the store, by name. To be called without the store's lock."""
    busy, named = holder(store) is not None, _named_by_journals(store)
    found = []
    for name in sorted(_names(store)):
        try:
            changed = os.lstat(os.path.join(store.git_dir, name)).st_mtime
        except FileNotFoundError:
            continue
        found.append(LockFile(name, now - changed, _owner(store, name, changed, now - changed, busy, named)))
    return found


def holder(store: Store) -> Optional[tuple[int, float]]:
    """Process and time of who holds the store's lock; None when it is free."""
    lock = files.Lock(store.lock.path)
    if lock.try_acquire():
        lock.release()
        return None
    words = (files.read_if_there(lock.path) or b"").split()
    pid, since = (int(word) if word.isdigit() else 0 for word in (*words, b"", b"")[:2])
    return pid, float(since)


def _names(store: Store) -> Iterator[str]:
    for base, folders, names in os.walk(store.git_dir):
        inside = os.path.relpath(base, store.git_dir)
        if inside == ".":
            folders[:] = [folder for folder in folders if folder != "reflect"]
        elif inside == "objects":
            folders[:] = [folder for folder in folders if folder in ("info", "pack")]
        for name in names:
            if name.endswith(".lock"):
                yield os.path.normpath(os.path.join(inside, name))


def _owner(store: Store, name: str, changed: float, age: float, busy: bool, named: set[str]) -> str:
    boot = host.boot_time()
    if boot is not None and changed < boot:
        return DEAD
    if _is_our_link(store, name):
        return BUSY if busy else DEAD
    if name in named or name.startswith(f"{INBOX}{store.machine}/"):
        return BUSY if busy or abs(age) < corpses.AGE else DEAD
    return FOREIGN


def _is_our_link(store: Store, name: str) -> bool:
    """The locks of index and config are hard links to drafts of ours."""
    kind = name.removesuffix(".lock")
    return kind in ("index", "config") and files.is_same(os.path.join(store.git_dir, name), store.private_path(kind))


def _named_by_journals(store: Store) -> set[str]:
    named: set[str] = set()
    for name in files.names_in(store.private_path("journal")):
        try:
            facts = json.loads(files.read_regular(store.private_path("journal", name), _LIMIT << 6))
        except (OSError, ValueError):
            continue
        if isinstance(facts, dict):
            named.update(str(lock) for lock in facts.get("locks", ()))
    return named
