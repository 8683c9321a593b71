"""Follow Claude Code sessions: record their start, mine them as they grow, end them, and clean up dead ones."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.capture.mine import UNATTENDED, Work, said, size_of
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.ids import local_day, plural
from reflect_git.store import session_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Optional

    from reflect_git.capture.transcript import Turn
    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store
    from reflect_git.store.session_state import Cursor

    Env = Mapping[str, str]

# 100 MB take a second. Of more than this, the newest is mined while the client waits, and the rest while it summarises.
NEWEST = 12 << 20
_SOON = 0.2
_IDLE = 86400.0
_UNTOLD = 3600.0
_HOPELESS = 30 * 86400.0


def begin(store: Store, transcript: str, folder: str, pid: str) -> None:
    """Record that this session is running, so that the next session can finish it if it dies."""
    lock = session_state.lock(store, transcript)
    if not lock.acquire(_SOON):  # the end of the run before is being mined, and its cursor is that one's to write
        return
    try:
        cursor = session_state.load(store, transcript)
        cursor.folder = folder
        cursor.pid = int(pid) if pid.isascii() and pid.isdigit() else 0
        cursor.begun = int(time.time())
        session_state.save(store, cursor)
    finally:
        lock.release()


def catch_up(
    store: Store, env: Env, transcript: str, hook: str, folder: str = "", seconds: float = 0.0, wait: float = 0.0
) -> bool:  # fmt: skip
    """Mine what is new in a transcript; return False if more is left or another process mines it beyond `wait`."""
    cursor = session_state.load(store, transcript)
    cursor.folder = cursor.folder or folder
    size = size_of(transcript)
    if size == cursor.consumed:
        return True
    work = Work(store, env, cursor, hook, seconds)
    if seconds and size - cursor.consumed > NEWEST:
        work.look_at(size - NEWEST, wait)
        return False
    return work.go_on(wait=wait)


def catch_up_all(store: Store, env: Env, seconds: float = 0.0, wait: float = 0.0) -> bool:
    """Mine what is new in running sessions, newest first; return False if some of it is left.

    The last hook of a session that just ended may still be mining it; that is waited for.
    """
    start, finished = time.monotonic(), True
    for cursor in sorted(session_state.standing(store), key=lambda one: -_changed(one.transcript)):
        spent = time.monotonic() - start
        if seconds and spent >= seconds:
            return False
        left, patience = max(0.0, seconds - spent), max(0.0, wait - spent)
        try:
            done = catch_up(store, env, cursor.transcript, "command", seconds=left, wait=patience)
            finished = done and finished
        except (ReflectError, OSError) as error:
            store.log(f"transcript: {error}")
    return finished


def end(store: Store, env: Env, transcript: str, hook: str, folder: str = "", wait: float = 30.0) -> None:
    """End a session: mine the rest, and store its figures and summary."""
    cursor = session_state.load(store, transcript)
    cursor.folder = cursor.folder or folder
    _end(store, env, cursor, hook, wait)


def _end(store: Store, env: Env, cursor: Cursor, hook: str, wait: float) -> None:
    if os.path.lexists(cursor.transcript):
        Work(store, env, cursor, hook).finish(wait)
    else:  # the client was told to keep none, or somebody removed it
        session_state.drop(store, cursor)


def bootstrap(store: Store, env: Env, transcript: str, now: float) -> tuple[int, int]:
    """Mine a past transcript, or its new part; return how many signals were stored and how many were left out.

    Summaries and figures are only for sessions that hooks have seen from the start.
    """
    cursor = session_state.load(store, transcript)
    if size_of(transcript) == cursor.consumed:
        return 0, 0
    work = Work(store, env, cursor, "import")
    work.go_on(ended=not is_alive(cursor, now))
    return work.found, work.left_out


def preview(store: Optional[Store], env: Env, transcript: str) -> tuple[int, int]:
    """Return the counts that `bootstrap` would return, without needing a store."""
    from reflect_git.capture.mining import FAILURES, Memory, go_on, signals_in
    from reflect_git.capture.transcript import Reader

    cursor = session_state.load(store, transcript) if store else session_state.Cursor(transcript)
    if size_of(transcript) == cursor.consumed:
        return 0, 0
    everything = store is not None and store.setting(UNATTENDED) == "all"
    reader = Reader(transcript, cursor.offset, projects=paths.projects_dir(env), ended=True, index=cursor.index)
    seen: list[Turn] = []

    def watched() -> Iterator[Turn]:
        for turn in reader:
            seen[:] = [turn]
            yield turn

    found = left_out = 0
    for facts in signals_in(watched(), Memory(), stumble=go_on):
        if reader.line >= cursor.consumed:
            wanted = seen[0].attended or everything or facts["family"] in FAILURES
            found, left_out = found + wanted, left_out + (not wanted)
    return found, left_out


def pass_over(store: Store, transcript: str) -> None:
    """Skip a transcript whose session ran with capture off, even if the session continues later."""
    cursor = session_state.load(store, transcript)
    if size_of(transcript):
        cursor.offset = cursor.consumed = size_of(transcript)
        session_state.save(store, cursor, ended=True)


def end_dead(store: Store, env: Env, now: float) -> int:
    """End the sessions whose client died without notice; return how many."""
    dead = [cursor for cursor in session_state.standing(store, ended=True) if not is_alive(cursor, now)]
    for cursor in dead:
        try:
            _end(store, env, cursor, "SessionStart", 0.0)
        except Exception as error:  # a full disk passes, and one transcript must not stand in the way of the others
            store.log(f"transcript: {type(error).__name__}: {error}")
            if now - max(_changed(cursor.transcript), cursor.begun) > _HOPELESS:
                session_state.drop(store, cursor)
    return len(dead)


def is_alive(cursor: Cursor, now: float) -> bool:
    """Return whether a session's process exists and wrote within the last day; process ids get reused."""
    idle = now - max(_changed(cursor.transcript), cursor.begun)
    if not cursor.pid:
        return idle < _UNTOLD
    try:
        os.kill(cursor.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return idle < _IDLE


def tidy_up(store: Store, env: Env, folder: str = "") -> None:
    """Do background work: commit pending captures, end dead sessions, count the questions of a project."""
    from reflect_git.store import asked_questions, maintenance, recover
    from reflect_git.store.reading import waiting_counts

    now = time.time()
    recover.sweep(store)
    end_dead(store, env, now)
    maintenance.gather_packs(store)
    session_state.forget_old(store, now)
    asked_questions.forget_old_answers(store, now)
    asked_questions.forget_old_questions(store, now)
    waiting_counts.forget_old(store, now)
    if folder:
        count_questions(store, env, folder, now)


def count_questions(store: Store, env: Env, folder: str, now: float, how: str = "") -> None:
    """Count what is waiting in a project by a cheap estimate: a review would load too much."""
    from reflect_git.store.reading import waiting_counts

    top = paths.top_of(folder) or folder
    waiting_counts.guess(store, top, _keys_of(store, env, top), now, how or waiting_counts.GUESSED)


def _keys_of(store: Store, env: Env, top: str) -> list[str]:
    """Return all keys of the project here, as signals have them; empty outside a project."""
    from reflect_git.capture import service
    from reflect_git.capture.new_signal import project
    from reflect_git.store.projects import other_keys

    found = service.project_of(store, top)
    if found is None:
        return []
    keys = (found["key"], f"path:{os.path.realpath(top)}", *other_keys(store, top))
    named = [project({"key": key, "name": ""}, paths.home_dir(env)) for key in keys]
    return [one["key"] for one in named if one]


def share(store: Store, env: Env) -> None:
    """Sync in the background after a session, if `reflect.sync.auto` is on."""
    if store.switched("reflect.sync.auto", False):
        from reflect_git.sync import exchange

        exchange.after_session(store, env, time.time())


def reminder(store: Store, now: float, way: str, folder: str) -> str:
    """Return one sentence for the person, with the command to review, or an empty text.

    At most once a day, and only if a review here would ask about something they said.
    """
    from reflect_git.store.reading import waiting_counts

    strong = waiting_counts.own_words_waiting(store, paths.top_of(folder) or folder) if folder else 0
    today = local_day(now).encode()
    path = store.private_path("reminded")
    if not strong or not store.switched("reflect.remind", True) or files.read_if_there(path) == today:
        return ""
    if not files.claim(store.private_path("cache", f".tmp-reminded-{today.decode()}")):
        return ""
    files.write_whole(path, today, sync=False)
    return f"reflect-git: {plural(strong, 'thing')} you said may be worth keeping; review with {way}"


def said_in(store: Store, transcript: str) -> list[Signal]:
    return said(store, session_state.load(store, transcript))


def _changed(path: str) -> float:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime
    except (OSError, ValueError):
        return 0.0
