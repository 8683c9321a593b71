"""Many hooks at once: how long each takes, and whether every one of them is there afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import generate
from bench.capture import hook_command
from bench.setting import Setting
from bench.table import Row, Table
from bench.timing import BenchError, Command, Times, print_progress, start_process
from reflect_git.store import pending, recover

LANES = 32
HOOKS_PER_LANE = 50
WAVES = 5
SIZE = 100
CEILING = 2.5
COLUMNS = ("p50 ms", "p95 ms")
BURST_SIZE = 64
BURSTS = 10
BURST_CEILING = 1.3  # of the interpreters alone
FIRST_CEILING = 2.0
BURST_SECONDS = 1.0  # on two idle cores


def tables(setting: Setting) -> list[Table]:
    """Bare interpreters and captures take turns in waves, so that both see the same machine."""
    home, each, waves = (
        setting.create_home("concurrency"),
        *((2, 1) if setting.quick else (HOOKS_PER_LANE // WAVES, WAVES)),
    )
    store = generate.copy_store(SIZE, home)
    bare, captures = Times(f"{LANES} bare interpreters at once"), Times(f"{LANES} hooks at once")
    for number in range(waves):
        print_progress(f"wave {number + 1} of {waves}", end="\r")
        run_in_lanes(lambda: setting.python_command("pass"), each, bare)
        run_in_lanes(lambda: hook_command(setting, home), each, captures)
    waiting = len(pending.list_pending(store))
    recover.recover_store(store)
    lost = SIZE + len(captures.seconds) - generate.count_committed(store)
    ratio = captures.percentile(95) / bare.percentile(95)
    rows = [
        Row(bare.name, (bare.percentile(50), bare.percentile(95))),
        Row(captures.name, (captures.percentile(50), captures.percentile(95)), ratio, "p95 of the bare ones", CEILING),
        Row("captures lost", ratio=lost, ceiling=0),
    ]
    pace = LANES * len(captures.seconds) / sum(captures.seconds)  # all lanes are busy all the time
    notes = (f"{len(captures.seconds):,} captures, {pace:.0f} a second; {waiting} waited for the next command",)
    return [Table(f"{LANES} hooks at once, {each * waves} each", rows, COLUMNS, notes), build_burst_table(setting)]


def build_burst_table(setting: Setting) -> Table:
    """64 that are started together, each timed until it leaves: its capture is acknowledged then. The first ones of a
    store wait until one of them has made it."""
    home, bursts = setting.create_home("together"), 1 if setting.quick else BURSTS
    store = generate.copy_store(SIZE, home)
    run_in_lanes(
        lambda: hook_command(setting, home), 1, Times("warm up"), BURST_SIZE
    )  # byte code, and the bundle of modules
    before = generate.count_committed(store) + len(pending.list_pending(store))
    bare, hooks = Times(f"{BURST_SIZE} interpreters: import json, re"), Times(f"{BURST_SIZE} hooks")
    first = Times(f"{BURST_SIZE} hooks, the first of a store")
    for number in range(bursts):
        print_progress(f"burst {number + 1} of {bursts}", end="\r")
        run_in_lanes(lambda: setting.python_command("import json, re"), 1, bare, BURST_SIZE)
        run_in_lanes(lambda: hook_command(setting, home), 1, hooks, BURST_SIZE)
        run_in_lanes(partial(hook_command_for_store, setting, home, home / f"new-{number}"), 1, first, BURST_SIZE)
    recover.recover_store(store)
    lost = before + len(hooks.seconds) - generate.count_committed(store)
    rows = [Row(bare.name, (bare.percentile(50), bare.percentile(95)))]
    for times, ceiling in ((hooks, BURST_CEILING), (first, FIRST_CEILING)):
        found = times.percentile(50), times.percentile(95)
        rows.append(Row(times.name, found, found[1] / bare.percentile(95), "p95 of the interpreters", ceiling))
    rows.append(Row("p95 of the hooks, in seconds", ratio=hooks.percentile(95), ceiling=BURST_SECONDS))
    rows.append(Row("captures lost", ratio=lost, ceiling=0))
    return Table(f"{BURST_SIZE} hooks started together", rows, COLUMNS)


def hook_command_for_store(setting: Setting, home: Path, root: Path) -> Command:
    """A hook for another store than that of the home."""
    command = hook_command(setting, home)
    return Command(command.argv, {**command.env, "REFLECT_GIT_HOME": str(root)}, command.stdin)


def run_in_lanes(command: Callable[[], Command], each: int, times: Times, lanes: int = 0) -> None:
    """Keep all lanes busy until each has had its turns; as a group, since whoever measures may have other children."""
    lanes = lanes or LANES
    left, running, group = lanes * each, dict[int, float](), 0
    with open(os.devnull, "wb") as nowhere:
        while left or running:
            while left and len(running) < lanes:
                made, begun = command(), time.perf_counter()
                process = start_process(made, nowhere.fileno(), group if running else 0)
                group = group if running else process
                running[process] = begun
                left -= 1
            process, status, _ = os.wait4(-group, 0)
            times.seconds.append(time.perf_counter() - running.pop(process))
            if status:
                raise BenchError(f"one of {lanes} processes at once ended with {os.waitstatus_to_exitcode(status)}")
