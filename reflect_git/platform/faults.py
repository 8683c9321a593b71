"""Fault injection: a test can kill the process, or fail the call, at the N-th side effect.

Inactive unless armed. Only a store below the system's temp folder can be armed.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

KILL = "kill"
FAIL = "fail"

_mode: Optional[str] = None
_countdown = 0
_trace = ""


def arm(spec: str, root: str, temp: str, trace: str = "") -> None:
    """Arm `kill:3` or `fail:3`: the action, and the number of the side effect. Ignored outside the temp folder.

    `trace` names a file that lists the side effects passed, so that a test knows where it stopped.
    """
    global _mode, _countdown, _trace
    mode, _, number = spec.partition(":")
    inside = os.path.realpath(root).startswith(os.path.realpath(temp) + os.sep)
    if inside and mode in (KILL, FAIL) and number.isdigit():
        _mode, _countdown, _trace = mode, int(number), trace


def point(effect: str, subject: str) -> None:
    """Count a side effect. Called right before a write, sync, rename, unlink or spawn."""
    if _mode is not None:
        _inject_fault(effect, subject)


def _inject_fault(effect: str, subject: str) -> None:
    global _countdown
    _countdown -= 1
    if _trace:
        with open(_trace, "a", encoding="utf-8") as trace:
            trace.write(f"{effect} {os.path.basename(subject)}\n")
    if _countdown:
        return
    if _mode == KILL:
        os.kill(os.getpid(), 9)
    raise OSError(errno.ENOSPC, f"fault injected at {effect}", subject)
