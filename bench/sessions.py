"""The hooks of a session and the status line, beside the least that could be done in their place.

The floor of mining is to read the transcript and `json.loads` the lines that matter. An empty hook is
`python3 -I -S -c pass` behind the same launcher.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from bench import conversation, generate
from bench.setting import HOOK, LAUNCHER, REPO, Setting
from bench.table import Row, Table, build_timed_row
from bench.timing import BenchError, Command, Subject, Times, fixed_subject, measure

ROUNDS = 40
MINING_ROUNDS = 8
LONG, SHORT = 100 << 20, 10 << 20
STATUSLINE = REPO / "hooks" / "statusline.py"
READ_BASELINE = "floor: read and parse what matters"
FIRST, SECOND = "PreCompact, nothing mined yet", "PreCompact, nothing new"
EMPTY, BARE = "empty hook", "interpreter alone"
SESSION_END, DETACHED = "SessionEnd until the client may leave", "SessionEnd, its detached part, 10 MB"
STATUS_LINE = "status line"
CEILINGS = {FIRST: 1.5, SECOND: 2.0, SESSION_END: 1.2, STATUS_LINE: 1.5}
DETACHED_SECONDS = 1.5
_READER = """
import json, sys
kinds = tuple(b'"type":"%s"' % kind for kind in (b"user", b"assistant", b"attachment", b"queue-operation"))
with open(sys.argv[1], "rb") as file:
    for line in file:
        head = line[:200]
        if any(kind in head for kind in kinds):
            json.loads(line)
"""


class BenchHome:
    """A home folder with a store and one transcript."""

    def __init__(self, setting: Setting, name: str, size: int) -> None:
        self.setting = setting
        self.folder = setting.create_home(name)
        self.store = generate.copy_store(100, self.folder)
        self.transcript = self.folder / ".claude/projects/-home-dev-shop" / f"{conversation.SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.lesson_count = conversation.write_transcript(self.transcript, size)
        self.env = generate.build_env(
            self.folder, CLAUDE_PROJECT_DIR=str(setting.project), CLAUDECODE="1",
            CLAUDE_PLUGIN_DATA=str(self.folder / "data"),
        )  # fmt: skip

    def build_hook(self, event: str, launcher: Path | None = None, **more: str) -> Command:
        fields = {
            "hook_event_name": event, "session_id": conversation.SESSION, "transcript_path": str(self.transcript),
            "cwd": str(self.setting.project), **more,
        }  # fmt: skip
        direct = (self.setting.python, "-I", "-S", str(HOOK), event)
        argv = ("/bin/sh", str(launcher), event) if launcher else direct
        return Command(argv, self.env, json.dumps(fields).encode())

    def reset_store(self) -> None:
        """As if nothing had been mined."""
        self.wait_for_background()
        shutil.rmtree(self.store.root)
        self.store = generate.copy_store(100, self.folder)

    def wait_for_background(self) -> None:
        """Until what a hook left running in the background is done: it must not take part in the next round."""
        while any(_has_home(process, self.folder) for process in Path("/proc").glob("[0-9]*")):
            time.sleep(0.01)

    def require_mined(self) -> None:
        self.wait_for_background()
        found = generate.count_committed(self.store) - 100
        if found < self.lesson_count // 2:
            raise BenchError(f"{self.lesson_count} messages were to be learnt from, {found} signals were stored")


def _has_home(process: Path, home: Path) -> bool:
    try:
        return f"HOME={home}\0".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def tables(setting: Setting) -> list[Table]:
    return [_build_mining_table(setting), _build_hook_table(setting)]


def _build_mining_table(setting: Setting) -> Table:
    home = BenchHome(setting, "long", setting.sizes(SHORT, LONG)[-1])
    compact = home.build_hook("PreCompact", trigger="manual")

    def first(_: int) -> list[Command]:
        home.reset_store()
        return [compact]

    read = Command((setting.python, "-I", "-S", "-c", _READER, str(home.transcript)), home.env)
    times = measure([fixed_subject(READ_BASELINE, read), Subject(FIRST, first)], setting.rounds(MINING_ROUNDS), 1)
    home.require_mined()
    size = home.transcript.stat().st_size / (1 << 20)
    rows = [build_timed_row(times[READ_BASELINE]), build_timed_row(times[FIRST], times[READ_BASELINE], CEILINGS[FIRST])]
    rows.append(Row("its foreground, in units of 1.5 s", ratio=times[FIRST].median / 1.5, base="1.5 s", ceiling=1.0))
    return Table(f"Mining a transcript of {size:.0f} MB, fresh process", rows)


def _build_hook_table(setting: Setting) -> Table:
    home, ending = BenchHome(setting, "cursor", SHORT), BenchHome(setting, "ending", SHORT)
    empty = _create_empty_launcher(setting)
    first = measure([fixed_subject(FIRST, home.build_hook("PreCompact", trigger="manual"))], 1, 0)
    home.require_mined()

    def end(_: int) -> list[Command]:
        ending.reset_store()
        return [ending.build_hook("SessionEnd", reason="other")]

    def alone(_: int) -> list[Command]:
        """The first of a round waits for what the last one of the round before left running."""
        home.wait_for_background()
        return [setting.python_command("pass")]

    subjects = [
        Subject(BARE, alone),
        fixed_subject(EMPTY, home.build_hook("PreCompact", empty)),
        fixed_subject(SECOND, home.build_hook("PreCompact", LAUNCHER, trigger="manual")),
        fixed_subject(STATUS_LINE, Command((setting.python, "-I", "-S", str(STATUSLINE)), home.env)),
        Subject(DETACHED, end, every=8),
        fixed_subject(SESSION_END, home.build_hook("SessionEnd", LAUNCHER, reason="other")),
    ]
    times = measure(subjects, setting.rounds(ROUNDS))
    ending.require_mined()
    return Table("Hooks of a session and the status line, fresh process", _build_rows(times, first[FIRST]))


def _build_rows(times: dict[str, Times], first: Times) -> list[Row]:
    empty, bare = times[EMPTY], times[BARE]
    detached = times[DETACHED]
    return [
        build_timed_row(bare),
        build_timed_row(empty),
        build_timed_row(first, name=f"{FIRST}, 10 MB"),
        build_timed_row(times[SECOND], empty, CEILINGS[SECOND]),
        build_timed_row(times[SESSION_END], empty, CEILINGS[SESSION_END]),
        Row(DETACHED, (detached.fastest, detached.median), detached.median / DETACHED_SECONDS, "1.5 s", 1.0),
        build_timed_row(times[STATUS_LINE], bare, CEILINGS[STATUS_LINE]),
    ]


def _create_empty_launcher(setting: Setting) -> Path:
    folder = setting.create_home("empty")
    for script in REPO.glob("hooks/*.sh"):
        shutil.copy(script, folder)
    (folder / "hook.py").write_text("pass\n", encoding="utf-8")
    return folder / LAUNCHER.name
