"""A signal into the store: acknowledged first, committed as soon as nobody else is at it. All that a hook needs."""

from __future__ import annotations

from reflect_git.adapters import records
from reflect_git.errors import ReflectError
from reflect_git.store import inbox, journal, spool
from reflect_git.store.repository import Busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.store.repository import Store


def append(store: Store, signal: Mapping[str, Any], wait: float = 0.0) -> Optional[str]:
    """Acknowledge a signal, then try to commit it; None while another process has the lock and it is pending."""
    records.check(signal)
    data = spool.acknowledge(store, signal)
    try:
        with store.locked(wait):
            if journal.is_standing(store):  # a command has to finish what was interrupted first
                return None
            return inbox.commit_pending(store, just_written=(signal["id"], data, signal))
    except Busy:
        return None
    except (ReflectError, OSError) as error:  # it is stored: what failed is its commit, which the next command makes
        store.log(f"commit: {error}")
        return None
