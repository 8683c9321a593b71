"""The plain copies in signals/: for people, for editors, and for power cuts."""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.store import inbox
from reflect_git.store.creation import template
from reflect_git.store.layout import MARKER, id_in, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store


def are_there(store: Store) -> bool:
    """`git clean -x`, or a look at the inbox branch and back, takes all copies away, this file among them."""
    return os.path.exists(store.path(MARKER))


def restore(store: Store) -> int:
    """Write every copy that is missing; the marker comes last, so that a killed restore is done again."""
    tree = store.git.tree(inbox.start_inbox(store), "signals")
    missing = [path for path in tree if path != MARKER and not os.path.exists(store.path(path))]
    for path, data in zip(missing, store.git.blobs([tree[path] for path in missing])):
        store.write(path, data, sync=True)  # the inbox itself is not synced
    store.write(MARKER, template("store", "signals.md"), sync=True)
    return len(missing)


def rescue(store: Store) -> int:
    """Copies that the inbox does not have (it was lost or damaged) go back to pending, to be committed again."""
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
    """Remove the copies of signals that are gone, and the folders that became empty."""
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
