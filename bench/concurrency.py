"""Many hooks at once: how long each takes, and whether every one of them is there afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from bench import generate
from bench.capture import hook_command
from bench.setting import Setting
from bench.table import Row, Table
from bench.timing import BenchError, Command, Times, progress, start
from reflect_git.store import spool, sweep

LANES = 32
EACH = 50
WAVES = 5
SIZE = 100
CEILING = 2.5
COLUMNS = ("p50 ms", "p95 ms")


def tables(setting: Setting) -> list[Table]:
    """Bare interpreters and captures take turns in waves, so that both see the same machine."""
    home, each, waves = setting.home("concurrency"), *((2, 1) if setting.quick else (EACH // WAVES, WAVES))
    store = generate.copy_store(SIZE, home)
    bare, captures = Times(f"{LANES} bare interpreters at once"), Times(f"{LANES} hooks at once")
    for number in range(waves):
        progress(f"wave {number + 1} of {waves}", end="\r")
        crowd(lambda: setting.bare("pass"), each, bare)
        crowd(lambda: hook_command(setting, home), each, captures)
    waiting = len(spool.pending(store))
    sweep.sweep(store)
    lost = SIZE + len(captures.seconds) - generate.committed(store)
    ratio = captures.percentile(95) / bare.percentile(95)
    rows = [
        Row(bare.name, (bare.percentile(50), bare.percentile(95))),
        Row(captures.name, (captures.percentile(50), captures.percentile(95)), ratio, "p95 of the bare ones", CEILING),
        Row("captures lost", ratio=lost, ceiling=0),
    ]
    pace = LANES * len(captures.seconds) / sum(captures.seconds)  # all lanes are busy all the time
    notes = (f"{len(captures.seconds):,} captures, {pace:.0f} a second; {waiting} waited for the next command",)
    return [Table(f"{LANES} hooks at once, {each * waves} each", rows, COLUMNS, notes)]


def crowd(command: Callable[[], Command], each: int, times: Times) -> None:
    """Keep all lanes busy until each has had its turns; as a group, since whoever measures may have other children."""
    left, running, group = LANES * each, dict[int, float](), 0
    with open(os.devnull, "wb") as nowhere:
        while left or running:
            while left and len(running) < LANES:
                made, begun = command(), time.perf_counter()
                process = start(made, nowhere.fileno(), group if running else 0)
                group = group if running else process
                running[process] = begun
                left -= 1
            process, status, _ = os.wait4(-group, 0)
            times.seconds.append(time.perf_counter() - running.pop(process))
            if status:
                raise BenchError(f"one of {LANES} processes at once ended with {os.waitstatus_to_exitcode(status)}")
