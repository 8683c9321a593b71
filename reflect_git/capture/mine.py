"""Mine transcripts: run the detectors over the turns and store the signals they find."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.capture.service import get_project, is_ignored, try_load_phrases
from reflect_git.platform import files
from reflect_git.records import yaml_form
from reflect_git.records.history import session_hash
from reflect_git.records.ids import get_signal_id, utc_precise
from reflect_git.store import append, policy, repository
from reflect_git.store.local import corrections, firings, session_state
from reflect_git.store.local.session_state import RequestCounter
from reflect_git.store.purge import purge_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Optional

    from reflect_git.capture.new_signal import Facts
    from reflect_git.capture.session_figures import SessionStats
    from reflect_git.capture.transcript import TranscriptReader, Turn
    from reflect_git.records.schema import Signal
    from reflect_git.store.local.session_state import Cursor
    from reflect_git.store.repository import Store
    from reflect_git.store.target_versions import LoadedTarget, TargetVersions

    Env = Mapping[str, str]

UNATTENDED_KEY = "reflect.capture.unattended"
_SUMMARY_BYTES = 4 << 20
NEWEST_BYTES = 12 << 20  # what the judge reads of a long session
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
    found: list[Any] = []
    for record_id in cursor.said:
        if repository.is_id(record_id):
            data = files.read_if_exists(store.path(repository.get_record_path(record_id))) or files.read_if_exists(
                store.private_path("pending", f"{record_id}.yaml")
            )
            if data:
                found.append(yaml_form.parse(data))
    return found


def read_captured_turns(store: Store, env: Env, transcript: str, size: int = NEWEST_BYTES) -> Iterator[Turn]:
    """Yield the turns of the newest part of a transcript that happened while and where capture was on."""
    start = max(0, get_size(transcript) - size)
    yield from TranscriptMiner(store, env, session_state.load_cursor(store, transcript), "").read_captured(start)


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
        self._targets: dict[str, TargetVersions] = {}
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
        """Mine everything new; return whether the end was reached. If the session has `ended`, store its figures.

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
            if ended:
                self._store_end(figures, with_summary=False)
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
                self._store_end(figures)
            self._cursor.figures = {}
            session_state.save_cursor(self._store, self._cursor, ended=True)
        finally:
            lock.release()

    def read_captured(self, start: int) -> Iterator[Turn]:
        """Yield the turns from an offset on that happened while and where capture was on."""
        for turn in self._open_reader(start, 0, ended=True):
            if not self._is_capture_off(turn):
                yield turn

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

    def record_past_figures(self) -> None:
        """Store the figures of a past session that was mined without them; its signals are stored already."""
        lock = session_state.get_lock(self._store, self._cursor.transcript)
        if not lock.acquire(0.0):
            return
        try:
            figures = self._build_figures({})
            reader = self._open_reader(0, 0, ended=True, answers=True)
            kept, self._cursor.consumed = self._cursor.consumed, 0
            for signal in self._find_signals(reader, figures):
                figures.corrections += signal["type"] == "correction"
            self._cursor.consumed = kept
            self._store_end(figures, with_summary=False)
        finally:
            lock.release()

    def _open_reader(self, offset: int, index: int, ended: bool = False, answers: bool = False) -> TranscriptReader:
        from reflect_git.capture.transcript import TranscriptReader

        return TranscriptReader(
            self._cursor.transcript, offset, projects=paths.projects_dir(self._env), deadline=self._deadline,
            ended=ended, index=index, answers=answers,
        )  # fmt: skip

    def _mine_turns(self, ended: bool) -> tuple[SessionStats, bool]:
        figures = self._build_figures(self._cursor.figures)
        reader = self._open_reader(self._cursor.offset, self._cursor.index, ended, answers=True)
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

    def _build_figures(self, kept: Mapping[str, Any]) -> SessionStats:
        """Return the counters of the session; a store without learnings, as most are, is not read for them."""
        from reflect_git.capture.session_figures import SessionStats

        rows = firings.parse_rows(self._read_firings())
        fired = firings.list_call_ids(rows)
        if not any(name.startswith("LRN-") for name in files.list_names(self._store.path("learnings"))):
            return SessionStats(kept, fired=fired)
        from reflect_git.capture.rule_hits import RuleHits
        from reflect_git.guards.stored import load_table
        from reflect_git.store.reading import reader

        history = reader.scan(self._store).history
        rules = history.get_rules_in_force()
        guards, _ = load_table(self._store.git_dir)
        hits = RuleHits(rules, {guard.learning: guard.matcher for guard in guards})
        return SessionStats(
            kept, rules, find_loaded=self._find_loaded, find_hits=hits.find if hits else None,
            skills=history.list_skills(), fired=fired,
        )  # fmt: skip

    def _read_firings(self) -> bytes:
        """Return what guards logged since the last part of this session ended."""
        name = os.path.basename(self._cursor.transcript)
        data = firings.read_log(self._store, name)
        return data[self._cursor.fired :] if self._cursor.fired <= len(data) else data

    def _find_loaded(self, path: str, content: str, moment: str) -> Optional[LoadedTarget]:
        """Return the target and version of a loaded file."""
        folder = self._cursor.folder or (self._turn.cwd if self._turn else "")
        if folder not in self._targets:
            self._targets[folder] = self._load_targets(folder)
        return self._targets[folder].find(path, content, moment)

    def _load_targets(self, folder: str) -> TargetVersions:
        from reflect_git.capture.new_signal import redact_project as safe_project
        from reflect_git.store.local.projects import list_other_keys
        from reflect_git.store.target_versions import GLOBAL_FOLDER, TargetVersions, get_folder_suffix

        roots = {GLOBAL_FOLDER: os.path.abspath(paths.config_dir(self._env))}
        top = (paths.find_top(folder) or folder) if folder else ""
        project = get_project(self._store, folder) if folder else None
        if project:
            for key in (project["key"], f"path:{os.path.realpath(top)}", *list_other_keys(self._store, top)):
                safe = safe_project({"key": key, "name": ""}, self._home)
                roots[get_folder_suffix(safe["key"] if safe else key)] = top
        return TargetVersions(self._store, roots)

    def _find_signals(
        self, reader: TranscriptReader, figures: Optional[SessionStats], numbered: bool = True
    ) -> Iterator[Signal]:
        """Yield the signals in turns that no earlier pass has seen, ready to be stored."""
        from reflect_git.capture import detection
        from reflect_git.capture.new_signal import build_signal

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

        if turn.kind != "user" or facts["family"] == FAMILY:
            return False
        return any(append.is_known(self._store, one) for one in list_ids(turn))

    def _find_stored_id(self, facts: Facts) -> str:
        """Return the other id under which a message is stored, or was until it was purged; usually empty."""
        from reflect_git.capture.notice import list_other_ids

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
        stored = set(append.append_new(self._store, found, _LOCK_SECONDS))
        self.stored_count += len(stored)
        if self._hook != "import" and self._cursor.folder:
            top = paths.find_top(self._cursor.folder) or self._cursor.folder
            corrections.add_corrections(self._store, top, [signal for signal in found if signal["id"] in stored])
        typed = {signal["id"]: None for signal in found if signal["trust"] in ("user_typed", "user_feedback")}
        return [identity for identity in typed if identity not in self._cursor.said]

    def _store_end(self, figures: SessionStats, with_summary: bool = True) -> None:
        """Store the figures of the session, and its summary if hooks saw it from the start."""
        from reflect_git.capture import summary
        from reflect_git.capture.new_signal import build_signal, is_utc_time
        from reflect_git.capture.new_signal import redact_project as safe_project
        from reflect_git.redact import redact

        decisions = [redact(signal["content"]) for signal in load_typed_signals(self._store, self._cursor)]
        start = max(0, get_size(self._cursor.transcript) - _SUMMARY_BYTES)
        turns = list(self.read_captured(start))
        last = next((turn for turn in reversed(turns) if turn.entry), None)
        if last is None or not figures.turns or self._is_ignored(last.cwd):
            return
        project = get_project(self._store, self._cursor.folder or last.cwd)
        safe = safe_project(project, self._home)
        now = utc_precise()
        found: list[Any] = []
        is_wanted = with_summary and (figures.attended or self._everything)
        facts = summary.build_facts(turns, decisions) if is_wanted else None
        if facts:
            facts["source"] = {**facts["source"], "hook": self._hook, "turn": self._cursor.counted - 1}
            facts["project"] = project
            found.append(build_signal(facts, self._store.machine, now, self._home))
        when = last.timestamp if is_utc_time(f"{last.timestamp[:19]}Z") else now
        record_id = get_signal_id(when, last.entry, "exposure", prefix="EXP")
        figures.inherit_loaded(self._cursor.former)
        data = self._read_firings()
        fired = firings.parse_rows(data)
        found.append(figures.build_exposure(record_id, session_hash(last.session), safe, fired))
        self._cursor.fired += len(data)
        self._cursor.former = figures.get_loaded()
        append.append_new(self._store, found, _LOCK_SECONDS)
        session_state.mark_waiting(self._store)

    def _is_ignored(self, cwd: str) -> bool:
        if cwd not in self._ignored_folders:
            self._ignored_folders[cwd] = is_ignored(self._store, self._cursor.folder) or is_ignored(self._store, cwd)
        return self._ignored_folders[cwd]
