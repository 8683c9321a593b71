"""Follow Claude Code sessions: record their start, mine them as they grow, end them, and clean up dead ones."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.capture.mine import UNATTENDED_KEY, TranscriptMiner, get_size, load_typed_signals
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.history import session_hash
from reflect_git.records.ids import local_day, plural
from reflect_git.store.local import corrections, session_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Optional

    from reflect_git.capture.transcript import Turn
    from reflect_git.records.schema import Signal
    from reflect_git.store.local.session_state import Cursor
    from reflect_git.store.repository import Store

    Env = Mapping[str, str]

# 100 MB take a second. Of more than this, the newest is mined while the client waits, and the rest while it summarises.
NEWEST_BYTES = 12 << 20
_LOCK_SECONDS = 0.2
_IDLE_SECONDS = 86400.0
_IDLE_SECONDS_WITHOUT_PID = 3600.0
_GIVE_UP_SECONDS = 30 * 86400.0
_IMPORTED = "imported"


def record_start(store: Store, transcript: str, folder: str, pid: str) -> None:
    """Record that this session is running, so that the next session can finish it if it dies."""
    lock = session_state.get_lock(store, transcript)
    if not lock.acquire(
        _LOCK_SECONDS
    ):  # the end of the run before is being mined, and its cursor is that one's to write
        return
    try:
        cursor = session_state.load_cursor(store, transcript)
        cursor.folder = folder
        cursor.pid = int(pid) if pid.isascii() and pid.isdigit() else 0
        cursor.begun = int(time.time())
        session_state.save_cursor(store, cursor)
    finally:
        lock.release()


def mine_session(
    store: Store, env: Env, transcript: str, hook: str, folder: str = "", seconds: float = 0.0, wait: float = 0.0
) -> bool:  # fmt: skip
    """Mine what is new in a transcript; return False if more is left or another process mines it beyond `wait`."""
    cursor = session_state.load_cursor(store, transcript)
    cursor.folder = cursor.folder or folder
    size = get_size(transcript)
    if size == cursor.consumed:
        return True
    work = TranscriptMiner(store, env, cursor, hook, seconds)
    if seconds and size - cursor.consumed > NEWEST_BYTES:
        work.mine_newest(size - NEWEST_BYTES, wait)
        return False
    return work.mine_new(wait=wait)


def mine_running_sessions(store: Store, env: Env, seconds: float = 0.0, wait: float = 0.0) -> bool:
    """Mine what is new in running sessions, newest first; return False if some of it is left.

    The last hook of a session that just ended may still be mining it; that is waited for.
    """
    start, finished = time.monotonic(), True
    for cursor in sorted(session_state.list_cursors(store), key=lambda one: -_get_mtime(one.transcript)):
        spent = time.monotonic() - start
        if seconds and spent >= seconds:
            return False
        left, patience = max(0.0, seconds - spent), max(0.0, wait - spent)
        try:
            done = mine_session(store, env, cursor.transcript, "command", seconds=left, wait=patience)
            finished = done and finished
        except (ReflectError, OSError) as error:
            store.log(f"transcript: {error}")
    return finished


def end_session(store: Store, env: Env, transcript: str, hook: str, folder: str = "", wait: float = 30.0) -> None:
    """End a session: mine the rest, and store its figures and summary."""
    cursor = session_state.load_cursor(store, transcript)
    cursor.folder = cursor.folder or folder
    _finish_session(store, env, cursor, hook, wait)


def _finish_session(store: Store, env: Env, cursor: Cursor, hook: str, wait: float) -> None:
    if os.path.lexists(cursor.transcript):
        TranscriptMiner(store, env, cursor, hook).finish_session(wait)
    else:  # the client was told to keep none, or somebody removed it
        session_state.delete_cursor(store, cursor)


def mine_past_transcript(
    store: Store, env: Env, transcript: str, now: float, recorded: Collection[str] = ()
) -> tuple[int, int]:  # fmt: skip
    """Mine a past transcript, or its new part; return how many signals were stored and how many were left out.

    The figures of a session that is over are stored as well, unless it is `recorded`: those are hashes of sessions.
    Summaries are only for sessions that hooks have seen from the start.
    """
    cursor = session_state.load_cursor(store, transcript)
    is_over = not is_running(cursor, now)
    work = TranscriptMiner(store, env, cursor, "import")
    if get_size(transcript) != cursor.consumed:
        work.mine_new(ended=is_over)
    elif is_over and session_hash(os.path.splitext(os.path.basename(transcript))[0]) not in recorded:
        work.record_past_figures()
    return work.stored_count, work.skipped_count


def count_past_signals(store: Optional[Store], env: Env, transcript: str) -> tuple[int, int]:
    """Return the counts that `bootstrap` would return, without needing a store."""
    from reflect_git.capture.detection import FAILURE_FAMILIES, InMemoryRequestCounter, find_signals, ignore_error
    from reflect_git.capture.transcript import TranscriptReader

    cursor = session_state.load_cursor(store, transcript) if store else session_state.Cursor(transcript)
    if get_size(transcript) == cursor.consumed:
        return 0, 0
    everything = store is not None and store.get_setting(UNATTENDED_KEY) == "all"
    reader = TranscriptReader(
        transcript, cursor.offset, projects=paths.projects_dir(env), ended=True, index=cursor.index
    )
    seen: list[Turn] = []

    def watched() -> Iterator[Turn]:
        for turn in reader:
            seen[:] = [turn]
            yield turn

    found = left_out = 0
    for facts in find_signals(watched(), InMemoryRequestCounter(), on_error=ignore_error):
        if reader.line_offset >= cursor.consumed:
            wanted = seen[0].is_attended or everything or facts["family"] in FAILURE_FAMILIES
            found, left_out = found + wanted, left_out + (not wanted)
    return found, left_out


def list_transcripts(place: str, since: float = 0.0) -> list[str]:
    """Return the transcripts of sessions that changed since then, oldest first. `place` is a file or a folder.

    Transcripts of subagents are in deeper folders and do not count.
    """
    import glob  # few hooks list transcripts
    import stat

    folder = glob.escape(place)
    patterns = (os.path.join(folder, "*.jsonl"), os.path.join(folder, "*", "*.jsonl"))
    listed = [place] if os.path.isfile(place) else [path for one in patterns for path in glob.iglob(one)]
    dated = []
    for path in listed:
        try:
            found = os.stat(path, follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode) and found.st_mtime >= since:
            dated.append((found.st_mtime, path))
    return [path for _, path in sorted(dated)]


def count_unread_sessions(store: Optional[Store], env: Env, since: float) -> int:
    """Count the transcripts that changed since then and were never read; 0 after an import.

    Only names and times of files are looked at, so that `status` can afford it.
    """
    if store is not None and os.path.lexists(store.private_path(_IMPORTED)):
        return 0
    listed = list_transcripts(os.path.abspath(paths.projects_dir(env)), since)
    return sum(store is None or not session_state.has_cursor(store, path) for path in listed)


def record_import(store: Store) -> None:
    """Record that past sessions were imported, so that `status` does not offer it any more."""
    files.create_exclusive(store.private_path(_IMPORTED))


def skip_session(store: Store, transcript: str) -> None:
    """Skip a transcript whose session ran with capture off, even if the session continues later."""
    cursor = session_state.load_cursor(store, transcript)
    if get_size(transcript):
        cursor.offset = cursor.consumed = get_size(transcript)
        session_state.save_cursor(store, cursor, ended=True)


def end_dead_sessions(store: Store, env: Env, now: float) -> int:
    """End the sessions whose client died without notice; return how many."""
    dead = [cursor for cursor in session_state.list_cursors(store, ended=True) if not is_running(cursor, now)]
    for cursor in dead:
        try:
            _finish_session(store, env, cursor, "SessionStart", 0.0)
        except Exception as error:  # a full disk passes, and one bad transcript must not stop the others
            store.log(f"transcript: {type(error).__name__}: {error}")
            if now - max(_get_mtime(cursor.transcript), cursor.begun) > _GIVE_UP_SECONDS:
                session_state.delete_cursor(store, cursor)
    return len(dead)


def is_running(cursor: Cursor, now: float) -> bool:
    """Return whether a session's process exists and wrote within the last day; process ids get reused."""
    idle = now - max(_get_mtime(cursor.transcript), cursor.begun)
    if not cursor.pid:
        return idle < _IDLE_SECONDS_WITHOUT_PID
    try:
        os.kill(cursor.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return idle < _IDLE_SECONDS


def run_background_work(store: Store, env: Env, folder: str = "") -> None:
    """Do background work: commit pending captures, end dead sessions, count the questions of a project."""
    from reflect_git.store import maintenance, recover
    from reflect_git.store.local import asked_questions
    from reflect_git.store.reading import waiting_counts

    now = time.time()
    recover.recover_store(store)
    end_dead_sessions(store, env, now)
    maintenance.combine_packs(store)
    session_state.delete_old_cursors(store, now)
    asked_questions.delete_old_answers(store, now)
    asked_questions.delete_old_questions(store, now)
    waiting_counts.delete_old_counts(store, now)
    if folder:
        update_waiting_count(store, env, folder, now)


def update_waiting_count(store: Store, env: Env, folder: str, now: float, how: str = "") -> None:
    """Count what is waiting in a project by a cheap estimate: a review would load too much."""
    from reflect_git.store.reading import waiting_counts

    top = paths.find_top(folder) or folder
    waiting_counts.count_without_review(
        store, top, _get_project_keys(store, env, top), now, how or waiting_counts.GUESSED
    )


def _get_project_keys(store: Store, env: Env, top: str) -> list[str]:
    """Return all keys of the project here, as signals have them; empty outside a project."""
    from reflect_git.capture.new_signal import redact_project
    from reflect_git.store.local.projects import list_other_keys

    found = service.get_project(store, top)
    if found is None:
        return []
    keys = (found["key"], f"path:{os.path.realpath(top)}", *list_other_keys(store, top))
    named = [redact_project({"key": key, "name": ""}, paths.home_dir(env)) for key in keys]
    return [one["key"] for one in named if one]


def sync_after_session(store: Store, env: Env) -> None:
    """Sync in the background after a session, if `reflect.sync.auto` is on."""
    if store.is_enabled("reflect.sync.auto", False):
        from reflect_git.sync import exchange

        exchange.sync_after_session(store, env, time.time())


WELCOME = (
    "reflect-git notes when you correct Claude; nothing becomes a rule until you approve it. See 'reflect-git status'"
)
_WELCOMED = "welcomed"


def build_welcome(store: Store, attended: bool) -> str:
    """Return what the first session says about us, once; empty for people who have had sessions with us before.

    A print run says it too. That does not count for the screen, since nobody may have read it.
    """
    marks = [store.private_path(f"{_WELCOMED}-{where}") for where in ("screen", "print")]
    if not any(map(os.path.lexists, marks)) and session_state.has_sessions(store):
        for mark in marks:
            files.create_exclusive(mark)
    return WELCOME if files.create_exclusive(marks[not attended]) else ""


def build_reminder(store: Store, now: float, way: str, folder: str) -> str:
    """Return one sentence for the person, with the command to review, or an empty text.

    At most once a day, and only if they said something since the last time that a review here would ask about.
    """
    from reflect_git.store.reading import waiting_counts

    top = paths.find_top(folder) or folder
    strong = min(waiting_counts.get_own_words_count(store, top), corrections.count_new(store, top)) if folder else 0
    today = local_day(now).encode()
    path = store.private_path("reminded")
    if not strong or not store.is_enabled("reflect.remind", True) or files.read_if_exists(path) == today:
        return ""
    if not files.create_exclusive(store.private_path("cache", f".tmp-reminded-{today.decode()}")):
        return ""
    files.write_atomic(path, today, sync=False)
    corrections.forget_new(store, top)
    return f"reflect-git: {plural(strong, 'correction')} noted; {way}"


def load_session_signals(store: Store, transcript: str) -> list[Signal]:
    return load_typed_signals(store, session_state.load_cursor(store, transcript))


def _get_mtime(path: str) -> float:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime
    except (OSError, ValueError):
        return 0.0
