"""Mine transcripts: run the detectors over the turns and store the signals they find."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.capture.service import get_project, is_ignored, try_load_phrases
from reflect_git.platform import files
from reflect_git.records.ids import get_signal_id, utc_precise
from reflect_git.store import policy, repository
from reflect_git.store.local import session_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Optional

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.summary import SessionStats
    from reflect_git.capture.transcript import TranscriptReader, Turn
    from reflect_git.records.schema import Learning, Signal
    from reflect_git.store.local.session_state import Cursor
    from reflect_git.store.repository import Store

    Env = Mapping[str, str]

UNATTENDED_KEY = "reflect.capture.unattended"
_SUMMARY_BYTES = 4 << 20
_LOCK_SECONDS = 2.0
_BATCH_SIZE = 200


def get_size(path: str) -> int:
    """Return the size of a file; 0 if it does not exist."""
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except (OSError, ValueError):
        return 0


def load_typed_signals(store: Store, cursor: Cursor) -> list[Signal]:
    """Return the signals captured so far from what the user typed in this session."""
    from reflect_git.records import yaml_form

    found: list[Any] = []
    for record_id in cursor.said:
        if repository.is_id(record_id):
            data = files.read_if_exists(store.path(repository.get_record_path(record_id))) or files.read_if_exists(
                store.private_path("pending", f"{record_id}.yaml")
            )
            if data:
                found.append(yaml_form.parse(data))
    return found


class TranscriptMiner:
    """One pass over one transcript, into the store."""

    def __init__(self, store: Store, env: Env, cursor: Cursor, hook: str, seconds: float = 0.0) -> None:
        self._store = store
        self._env = env
        self._cursor = cursor
        self._hook = hook
        self._deadline = time.monotonic() + seconds if seconds else None
        self._everything = store.get_setting(UNATTENDED_KEY) == "all"
        self._pauses = policy.parse_spans(store.config.get(policy.QUIET_KEY, []))
        self._home = paths.home_dir(env)
        self._turn: Optional[Turn] = None
        self._ignored_folders: dict[str, bool] = {}
        self._folder_marks: dict[str, set[str]] = {}
        self.stored_count = self.skipped_count = 0

    def mine_newest(self, offset: int, wait: float) -> None:
        """Mine only the newest part; the cursor stays, so that the rest is mined later. `wait` is as for `mine_new`."""
        lock = session_state.get_lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return
        try:
            self._cursor = self._reload_cursor()
            if self._is_up_to_date():
                return
            reader = self._open_reader(offset, index=0)
            found = list(self._find_signals(reader, None, numbered=False))  # rows of failures begin before: not here
            self._cursor.said += self._store_signals(found)
            session_state.save_cursor(self._store, self._cursor)
        finally:
            lock.release()

    def mine_new(self, ended: bool = False, wait: float = 0.0) -> bool:
        """Mine everything new; return whether the end was reached.

        `wait`: seconds to wait while another process mines this transcript, before mining what is left.
        """
        lock = session_state.get_lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return False
        try:
            self._cursor = self._reload_cursor()
            if self._is_up_to_date():
                return True
            figures, finished = self._mine_turns(ended)
            self._cursor.figures = {} if ended else figures.to_dict()
            session_state.save_cursor(self._store, self._cursor, ended)
        finally:
            lock.release()
        return finished

    def finish_session(self, wait: float) -> None:
        lock = session_state.get_lock(self._store, self._cursor.transcript)
        if not lock.acquire(wait):
            return
        try:
            self._cursor = self._reload_cursor()
            before = self._cursor.consumed
            figures, _ = self._mine_turns(ended=True)
            if self._cursor.consumed > before or self._cursor.figures:
                self._store_summary(figures)
            self._cursor.figures = {}
            session_state.save_cursor(self._store, self._cursor, ended=True)
        finally:
            lock.release()

    def _is_up_to_date(self) -> bool:
        """Return whether another process has read everything meanwhile; an ended session stays ended."""
        return get_size(self._cursor.transcript) == self._cursor.consumed

    def _reload_cursor(self) -> Cursor:
        """Reload the cursor: another process may have finished while we waited for the lock."""
        cursor = session_state.load_cursor(self._store, self._cursor.transcript)
        cursor.folder = cursor.folder or self._cursor.folder
        if get_size(cursor.transcript) < cursor.consumed:  # another file by now
            cursor.offset = cursor.index = cursor.consumed = cursor.counted = 0
            cursor.figures = {}
        return cursor

    def _open_reader(self, offset: int, index: int, ended: bool = False) -> TranscriptReader:
        from reflect_git.capture.transcript import TranscriptReader

        return TranscriptReader(
            self._cursor.transcript, offset, projects=paths.projects_dir(self._env), deadline=self._deadline,
            ended=ended, index=index,
        )  # fmt: skip

    def _mine_turns(self, ended: bool) -> tuple[SessionStats, bool]:
        from reflect_git.capture.summary import SessionStats

        figures = SessionStats(self._cursor.figures, self._load_learnings())
        reader = self._open_reader(self._cursor.offset, self._cursor.index, ended)
        batch: list[Signal] = []
        for signal in self._find_signals(reader, figures):
            batch.append(signal)
            figures.corrections += signal["type"] == "correction"
            if len(batch) >= _BATCH_SIZE:
                self._cursor.said += self._store_signals(batch)
                batch = []
        self._cursor.said += self._store_signals(batch)
        self._cursor.offset, self._cursor.index = reader.cursor, reader.cursor_index
        self._cursor.consumed = reader.consumed
        if self._turn is not None:
            self._cursor.counted = max(self._cursor.counted, self._turn.index + 1)
        return figures, reader.finished

    def _load_learnings(self) -> list[Learning]:
        """Return the rules in force; skip loading the store if it has no learnings, as most do."""
        if not any(name.startswith("LRN-") for name in files.list_names(self._store.path("learnings"))):
            return []
        from reflect_git.store.reading import reader

        return reader.scan(self._store).history.get_rules_in_force()

    def _find_signals(
        self, reader: TranscriptReader, figures: Optional[SessionStats], numbered: bool = True
    ) -> Iterator[Signal]:
        """Yield the signals in turns that no earlier pass has seen, ready to be stored."""
        from reflect_git.capture import detection
        from reflect_git.capture.new_signal import build_signal
        from reflect_git.store.local.session_state import RequestCounter

        try_load_phrases(self._store)
        requests = RequestCounter(self._store)
        for facts in detection.find_signals(
            self._read_turns(reader, figures), requests, on_error=self._log_detector_error
        ):
            turn = self._turn
            is_new = reader.line_offset >= self._cursor.consumed if numbered else facts["family"] == "message"
            if turn is None or not is_new or not self._is_wanted(turn, facts) or self._is_noticed(turn, facts):
                continue
            facts["source"] = {**facts["source"], "hook": self._hook}
            if not numbered:
                facts["source"]["turn"] = None
            facts["project"] = get_project(self._store, self._cursor.folder or turn.cwd)
            signal = build_signal(facts, self._store.machine, utc_precise(), self._home)
            signal["id"] = self._find_stored_id(facts) or signal["id"]
            yield signal
        requests.save()

    def _is_noticed(self, turn: Turn, facts: Facts) -> bool:
        """Return whether the message was stored when it was sent, and another detector wants it now."""
        from reflect_git.capture.notice import FAMILY, list_ids
        from reflect_git.store import append

        if turn.kind != "user" or facts["family"] == FAMILY:
            return False
        return any(append.is_known(self._store, one) for one in list_ids(turn))

    def _find_stored_id(self, facts: Facts) -> str:
        """Return the other id under which a message is stored, or was until it was purged; usually empty."""
        from reflect_git.capture.notice import list_other_ids
        from reflect_git.store import append
        from reflect_git.store.purge import purge_marks

        others = list_other_ids(facts)
        known = [one for one in others if append.is_known(self._store, one)]
        return next(iter(known or purge_marks.find_purged(self._store, others)), "")

    def _log_detector_error(self, turn: Turn, error: Exception) -> None:
        """Log a detector's failure for `doctor`, without any of the user's words."""
        self._store.log(f"mine: {type(error).__name__} at turn {turn.index}, which is passed over")

    def _read_turns(self, reader: TranscriptReader, figures: Optional[SessionStats]) -> Iterator[Turn]:
        for turn in reader:
            self._turn = turn
            if self._is_capture_off(turn):
                continue
            if figures is not None and reader.line_offset >= self._cursor.consumed:
                figures.add_turn(turn)
            yield turn

    def _is_wanted(self, turn: Turn, facts: Mapping[str, Any]) -> bool:
        from reflect_git.capture.detection import FAILURE_FAMILIES

        if not (turn.is_attended or self._everything or facts["family"] in FAILURE_FAMILIES):
            self.skipped_count += 1
            return False
        return True

    def _is_capture_off(self, turn: Turn) -> bool:
        """Return whether a turn happened while or where capture was off; detectors, figures and summary skip it."""
        marks = self._get_marks(turn.cwd) if self._pauses else ()
        return policy.is_paused_at(self._pauses, turn.timestamp, marks) or self._is_ignored(turn.cwd)

    def _get_marks(self, cwd: str) -> set[str]:
        if cwd not in self._folder_marks:
            self._folder_marks[cwd] = policy.hash_folders(cwd) | policy.hash_folders(self._cursor.folder)
        return self._folder_marks[cwd]

    def _store_signals(self, found: list[Signal]) -> list[str]:
        """Store new signals; return the ids of those that the user typed."""
        from reflect_git.store import append

        self.stored_count += len(append.append_new(self._store, found, _LOCK_SECONDS))
        typed = {signal["id"]: None for signal in found if signal["trust"] in ("user_typed", "user_feedback")}
        return [identity for identity in typed if identity not in self._cursor.said]

    def _store_summary(self, figures: SessionStats) -> None:
        """Store the summary and the figures of the session."""
        from reflect_git.capture import summary
        from reflect_git.capture.new_signal import build_signal, is_utc_time
        from reflect_git.capture.new_signal import redact_project as safe_project
        from reflect_git.records.history import session_hash
        from reflect_git.redact import redact
        from reflect_git.store import append
        from reflect_git.store.local import session_state

        decisions = [redact(signal["content"]) for signal in load_typed_signals(self._store, self._cursor)]
        start = max(0, get_size(self._cursor.transcript) - _SUMMARY_BYTES)
        turns = [turn for turn in self._open_reader(start, 0, ended=True) if not self._is_capture_off(turn)]
        last = next((turn for turn in reversed(turns) if turn.entry), None)
        if last is None or not figures.turns or self._is_ignored(last.cwd):
            return
        project = get_project(self._store, self._cursor.folder or last.cwd)
        safe = safe_project(project, self._home)
        now = utc_precise()
        found: list[Any] = []
        facts = summary.build_facts(turns, decisions) if figures.attended or self._everything else None
        if facts:
            facts["source"] = {**facts["source"], "hook": self._hook, "turn": self._cursor.counted - 1}
            facts["project"] = project
            found.append(build_signal(facts, self._store.machine, now, self._home))
        when = last.timestamp if is_utc_time(f"{last.timestamp[:19]}Z") else now
        record_id = get_signal_id(when, last.entry, "exposure", prefix="EXP")
        found.append(figures.build_exposure(record_id, session_hash(last.session), safe))
        append.append_new(self._store, found, _LOCK_SECONDS)
        session_state.mark_waiting(self._store)

    def _is_ignored(self, cwd: str) -> bool:
        if cwd not in self._ignored_folders:
            self._ignored_folders[cwd] = is_ignored(self._store, self._cursor.folder) or is_ignored(self._store, cwd)
        return self._ignored_folders[cwd]
