"""The data types for candidates (proposed rules): one candidate, lazy lists of them, and the full result of gathering.

All of it is plain data, so that a cached list can be shown at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, overload

from reflect_git.records.ids import day_number, local_day, parse_utc, plural
from reflect_git.records.named_tuple import NamedTuple

Entries = tuple[dict[str, Any], ...]
LIST_NAMES = ("strong", "more", "weak", "held", "recurrences")
NOTHING_MESSAGE = "Nothing to reflect on."
_NEAR_FIELDS = ("similar", "conflicts_with")
_CONFIDENCE = {1: "low", 2: "medium", 3: "high", 4: "approved"}
_WEEK_DAYS = 7


class NearLookup:
    """Lazy lookup of the texts that are similar to a candidate or contradict it; most lists never show them."""

    def __init__(self, look: Callable[[], tuple[Entries, Entries]]) -> None:
        self._find = look
        self.result: tuple[Entries, Entries] | None = None

    def __call__(self) -> tuple[Entries, Entries]:
        if self.result is None:
            self.result = self._find()
        return self.result

    def __eq__(self, other: object) -> bool:
        """Treat all instances as equal: a candidate is the same whether or not the lookup has run."""
        return isinstance(other, NearLookup)

    __hash__ = object.__hash__


class Candidate(NamedTuple):
    """A proposed rule with its evidence, its classification and its proposed target."""

    id: str
    text: str
    type: str
    category: str
    scope: str
    target: str
    tier: str
    confidence: int
    occurrences: int
    sessions: int
    trust: str
    signals: tuple[str, ...]
    first_seen: str
    last_seen: str
    near: NearLookup
    backtest: dict[str, Any] | None
    warnings: tuple[str, ...]
    sha256: str
    quote: str
    title: str
    side: str
    paths: tuple[str, ...]
    key: str
    matcher: dict[str, str] | None
    project: dict[str, str] | None  # where it was said first
    projects: tuple[str, ...]  # keys of all projects in which it was said
    outside: bool  # it was also said outside any project
    sessions_ago: int | None  # sessions started since it was last said; None if it was not said in a session
    needs_wording: bool = False  # the text is a quote that is not worded as a rule yet
    why_no_rule: str = ""
    until: str | None = None  # the day on which it expires, if the text gives one
    recurrence_of: str | None = None
    dismissed_before: str | None = None

    @property
    def similar(self) -> Entries:
        """Return similar texts, looked up on first use."""
        return self.near()[0]

    @property
    def conflicts_with(self) -> Entries:
        """Return contradicting texts, looked up on first use."""
        return self.near()[1]

    def as_json(self) -> dict[str, Any]:
        """Return all fields, including `similar` and `conflicts_with`."""
        return self._get_fields(_NEAR_FIELDS)

    def as_cached(self) -> dict[str, Any]:
        """Return the fields known so far, for the cache; does not trigger the lookup of similar texts."""
        return self._get_fields(_NEAR_FIELDS if self.near.result else ())

    def has_more_than(self, kept: Mapping[str, Any] | None) -> bool:
        """Return whether this candidate has data that its cached form lacks."""
        return kept is None or (self.near.result is not None and _NEAR_FIELDS[0] not in kept)

    def _get_fields(self, near: tuple[str, ...]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _list_field_names(near)}

    @classmethod
    def from_cache(cls, kept: Mapping[str, Any], near: NearLookup) -> Candidate:
        """Rebuild a candidate from its cached JSON form."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()
        }
        if _NEAR_FIELDS[0] in given:
            near.result = given.pop(_NEAR_FIELDS[0]), given.pop(_NEAR_FIELDS[1])
        return cls(**given, near=near)


@cache
def _list_field_names(near: tuple[str, ...]) -> list[str]:
    return [name for field in Candidate._fields for name in (near if field == "near" else (field,))]


class LazyCandidates(Sequence[Candidate]):
    """A sequence whose candidates are created on access.

    A flood of 10,000 can be counted without wording each one.
    """

    def __init__(self, count: int, make: Callable[[int], Candidate]) -> None:
        self._count = count
        self._build = make
        self.loaded: dict[int, Candidate] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, at: int | slice) -> Candidate | Sequence[Candidate]:
        places = range(self._count)[at]
        if isinstance(places, range):
            return LazyCandidates(len(places), lambda project_key: self[places[project_key]])
        if places not in self.loaded:
            self.loaded[places] = self._build(places)
        return self.loaded[places]


class GatherResult(NamedTuple):
    """The result of gathering candidates.

    `strong` is shown in one review and `more` are the strong ones after those. `held` exceeds the daily limit of its
    source. `recurrences` repeat a rule in force. `known` counts signals that files already cover. `settled` are
    captured signals that need no question. `questions` lists the signals of each strong candidate.
    """

    strong: LazyCandidates
    more: LazyCandidates
    weak: LazyCandidates
    held: LazyCandidates
    recurrences: LazyCandidates
    gathered: int
    known: int
    find_position: Callable[[str], tuple[str, int] | None]
    settled: tuple[str, ...]
    questions: tuple[tuple[str, ...], ...]

    @property
    def message(self) -> str:
        """Return why there is nothing to review; empty if there is something."""
        if self.strong or self.weak or self.held:
            return ""
        return "All learnings already captured." if self.known or self.recurrences else NOTHING_MESSAGE

    def find_candidate(self, signal: str) -> Candidate | None:
        """Return the candidate that contains a signal; any signal id of the group works."""
        place = self.find_position(signal)
        if place is None:
            return None
        found: Candidate = getattr(self, place[0])[place[1]]
        return found


def format_confidence(candidate: Candidate) -> str:
    """Say how sure it is. A weak one is never more than low, however trusted its words are."""
    times = plural(candidate.sessions, "session")
    sure = _CONFIDENCE[1 if candidate.tier == "weak" else candidate.confidence]
    return f"{sure} (seen in {times})"


def format_backtest(backtest: Mapping[str, Any]) -> str:
    """Format how often it would have applied: 14 times in 60 days; last: `npm install` on Tuesday."""
    if not backtest["days"]:
        return "no past session to test it on"
    span = plural(backtest["days"], "day")
    if not backtest["applied"]:
        return f"no match in the last {'day' if backtest['days'] == 1 else span}"
    said = f"{plural(backtest['applied'], 'match', 'matches')} in the last {'day' if backtest['days'] == 1 else span}"
    last = backtest["last"]
    return f"{said}; last: `{last['value']}` {format_day(last['timestamp'])}" if last else said


def format_day(timestamp: str) -> str:
    """Format a day: `today`, `on Tuesday`, or `on 2026-02-11`."""
    moment = parse_utc(timestamp)
    days = day_number(time.time()) - day_number(moment)
    if not days:
        return "today"
    if 0 < days < _WEEK_DAYS:  # a week ago is a day of the same name
        return time.strftime("on %A", time.localtime(moment))
    return f"on {local_day(moment)}"
