"""Fresh processes, timed side by side: from posix_spawn to wait4, in turns (A, B, C, A, B, C …) under the same load."""

from __future__ import annotations

import errno
import os
import select
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WARM_UP = 2
_SILENCE_SECONDS = 20.0
_QUESTION = b"]? "


class BenchError(Exception):
    """What was to be measured did not do its work, so its time means nothing."""


@dataclass(frozen=True)
class Command:
    """One process. `stdin` has to fit into a pipe, since it is written before the process starts.

    With `until` it runs at a terminal: what it asks first is answered with `stdin`, and its time is that from its start
    to where these words stand on the screen; then it is told to quit.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    stdin: bytes = b""
    until: bytes = b""


@dataclass(frozen=True)
class Subject:
    """Something to time: the commands of a round, one after the other. What `prepare` itself does is not timed."""

    name: str
    prepare: Callable[[int], Sequence[Command]]
    every: int = 1  # what takes seconds takes part in every N-th round only


@dataclass
class Times:
    """Seconds of each round."""

    name: str
    seconds: list[float] = field(default_factory=list)

    @property
    def fastest(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def fixed_subject(name: str, *commands: Command, every: int = 1) -> Subject:
    """A subject that is the same in every round."""
    return Subject(name, lambda _: commands, every)


def measure(subjects: Sequence[Subject], rounds: int, warm_up: int = WARM_UP) -> dict[str, Times]:
    """Name → times. The first rounds only fill the caches of disk and interpreter."""
    found = {subject.name: Times(subject.name) for subject in subjects}
    for number in range(-warm_up, rounds):
        print_progress(f"round {number + 1} of {rounds}", end="\r")
        for subject in subjects:
            if number % subject.every:
                continue
            seconds = sum([time_command(command) for command in subject.prepare(number)])
            if number >= 0:
                found[subject.name].seconds.append(seconds)
    return found


def count_runs(subject: Subject, rounds: int, warm_up: int = WARM_UP) -> int:
    """How often `measure` runs a subject, those times included that are not counted."""
    return len([number for number in range(-warm_up, rounds) if number % subject.every == 0])


def time_command(command: Command) -> float:
    """Seconds one process took; a failure is an error of the bench."""
    if command.until:
        return _time_at_terminal(command)
    with tempfile.TemporaryFile() as complaints:
        started = time.perf_counter()
        _, status, _ = os.wait4(start_process(command, complaints.fileno()), 0)
        seconds = time.perf_counter() - started
        code = os.waitstatus_to_exitcode(status)
        if code:
            complaints.seek(0)
            said = complaints.read(2000).decode("utf-8", "replace").strip()
            raise BenchError(f"'{' '.join(command.argv[:6])}' ended with {code}: {said}")
    return seconds


def start_process(command: Command, complaints: int, group: int | None = None) -> int:
    """Spawn with its input waiting in a pipe, its answer thrown away; returns the process id. Group 0 is a new one."""
    feed, end = os.pipe()
    try:
        os.write(end, command.stdin)
        os.close(end)
        actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, feed, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, complaints, 2),
        ]
        place: dict[str, Any] = {} if group is None else {"setpgroup": group}
        return os.posix_spawn(command.argv[0], list(command.argv), command.env, file_actions=actions, **place)
    finally:
        os.close(feed)


def _time_at_terminal(command: Command) -> float:
    screen, terminal = os.openpty()
    name = os.ttyname(terminal)
    actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]
    try:
        started = time.perf_counter()
        child = os.posix_spawn(command.argv[0], list(command.argv), command.env, file_actions=actions, setsid=True)
    finally:
        os.close(terminal)  # so that the screen ends with the program
    try:
        _read_until(screen, _QUESTION)
        os.write(screen, command.stdin)
        shown = _read_until(screen, command.until)
        seconds = time.perf_counter() - started
        os.write(screen, b"q\n")
        shown += _read_until(screen, b"")
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(screen)
    if code or command.until not in shown:
        said = shown.decode("utf-8", "replace").strip()[-500:]
        raise BenchError(f"'{' '.join(command.argv[:6])}' ended with {code}: {said}")
    return seconds


def _read_until(screen: int, words: bytes) -> bytes:
    """What is written until these words are, until nobody writes any more, or nobody did for a while."""
    shown = b""
    while not (words and words in shown) and select.select([screen], [], [], _SILENCE_SECONDS if words else 0.2)[0]:
        try:
            shown += os.read(screen, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            break
    return shown


def print_progress(text: str, end: str = "\n") -> None:
    if sys.stderr.isatty() or end == "\n":
        print(f"\r\033[K{text}" if sys.stderr.isatty() else text, end=end, file=sys.stderr, flush=True)
