"""Work that nobody waits for: a process of its own, without a terminal, without the caller's pipes."""

from __future__ import annotations

import os
from _signal import SIG_IGN, SIGHUP
from _signal import signal as on_signal  # `signal` makes enums of its numbers: 1.5 ms

_MOST_DESCRIPTORS = 4096
_PATIENCE = 10


def detach() -> bool:
    """True in the new process, which must leave with os._exit; False in the caller, at once."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)  # it ends at once: its own child does the work, and is nobody's zombie
        return False
    try:
        is_alone = leave_the_caller()
        if os.fork() == 0:
            give_way(is_alone)
            return True
    except BaseException:  # an interrupt, too: nothing of the caller may be run twice
        pass
    os._exit(0)  # not sys.exit: what the caller printed and has not flushed yet is the caller's to flush


def leave_the_caller() -> bool:
    """A session of its own, and no descriptor that somebody waits for the end of. Returns whether it has that session:
    who leads a group of processes cannot leave its own."""
    try:
        os.setsid()
        is_alone = True
    except PermissionError:
        is_alone = False
    on_signal(SIGHUP, SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, _MOST_DESCRIPTORS)
    return is_alone


def give_way(is_alone: bool) -> None:
    """Whoever somebody waits for comes first. Linux weighs sessions before processes: one of our own is told, too."""
    try:
        os.nice(_PATIENCE)
        if is_alone:
            with open("/proc/self/autogroup", "w", encoding="ascii") as group:
                group.write(str(_PATIENCE))
    except OSError:  # not Linux, or without groups: the first one counts
        pass
