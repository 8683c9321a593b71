"""Measures the budgets side by side in one run and prints ratios. Exit 1 if a ceiling is broken."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

# A script starts with its own folder on the path; its modules are `bench.timing` … here and in the tests.
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from bench import capture, concurrency, dedup_quality, generate, history, quality, reading, reviewing, sessions
from bench.setting import REPO, Setting
from bench.table import Table, as_markdown, as_text
from bench.timing import BenchError, progress

RESULTS = REPO / "bench" / "RESULTS.md"
SUBJECTS: dict[str, Callable[[Setting], list[Table]]] = {
    "capture": capture.tables,
    "concurrency": concurrency.tables,
    "reading": reading.tables,
    "reviewing": reviewing.tables,
    "history": history.tables,
    "sessions": sessions.tables,
    "quality": quality.tables,
    "dedup": dedup_quality.tables,
}
HOW = """\
Written by `make bench ARGS=--write`; do not edit. Every figure is the time of a fresh process from posix_spawn to
wait4. The processes of a table take turns (A, B, C, A, B, C …) in one run, so that load hits all alike; the first two
rounds are not counted. A ratio is that of the medians. After each batch of captures the tip of the inbox was counted:
every one was there. Ratios can be compared between machines, milliseconds cannot.
"""


def main(words: Sequence[str]) -> int:
    options = parse(words)
    try:
        found = measured(options)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print("\n\n".join(as_text(table) for table in found))
    if options.write:
        RESULTS.write_text(document(found, options.python), encoding="utf-8")
        progress(f"wrote '{RESULTS.relative_to(REPO)}'")
    return 1 if any(row.is_over for table in found for row in table.rows) else 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds, the smallest stores: a smoke test")
    parser.add_argument("--only", default=",".join(SUBJECTS), metavar="NAMES", help="some of: %(default)s")
    parser.add_argument("--write", action="store_true", help="write bench/RESULTS.md")
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


def measured(options: argparse.Namespace) -> list[Table]:
    rival = os.environ.get("RIVAL")
    found: list[Table] = []
    with tempfile.TemporaryDirectory(prefix="reflect-git-bench-") as folder:
        work = Path(os.path.realpath(folder))
        project = generate.make_project(work / "shop")
        setting = Setting(work, project, options.python, options.quick, Path(rival).resolve() if rival else None)
        os.chdir(project)
        for name in options.only:
            progress(f"measuring {name}")
            found += SUBJECTS[name](setting)
    return found


def document(found: Sequence[Table], python: str) -> str:
    facts = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "python": said_by(python, "-c", "import platform; print(platform.python_version())"),
        "git": said_by("git", "--version").removeprefix("git version "),
        "kernel": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "cpu": f"{processor()}, {os.cpu_count()} cores",
    }
    listed = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    return "\n".join(["# Results", "", HOW, listed, "", *(as_markdown(table) for table in found)])


def said_by(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
