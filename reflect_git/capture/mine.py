"""Mine transcripts: run the detectors over the turns and store the signals they find."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.capture.service import is_ignored, learn_phrases, project_of
from reflect_git.platform import files
from reflect_git.records.ids import moment_id, utc_precise
from reflect_git.store import policy, repository, session_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Optional

    from reflect_git.capture.summary import Figures
    from reflect_git.capture.transcript import Reader, Turn
    from reflect_git.records.schema import Learning, Signal
    from reflect_git.store.repository import Store
    from reflect_git.store.session_state import Cursor

    Env = Mapping[str, str]

UNATTENDED = "reflect.capture.unattended"
_ENDING = 4 << 20
_WAIT = 2.0
_AT_ONCE = 200


def size_of(path: str) -> int:
    """Return the size of a file; 0 if it does not exist."""
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except (OSError, ValueError):
        return 0


def said(store: Store, cursor: Cursor) -> list[Signal]:
    """Return the signals captured so far from what the user typed in this session."""
    from reflect_git.records import yaml_form

    found: list[Any] = []
    for identity in cursor.said:
        if repository.is_id(identity):
            data = files.read_if_there(store.path(repository.path_of(identity))) or files.read_if_there(
                store.private_path("pending", f"{identity}.yaml")
            )
            if data:
                found.append(yaml_form.parse(data))
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
        self._quiet = policy.spans_in(store.config.get(policy.QUIET, []))
        self._home = paths.home_dir(env)
        self._turn: Optional[Turn] = None
        self._ignored: dict[str, bool] = {}
        self._marked: dict[str, set[str]] = {}
        self.found = self.left_out = 0

    def look_at(self, offset: int, wait: float) -> None:
        """Mine only the newest part; the cursor stays, so that the rest is mined later. `wait` is as for `go_on`."""
        lock = session_state.lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return
        try:
            self._cursor = self._fresh()
            if self._is_done():
                return
            reader = self._reader(offset, index=0)
            found = list(self._signals(reader, None, numbered=False))  # rows of failures begin before: not here
            self._cursor.said += self._keep(found)
            session_state.save(self._store, self._cursor)
        finally:
            lock.release()

    def go_on(self, ended: bool = False, wait: float = 0.0) -> bool:
        """Mine everything new; return whether the end was reached.

        `wait`: seconds to wait while another process mines this transcript, before mining what is left.
        """
        lock = session_state.lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return False
        try:
            self._cursor = self._fresh()
            if self._is_done():
                return True
            figures, finished = self._mine(ended)
            self._cursor.figures = {} if ended else figures.kept()
            session_state.save(self._store, self._cursor, ended)
        finally:
            lock.release()
        return finished

    def finish(self, wait: float) -> None:
        lock = session_state.lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return
        try:
            self._cursor = self._fresh()
            before = self._cursor.consumed
            figures, _ = self._mine(ended=True)
            if self._cursor.consumed > before or self._cursor.figures:
                self._conclude(figures)
            self._cursor.figures = {}
            session_state.save(self._store, self._cursor, ended=True)
        finally:
            lock.release()

    def _is_done(self) -> bool:
        """Return whether another process has read everything meanwhile; an ended session stays ended."""
        return size_of(self._cursor.transcript) == self._cursor.consumed

    def _fresh(self) -> Cursor:
        """Reload the cursor: another process may have finished while we waited for the lock."""
        cursor = session_state.load(self._store, self._cursor.transcript)
        cursor.folder = cursor.folder or self._cursor.folder
        if size_of(cursor.transcript) < cursor.consumed:  # another file by now
            cursor.offset = cursor.index = cursor.consumed = cursor.counted = 0
            cursor.figures = {}
        return cursor

    def _reader(self, offset: int, index: int, ended: bool = False) -> Reader:
        from reflect_git.capture.transcript import Reader

        return Reader(
            self._cursor.transcript, offset, projects=paths.projects_dir(self._env), deadline=self._deadline,
            ended=ended, index=index,
        )  # fmt: skip

    def _mine(self, ended: bool) -> tuple[Figures, bool]:
        from reflect_git.capture.summary import Figures

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
        """Return the rules in force; skip loading the store if it has no learnings, as most do."""
        if not any(name.startswith("LRN-") for name in files.names_in(self._store.path("learnings"))):
            return []
        from reflect_git.store.reading import reader

        return reader.scan(self._store).history.in_force()

    def _signals(self, reader: Reader, figures: Optional[Figures], numbered: bool = True) -> Iterator[Signal]:
        """Yield the signals in turns that no earlier pass has seen, ready to be stored."""
        from reflect_git.capture import mining
        from reflect_git.capture.new_signal import draft
        from reflect_git.store.session_state import Requests

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
        """Log a detector's failure for `doctor`, without any of the user's words."""
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
        """Return whether a turn happened while or where capture was off; detectors, figures and summary skip it."""
        marks = self._marks(turn.cwd) if self._quiet else ()
        return policy.covers(self._quiet, turn.timestamp, marks) or self._is_ignored(turn.cwd)

    def _marks(self, cwd: str) -> set[str]:
        if cwd not in self._marked:
            self._marked[cwd] = policy.marks_of(cwd) | policy.marks_of(self._cursor.folder)
        return self._marked[cwd]

    def _keep(self, found: list[Signal]) -> list[str]:
        """Store new signals; return the ids of those that the user typed."""
        from reflect_git.store import append

        self.found += len(append.append_new(self._store, found, _WAIT))
        typed = {signal["id"]: None for signal in found if signal["trust"] in ("user_typed", "user_feedback")}
        return [identity for identity in typed if identity not in self._cursor.said]

    def _conclude(self, figures: Figures) -> None:
        """Store the summary and the figures of the session."""
        from reflect_git.capture import summary
        from reflect_git.capture.new_signal import draft, is_utc
        from reflect_git.capture.new_signal import project as safe_project
        from reflect_git.records.history import session_hash
        from reflect_git.redact import redact
        from reflect_git.store import append, session_state

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
        session_state.announce(self._store)

    def _is_ignored(self, cwd: str) -> bool:
        if cwd not in self._ignored:
            self._ignored[cwd] = is_ignored(self._store, self._cursor.folder) or is_ignored(self._store, cwd)
        return self._ignored[cwd]
