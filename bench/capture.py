"""One capture in a fresh process, from the launcher on, synced and committed, beside what it is measured against.

The floor is `python3 -I -S -c "import json, re"`. The rivals keep a prompt in a JSON file, neither synced nor
committed: the typical one in a queue of 1,000, claude-reflect's UserPromptSubmit hook in a queue that starts empty,
which is its best case.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from bench import generate
from bench.setting import APPEND, LAUNCHER, REPO, Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import BenchError, Command, Subject, Times, count_runs, fixed_subject, measure

ROUNDS = 80
SIZES = (100, 10_000, 100_000)
CEILING = 1.8
NOTICE = "notice: scored, stored and shown"
NOTICE_CEILING = 2.0
_SETTLE_SECONDS = 20
GROWTH = 1.15
RIVAL_CEILING = 0.5
BASELINE = "floor: import json, re"
BARE = "interpreter alone"
TYPICAL_RIVAL = "typical rival"
CLAUDE_REFLECT = "claude-reflect"
PROMPT = "no, use pnpm here, not npm, and remember to run the formatter before you commit"
# Words that redaction has to look at more closely: `passed`, `token`.
WORDY = "Exit code 1\nSyntaxError: Unexpected token '}' in src/cart.ts:88\n1 failed, 17 passed in 3.21s"

_event_numbers = count(1)


class CountedStore:
    """Where subjects store things, and how much was there before."""

    def __init__(self, name: str, count: Callable[[], int]) -> None:
        self.name = name
        self.count = count
        self.before = count()


@dataclass(frozen=True)
class Batch:
    subject: Subject
    place: CountedStore


def tables(setting: Setting) -> list[Table]:
    batches = list(_build_batches(setting))
    subjects = [
        fixed_subject(BASELINE, setting.python_command("import json, re")),
        fixed_subject(BARE, setting.python_command("pass")),
        *_build_rival_subjects(setting),
    ]
    subjects += [batch.subject for batch in batches]
    rounds = setting.rounds(ROUNDS)
    times = measure(subjects, rounds)
    _require_all_stored(batches, rounds)
    missing = () if APPEND.exists() else ("hooks/store.py is not there: append is not measured",)
    return [Table("One capture, fresh process, synced and committed", _build_rows(setting, times), notes=missing)]


def _build_rows(setting: Setting, times: dict[str, Times]) -> list[Row]:
    floor, sizes = times[BASELINE], setting.sizes(*SIZES)
    capped = {hook_name(size) for size in sizes} | {wordy_name(sizes[0])}
    rows = [build_timed_row(found, floor, CEILING if name in capped else None) for name, found in times.items()]
    first, last = times[hook_name(sizes[0])], times[hook_name(sizes[-1])]
    rows = [build_timed_row(times[NOTICE], floor, NOTICE_CEILING) if row.name == NOTICE else row for row in rows]
    if first is not last:
        rows.append(build_timed_row(last, first, GROWTH, f"growth from {sizes[0]:,} to {sizes[-1]:,}"))
    rows.append(build_timed_row(first, times[TYPICAL_RIVAL], name="failure hook against the typical rival"))
    if CLAUDE_REFLECT in times:
        rows.append(build_timed_row(first, times[CLAUDE_REFLECT], RIVAL_CEILING, "failure hook against claude-reflect"))
    return rows


def hook_name(size: int) -> str:
    return f"failure hook at {size:,}"


def wordy_name(size: int) -> str:
    return f"failure hook at {size:,}, with 'token' and 'passed'"


def _build_batches(setting: Setting) -> Sequence[Batch]:
    sizes = setting.sizes(*SIZES)
    found = [_build_hook_batch(setting, size) for size in sizes]
    found += [_build_hook_batch(setting, sizes[0], WORDY), _build_notice_batch(setting, sizes[0])]
    if APPEND.exists():
        found += [_build_append_batch(setting, size) for size in sizes]
    for size in sizes:
        found += _build_git_batches(setting, size)
    return found


def _copy_store(setting: Setting, name: str, size: int) -> tuple[Path, CountedStore]:
    home = setting.create_home(f"{name}-{size}")
    store = generate.copy_store(size, home)
    return home, CountedStore(f"{name} at {size:,}", lambda: generate.count_committed(store))


def _build_hook_batch(setting: Setting, size: int, error: str = "") -> Batch:
    home, place = _copy_store(setting, "wordy" if error else "hook", size)

    def prepare(_: int) -> list[Command]:
        return [hook_command(setting, home, error)]

    return Batch(Subject(wordy_name(size) if error else hook_name(size), prepare), place)


def hook_command(setting: Setting, home: Path, error: str = "") -> Command:
    """The failure hook as the client starts it, for a moment that was not yet."""
    moment = generate.build_event(next(_event_numbers), setting.project, *([error] if error else []))
    env = generate.build_env(
        home,
        CLAUDE_PROJECT_DIR=str(setting.project),
        CLAUDECODE="1",
        CLAUDE_PLUGIN_DATA=str(_create_launcher_data(setting, home)),
    )
    return Command(("/bin/sh", str(LAUNCHER), "PostToolUseFailure"), env, json.dumps(moment).encode())


def _build_notice_batch(setting: Setting, size: int) -> Batch:
    """The hook of a message that corrects Claude, in a session with some work before; it commits afterwards."""
    home = setting.create_home(f"notice-{size}")
    store = generate.copy_store(size, home)
    transcript = home / ".claude" / "projects" / "-srv-shop" / "bench.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    transcript.write_text("".join(map(_build_entry, range(40))), encoding="utf-8")
    env = generate.build_env(
        home, CLAUDE_PROJECT_DIR=str(setting.project), CLAUDECODE="1", CLAUDE_PLUGIN_ROOT=str(LAUNCHER.parent.parent),
        CLAUDE_PLUGIN_DATA=str(_create_launcher_data(setting, home)),
    )  # fmt: skip

    def prepare(_: int) -> list[Command]:
        event = {
            "hook_event_name": "UserPromptSubmit", "session_id": "bench", "transcript_path": str(transcript),
            "cwd": str(setting.project), "prompt": f"no, use tool{next(_event_numbers)} here, not npm, always",
        }  # fmt: skip
        return [Command(("/bin/sh", str(LAUNCHER), "UserPromptSubmit"), env, json.dumps(event).encode())]

    def count() -> int:
        deadline = time.monotonic() + _SETTLE_SECONDS
        while list((home / ".claude/reflections/.git/reflect/pending").glob("*.yaml")) and time.monotonic() < deadline:
            time.sleep(0.1)
        return generate.count_committed(store)

    return Batch(Subject(NOTICE, prepare), CountedStore(NOTICE, count))


def _build_entry(number: int) -> str:
    text = [{"type": "text", "text": f"I changed file {number} and ran npm test. {'It passed. ' * 20}"}]
    entry = {"type": "assistant", "uuid": f"u{number}", "sessionId": "bench", "timestamp": "2026-02-11T10:00:00.000Z"}
    return json.dumps({**entry, "message": {"role": "assistant", "content": text}}, separators=(",", ":")) + "\n"


def _create_launcher_data(setting: Setting, home: Path) -> Path:
    """The launcher's folder, as it is after the first hook: the interpreter is found."""
    folder = home / "data"
    if not folder.exists():
        folder.mkdir()
        (folder / "python").write_text(f"{setting.python}\n", encoding="utf-8")
    return folder


