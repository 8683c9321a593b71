"""Store signals: write a pending file first, then commit it if the lock is free. Everything that a hook needs."""

from __future__ import annotations

import os

from reflect_git.errors import ReflectError
from reflect_git.records import yaml_form
from reflect_git.store import inbox, pending
from reflect_git.store.main import journal
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import StoreBusy, get_record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional

    from reflect_git.store.inbox import Entry
    from reflect_git.store.repository import Store

_ATTEMPTS = 3
# From this niceness on we yield to all other processes: on a busy machine a commit could take seconds.
_LOW_PRIORITY = 15


def append(store: Store, signal: Mapping[str, Any], wait: float = 0.0) -> Optional[str]:
    """Write a signal to pending and try to commit it. Return None while another process has the lock.

    Under `nice 19` a hook commits in the background, after its caller has continued.
    """
    yaml_form.check(signal)
    if purge_marks.find_purged(store, [signal["id"]]):
        raise ReflectError(f"the moment of {signal['id']} was purged", "it is not stored again", code="purged")
    for attempt in range(_ATTEMPTS):
        try:
            data = pending.write_record(store, signal)
            return _commit_one(store, (signal["id"], data, signal), wait)
        except (FileNotFoundError, NotADirectoryError):  # another process is deleting .git/reflect
            if attempt + 1 == _ATTEMPTS:
                raise
            store.repair_private()
    return None


def _commit_one(store: Store, entry: Entry, wait: float) -> Optional[str]:
    if not wait and os.nice(0) >= _LOW_PRIORITY:
        _commit_in_background(store)
        return None
    try:
        with store.locked(wait):
            if journal.has_entries(store):  # a command has to finish the interrupted step first
                return None
            return inbox.commit_pending(store, just_written=entry)
    except StoreBusy:
        return None
    except (FileNotFoundError, NotADirectoryError):
        raise
    # the signal is stored; only the commit failed, and the next command makes it
    except (ReflectError, OSError) as error:
        store.log(f"commit: {error}")
        return None


def append_new(store: Store, found: Iterable[Mapping[str, Any]], wait: float = 0.0) -> list[str]:
    """Store the signals that are not known yet and try to commit them together; return their ids.

    Purged signals count as known: a copy of the transcript, or reading it again, would produce them again.
    """
    new = write_new(store, found)
    if new:
        commit_pending(store, wait)
    return new


def write_new(store: Store, found: Iterable[Mapping[str, Any]]) -> list[str]:
    """Write the signals that are not known yet to pending; return their ids. From then on they cannot be lost."""
    new = {record["id"]: record for record in found if not is_known(store, record["id"])}
    for record_id in purge_marks.find_purged(store, new):
        del new[record_id]
    for record in new.values():
        yaml_form.check(record)
    if new:
        try:
            pending.write_records(store, new.values())
        except (FileNotFoundError, NotADirectoryError):  # .git/reflect was deleted
            store.repair_private()
            pending.write_records(store, new.values())
    return list(new)


def is_known(store: Store, record_id: str) -> bool:
    """Return whether a file of this signal exists. fast-import checks again, so a wrong no only costs a write."""
    return os.path.lexists(store.path(get_record_path(record_id))) or os.path.lexists(
        store.private_path("pending", f"{record_id}.yaml")
    )


def _commit_in_background(store: Store) -> None:
    from reflect_git.platform.processes import detach

    if detach():
        try:
            commit_pending(store, 0.0)
        finally:
            os._exit(0)


def commit_pending(store: Store, wait: float) -> None:
    """Commit what is pending, unless another process holds the lock for longer than `wait`."""
    try:
        with store.locked(wait):
            if not journal.has_entries(store):
                inbox.commit_all(store)
    except StoreBusy:
        pass
    except (ReflectError, OSError) as error:
        store.log(f"commit: {error}")
