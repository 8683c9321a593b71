"""Figures of sessions: hooks leave them on the inbox, commands move them to main, where they are kept."""

from __future__ import annotations

import time

from reflect_git.adapters import files
from reflect_git.adapters.git import NOBODY
from reflect_git.model.counts import plural
from reflect_git.store import inbox, keeping, mainline
from reflect_git.store.layout import id_in
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store

_WAITING = "exposures"
_AT_ONCE = 500


def announce(store: Store) -> None:
    """There are figures to be moved: the next command need not look for them in vain."""
    files.write_whole(store.private_path(_WAITING), b"", sync=False)


def are_waiting(store: Store) -> bool:
    return files.read_if_there(store.private_path(_WAITING)) is not None


def move(store: Store) -> int:
    """From the inbox to main; the caller holds the lock. A killed move is done again, from where it stopped."""
    ref = inbox.current(store)
    tip = store.git.resolve(ref)
    waiting = {path: oid for path, oid in (store.git.tree(tip, "exposure") if tip else {}).items() if id_in(path)}
    paths = list(waiting)[:_AT_ONCE]
    if paths and not inbox.is_checked_out(store, ref):
        known = store.git.tree(MAIN, "exposure")
        new = [path for path in paths if path not in known]
        if new:
            data = dict(zip(new, store.git.blobs([waiting[path] for path in new])))
            mainline.record(store, data, f"record: {plural(len(new), 'session')}\n{_machine(store)}")
        _leave(store, ref, paths)
    if len(waiting) == len(paths):
        files.discard(store.private_path(_WAITING))
    return len(paths)


def _leave(store: Store, ref: str, paths: list[str]) -> None:
    message = f"record: {len(paths)} moved to main\n{_machine(store)}".encode()
    stream = [
        f"commit {ref}\ncommitter {NOBODY} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode(), message,
        f"\nfrom {ref}^0\n".encode(), *(f"D {path}\n".encode() for path in paths), b"\ndone\n",
    ]  # fmt: skip
    keeping.fast_import(store, ref, stream)


def _machine(store: Store) -> str:
    return f"\nMachine: {store.machine}\n"
