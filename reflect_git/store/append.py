"""Signals into the store: acknowledged first, committed as soon as nobody else is at it. All that a hook needs."""

from __future__ import annotations

import os

from reflect_git.adapters import records
from reflect_git.errors import ReflectError
from reflect_git.store import inbox, journal, purged, spool
from reflect_git.store.layout import path_of
from reflect_git.store.repository import Busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional

    from reflect_git.store.inbox import Entry
    from reflect_git.store.repository import Store

_ATTEMPTS = 3
# From this niceness on whoever runs us gives way to all others: on a busy machine a commit could take seconds.
_PATIENT = 15


def append(store: Store, signal: Mapping[str, Any], wait: float = 0.0) -> Optional[str]:
    """Acknowledge a signal, then try to commit it; None while another process has the lock and it is pending.

    Under `nice 19` a hook commits after its caller has gone on."""
    records.check(signal)
    if purged.among(store, [signal["id"]]):
        raise ReflectError(f"the moment of {signal['id']} was purged", "it is not stored again", code="purged")
    for attempt in range(_ATTEMPTS):
        try:
            data = spool.acknowledge(store, signal)
            return _commit_one(store, (signal["id"], data, signal), wait)
        except (FileNotFoundError, NotADirectoryError):  # somebody is deleting .git/reflect
            if attempt + 1 == _ATTEMPTS:
                raise
            store.mend_private()
    return None


def _commit_one(store: Store, entry: Entry, wait: float) -> Optional[str]:
    if not wait and os.nice(0) >= _PATIENT:
        _commit_later(store)
        return None
    try:
        with store.locked(wait):
            if journal.is_standing(store):  # a command has to finish what was interrupted first
                return None
            return inbox.commit_pending(store, just_written=entry)
    except Busy:
        return None
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (ReflectError, OSError) as error:  # it is stored: what failed is its commit, which the next command makes
        store.log(f"commit: {error}")
        return None


def append_new(store: Store, found: Iterable[Mapping[str, Any]], wait: float = 0.0) -> list[str]:
    """Acknowledge those that are not there yet, then try to commit them together; returns their ids.

    What was purged is as known as what is there: a copy of the transcript, or a second look at it, tells it again.
    """
    new = {record["id"]: record for record in found if not is_known(store, record["id"])}
    for identity in purged.among(store, new):
        del new[identity]
    for record in new.values():
        records.check(record)
    if new:
        try:
            spool.acknowledge_all(store, new.values())
        except (FileNotFoundError, NotADirectoryError):  # somebody deleted .git/reflect
            store.mend_private()
            spool.acknowledge_all(store, new.values())
        _commit(store, wait)
    return list(new)


def is_known(store: Store, identity: str) -> bool:
    """Whether a file of it is here; fast-import knows the rest, so a wrong no costs a write and nothing else."""
    return os.path.lexists(store.path(path_of(identity))) or os.path.lexists(
        store.private_path("pending", f"{identity}.yaml")
    )


def _commit_later(store: Store) -> None:
    from reflect_git.adapters.process import detach

    if detach():
        try:
            _commit(store, 0.0)
        finally:
            os._exit(0)


def _commit(store: Store, wait: float) -> None:
    try:
        with store.locked(wait):
            if not journal.is_standing(store):
                inbox.commit_all(store)
    except Busy:
        pass
    except (ReflectError, OSError) as error:
        store.log(f"commit: {error}")
