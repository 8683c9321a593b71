"""What waits for a person's answer, here and now."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.model.ids import digest, utc
from reflect_git.model.tuples import NamedTuple
from reflect_git.sitting import places
from reflect_git.sitting.kept import Kept
from reflect_git.store import expiry, memory
from reflect_git.store.fold import session_hash

if TYPE_CHECKING:
    from reflect_git.review.baseline import Statement
    from reflect_git.review.candidate import Candidate, Gathered
    from reflect_git.sitting.places import Place, Said
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

    Call = tuple[str, str, Mapping[str, Any]]

# The first screen must not wait for the past; who goes on has more patience.
_FIRST_LOOK, _LOOK = 0.015, 0.5
_AT_LEAST = 250  # calls, however slow the machine is
_BACKTEST_DAYS = 60


class Sitting(NamedTuple):
    """The store, the place and what waits there."""

    store: Store
    env: Mapping[str, str]
    place: Place
    scan: Scan
    said: Sequence[Statement]
    gathered: Gathered
    kept: Kept
    past: Past

    def keep(self) -> None:
        """For the next one who looks, with all that was looked at by now."""
        self.kept.keep(self.gathered)

    def find(self, prefix: str) -> Candidate:
        """The candidate that an id, or the beginning of one, belongs to; any signal of its group names it."""
        listed = self.scan.columns["id"]
        hint = "list them with 'reflect-git candidates'"
        identity = memory.find_as("a signal that waits", listed, prefix, self.scan.others, hint)
        found = self.gathered.of(identity)
        if found is None:
            status = self.scan.columns["status"][listed.index(identity)]
            why = "is said already" if status == "captured" else f"is {status}"
            raise ReflectError(
                f"'{identity}' waits for no answer: it {why}", f"see 'reflect-git show {identity}'", "no-candidate"
            )
        return found


def sit(store: Store, env: Mapping[str, str], scan: Scan, folder: str, everything: bool = False) -> Sitting:
    """Gather what waits for an answer in a project, or everywhere."""
    here = places.place(store, env, folder)
    said = places.baselines(here)
    keys = [] if everything else here.keys
    shown, now = expiry.shown(store), utc()

    def anew() -> Gathered:
        from reflect_git.review.candidates import gather  # what words a candidate takes 50 ms to load
        from reflect_git.review.groups import Signals

        signals = Signals(scan.columns, scan.rows, scan.whole)
        return gather(
            signals, scan.history, said, project=keys, now=now, shown=shown, begun=begun(scan), aliases=aliases,
            own_files={} if keys else dict.fromkeys(said.own, next(iter(here.keys), "")),
            is_path=here.has_path,
        )  # fmt: skip

    aliases = {} if keys else places.aliases(store, here)
    told = (_told(said), *(f"{key} {name}" for key, name in aliases.items()))
    kept = Kept(store, keys, scan.moment, *told, now[:10], *sorted(shown))
    return Sitting(store, env, here, scan, said, kept.recall(anew), kept, Past(here, env))


def begun(scan: Scan) -> list[str]:
    """When sessions began, in order: as their figures say, else when something was first said in them."""
    said: dict[str, str] = {}
    for session, moment in zip(scan.columns["session_id"], scan.columns["timestamp"], strict=True):
        said[session] = min(moment, said.get(session, moment))
    first = {session_hash(session): moment for session, moment in said.items() if session}
    for identity, record in scan.others.items():
        if identity.startswith("EXP-"):
            first[record["session"]] = min(record["start"], first.get(record["session"], record["start"]))
    return sorted(first.values())


def _told(said: Said) -> str:
    return digest(*(f"{name}\n{data.decode('latin-1')}" for name, data in said.sources.items()))


def tried(sitting: Sitting, candidate: Candidate) -> Candidate:
    """With how often its matcher would have applied in past sessions of the project."""
    return all_tried(sitting, [candidate])[0]


def all_tried(sitting: Sitting, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Each with its backtest; they share one look at the past."""
    if all(candidate.matcher is None for candidate in candidates):
        return list(candidates)
    from reflect_git.review.matcher import backtest

    calls = sitting.past.calls()
    if not calls and not sitting.past.is_read:
        return list(candidates)
    return [each._replace(backtest=backtest(each.matcher, calls)) if each.matcher else each for each in candidates]


class Past:
    """Tool calls of past sessions here, the newest session first, as far as somebody waited for them: who asks first
    gets what a glance tells, and who asks later more. Sessions count when they are read to their end, so that what a
    backtest says of the days it saw is true."""

    def __init__(self, place: Place, env: Mapping[str, str]) -> None:
        self.is_read = False
        self._folder = os.path.dirname(places.memory_dir(place))
        self._projects = paths.projects_dir(env)
        self._found: list[Call] = []
        self._rest: Iterator[bool] | None = None

    def calls(self) -> list[Call]:
        seconds, seen = _LOOK if self._rest else _FIRST_LOOK, 0
        self._rest = self._rest or self._read()
        deadline = time.monotonic() + seconds
        while not self.is_read and (seen < _AT_LEAST or time.monotonic() < deadline):
            self.is_read = next(self._rest, True)
            seen += 1
        return self._found

    def _read(self) -> Iterator[bool]:
        """One call at a time, as long as there are more. Of what a call was given, what matchers look at is kept: a
        file that was written may be megabytes."""
        from reflect_git.adapters.transcript.calls import calls_in
        from reflect_git.review.matcher import FIELD

        for path in self._transcripts():
            calls: list[Call] = []
            try:
                for call in calls_in(path, self._projects):
                    if call:
                        timestamp, tool, given = call
                        calls.append((timestamp, tool, {FIELD: given[FIELD]} if FIELD in given else {}))
                    yield False
            except (ReflectError, OSError):
                continue
            self._found += calls

    def _transcripts(self) -> list[str]:
        oldest = time.time() - _BACKTEST_DAYS * 86400
        try:
            found = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(self._folder)]
        except OSError:
            return []
        return [path for moment, path in sorted(found, reverse=True) if moment > oldest and path.endswith(".jsonl")]
