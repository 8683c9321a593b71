"""One pass over one transcript, into the store."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.adapters import files
from reflect_git.model.ids import moment_id, utc_precise
from reflect_git.store import cursors, layout, quiet
from reflect_git.workflow import is_ignored, learn_phrases, project_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Optional

    from reflect_git.adapters.transcript import Reader, Turn
    from reflect_git.capture.exposure import Figures
    from reflect_git.model.schema import Learning, Signal
    from reflect_git.store.cursors import Cursor
    from reflect_git.store.repository import Store

    Env = Mapping[str, str]

UNATTENDED = "reflect.capture.unattended"
_ENDING = 4 << 20
_WAIT = 2.0
_AT_ONCE = 200


def size_of(path: str) -> int:
    """0 where there is none."""
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except (OSError, ValueError):
        return 0


def said(store: Store, cursor: Cursor) -> list[Signal]:
    """What the user typed in this session and was captured so far."""
    from reflect_git.adapters import records

    found: list[Any] = []
    for identity in cursor.said:
        if layout.is_id(identity):
            data = files.read_if_there(store.path(layout.path_of(identity))) or files.read_if_there(
                store.private_path("pending", f"{identity}.yaml")
            )
            if data:
                found.append(records.parse(data))
    return found


class Work:
    """One pass over one transcript, into the store."""

    def __init__(self, store: Store, env: Env, cursor: Cursor, hook: str, seconds: float = 0.0) -> None:
        self._store = store
        self._env = env
        self._cursor = cursor
        self._hook = hook
        self._deadline = time.monotonic() + seconds if seconds else None
        self._everything = store.setting(UNATTENDED) == "all"
        self._quiet = quiet.spans_in(store.config.get(quiet.QUIET, []))
        self._home = paths.home_dir(env)
        self._turn: Optional[Turn] = None
        self._ignored: dict[str, bool] = {}
        self._marked: dict[str, set[str]] = {}
        self.found = self.left_out = 0

    def look_at(self, offset: int, wait: float) -> None:
        """The newest part alone; the cursor stays, so that the rest is not forgotten. `wait` as for `go_on`."""
        lock = cursors.lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return
        try:
            self._cursor = self._fresh()
            if self._is_done():
                return
            reader = self._reader(offset, index=0)
            found = list(self._signals(reader, None, numbered=False))  # rows of failures begin before: not here
            self._cursor.said += self._keep(found)
            cursors.save(self._store, self._cursor)
        finally:
            lock.release()

    def go_on(self, ended: bool = False, wait: float = 0.0) -> bool:
        """`wait`: for how long, if somebody else is at it; what they leave is then looked at."""
        lock = cursors.lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return False
        try:
            self._cursor = self._fresh()
            if self._is_done():
                return True
            figures, finished = self._mine(ended)
            self._cursor.figures = {} if ended else figures.kept()
            cursors.save(self._store, self._cursor, ended)
        finally:
            lock.release()
        return finished

    def finish(self, wait: float) -> None:
        lock = cursors.lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return
        try:
            self._cursor = self._fresh()
            before = self._cursor.consumed
            figures, _ = self._mine(ended=True)
            if self._cursor.consumed > before or self._cursor.figures:
                self._conclude(figures)
            self._cursor.figures = {}
            cursors.save(self._store, self._cursor, ended=True)
        finally:
            lock.release()

    def _is_done(self) -> bool:
        """Somebody else has read all of it meanwhile: a session that ended stays ended."""
        return size_of(self._cursor.transcript) == self._cursor.consumed

    def _fresh(self) -> Cursor:
        """As the last miner left it: one may have ended while we waited for the lock."""
        cursor = cursors.load(self._store, self._cursor.transcript)
        cursor.folder = cursor.folder or self._cursor.folder
        if size_of(cursor.transcript) < cursor.consumed:  # another file by now
            cursor.offset = cursor.index = cursor.consumed = cursor.counted = 0
            cursor.figures = {}
        return cursor

    def _reader(self, offset: int, index: int, ended: bool = False) -> Reader:
        from reflect_git.adapters.transcript import Reader

        return Reader(
            self._cursor.transcript, offset, projects=paths.projects_dir(self._env), deadline=self._deadline,
            ended=ended, index=index,
        )  # fmt: skip

    def _mine(self, ended: bool) -> tuple[Figures, bool]:
        from reflect_git.capture.exposure import Figures

        figures = Figures(self._cursor.figures, self._learnings())
        reader = self._reader(self._cursor.offset, self._cursor.index, ended)
        batch: list[Signal] = []
        for signal in self._signals(reader, figures):
            batch.append(signal)
            figures.corrections += signal["type"] == "correction"
            if len(batch) >= _AT_ONCE:
                self._cursor.said += self._keep(batch)
                batch = []
        self._cursor.said += self._keep(batch)
        self._cursor.offset, self._cursor.index = reader.cursor, reader.cursor_index
        self._cursor.consumed = reader.consumed
        if self._turn is not None:
            self._cursor.counted = max(self._cursor.counted, self._turn.index + 1)
        return figures, reader.finished

    def _learnings(self) -> list[Learning]:
        """The rules in force, if there are any: most stores are young."""
        if not any(name.startswith("LRN-") for name in files.names_in(self._store.path("learnings"))):
            return []
        from reflect_git.store import reading

        return reading.scan(self._store).history.in_force()

    def _signals(self, reader: Reader, figures: Optional[Figures], numbered: bool = True) -> Iterator[Signal]:
        """What the detectors find in turns that no earlier pass looked at, as it is stored."""
        from reflect_git.capture import mining
        from reflect_git.capture.draft import draft
        from reflect_git.store.requests import Requests

        learn_phrases(self._store)
        requests = Requests(self._store)
        for facts in mining.signals_in(self._watched(reader, figures), requests, stumble=self._stumbled):
            turn = self._turn
            is_new = reader.line >= self._cursor.consumed if numbered else facts["family"] == "message"
            if turn is None or not is_new or not self._is_wanted(turn, facts):
                continue
            facts["source"] = {**facts["source"], "hook": self._hook}
            if not numbered:
                facts["source"]["turn"] = None
            facts["project"] = project_of(self._store, self._cursor.folder or turn.cwd)
            yield draft(facts, self._store.machine, utc_precise(), self._home)
        requests.save()

    def _stumbled(self, turn: Turn, error: Exception) -> None:
        """The log is for `doctor`, and what was said is not for the log."""
        self._store.log(f"mine: {type(error).__name__} at turn {turn.index}, which is passed over")

    def _watched(self, reader: Reader, figures: Optional[Figures]) -> Iterator[Turn]:
        for turn in reader:
            self._turn = turn
            if self._is_silent(turn):
                continue
            if figures is not None and reader.line >= self._cursor.consumed:
                figures.see(turn)
            yield turn

    def _is_wanted(self, turn: Turn, facts: Mapping[str, Any]) -> bool:
        from reflect_git.capture.mining import FAILURES

        if not (turn.attended or self._everything or facts["family"] in FAILURES):
            self.left_out += 1
            return False
        return True

    def _is_silent(self, turn: Turn) -> bool:
        """Said or done while capture was off, or where it is: no detector, no figure and no summary sees it."""
        marks = self._marks(turn.cwd) if self._quiet else ()
        return quiet.covers(self._quiet, turn.timestamp, marks) or self._is_ignored(turn.cwd)

    def _marks(self, cwd: str) -> set[str]:
        if cwd not in self._marked:
            self._marked[cwd] = quiet.marks_of(cwd) | quiet.marks_of(self._cursor.folder)
        return self._marked[cwd]

    def _keep(self, found: list[Signal]) -> list[str]:
        """Store what is new; returns the ids of what the user typed."""
        from reflect_git.store import append

        self.found += len(append.append_new(self._store, found, _WAIT))
        typed = {signal["id"]: None for signal in found if signal["trust"] in ("user_typed", "user_feedback")}
        return [identity for identity in typed if identity not in self._cursor.said]

    def _conclude(self, figures: Figures) -> None:
        """The summary of the session and its figures."""
        from reflect_git.adapters.redact import redact
        from reflect_git.capture import summary
        from reflect_git.capture.draft import draft, is_utc
        from reflect_git.capture.draft import project as safe_project
        from reflect_git.store import append, exposures
        from reflect_git.store.fold import session_hash

        decisions = [redact(signal["content"]) for signal in said(self._store, self._cursor)]
        start = max(0, size_of(self._cursor.transcript) - _ENDING)
        turns = [turn for turn in self._reader(start, 0, ended=True) if not self._is_silent(turn)]
        last = next((turn for turn in reversed(turns) if turn.entry), None)
        if last is None or not figures.turns or self._is_ignored(last.cwd):
            return
        project = project_of(self._store, self._cursor.folder or last.cwd)
        safe = safe_project(project, self._home)
        now = utc_precise()
        found: list[Any] = []
        facts = summary.facts_of(turns, decisions) if figures.attended or self._everything else None
        if facts:
            facts["source"] = {**facts["source"], "hook": self._hook, "turn": self._cursor.counted - 1}
            facts["project"] = project
            found.append(draft(facts, self._store.machine, now, self._home))
        when = last.timestamp if is_utc(f"{last.timestamp[:19]}Z") else now
        identity = moment_id(when, last.entry, "exposure", prefix="EXP")
        found.append(figures.record(identity, session_hash(last.session), safe))
        append.append_new(self._store, found, _WAIT)
        exposures.announce(self._store)

    def _is_ignored(self, cwd: str) -> bool:
        if cwd not in self._ignored:
            self._ignored[cwd] = is_ignored(self._store, self._cursor.folder) or is_ignored(self._store, cwd)
        return self._ignored[cwd]
