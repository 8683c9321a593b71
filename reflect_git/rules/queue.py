"""Load the proposed rules that await review, with their cache and their backtests."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import reflect_git
from reflect_git import paths
from reflect_git.candidates.candidate import LIST_NAMES, Candidate, GatherResult, LazyCandidates, NearLookup
from reflect_git.capture import service
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.history import session_hash
from reflect_git.records.ids import digest, utc
from reflect_git.rules import project_files
from reflect_git.rules.context import Context, load_context
from reflect_git.store import api, expiry
from reflect_git.store.reading import reader, waiting_counts

if TYPE_CHECKING:
    from reflect_git.rules.project_files import FileStatements, Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

    Call = tuple[str, str, Mapping[str, Any]]
    from reflect_git.store.reading.waiting_counts import WaitingCounts

# The first screen must not wait for the backtest; later screens may.
_FIRST_READ_SECONDS, _READ_SECONDS = 0.015, 0.5
_MIN_CALLS = 250  # minimum number of calls to read, however slow the machine is
_BACKTEST_DAYS = 60


class Queue(Context):
    """A context with its proposed rules."""

    def __init__(
        self, context: Context, gathered: GatherResult, kept: QueueCache, past: PastCalls
    ) -> None:  # fmt: skip
        super().__init__(context.store, context.env, context.place, context.scan, context.statements)
        self.candidates = gathered
        self.queue_cache = kept
        self.past_calls = past

    def write_cache(self) -> None:
        """Cache what was gathered, including everything computed since."""
        self.queue_cache.write(self.candidates)

    def find_candidate(self, prefix: str) -> Candidate:
        """Find the candidate by the prefix of an id; any signal of its group identifies it."""
        listed = self.scan.columns["id"]
        hint = "list them with 'reflect-git candidates'"
        record_id = api.find_id_of_kind("a signal that waits", listed, prefix, self.scan.other_records, hint)
        found = self.candidates.find_candidate(record_id)
        if found is None:
            status = self.scan.columns["status"][listed.index(record_id)]
            why = "is said already" if status == "captured" else f"is {status}"
            raise ReflectError(
                f"'{record_id}' waits for no answer: it {why}", f"see 'reflect-git show {record_id}'", "no-candidate"
            )
        return found


def load_queue(ctx: Context, everything: bool = False) -> Queue:
    """Load the proposed rules of the project, or of all projects."""
    store, scan, here, said = ctx.store, ctx.scan, ctx.place, ctx.statements
    keys = [] if everything else here.keys
    shown, now = expiry.load_shown_ids(store), utc()

    def gather_again() -> GatherResult:
        from reflect_git.candidates.gather import (
            gather_candidates,
        )  # imported late: wording candidates takes 50 ms to load
        from reflect_git.candidates.grouping import Signals

        signals = Signals(scan.columns, scan.rows, scan.get_signals)
        return gather_candidates(
            signals,
            scan.history,
            said,
            project=keys,
            now=now,
            shown=shown,
            begun=list_session_starts(scan),
            aliases=aliases,
            own_files={} if keys else dict.fromkeys(said.own_files, next(iter(here.keys), "")),
            is_path=here.has_path,
        )

    aliases = {} if keys else project_files.load_key_aliases(store, here)
    parts = (_digest_files(said), *(f"{key} {name}" for key, name in aliases.items()))
    kept = QueueCache(store, keys, scan.moment, *parts, now[:10], *sorted(shown))
    return Queue(ctx, kept.load_or_gather(gather_again), kept, PastCalls(here, ctx.env))


def open_queue(
    store: Store, env: Mapping[str, str], scan: Scan, folder: str, everything: bool = False
) -> Queue:  # fmt: skip
    """Load the proposed rules of the project that a folder belongs to, or of all projects."""
    return load_queue(load_context(store, env, scan, folder), everything)


def as_queue(ctx: Context) -> Queue:
    """Load the proposed rules of all projects, unless they are loaded already."""
    return ctx if isinstance(ctx, Queue) else load_queue(ctx, everything=True)


def list_session_starts(scan: Scan) -> list[str]:
    """Return the sorted start times of sessions: as recorded, else the first signal of each."""
    said: dict[str, str] = {}
    for session, moment in zip(scan.columns["session_id"], scan.columns["timestamp"], strict=True):
        said[session] = min(moment, said.get(session, moment))
    first = {session_hash(session): moment for session, moment in said.items() if session}
    for record_id, record in scan.other_records.items():
        if record_id.startswith("EXP-"):
            first[record["session"]] = min(record["start"], first.get(record["session"], record["start"]))
    return sorted(first.values())


def _digest_files(said: FileStatements) -> str:
    """Return a digest of the instruction files."""
    return digest(*(f"{name}\n{data.decode('latin-1')}" for name, data in said.sources.items()))


def with_backtest(queue: Queue, candidate: Candidate) -> Candidate:
    """Return the candidate with how often its matcher would have applied in past sessions of the project."""
    return with_backtests(queue, [candidate])[0]


def with_backtests(queue: Queue, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with their backtests, which share one read of past sessions."""
    if all(candidate.matcher is None for candidate in candidates):
        return list(candidates)
    from reflect_git.candidates.matcher import backtest

    calls = queue.past_calls.read_calls()
    if not calls and not queue.past_calls.is_read:
        return list(candidates)
    return [each._replace(backtest=backtest(each.matcher, calls)) if each.matcher else each for each in candidates]


