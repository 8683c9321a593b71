"""Plain copies of signals in signals/, for people, for editors, and as protection against power cuts."""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.store import inbox
from reflect_git.store.creation import read_template
from reflect_git.store.repository import SIGNALS_README, get_record_id, get_record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.store.repository import Store


def has_copies(store: Store) -> bool:
    """Return whether the copies exist. `git clean -x`, or checking out the inbox branch, removes all of them."""
    return os.path.exists(store.path(SIGNALS_README))


def restore_missing(store: Store) -> int:
    """Write every missing copy; return how many. The marker is written last, so that a killed restore is repeated."""
    tree = store.git.tree(inbox.ensure_inbox(store), "signals")
    missing = [path for path in tree if path != SIGNALS_README and not os.path.exists(store.path(path))]
    for path, data in zip(missing, store.git.blobs([tree[path] for path in missing])):
        store.write(path, data, sync=True)  # the inbox itself is not synced
    store.write(SIGNALS_README, read_template("store", "signals.md"), sync=True)
    return len(missing)


def move_lost_to_pending(store: Store) -> int:
    """Move copies that the inbox lacks (it was lost or damaged) back to pending, to commit them again."""
    known = store.git.tree(inbox.ensure_inbox(store), "signals")
    rescued = 0
    for path in files.list_files(store.path("signals")):
        relative = os.path.relpath(path, store.root).replace(os.sep, "/")
        record_id = get_record_id(relative)
        if record_id and relative not in known:
            files.rename(path, store.private_path("pending", f"{record_id}.yaml"))
            rescued += 1
    return rescued


def delete_copies(store: Store, record_ids: list[str]) -> None:
    """Delete the copies of removed signals, and folders that became empty."""
    for record_id in record_ids:
        path = store.path(get_record_path(record_id))
        files.remove(path)
        _prune_empty(os.path.dirname(path), store.path("signals"))


def _prune_empty(folder: str, stop: str) -> None:
    while folder != stop:
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)
