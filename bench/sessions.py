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
from bench.table import Row, Table, timed
from bench.timing import BenchError, Command, Subject, Times, fixed, measure

ROUNDS = 40
MINING_ROUNDS = 8
LONG, SHORT = 100 << 20, 10 << 20
STATUSLINE = REPO / "hooks" / "statusline.py"
READ = "floor: read and parse what matters"
FIRST, SECOND = "PreCompact, nothing mined yet", "PreCompact, nothing new"
EMPTY, BARE = "empty hook", "interpreter alone"
LEAVES, DETACHED = "SessionEnd until the client may leave", "SessionEnd, its detached part, 10 MB"
LINE = "status line"
CEILINGS = {FIRST: 1.5, SECOND: 2.0, LEAVES: 1.2, LINE: 1.5}
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


class Home:
    """A home folder with a store and one transcript."""

    def __init__(self, setting: Setting, name: str, size: int) -> None:
        self.setting = setting
        self.folder = setting.home(name)
        self.store = generate.copy_store(100, self.folder)
        self.transcript = self.folder / ".claude/projects/-home-dev-shop" / f"{conversation.SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.taught = conversation.write(self.transcript, size)
        self.env = generate.environment(
            self.folder, CLAUDE_PROJECT_DIR=str(setting.project), CLAUDECODE="1",
            CLAUDE_PLUGIN_DATA=str(self.folder / "data"),
        )  # fmt: skip

    def hook(self, event: str, launcher: Path | None = None, **more: str) -> Command:
        fields = {
            "hook_event_name": event, "session_id": conversation.SESSION, "transcript_path": str(self.transcript),
            "cwd": str(self.setting.project), **more,
        }  # fmt: skip
        direct = (self.setting.python, "-I", "-S", str(HOOK), event)
        argv = ("/bin/sh", str(launcher), event) if launcher else direct
        return Command(argv, self.env, json.dumps(fields).encode())

    def forget(self) -> None:
        """As if nothing had been mined."""
        self.rest()
        shutil.rmtree(self.store.root)
        self.store = generate.copy_store(100, self.folder)

    def rest(self) -> None:
        """Until what a hook left running in the background is done: it must not take part in the next round."""
        while any(_has_home(process, self.folder) for process in Path("/proc").glob("[0-9]*")):
            time.sleep(0.01)

    def require_mined(self) -> None:
        self.rest()
        found = generate.committed(self.store) - 100
        if found < self.taught // 2:
            raise BenchError(f"{self.taught} messages were to be learnt from, {found} signals were stored")


def _has_home(process: Path, home: Path) -> bool:
    try:
        return f"HOME={home}\0".encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def tables(setting: Setting) -> list[Table]:
    return [_mining(setting), _short(setting)]


def _mining(setting: Setting) -> Table:
    home = Home(setting, "long", setting.sizes(SHORT, LONG)[-1])
    compact = home.hook("PreCompact", trigger="manual")

    def first(_: int) -> list[Command]:
        home.forget()
        return [compact]

    read = Command((setting.python, "-I", "-S", "-c", _READER, str(home.transcript)), home.env)
    times = measure([fixed(READ, read), Subject(FIRST, first)], setting.rounds(MINING_ROUNDS), 1)
    home.require_mined()
    size = home.transcript.stat().st_size / (1 << 20)
    rows = [timed(times[READ]), timed(times[FIRST], times[READ], CEILINGS[FIRST])]
    rows.append(Row("its foreground, in units of 1.5 s", ratio=times[FIRST].median / 1.5, base="1.5 s", ceiling=1.0))
    return Table(f"Mining a transcript of {size:.0f} MB, fresh process", rows)


def _short(setting: Setting) -> Table:
    home, ending = Home(setting, "cursor", SHORT), Home(setting, "ending", SHORT)
    empty = _empty_launcher(setting)
    first = measure([fixed(FIRST, home.hook("PreCompact", trigger="manual"))], 1, 0)
    home.require_mined()

    def end(_: int) -> list[Command]:
        ending.forget()
        return [ending.hook("SessionEnd", reason="other")]

    def alone(_: int) -> list[Command]:
        """The first of a round waits for what the last one of the round before left running."""
        home.rest()
        return [setting.bare("pass")]

    subjects = [
        Subject(BARE, alone),
        fixed(EMPTY, home.hook("PreCompact", empty)),
        fixed(SECOND, home.hook("PreCompact", LAUNCHER, trigger="manual")),
        fixed(LINE, Command((setting.python, "-I", "-S", str(STATUSLINE)), home.env)),
        Subject(DETACHED, end, every=8),
        fixed(LEAVES, home.hook("SessionEnd", LAUNCHER, reason="other")),
    ]
    times = measure(subjects, setting.rounds(ROUNDS))
    ending.require_mined()
    return Table("Hooks of a session and the status line, fresh process", _rows(times, first[FIRST]))


def _rows(times: dict[str, Times], first: Times) -> list[Row]:
    empty, bare = times[EMPTY], times[BARE]
    detached = times[DETACHED]
    return [
        timed(bare),
        timed(empty),
        timed(first, name=f"{FIRST}, 10 MB"),
        timed(times[SECOND], empty, CEILINGS[SECOND]),
        timed(times[LEAVES], empty, CEILINGS[LEAVES]),
        Row(DETACHED, (detached.least, detached.median), detached.median / DETACHED_SECONDS, "1.5 s", 1.0),
        timed(times[LINE], bare, CEILINGS[LINE]),
    ]


def _empty_launcher(setting: Setting) -> Path:
    folder = setting.home("empty")
    for script in REPO.glob("hooks/*.sh"):
        shutil.copy(script, folder)
    (folder / "hook.py").write_text("pass\n", encoding="utf-8")
    return folder / LAUNCHER.name
