"""A git that talks to a remote: watched while it runs, and ended with everything that it started.

A remote may answer never, a byte a second, or without end. ssh and helpers are processes of their own, which do not end
with git. Without a terminal they are one group with it. With a terminal they must stay in the group that may ask for a
pass phrase, so they are looked up in the table of processes.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters.child import Child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_TICK = 0.1
_LOOK = 1.0  # reading the table of processes takes 5 ms
_KILL = 9


class Conversation(Child):
    """`check` is called ten times a second and may raise. `apart`: git leads a group of its own."""

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], keep: int = -1, *, apart: bool, check: Callable[[], None]
    ) -> None:
        super().__init__(argv, env, keep, apart)
        self._check = check
        self._started: dict[int, str] = {}
        self._ticked = self._looked = time.monotonic()

    def _patience(self, deadline: float | None) -> float | None:
        left = super()._patience(deadline)
        return _TICK * 1000 if left is None else min(left, _TICK * 1000)

    def watch(self) -> None:
        now = time.monotonic()
        if now - self._ticked < _TICK:
            return
        self._ticked = now
        self._check()
        if not self._apart and (not self._started or now - self._looked >= _LOOK):
            # Also for later: Ctrl-C ends git at once, and then nobody can tell who its children were.
            self._looked, self._started = now, {**self._started, **started_by(self.pid)}

    def kill(self) -> None:
        others = {} if self._apart else {**self._started, **started_by(self.pid)}
        super().kill()
        end_all(others)


def started_by(process: int) -> dict[int, str]:
    """Find the processes below a process, each with the moment of its start: numbers are used again."""
    table = _table()
    found: dict[int, str] = {}
    unseen = [process]
    while unseen:
        above = unseen.pop()
        below = [number for number, (parent, _) in table.items() if parent == above and number not in found]
        found.update({number: table[number][1] for number in below})
        unseen += below
    return found


def end_all(processes: Mapping[int, str]) -> None:
    """Kill these processes, if they are still the same ones."""
    table = _table() if processes else {}
    for number, start in processes.items():
        if number in table and table[number][1] == start:
            try:
                os.kill(number, _KILL)
            except (ProcessLookupError, PermissionError):
                pass


def _table() -> dict[int, tuple[int, str]]:
    """Read all processes: number → number of the parent, moment of the start."""
    if not os.path.isdir("/proc/self/fd"):
        return _asked_of_ps()
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                found[int(name)] = int(fields[1]), fields[19].decode("ascii")
            except (OSError, ValueError, IndexError):  # gone meanwhile
                continue
    return found


def _asked_of_ps() -> dict[int, tuple[int, str]]:
    """The same where there is no /proc, as on macOS."""
    import subprocess

    asked = ["ps", "-A", "-o", "pid=,ppid=,lstart="]
    try:
        lines = subprocess.run(asked, capture_output=True, check=False, timeout=5).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = (line.split(None, 2) for line in lines.splitlines())
    return {int(row[0]): (int(row[1]), row[2].strip()) for row in rows if len(row) == 3}


def has_terminal() -> bool:
    """Is there a terminal on which ssh could ask for a pass phrase?"""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def size_below(folder: str) -> int:
    """Add up what the files below a folder take on disk."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(base, name)).st_blocks * 512
            except OSError:  # renamed meanwhile
                continue
    return total
