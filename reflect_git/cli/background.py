"""Background work that a command starts when it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from reflect_git import paths
from reflect_git.platform import processes
from reflect_git.records.ids import seconds_of
from reflect_git.store import expiry, maintenance, session_state
from reflect_git.store.reading import waiting_counts
from reflect_git.store.repository import Busy, Store


def work_if_due(store: Store, later: Callable[[], object] | None = None) -> bool:
    """Start postponed work, session statistics and upkeep in the background. Return whether anything was started."""
    now = time.time()
    upkeep_is_due = store.switched("reflect.upkeep", True) and is_due(store, now)
    folder = _uncounted(store)
    if not upkeep_is_due and not later and not folder and not session_state.are_waiting(store):
        return False
    if processes.detach():
        try:
            if later:
                later()
            if folder:
                _count(store, folder)
            _run(store, now, upkeep_is_due)
        finally:
            os._exit(0)
    return True


def _uncounted(store: Store) -> str:
    """Return the project here if a decision made the number in its status line wrong."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return ""
    folder = paths.top_of(here) or here
    return folder if waiting_counts.is_outdated(store, folder) else ""


def _count(store: Store, folder: str) -> None:
    from reflect_git.platform import yaml_loose
    from reflect_git.rules import queue
    from reflect_git.store.reading import reader

    try:
        before = waiting_counts.seen(store)
        queue.count(store, store.env, reader.scan(store, yaml_loose.read), folder, before)
    except Exception as error:
        store.log(f"count: {type(error).__name__}: {error}")


def is_due(store: Store, now: float) -> bool:
    """Once a day; a store younger than that has nothing to take out."""
    return maintenance.is_due(store, now) and now - seconds_of(store.setting("reflect.born")) >= expiry.DAY


def _run(store: Store, now: float, upkeep_is_due: bool) -> None:
    """Silent whatever happens: the next command that is due tries again, and `doctor` reads the log."""
    from reflect_git.platform import yaml_loose
    from reflect_git.store import inbox, recover
    from reflect_git.store.reading import reader

    try:
        with store.locked(0.0):
            recover.finish_interrupted(store)
            inbox.commit_all(store)
            session_state.move(store)
            if upkeep_is_due:
                maintenance.upkeep(store, reader.read(store, yaml_loose.read), now)
    except Busy:
        return
    except Exception as error:
        store.log(f"upkeep: {type(error).__name__}: {error}")
