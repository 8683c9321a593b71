"""What waits for an answer: `candidates` with and without its caches, and `review` until its first candidate is there.

At 10,000 signals that are as different as people's are. The project has instruction files and past sessions, so that
nothing is fast because there was nothing to look at.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench import conversation, generate, variety
from bench.reading import FLOOR, PROGRAM
from bench.setting import Setting
from bench.table import Row, Table, timed
from bench.timing import BenchError, Command, Subject, fixed, measure
from reflect_git.platform import files
from reflect_git.store.repository import Store

ROUNDS = 20
SIZES = (1_000, 10_000)
WARM = 3.0
FIRST = 1.2 * WARM  # times FLOOR, until `review` has shown the first one
COLD = 1.0  # second more than warm
_LIST = "candidates"
_CAPPED = 10_000
_TRANSCRIPTS, _TRANSCRIPT_MB = 4, 2


def tables(setting: Setting) -> list[Table]:
    title = "What waits, fresh process"
    if not PROGRAM.exists():
        return [Table(title, (), notes=(f"'{PROGRAM.name}' is not installed beside this Python: not measured",))]
    subjects = [fixed(FLOOR, Command((str(PROGRAM), "--version"), generate.environment(setting.work)))]
    for size in setting.sizes(*SIZES):
        subjects += _subjects(setting, size)
    times = measure(subjects, setting.rounds(ROUNDS))
    rows: list[Row] = [timed(found, times[FLOOR], _ceiling(name)) for name, found in times.items()]
    for size in setting.sizes(*SIZES):
        more = times[_name(size, "cold")].median - times[_name(size, "warm")].median
        rows.append(Row(f"cold beyond warm at {size:,}", (), more / COLD, "1 s", 1.0 if size == _CAPPED else None))
    return [Table(title, rows)]


def _subjects(setting: Setting, size: int) -> list[Subject]:
    home = setting.home(f"reviewing-{size}")
    store = generate.copy_store(size, home, make=variety.signals)
    _furnish(setting.project, home)
    list_them = _command(home, _LIST)
    first = Command((str(PROGRAM), "review"), generate.environment(home, TERM="xterm"), b"y", b") Approve to ")
    _require_some(home)
    return [
        Subject(_name(size, "cold"), lambda _: _without_caches(store, list_them), 4),
        fixed(_name(size, "warm"), list_them),
        fixed(f"review at {size:,}, until its first candidate", first),
    ]


def _name(size: int, state: str) -> str:
    return f"{_LIST} at {size:,}, {state}"


def _ceiling(name: str) -> float | None:
    if f"at {_CAPPED:,}" not in name or name.endswith("cold"):
        return None
    return WARM if name.startswith(_LIST) else FIRST


def _command(home: Path, *words: str) -> Command:
    return Command((str(PROGRAM), *words), generate.environment(home))


def _without_caches(store: Store, command: Command) -> list[Command]:
    for name in files.names_in(store.private_path("cache")):
        if name not in ("settings.json", "inbox"):
            files.discard(store.private_path("cache", name))
    return [command]


def _furnish(project: Path, home: Path) -> None:
    """What a project has that people work in with Claude Code: instructions, and sessions of the past."""
    rules = "\n".join(f"- Rule {number}: keep module {number} free of cycles." for number in range(60))
    (project / "CLAUDE.md").write_text(f"# shop\n\n{rules}\n", encoding="utf-8")
    slug = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in str(project))
    folder = home / ".claude" / "projects" / slug
    folder.mkdir(parents=True)
    for number in range(_TRANSCRIPTS):
        conversation.write(folder / f"{number:08d}-5a1c-4a66-9d0e-000000000000.jsonl", _TRANSCRIPT_MB << 20)


def _require_some(home: Path) -> None:
    """What is fast because it found nothing is not fast."""
    command = _command(home, _LIST, "--ask")
    done = subprocess.run(command.argv, env=dict(command.env), cwd=os.getcwd(), check=True, capture_output=True)
    if not json.loads(done.stdout)["data"]["questions"]:
        raise BenchError(f"'reflect-git {_LIST}' found nothing")
