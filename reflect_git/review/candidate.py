"""A candidate, and all of them: what review would ask. Plain data, so that a list that was kept is shown at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, overload

from reflect_git.model.tuples import NamedTuple

Entries = tuple[dict[str, Any], ...]
NAMES = ("strong", "more", "weak", "held", "recurrences")
NOTHING = "Nothing to reflect on."
_NEAR = ("similar", "conflicts_with")


class Near:
    """What is similar to a candidate and what contradicts it; looked for when asked, since most lists do not tell."""

    def __init__(self, look: Callable[[], tuple[Entries, Entries]]) -> None:
        self._look = look
        self.found: tuple[Entries, Entries] | None = None

    def __call__(self) -> tuple[Entries, Entries]:
        if self.found is None:
            self.found = self._look()
        return self.found

    def __eq__(self, other: object) -> bool:
        """A candidate is the same whether somebody asked what is near it or not."""
        return isinstance(other, Near)

    __hash__ = object.__hash__


class Candidate(NamedTuple):
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
    near: Near
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
    projects: tuple[str, ...]  # the keys of all in which it was said
    outside: bool  # it was said where no project is, too
    sessions_ago: int | None  # how many began since it was last said; None if it was in no session
    needs_wording: bool = False  # the text is a quote, and no rule yet
    why_no_rule: str = ""
    until: str | None = None  # the day on which it ends, as its words say
    recurrence_of: str | None = None
    dismissed_before: str | None = None

    @property
    def similar(self) -> Entries:
        return self.near()[0]

    @property
    def conflicts_with(self) -> Entries:
        return self.near()[1]

    def as_json(self) -> dict[str, Any]:
        return self._told(_NEAR)

    def as_kept(self) -> dict[str, Any]:
        """What is known of it by now."""
        return self._told(_NEAR if self.near.found else ())

    def tells_more_than(self, kept: Mapping[str, Any] | None) -> bool:
        return kept is None or (self.near.found is not None and _NEAR[0] not in kept)

    def _told(self, near: tuple[str, ...]) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _names(near)}

    @classmethod
    def recalled(cls, kept: Mapping[str, Any], near: Near) -> Candidate:
        """From what was known of it, as JSON gives it back."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in kept.items()
        }
        if _NEAR[0] in given:
            near.found = given.pop(_NEAR[0]), given.pop(_NEAR[1])
        return cls(**given, near=near)


@cache
def _names(near: tuple[str, ...]) -> list[str]:
    return [name for field in Candidate._fields for name in (near if field == "near" else (field,))]


class Lazily(Sequence[Candidate]):
    """Candidates that are made when they are looked at: a flood of 10,000 is counted, not worded."""

    def __init__(self, count: int, make: Callable[[int], Candidate]) -> None:
        self._count = count
        self._make = make
        self.made: dict[int, Candidate] = {}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, at: int | slice) -> Candidate | Sequence[Candidate]:
        places = range(self._count)[at]
        if isinstance(places, range):
            return Lazily(len(places), lambda spot: self[places[spot]])
        if places not in self.made:
            self.made[places] = self._make(places)
        return self.made[places]


class Gathered(NamedTuple):
    """`strong` is what a sitting shows, `more` how many strong ones wait behind it, `held` what a flood brought beyond
    its share, `recurrences` what a rule in force already says, `known` how many signals files say already. `settled`
    are captured signals that nobody is asked about, `questions` the signals of each strong one."""

    strong: Lazily
    more: Lazily
    weak: Lazily
    held: Lazily
    recurrences: Lazily
    gathered: int
    known: int
    place_of: Callable[[str], tuple[str, int] | None]
    settled: tuple[str, ...]
    questions: tuple[tuple[str, ...], ...]

    @property
    def message(self) -> str:
        """Where there is nothing to ask, why."""
        if self.strong or self.weak or self.held:
            return ""
        return "All learnings already captured." if self.known or self.recurrences else NOTHING

    def of(self, signal: str) -> Candidate | None:
        """The candidate that a signal belongs to: any id of the group names it."""
        place = self.place_of(signal)
        if place is None:
            return None
        found: Candidate = getattr(self, place[0])[place[1]]
        return found
