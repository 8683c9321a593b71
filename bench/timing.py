"""Fresh processes, timed side by side: from posix_spawn to wait4, in turns (A, B, C, A, B, C …) under the same load."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

WARM_UP = 2


class BenchError(Exception):
    """What was to be measured did not do its work, so its time means nothing."""


@dataclass(frozen=True)
class Command:
    """One process. `stdin` has to fit into a pipe, since it is written before the process starts."""

    argv: Sequence[str]
    env: Mapping[str, str]
    stdin: bytes = b""


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
    def least(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def percentile(self, percent: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def fixed(name: str, *commands: Command, every: int = 1) -> Subject:
    """A subject that is the same in every round."""
    return Subject(name, lambda _: commands, every)


def measure(subjects: Sequence[Subject], rounds: int, warm_up: int = WARM_UP) -> dict[str, Times]:
    """Name → times. The first rounds only fill the caches of disk and interpreter."""
    found = {subject.name: Times(subject.name) for subject in subjects}
    for number in range(-warm_up, rounds):
        progress(f"round {number + 1} of {rounds}", end="\r")
        for subject in subjects:
            if number % subject.every:
                continue
            seconds = sum([run(command) for command in subject.prepare(number)])
            if number >= 0:
                found[subject.name].seconds.append(seconds)
    return found


def turns(subject: Subject, rounds: int, warm_up: int = WARM_UP) -> int:
    """How often `measure` runs a subject, those times included that are not counted."""
    return len([number for number in range(-warm_up, rounds) if number % subject.every == 0])


def run(command: Command) -> float:
    """Seconds one process took; a failure is an error of the bench."""
    with tempfile.TemporaryFile() as complaints:
        started = time.perf_counter()
        _, status, _ = os.wait4(start(command, complaints.fileno()), 0)
        seconds = time.perf_counter() - started
        code = os.waitstatus_to_exitcode(status)
        if code:
            complaints.seek(0)
            said = complaints.read(2000).decode("utf-8", "replace").strip()
            raise BenchError(f"'{' '.join(command.argv[:6])}' ended with {code}: {said}")
    return seconds


def start(command: Command, complaints: int) -> int:
    """Spawn with its input waiting in a pipe, its answer thrown away; returns the process id."""
    feed, end = os.pipe()
    try:
        os.write(end, command.stdin)
        os.close(end)
        actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, feed, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, complaints, 2),
        ]
        return os.posix_spawn(command.argv[0], list(command.argv), command.env, file_actions=actions)
    finally:
        os.close(feed)


def progress(text: str, end: str = "\n") -> None:
    if sys.stderr.isatty() or end == "\n":
        print(f"\r\033[K{text}" if sys.stderr.isatty() else text, end=end, file=sys.stderr, flush=True)
