"""Which signals this store has stored: one id a line in `.git/reflect/stored`, so that a loss can be told.

A branch that was deleted by hand leaves no trace: inboxes have no reflog, since what expires must go, and a gc takes
the objects. So each commit of captures adds its ids here, without any text. An id that is listed, too young to have
expired, not purged and in no inbox is missing. The text can be recovered while the object is still in the store.
"""

from __future__ import annotations

import time

from reflect_git.adapters import files
from reflect_git.model.ids import day_of
from reflect_git.store import expiry, inbox, purged, spool
from reflect_git.store.layout import id_in, is_id
from reflect_git.store.repository import INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from reflect_git.store.repository import Store

_LARGEST = 1 << 28


def refresh(store: Store, now: float) -> None:
    """Write the list anew: what is there, and what is missing; not what expired or was purged. The lock is held."""
    ids = sorted({*missing(store, now), *_present(store)})
    files.write_whole(store.private_path(inbox.STORED), "".join(f"{one}\n" for one in ids).encode("ascii"))


def missing(store: Store, now: float) -> list[str]:
    """Return the ids of signals that were stored and are nowhere, though nothing took them out that may."""
    data = files.read_if_there(store.private_path(inbox.STORED), _LARGEST) or b""
    oldest = time.strftime("%Y-%m-%d", time.gmtime(now - expiry.lifetime(store) * expiry.DAY))
    ids = {one for one in data.decode("ascii", "replace").split() if is_id(one) and day_of(one) > oldest}
    gone = ids - _present(store)
    return sorted(gone - purged.among(store, gone)) if gone else []


def _present(store: Store) -> set[str]:
    """Return the signals in inboxes, and those that wait for a commit."""
    found = {name[:-5] for name in spool.pending(store)}
    for ref in store.git.refs(INBOX):
        found.update(id_in(path) for path in store.git.tree(ref, "signals"))
    return {one for one in found if one.startswith("SIG-")}


def recoverable(store: Store, ids: Collection[str]) -> dict[str, Any]:
    """Return id → record of those whose object is still in the store, or whose plain copy is."""
    from reflect_git.store.care.salvage import readable_records  # only where something is missing

    wanted = set(ids)
    return {record["id"]: record for record in readable_records(store) if record["id"] in wanted} if wanted else {}


def recover(store: Store, now: float) -> tuple[int, int]:
    """Store again what can be recovered; returns how many that are, and how many were missing. The lock is held."""
    ids = missing(store, now)
    found = recoverable(store, ids)
    if found:
        spool.acknowledge_all(store, found.values())
        inbox.commit_all(store)
    return len(found), len(ids)
