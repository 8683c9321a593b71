"""Measures the budgets side by side in one run and prints ratios. Exit 1 if a ceiling is broken."""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

# A script starts with its own folder on the path; its modules are `bench.timing` … here and in the tests.
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench import (
    capture,
    concurrency,
    dedup_quality,
    effect,
    generate,
    guarding,
    history,
    panel,
    quality,
    reading,
    reliability,
    remembering,
    reviewing,
    scoring,
    sessions,
    syncing,
    wording_quality,
)
from bench.setting import REPO, Setting
from bench.table import Table, as_markdown, as_text
from bench.timing import BenchError, print_progress

RESULTS = REPO / "bench" / "RESULTS.md"
SUBJECTS: dict[str, Callable[[Setting], list[Table]]] = {
    "capture": capture.tables,
    "guards": guarding.tables,
    "concurrency": concurrency.tables,
    "reading": reading.tables,
    "reviewing": reviewing.tables,
    "remembering": remembering.tables,
    "history": history.tables,
    "effect": effect.tables,
    "panel": panel.tables,
    "sessions": sessions.tables,
    "sync": syncing.tables,
    "scoring": scoring.tables,
    "quality": quality.tables,
    "dedup": dedup_quality.tables,
    "wording": wording_quality.tables,
    **{name: partial(reliability.tables, name) for name in reliability.RUNS},
}
_MARK = "<!-- {} -->"
HEADER = """\
Written by `make bench-all`, or a part of it by `make bench ARGS='--write --only NAMES'`; do not edit. A time is that of
a fresh process, from posix_spawn to wait4. The processes of a table take turns (A, B, C, A, B, C …) in one run, so that
load hits all alike; the first two rounds are not counted. A ratio is that of the medians. After each batch of captures
the tip of the inbox was counted: every one was there. Ratios can be compared between machines, milliseconds cannot.
"""


def main(words: Sequence[str]) -> int:
    options = parse_arguments(words)
    try:
        found = run_measurements(options)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    shown = [table for tables in found.values() for table in tables]
    print("\n\n".join(as_text(table) for table in shown))
    if options.write:
        RESULTS.write_text(format_results(found, options.python, read_old_results()), encoding="utf-8")
        print_progress(f"wrote '{RESULTS.relative_to(REPO)}'")
    return 1 if any(row.is_over for table in shown for row in table.rows) else 0


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds, the smallest stores: a smoke test")
    parser.add_argument("--only", default=",".join(SUBJECTS), metavar="NAMES", help="some of: %(default)s")
    parser.add_argument("--write", action="store_true", help="write bench/RESULTS.md, the rest of it as it was")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="the interpreter that hooks run under")
    options = parser.parse_args(words)
    if options.write and options.quick:
        parser.error("a quick run says too little to be written down")
    options.only = options.only.split(",")
    unknown = sorted(set(options.only) - set(SUBJECTS))
    if unknown:
        parser.error(f"there is no measurement '{unknown[0]}'")
    options.python = os.path.realpath(options.python)
    return options


def run_measurements(options: argparse.Namespace) -> dict[str, list[Table]]:
    rival, hookify = (Path(given).resolve() if given else None for given in map(os.environ.get, ("RIVAL", "HOOKIFY")))
    for name in ("LABELLED", "RATED"):  # given from where the person stands, read from a project
        if os.environ.get(name):
            os.environ[name] = ":".join(map(os.path.abspath, os.environ[name].split(":")))
    found: dict[str, list[Table]] = {}
    with tempfile.TemporaryDirectory(prefix="reflect-git-bench-") as folder:
        work = Path(os.path.realpath(folder))
        project = generate.make_project(work / "shop")
        setting = Setting(work, project, options.python, options.quick, rival, hookify)
        os.chdir(project)
        for name in options.only:
            print_progress(f"measuring {name}")
            found[name] = SUBJECTS[name](setting)
    return found


def read_old_results() -> dict[str, str]:
    """What was written before, per measurement: who measures a part leaves the rest as it stands."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    parts = re.split(_MARK.format(r"(\w+)") + "\n", text)[1:]
    return {name: f"{part.strip()}\n" for name, part in zip(parts[::2], parts[1::2], strict=True)}


def format_results(found: Mapping[str, Sequence[Table]], python: str, before: Mapping[str, str]) -> str:
    facts = "Measured on {}, with Python {}, git {}, {} on {}.".format(
        datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        run_command(python, "-c", "import platform; print(platform.python_version())"),
        run_command("git", "--version").removeprefix("git version "),
        f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        f"{get_processor()}, {os.cpu_count()} cores",
    )
    parts = dict(before)
    for name, tables in found.items():
        if tables:
            parts[name] = "\n".join([*(as_markdown(table) for table in tables), facts, ""])
    listed = [f"{_MARK.format(name)}\n{parts[name]}" for name in SUBJECTS if name in parts]
    return "\n".join(["# Results", "", HEADER, *listed])


def run_command(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def get_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
