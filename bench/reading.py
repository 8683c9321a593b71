"""Commands that read everything: with their cache (warm) and without it (cold)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench import generate
from bench.setting import Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import BenchError, Command, Subject, fixed_subject, measure
from reflect_git.platform import files
from reflect_git.store.repository import Store

ROUNDS = 30
SIZES = (1_000, 10_000, 100_000)
CEILING = 3.0
CAPPED_SIZE = 10_000
PROGRAM = Path(sys.executable).parent / "reflect-git"
BASELINE = "reflect-git --version"
COMMANDS = ("signals", "stats")


def tables(setting: Setting) -> list[Table]:
    title = "Reading, fresh process"
    if not PROGRAM.exists():
        return [Table(title, (), notes=(f"'{PROGRAM.name}' is not installed beside this Python: not measured",))]
    subjects = [fixed_subject(BASELINE, _build_command(setting.work, "--version"))]
    for size in setting.sizes(*SIZES):
        home = setting.create_home(f"reading-{size}")
        store = generate.copy_store(size, home)
        for verb in COMMANDS:
            _require_all_listed(home, verb, size)
            subjects += [_build_warm_subject(home, verb, size), _build_cold_subject(store, home, verb, size)]
    times = measure(subjects, setting.rounds(ROUNDS))
    floor = times[BASELINE]
    rows: list[Row] = [
        build_timed_row(found, floor, CEILING if _is_capped(name) else None) for name, found in times.items()
    ]
    return [Table(title, rows)]


def _is_capped(name: str) -> bool:
    return name.endswith(f"at {CAPPED_SIZE:,}, warm")


def _build_command(home: Path, *words: str) -> Command:
    return Command((str(PROGRAM), *words), generate.build_env(home))


def _build_warm_subject(home: Path, verb: str, size: int) -> Subject:
    """The turn before it was the cold one's of the other verb, or the check's, so the cache is there."""
    return fixed_subject(
        f"{verb} --json at {size:,}, warm", _build_command(home, verb, "--json"), every=_get_interval(size)
    )


def _build_cold_subject(store: Store, home: Path, verb: str, size: int) -> Subject:
    def prepare(_: int) -> list[Command]:
        for name in files.list_names(store.private_path("cache")):
            if name != "settings.json" and name != "inbox":
                files.discard(store.private_path("cache", name))
        return [_build_command(home, verb, "--json")]

    return Subject(f"{verb} --json at {size:,}, cold", prepare, _get_interval(size))


def _get_interval(size: int) -> int:
    return 10 if size > 50_000 else 2 if size > 5_000 else 1


def _require_all_listed(home: Path, verb: str, size: int) -> None:
    """What is fast because it found nothing is not fast."""
    command = _build_command(home, verb, "--json")
    done = subprocess.run(command.argv, env=dict(command.env), check=True, capture_output=True)
    data = json.loads(done.stdout)["data"]
    found = data["total"] if verb == "stats" else len(data)
    if found != size:
        raise BenchError(f"'reflect-git {verb}' found {found:,} signals, {size:,} expected")
