"""Background work that a command starts when it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from reflect_git import paths
from reflect_git.platform import processes
from reflect_git.records.ids import parse_utc
from reflect_git.store import expiry, maintenance
from reflect_git.store.local import session_state
from reflect_git.store.reading import waiting_counts
from reflect_git.store.repository import Store, StoreBusy


def start_background_work(store: Store, later: Callable[[], object] | None = None) -> bool:
    """Start postponed work, session statistics and upkeep in the background. Return whether anything was started."""
    now = time.time()
    upkeep_is_due = store.is_enabled("reflect.upkeep", True) and is_maintenance_due(store, now)
    folder = _find_uncounted_project(store)
    if not upkeep_is_due and not later and not folder and not session_state.has_waiting(store):
        return False
    if processes.detach():
        try:
            if later:
                later()
            if folder:
                _update_waiting_count(store, folder)
            _run_maintenance(store, now, upkeep_is_due)
        finally:
            os._exit(0)
    return True


def _find_uncounted_project(store: Store) -> str:
    """Return the project here if a decision made the number in its status line wrong."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return ""
    folder = paths.find_top(here) or here
    return folder if waiting_counts.is_outdated(store, folder) else ""


def _update_waiting_count(store: Store, folder: str) -> None:
    from reflect_git.platform import yaml_loose
    from reflect_git.rules import queue
    from reflect_git.store.reading import reader

    try:
        before = waiting_counts.get_branch_tips(store)
        queue.count_waiting(store, store.env, reader.scan(store, yaml_loose.parse_edited), folder, before)
    except Exception as error:
        store.log(f"count: {type(error).__name__}: {error}")


def is_maintenance_due(store: Store, now: float) -> bool:
    """Once a day; a store younger than that has nothing to take out."""
    return maintenance.is_due(store, now) and now - parse_utc(store.get_setting("reflect.born")) >= expiry.DAY


def _run_maintenance(store: Store, now: float, upkeep_is_due: bool) -> None:
    """Silent whatever happens: the next command that is due tries again, and `doctor` reads the log."""
    from reflect_git.store import inbox, recover

    try:
        with store.locked(0.0):
            recover.finish_interrupted(store)
            inbox.commit_all(store)
            session_state.move_to_main(store)
        if upkeep_is_due:
            from reflect_git.memory.upkeep import Upkeep

            Upkeep(store, store.env, now).run()
    except StoreBusy:
        return
    except Exception as error:
        store.log(f"upkeep: {type(error).__name__}: {error}")
