"""`search`, `incidents` and `digest --week` in a large store, with their caches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench import generate
from bench.setting import Setting
from bench.table import Table, build_timed_row
from bench.timing import BenchError, Command, Subject, fixed_subject, measure

ROUNDS = 20
SIZES = (10_000, 100_000)
CEILING = 4.0
PROGRAM = Path(sys.executable).parent / "reflect-git"
FLOOR = "reflect-git --version"
# The last week is complete: this one has no signals yet on a Monday morning.
COMMANDS = {
    "search": ("search", "staging", "database"), "incidents": ("incidents",),
    "digest --week": ("digest", "--week", "--last"),
}  # fmt: skip


def tables(setting: Setting) -> list[Table]:
    title = "Search, incidents, digest of a week, fresh process"
    if not PROGRAM.exists():
        return [Table(title, (), notes=(f"'{PROGRAM.name}' is not installed beside this Python: not measured",))]
    floor = Command((str(PROGRAM), "--version"), generate.build_env(setting.work))
    subjects: list[Subject] = [fixed_subject(FLOOR, floor)]
    for size in setting.sizes(*SIZES):
        home = setting.create_home(f"remembering-{size}")
        generate.copy_store(size, home)
        for name, words in COMMANDS.items():
            command = Command((str(PROGRAM), *words, "--json"), generate.build_env(home))
            _require_found(name, command)
            subjects.append(fixed_subject(f"{name} at {size:,}, warm", command))
    times = measure(subjects, setting.rounds(ROUNDS))
    rows = [build_timed_row(found, times[FLOOR], None if name == FLOOR else CEILING) for name, found in times.items()]
    return [Table(title, rows)]


def _require_found(name: str, command: Command) -> None:
    """Make the caches. What is fast because it found nothing is not fast."""
    done = subprocess.run(command.argv, env=dict(command.env), check=True, capture_output=True)
    data = json.loads(done.stdout)["data"]
    if not (data["lines"] if isinstance(data, dict) else data):
        raise BenchError(f"'{name}' found nothing")
