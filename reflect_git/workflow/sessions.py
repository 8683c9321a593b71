"""A session of Claude Code from its first hook to its last: begun, mined as it grows, ended, or found dead."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.adapters import files
from reflect_git.errors import ReflectError
from reflect_git.model.ids import moment_id, utc, utc_precise
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

# 100 MB take a second. Of more than this, the newest is mined while the client waits, and the rest while it summarises.
NEWEST = 12 << 20
UNATTENDED = "reflect.capture.unattended"
_ENDING = 4 << 20
_WAIT = 2.0
_SOON = 0.2
_AT_ONCE = 200
_IDLE = 86400.0
_UNTOLD = 3600.0
_HOPELESS = 30 * 86400.0


def projects_dir(env: Env) -> str:
    """The folder below which the client keeps its transcripts."""
    return os.path.join(paths.config_dir(env), "projects")


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


def catch_up(store: Store, env: Env, transcript: str, hook: str, folder: str = "", seconds: float = 0.0) -> bool:
    """Mine what is new in a transcript; False if there is more, or somebody else is at it."""
    cursor = cursors.load(store, transcript)
    cursor.folder = cursor.folder or folder
    size = _size(transcript)
    if size == cursor.consumed:
        return True
    work = Work(store, env, cursor, hook, seconds)
    if seconds and size - cursor.consumed > NEWEST:
        work.look_at(size - NEWEST)
        return False
    return work.go_on()


def catch_up_all(store: Store, env: Env, seconds: float = 0.0) -> bool:
    """What is new in living sessions, so that what was said a moment ago is there; False if some of it is left."""
    deadline, finished = time.monotonic() + seconds, True
    for cursor in cursors.standing(store):
        left = deadline - time.monotonic() if seconds else 0.0
        if seconds and left <= 0:
            return False
        try:
            finished = catch_up(store, env, cursor.transcript, "command", seconds=left) and finished
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
    if _size(transcript) == cursor.consumed:
        return 0, 0
    work = Work(store, env, cursor, "import")
    work.go_on(ended=not is_alive(cursor, now))
    return work.found, work.left_out


def preview(store: Optional[Store], env: Env, transcript: str) -> tuple[int, int]:
    """What `bootstrap` would do, where there may be no store yet."""
    from reflect_git.adapters.transcript import Reader
    from reflect_git.capture.mining import FAILURES, Memory, signals_in

    cursor = cursors.load(store, transcript) if store else cursors.Cursor(transcript)
    if _size(transcript) == cursor.consumed:
        return 0, 0
    everything = store is not None and store.setting(UNATTENDED) == "all"
    reader = Reader(transcript, cursor.offset, projects=projects_dir(env), ended=True, index=cursor.index)
    seen: list[Turn] = []

    def watched() -> Iterator[Turn]:
        for turn in reader:
            seen[:] = [turn]
            yield turn

    found = left_out = 0
    for facts in signals_in(watched(), Memory()):
        if reader.line >= cursor.consumed:
            wanted = seen[0].attended or everything or facts["family"] in FAILURES
            found, left_out = found + wanted, left_out + (not wanted)
    return found, left_out


def pass_over(store: Store, transcript: str) -> None:
    """The session ran with capture switched off for it: what was said is not for us, not even when it goes on."""
    cursor = cursors.load(store, transcript)
    if _size(transcript):
        cursor.offset = cursor.consumed = _size(transcript)
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


def tidy_up(store: Store, env: Env) -> None:
    """What nobody waits for: pending captures committed, dead sessions ended, what waits counted."""
    from reflect_git.store import answers, glance, sweep

    now = time.time()
    sweep.sweep(store)
    end_dead(store, env, now)
    cursors.forget_old(store, now)
    answers.forget_old(store, now)
    glance.refresh(store, now)


def reminder(store: Store, now: float) -> str:
    """At most once a day, when something strong waits: one sentence for the person."""
    from reflect_git.store import glance

    strong, today = glance.own_words_waiting(store), utc(now)[:10].encode()
    path = store.private_path("reminded")
    if not strong or not store.switched("reflect.remind", True) or files.read_if_there(path) == today:
        return ""
    if not files.claim(store.private_path("cache", f".tmp-reminded-{today.decode()}")):
        return ""
    files.write_whole(path, today, sync=False)
    return f"reflect-git: {strong} thing{'s' if strong > 1 else ''} you said may be worth keeping; review with /reflect"


def said_in(store: Store, transcript: str) -> list[Signal]:
    return said(store, cursors.load(store, transcript))


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

    def look_at(self, offset: int) -> None:
        """The newest part alone; the cursor stays, so that the rest is not forgotten."""
        reader = self._reader(offset, index=0)
        found = list(self._signals(reader, None, numbered=False))  # rows of failures begin before: not here
        self._cursor.said += self._keep(found)
        cursors.save(self._store, self._cursor)

    def go_on(self, ended: bool = False) -> bool:
        lock = cursors.lock(self._store, self._cursor.transcript)
        if not lock.try_acquire():
            return False
        try:
            self._cursor = self._fresh()
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

    def _fresh(self) -> Cursor:
        """As the last miner left it: one may have ended while we waited for the lock."""
        cursor = cursors.load(self._store, self._cursor.transcript)
        cursor.folder = cursor.folder or self._cursor.folder
        if _size(cursor.transcript) < cursor.consumed:  # another file by now
            cursor.offset = cursor.index = cursor.consumed = cursor.counted = 0
            cursor.figures = {}
        return cursor

    def _reader(self, offset: int, index: int, ended: bool = False) -> Reader:
        from reflect_git.adapters.transcript import Reader

        return Reader(
            self._cursor.transcript, offset, projects=projects_dir(self._env), deadline=self._deadline, ended=ended,
            index=index,
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
        for facts in mining.signals_in(self._watched(reader, figures), requests):
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
        from reflect_git.capture import summary
        from reflect_git.capture.draft import draft, is_utc
        from reflect_git.capture.draft import project as safe_project
        from reflect_git.store import append, exposures
        from reflect_git.store.fold import session_hash

        decisions = [signal["content"] for signal in said(self._store, self._cursor)]
        start = max(0, _size(self._cursor.transcript) - _ENDING)
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
            found.append(draft({**facts, "project": project}, self._store.machine, now, self._home))
        when = last.timestamp if is_utc(f"{last.timestamp[:19]}Z") else now
        identity = moment_id(when, last.entry, "exposure", prefix="EXP")
        found.append(figures.record(identity, session_hash(last.session), safe))
        append.append_new(self._store, found, _WAIT)
        exposures.announce(self._store)

    def _is_ignored(self, cwd: str) -> bool:
        if cwd not in self._ignored:
            self._ignored[cwd] = is_ignored(self._store, self._cursor.folder) or is_ignored(self._store, cwd)
        return self._ignored[cwd]


def _size(path: str) -> int:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except (OSError, ValueError):
        return 0


def _changed(path: str) -> float:
    try:
        return os.stat(path, follow_symlinks=False).st_mtime
    except (OSError, ValueError):
        return 0.0