def backtest_matcher(queue: Queue, matcher: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how often a guard's matcher would have applied in past sessions of the project; None if not known yet.

    What calls added to files is not read here: only the full backtest of a guard tries content patterns.
    """
    from reflect_git.candidates.matcher import count_applied
    from reflect_git.guards.form import build_prefilter
    from reflect_git.guards.match import Call, find_match

    calls, root = queue.past_calls.read_calls(), queue.place.root
    if not calls and not queue.past_calls.is_read:
        return None
    may_match = build_prefilter(matcher)
    return count_applied(
        (timestamp, find_match(matcher, Call(tool, given, root, root)) if may_match(tool, given) else "")
        for timestamp, tool, given in calls
    )


class PastCalls:
    """Tool calls of past sessions here, newest session first, read within a time limit.

    The first call returns what a short look finds, later calls return more. A session counts only when read to its end,
    so that a backtest is correct for the days it covers.
    """

    def __init__(self, place: Place, env: Mapping[str, str]) -> None:
        self.is_read = False
        self._folder = os.path.dirname(project_files.memory_dir(place))
        self._projects = paths.projects_dir(env)
        self._calls: list[Call] = []
        self._reader: Iterator[bool] | None = None

    def read_calls(self) -> list[Call]:
        """Return the calls read so far; each call of this method reads on for a limited time."""
        seconds, seen = _READ_SECONDS if self._reader else _FIRST_READ_SECONDS, 0
        self._reader = self._reader or self._read_transcripts()
        deadline = time.monotonic() + seconds
        while not self.is_read and (seen < _MIN_CALLS or time.monotonic() < deadline):
            self.is_read = next(self._reader, True)
            seen += 1
        return self._calls

    def _read_transcripts(self) -> Iterator[bool]:
        """Read one call at a time; yield False after each.

        Only the fields that matchers use are stored: the contents of a written file may be megabytes.
        """
        from reflect_git.capture.transcript.calls import read_calls

        for path in self._list_transcripts():
            calls: list[Call] = []
            try:
                for call in read_calls(path, self._projects):
                    if call:
                        timestamp, tool, given = call
                        calls.append((timestamp, tool, {name: given[name] for name in _KEPT_FIELDS if name in given}))
                    yield False
            except (ReflectError, OSError):
                continue
            self._calls += calls

    def _list_transcripts(self) -> list[str]:
        oldest = time.time() - _BACKTEST_DAYS * 86400
        try:
            found = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(self._folder)]
        except OSError:
            return []
        return [path for moment, path in sorted(found, reverse=True) if moment > oldest and path.endswith(".jsonl")]


# What matchers look at in a call, besides the text that it writes.
_KEPT_FIELDS = ("command", "file_path", "notebook_path")
_MAX_CACHE_BYTES = 1 << 26
# The code that decides grouping, strength and wording: if it changes, the cache is invalid.
_PROGRAM_FOLDERS = ("records", "language", "candidates", "store", "store/reading")

CachedLists = dict[str, dict[int, dict[str, Any]]]


class QueueCache:
    """The cache of gathered candidates.

    `place`: the project keys. `rests_on`: every input of the result except the program itself.
    """

    def __init__(self, store: Store, place: Sequence[str], *rests_on: str) -> None:
        self._path = store.private_path("cache", f"{expiry.CANDIDATE_CACHE_PREFIX}{digest(*place)[:16]}")
        self._key = digest(_get_program_version(), *place, *rests_on)
        self._lists: CachedLists = {}

    def load_or_gather(self, gather: Callable[[], GatherResult]) -> GatherResult:
        """Return the cached result if it is still valid, else gather again.

        Candidates not in the cache are built on use.
        """
        kept = self._load()
        if kept is None:
            return gather()
        self._lists = {name: {int(at): made for at, made in kept["lists"][name].items()} for name in LIST_NAMES}
        whole = cache(gather)
        lists = {
            name: LazyCandidates(kept["counts"][name], partial(self._get_candidate, whole, name)) for name in LIST_NAMES
        }
        return GatherResult(
            **lists,
            gathered=kept["gathered"],
            known=kept["known"],
            find_position=lambda signal: whole().find_position(signal),
            settled=tuple(kept["settled"]),
            questions=tuple(map(tuple, kept["questions"])),
        )

    def _get_candidate(self, whole: Callable[[], GatherResult], name: str, at: int) -> Candidate:
        def there() -> Candidate:
            found: Candidate = getattr(whole(), name)[at]
            return found

        made = self._lists[name].get(at)
        return Candidate.from_cache(made, NearLookup(lambda: there().near())) if made else there()

    def write(self, gathered: GatherResult) -> None:
        """Write the cache, including everything computed since. A failure is ignored: the cache is disposable."""
        fresh = {name: self._find_new(name, getattr(gathered, name)) for name in LIST_NAMES}
        if not any(fresh.values()) and self._lists:
            return
        self._lists = {name: {**self._lists.get(name, {}), **fresh[name]} for name in LIST_NAMES}
        counts = {name: len(getattr(gathered, name)) for name in LIST_NAMES}
        facts = {name: getattr(gathered, name) for name in ("gathered", "known", "settled", "questions")}
        kept = {"counts": counts, **facts, "lists": self._lists}
        try:
            files.write_atomic(self._path, f"{self._key}\n{json.dumps(kept)}".encode("ascii"), sync=False)
        except OSError:
            pass

    def _find_new(self, name: str, listed: LazyCandidates) -> dict[int, dict[str, Any]]:
        known = self._lists.get(name, {})
        return {at: one.as_cached() for at, one in listed.loaded.items() if one.has_more_than(known.get(at))}

    def _load(self) -> Mapping[str, Any] | None:
        try:
            seal, _, text = files.read_regular(self._path, _MAX_CACHE_BYTES).partition(b"\n")
            return json.loads(text) if seal == self._key.encode() else None
        except (OSError, ValueError):
            return None


def _get_program_version() -> str:
    """Return the version of the program, including local changes to its files."""
    root = os.path.dirname(reflect_git.__file__)
    found = [
        entry for folder in _PROGRAM_FOLDERS for entry in os.scandir(os.path.join(root, folder)) if entry.is_file()
    ]
    stats = sorted((entry.name, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in found)
    return f"{reflect_git.__version__} {stats}"


def count_waiting(store: Store, env: Mapping[str, str], scan: Scan, folder: str, seen_before: str) -> WaitingCounts:
    """Count proposed rules as a review does, and store the counts for the status line.

    `seen_before` is `waiting_counts.get_branch_tips` before the scan.
    """
    now = time.time()
    judged, keys = classify_signals(store, env, scan, folder)
    counted = waiting_counts.count_waiting(store, scan, now, judged, keys)
    waiting_counts.save_count(store, paths.find_top(folder) or folder, counted, seen_before, now)
    waiting_counts.save_judgements(store, judged)
    return counted


def refresh_counts(env: Mapping[str, str], folder: str) -> None:
    """Refresh the stored counts; for background processes."""
    store = service.open_store(env, create=False)
    before = waiting_counts.get_branch_tips(store)
    count_waiting(store, env, reader.scan(store), folder, before)


def classify_signals(
    store: Store, env: Mapping[str, str], scan: Scan, folder: str
) -> tuple[dict[str, str], Collection[str]]:
    """Return how a review classifies each captured signal, and the keys of the project here.

    Signals of this project are classified by a review here, others by a review of all projects.
    """
    here = open_queue(store, env, scan, folder)
    here.write_cache()
    keys, found = here.place.keys, _map_signal_classes(here.candidates)
    parts = zip(scan.columns["id"], scan.columns["project"], strict=True)
    away = {one for one, project in parts if keys and project and project["key"] not in keys}
    if away:
        everywhere = open_queue(store, env, scan, folder, everything=True)
        everywhere.write_cache()
        found |= {one: word for one, word in _map_signal_classes(everywhere.candidates).items() if one in away}
    waits = zip(scan.columns["id"], scan.columns["status"], strict=True)
    return {one: found.get(one, waiting_counts.WEAK) for one, status in waits if status == "captured"}, keys


def _map_signal_classes(gathered: GatherResult) -> dict[str, str]:
    """Map each signal to its classification."""
    found = dict.fromkeys(gathered.settled, waiting_counts.SETTLED)
    for signals in gathered.questions:
        found.update(dict.fromkeys(signals, waiting_counts.format_strong(signals[0])))
    return found