def _build_append_batch(setting: Setting, size: int) -> Batch:
    home, place = _copy_store(setting, "append", size)

    def prepare(_: int) -> list[Command]:
        facts = {
            "type": "gotcha",
            "content": f"the build needs node {next(_event_numbers)}",
            "project": str(setting.project),
        }
        argv = (setting.python, "-I", "-S", str(APPEND), "append", json.dumps(facts))
        return [Command(argv, generate.build_env(home))]

    return Batch(Subject(f"store.py append at {size:,}", prepare), place)


def _build_git_batches(setting: Setting, size: int) -> list[Batch]:
    """In one repository of that many files; GitPython comes after git, and seldom where it takes seconds."""
    repository, env = generate.get_cached_checkout(size), generate.build_env(setting.work)
    place = CountedStore(f"repository of {size:,}", lambda: _count_files(repository))
    git = (shutil.which("git") or "git", "-C", str(repository))
    script = (sys.executable, str(REPO / "bench" / "gitpython_commit.py"), str(repository))

    def with_git(_: int) -> list[Command]:
        commit = ("commit", "-q", "-m", "capture: 1 signal")
        return [Command((*git, "add", _write_new_file(repository)), env), Command((*git, *commit), env)]

    def with_gitpython(_: int) -> list[Command]:
        return [Command((*script, _write_new_file(repository)), env)]

    return [
        Batch(Subject(f"git add && git commit at {size:,}", with_git, 2 if size > 1_000 else 1), place),
        Batch(Subject(f"GitPython index.add + commit at {size:,}", with_gitpython, _get_interval(size)), place),
    ]


def _get_interval(size: int) -> int:
    return 20 if size > 50_000 else 10 if size > 1_000 else 1


def _write_new_file(repository: Path) -> str:
    name = f"signals/new-{time.time_ns()}.yaml"
    (repository / name).write_text(f"id: {name}\n" * 20, encoding="utf-8")
    return name


def _build_rival_subjects(setting: Setting) -> list[Subject]:
    """Hooks that take the person's prompt and keep it in a JSON file. The real one runs if RIVAL names its checkout."""
    home = setting.create_home("rivals")
    queue = home / "queue.json"
    queue.write_text(json.dumps([{"message": PROMPT, "number": number} for number in range(1000)]), encoding="utf-8")
    prompt = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": PROMPT, "cwd": str(setting.project)}).encode()
    env = generate.build_env(home, CLAUDE_PROJECT_DIR=str(setting.project))
    script = str(REPO / "bench" / "rival_hook.py")
    found = [fixed_subject(TYPICAL_RIVAL, Command((setting.python, script, str(queue)), env, prompt))]
    if setting.rival:
        found.append(
            fixed_subject(CLAUDE_REFLECT, Command((setting.python, _find_rival_script(setting.rival)), env, prompt))
        )
    return found


def _find_rival_script(checkout: Path) -> str:
    """The script that the rival's own hooks.json names for UserPromptSubmit."""
    hooks = json.loads((checkout / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"].replace("${CLAUDE_PLUGIN_ROOT}", str(checkout))
    script: str = command.split('"')[1] if '"' in command else command.split()[-1]
    if not os.path.isfile(script):
        raise BenchError(f"'{script}' is not there: RIVAL has to name a checkout of claude-reflect")
    return script


def _require_all_stored(batches: Sequence[Batch], rounds: int) -> None:
    """A hook ends with 0 whatever happens, so only the branch can tell whether its work was measured."""
    for place in dict.fromkeys(batch.place for batch in batches):
        made = sum(count_runs(batch.subject, rounds) for batch in batches if batch.place is place)
        found = place.count()
        if found != place.before + made:
            raise BenchError(f"{place.name}: {found:,} committed, {place.before + made:,} expected")


def _count_files(repository: Path) -> int:
    listing = subprocess.run(
        ("git", "-C", repository, "ls-tree", "-r", "--name-only", "HEAD", "signals"), check=True, capture_output=True
    )
    return sum(1 for name in listing.stdout.splitlines() if name.endswith(b".yaml"))
