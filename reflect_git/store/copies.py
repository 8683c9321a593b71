"""Plain copies of signals in signals/, for people, for editors, and as protection against power cuts."""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.store import inbox
from reflect_git.store.creation import template
from reflect_git.store.repository import MARKER, id_in, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store


def are_there(store: Store) -> bool:
    """Return whether the copies exist. `git clean -x`, or checking out the inbox branch, removes all of them."""
    return os.path.exists(store.path(MARKER))


def restore(store: Store) -> int:
    """Write every missing copy; return how many. The marker is written last, so that a killed restore is repeated."""
    tree = store.git.tree(inbox.start_inbox(store), "signals")
    missing = [path for path in tree if path != MARKER and not os.path.exists(store.path(path))]
    for path, data in zip(missing, store.git.blobs([tree[path] for path in missing])):
        store.write(path, data, sync=True)  # the inbox itself is not synced
    store.write(MARKER, template("store", "signals.md"), sync=True)
    return len(missing)


def rescue(store: Store) -> int:
    """Move copies that the inbox lacks (it was lost or damaged) back to pending, to commit them again."""
    known = store.git.tree(inbox.start_inbox(store), "signals")
    rescued = 0
    for path in files.files_below(store.path("signals")):
        relative = os.path.relpath(path, store.root).replace(os.sep, "/")
        identity = id_in(relative)
        if identity and relative not in known:
            files.rename(path, store.private_path("pending", f"{identity}.yaml"))
            rescued += 1
    return rescued


def drop(store: Store, identities: list[str]) -> None:
    """Delete the copies of removed signals, and folders that became empty."""
    for identity in identities:
        path = store.path(path_of(identity))
        files.remove(path)
        _prune_empty(os.path.dirname(path), store.path("signals"))


def _prune_empty(folder: str, stop: str) -> None:
    while folder != stop:
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)
