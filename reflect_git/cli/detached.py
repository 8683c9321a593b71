"""Upkeep that nobody waits for: a process of its own, without a terminal, without the caller's pipes."""

from __future__ import annotations

import os
import signal
import time

from reflect_git.store import expiry, upkeep
from reflect_git.store.repository import Busy, Store

_MOST_DESCRIPTORS = 4096


def run_upkeep_if_due(store: Store) -> bool:
    """At the end of a command: start the daily upkeep, unless `reflect.upkeep` says no. Returns whether it started."""
    now = time.time()
    if not store.switched("reflect.upkeep", True) or not is_due(store, now):
        return False
    child = os.fork()
    if child:
        os.waitpid(child, 0)  # it ends at once: its own child does the work, and is nobody's zombie
        return True
    try:
        _leave_the_caller()
        if os.fork() == 0:
            _run(store, now)
    finally:
        os._exit(0)  # not sys.exit: what the caller printed and has not flushed yet is the caller's to flush


def is_due(store: Store, now: float) -> bool:
    """Once a day; a store younger than that has nothing to take out."""
    return upkeep.is_due(store, now) and now - expiry.seconds_of(store.setting("reflect.born")) >= expiry.DAY


def _leave_the_caller() -> None:
    """A session of its own, and no descriptor that somebody waits for the end of."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, _MOST_DESCRIPTORS)


def _run(store: Store, now: float) -> None:
    """Silent whatever happens: the next command that is due tries again, and `doctor` reads the log."""
    from reflect_git.adapters import handwritten
    from reflect_git.store import inbox, reading, sweep

    os.nice(10)
    try:
        with store.locked(0.0):
            sweep.finish_interrupted(store)
            inbox.commit_all(store)
            upkeep.upkeep(store, reading.read(store, handwritten.read), now)
    except Busy:
        return
    except Exception as error:
        store.log(f"upkeep: {type(error).__name__}: {error}")
