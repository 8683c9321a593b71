"""A session of Claude Code from its first hook to its last: begun, mined as it grows, ended, or found dead."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.adapters import files
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import local_day
from reflect_git.store import cursors
from reflect_git.workflow.work import UNATTENDED, Work, said, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Optional

    from reflect_git.adapters.transcript import Turn
    from reflect_git.model.schema import Signal
    from reflect_git.store.cursors import Cursor
    from reflect_git.store.repository import Store

    Env = Mapping[str, str]

# 100 MB take a second. Of more than this, the newest is mined while the client waits, and the rest while it summarises.
NEWEST = 12 << 20
_SOON = 0.2
_IDLE = 86400.0
_UNTOLD = 3600.0
_HOPELESS = 30 * 86400.0


def begin(store: Store, transcript: str, folder: str, pid: str) -> None:
    """Remember that this session lives, so that the next one picks it up if it dies."""
    lock = cursors.lock(store, transcript)
    if not lock.acquire(_SOON):  # the end of the run before is being mined, and its cursor is that one's to write
        return
    try:
        cursor = cursors.load(store, transcript)
        cursor.folder = folder
        cursor.pid = int(pid) if pid.isascii() and pid.isdigit() else 0
        cursor.begun = int(time.time())
        cursors.save(store, cursor)
    finally:
        lock.release()


def catch_up(
    store: Store, env: Env, transcript: str, hook: str, folder: str = "", seconds: float = 0.0, wait: float = 0.0
) -> bool:  # fmt: skip
    """Mine what is new in a transcript; False if there is more, or somebody else is at it for longer than we `wait`."""
    cursor = cursors.load(store, transcript)
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
    """What is new in living sessions, so that what was said a moment ago is there; False if some of it is left.

    One that has just ended is being mined by its last hook: that is waited for. The newest come first.
    """
    start, finished = time.monotonic(), True
    for cursor in sorted(cursors.standing(store), key=lambda one: -_changed(one.transcript)):
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
    """The session is over: mine the rest, keep its figures and what it leaves behind."""
    cursor = cursors.load(store, transcript)
    cursor.folder = cursor.folder or folder
    _end(store, env, cursor, hook, wait)


def _end(store: Store, env: Env, cursor: Cursor, hook: str, wait: float) -> None:
    if os.path.lexists(cursor.transcript):
        Work(store, env, cursor, hook).finish(wait)
    else:  # the client was told to keep none, or somebody removed it
        cursors.drop(store, cursor)


def bootstrap(store: Store, env: Env, transcript: str, now: float) -> tuple[int, int]:
    """Mine a transcript of the past, or what is new in it since; returns how many signals it gave and how many not.

    What a session left behind and its figures are for sessions that hooks have seen from their beginning.
    """
    cursor = cursors.load(store, transcript)
    if size_of(transcript) == cursor.consumed:
        return 0, 0
    work = Work(store, env, cursor, "import")
    work.go_on(ended=not is_alive(cursor, now))
    return work.found, work.left_out


def preview(store: Optional[Store], env: Env, transcript: str) -> tuple[int, int]:
    """What `bootstrap` would do, where there may be no store yet."""
    from reflect_git.adapters.transcript import Reader
    from reflect_git.capture.mining import FAILURES, Memory, go_on, signals_in

    cursor = cursors.load(store, transcript) if store else cursors.Cursor(transcript)
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
    """The session ran with capture switched off for it: what was said is not for us, not even when it goes on."""
    cursor = cursors.load(store, transcript)
    if size_of(transcript):
        cursor.offset = cursor.consumed = size_of(transcript)
        cursors.save(store, cursor, ended=True)


def end_dead(store: Store, env: Env, now: float) -> int:
    """End the sessions whose client died without a word; returns how many."""
    dead = [cursor for cursor in cursors.standing(store, ended=True) if not is_alive(cursor, now)]
    for cursor in dead:
        try:
            _end(store, env, cursor, "SessionStart", 0.0)
        except Exception as error:  # a full disk passes, and one transcript must not stand in the way of the others
            store.log(f"transcript: {type(error).__name__}: {error}")
            if now - max(_changed(cursor.transcript), cursor.begun) > _HOPELESS:
                cursors.drop(store, cursor)
    return len(dead)


def is_alive(cursor: Cursor, now: float) -> bool:
    """A process of that number that wrote within the last day; numbers are given again, so its word alone is none."""
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
    """Do what nobody waits for: commit pending captures, end dead sessions, count the questions of a project."""
    from reflect_git.store import answers, glance, questions, sweep, upkeep

    now = time.time()
    sweep.sweep(store)
    end_dead(store, env, now)
    upkeep.gather_packs(store)
    cursors.forget_old(store, now)
    answers.forget_old(store, now)
    questions.forget_old(store, now)
    glance.forget_old(store, now)
    if folder:
        count_questions(store, env, folder, now)


def count_questions(store: Store, env: Env, folder: str, now: float, how: str = "") -> None:
    """Count what waits in a project as well as hooks can: a review would load too much."""
    from reflect_git.store import glance

    top = paths.top_of(folder) or folder
    glance.guess(store, top, _keys_of(store, env, top), now, how or glance.GUESSED)


def _keys_of(store: Store, env: Env, top: str) -> list[str]:
    """Return all that the project here may be called, as signals have it; nothing outside a project."""
    from reflect_git import workflow
    from reflect_git.capture.draft import project
    from reflect_git.store.projects import other_keys

    found = workflow.project_of(store, top)
    if found is None:
        return []
    keys = (found["key"], f"path:{os.path.realpath(top)}", *other_keys(store, top))
    named = [project({"key": key, "name": ""}, paths.home_dir(env)) for key in keys]
    return [one["key"] for one in named if one]


def share(store: Store, env: Env) -> None:
    """What was learned goes to the remote, for those who switched that on: in the background, without a question."""
    if store.switched("reflect.sync.auto", False):
        from reflect_git.workflow import automatic

        automatic.after_session(store, env, time.time())


def reminder(store: Store, now: float, way: str, folder: str) -> str:
    """Return one sentence for the person, with the `way` to answer: at most once a day, if a review here would ask
    about something they said."""
    from reflect_git.store import glance

    strong = glance.own_words_waiting(store, paths.top_of(folder) or folder) if folder else 0
    today = local_day(now).encode()
    path = store.private_path("reminded")
    if not strong or not store.switched("reflect.remind", True) or files.read_if_there(path) == today:
        return ""
    if not files.claim(store.private_path("cache", f".tmp-reminded-{today.decode()}")):
        return ""
    files.write_whole(path, today, sync=False)
    return f"reflect-git: {plural(strong, 'thing')} you said may be worth keeping; review with {way}"


def said_in(store: Store, transcript: str) -> list[Signal]:
    return said(store, cursors.load(store, transcript))


def _changed(path: str) -> float:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime
    except (OSError, ValueError):
        return 0.0
