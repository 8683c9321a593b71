"""What a command starts at its end and does not wait for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from reflect_git import paths
from reflect_git.adapters import process
from reflect_git.model.ids import seconds_of
from reflect_git.store import expiry, exposures, glance, upkeep
from reflect_git.store.repository import Busy, Store


def work_if_due(store: Store, later: Callable[[], object] | None = None) -> bool:
    """At the end of a command: what it left for later, figures of sessions, upkeep. Returns whether it started."""
    now = time.time()
    upkeep_is_due = store.switched("reflect.upkeep", True) and is_due(store, now)
    folder = _uncounted(store)
    if not upkeep_is_due and not later and not folder and not exposures.are_waiting(store):
        return False
    if process.detach():
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
    return folder if glance.is_outdated(store, folder) else ""


def _count(store: Store, folder: str) -> None:
    from reflect_git.adapters import handwritten
    from reflect_git.sitting import counting
    from reflect_git.store import reading

    try:
        before = glance.seen(store)
        counting.count(store, store.env, reading.scan(store, handwritten.read), folder, before)
    except Exception as error:
        store.log(f"count: {type(error).__name__}: {error}")


def is_due(store: Store, now: float) -> bool:
    """Once a day; a store younger than that has nothing to take out."""
    return upkeep.is_due(store, now) and now - seconds_of(store.setting("reflect.born")) >= expiry.DAY


def _run(store: Store, now: float, upkeep_is_due: bool) -> None:
    """Silent whatever happens: the next command that is due tries again, and `doctor` reads the log."""
    from reflect_git.adapters import handwritten
    from reflect_git.store import inbox, reading, sweep

    try:
        with store.locked(0.0):
            sweep.finish_interrupted(store)
            inbox.commit_all(store)
            exposures.move(store)
            if upkeep_is_due:
                upkeep.upkeep(store, reading.read(store, handwritten.read), now)
    except Busy:
        return
    except Exception as error:
        store.log(f"upkeep: {type(error).__name__}: {error}")
