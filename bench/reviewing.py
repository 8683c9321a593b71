"""What waits for an answer: `candidates` with and without its caches, and `review` until its first candidate is there.

At 10,000 signals that are as different as people's are. The project has instruction files and past sessions, so that
nothing is fast because there was nothing to look at.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench import conversation, generate, varied_signals
from bench.reading import BASELINE, PROGRAM
from bench.setting import Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import BenchError, Command, Subject, fixed_subject, measure
from reflect_git.platform import files
from reflect_git.store.repository import Store

ROUNDS = 20
SIZES = (1_000, 10_000)
WARM_CEILING = 3.0
FIRST_CEILING = 1.2 * WARM_CEILING  # times FLOOR, until `review` has shown the first one
COLD_CEILING = 1.0  # second more than warm
_COMMAND = "candidates"
_CAPPED_SIZE = 10_000
_TRANSCRIPTS, _TRANSCRIPT_MB = 4, 2


def tables(setting: Setting) -> list[Table]:
    title = "What waits, fresh process"
    if not PROGRAM.exists():
        return [Table(title, (), notes=(f"'{PROGRAM.name}' is not installed beside this Python: not measured",))]
    subjects = [fixed_subject(BASELINE, Command((str(PROGRAM), "--version"), generate.build_env(setting.work)))]
    for size in setting.sizes(*SIZES):
        subjects += _build_subjects(setting, size)
    times = measure(subjects, setting.rounds(ROUNDS))
    rows: list[Row] = [build_timed_row(found, times[BASELINE], _get_ceiling(name)) for name, found in times.items()]
    for size in setting.sizes(*SIZES):
        more = times[_format_name(size, "cold")].median - times[_format_name(size, "warm")].median
        rows.append(
            Row(f"cold beyond warm at {size:,}", (), more / COLD_CEILING, "1 s", 1.0 if size == _CAPPED_SIZE else None)
        )
    return [Table(title, rows)]


def _build_subjects(setting: Setting, size: int) -> list[Subject]:
    home = setting.create_home(f"reviewing-{size}")
    store = generate.copy_store(size, home, make=varied_signals.generate_signals)
    _write_project_files(setting.project, home)
    list_them = _build_command(home, _COMMAND)
    first = Command((str(PROGRAM), "review"), generate.build_env(home, TERM="xterm"), b"y", b") Approve to ")
    _require_candidates(home)
    return [
        Subject(_format_name(size, "cold"), lambda _: _without_caches(store, list_them), 4),
        fixed_subject(_format_name(size, "warm"), list_them),
        fixed_subject(f"review at {size:,}, until its first candidate", first),
    ]


def _format_name(size: int, state: str) -> str:
    return f"{_COMMAND} at {size:,}, {state}"


def _get_ceiling(name: str) -> float | None:
    if f"at {_CAPPED_SIZE:,}" not in name or name.endswith("cold"):
        return None
    return WARM_CEILING if name.startswith(_COMMAND) else FIRST_CEILING


def _build_command(home: Path, *words: str) -> Command:
    return Command((str(PROGRAM), *words), generate.build_env(home))


def _without_caches(store: Store, command: Command) -> list[Command]:
    for name in files.list_names(store.private_path("cache")):
        if name not in ("settings.json", "inbox"):
            files.discard(store.private_path("cache", name))
    return [command]


def _write_project_files(project: Path, home: Path) -> None:
    """What a project has that people work in with Claude Code: instructions, and sessions of the past."""
    rules = "\n".join(f"- Rule {number}: keep module {number} free of cycles." for number in range(60))
    (project / "CLAUDE.md").write_text(f"# shop\n\n{rules}\n", encoding="utf-8")
    slug = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in str(project))
    folder = home / ".claude" / "projects" / slug
    folder.mkdir(parents=True)
    for number in range(_TRANSCRIPTS):
        conversation.write_transcript(folder / f"{number:08d}-5a1c-4a66-9d0e-000000000000.jsonl", _TRANSCRIPT_MB << 20)


def _require_candidates(home: Path) -> None:
    """What is fast because it found nothing is not fast."""
    command = _build_command(home, _COMMAND, "--ask")
    done = subprocess.run(command.argv, env=dict(command.env), cwd=os.getcwd(), check=True, capture_output=True)
    if not json.loads(done.stdout)["data"]["questions"]:
        raise BenchError(f"'reflect-git {_COMMAND}' found nothing")
