"""Count sessions and events before and after each approval, in a recorded or simulated history.

A unit is a session in the cell of a key: those of its project if it was seen in one project, else all sessions. After
the approval, only sessions that had the rule loaded count. An event is a unit in which the key was seen at least once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from reflect_git.effect import verdict
from reflect_git.effect.verdict import Case, Controls, Count, Seen
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reflect_git.effect.verdict import Pooled, Verdict

ALL = ""  # the cell of a key that was seen in several projects
_NOT_AT_RISK = 3  # sessions after an event


class Session(NamedTuple):
    """One session. `setup`: model and client; `loaded`: ids of the rules it had."""

    project: str
    setup: str | None
    loaded: frozenset[str]


class Approval(NamedTuple):
    """An approved rule. `start`: how many sessions began before it. `events`: sessions in which it was broken.

    `project`: of the rule, "" for all; it is the cell if nothing was seen before the approval. `baseline`: counts that
    were stored at the approval; used if they cover more sessions than the records, or if these have no event.
    """

    learning: str
    start: int
    events: Sequence[int]
    project: str
    baseline: Count | None = None


class Baseline(NamedTuple):
    """The counts before an approval."""

    before: Count
    since_first: Count
    episodes: Count


class Judged(NamedTuple):
    """A rule with its counts and its verdict."""

    learning: str
    case: Case
    verdict: Verdict


class _Rule(NamedTuple):
    """An approval with everything that does not depend on the time of the look."""

    approval: Approval
    cell: str
    baseline: Baseline
    units: list[int]  # after the approval
    events: list[int]
    at_risk: list[int]
    episodes: list[int]


class Record:
    """All sessions in order, the approvals, and the events of never-approved keys: key → numbers of sessions."""

    def __init__(
        self, sessions: Sequence[Session], approvals: Iterable[Approval], keys: Mapping[str, Sequence[int]]
    ) -> None:  # fmt: skip
        self.sessions = sessions
        self.projects = [session.project for session in sessions]
        self.loading: dict[str, list[int]] = {}  # rule → the sessions that loaded it
        same: dict[frozenset[str], list[int]] = {}  # many sessions load the same rules
        for number, session in enumerate(sessions):
            same.setdefault(session.loaded, []).append(number)
        for loaded, numbers in same.items():
            for learning in loaded:
                self.loading.setdefault(learning, []).extend(numbers)
        for numbers in self.loading.values():
            numbers.sort()
        self.cells: dict[str, list[int]] = {ALL: list(range(len(sessions)))}
        for number, project in enumerate(self.projects):
            self.cells.setdefault(project, []).append(number)
        self.keys = keys
        self.rules = [self._prepare(one) for one in sorted(approvals, key=lambda one: one.start)]
        self._by_learning = {one.approval.learning: one for one in self.rules}

    def count_sessions(self, cell: str, first: int, last: int) -> int:
        """Return how many sessions of a cell have a number from `first` up to, not including, `last`."""
        listed = self.cells.get(cell, [])
        return bisect_left(listed, last) - bisect_left(listed, first)

    def find_cell(self, events: Iterable[int]) -> str:
        """Return the project of these sessions, or `ALL` if there are several."""
        projects = set(map(self.projects.__getitem__, events))
        return projects.pop() if len(projects) == 1 else ALL

    @cached_property
    def _changes(self) -> dict[str, int]:
        """Map each cell to its first session with another model or client than the sessions before it."""
        found = {}
        for cell, listed in self.cells.items():
            known = [(number, self.sessions[number].setup) for number in listed if self.sessions[number].setup]
            found[cell] = next((number for number, setup in known if setup != known[0][1]), len(self.sessions))
        return found

    def _prepare(self, approval: Approval) -> _Rule:
        start = approval.start
        before = approval.events[: bisect_left(approval.events, start)]
        cell = self.find_cell(before) if before else approval.project
        listed = self.cells.get(cell, [])
        earlier, loading = listed[: bisect_left(listed, start)], self.loading.get(approval.learning, [])
        units = loading[bisect_left(loading, start) :]
        if cell != ALL:
            projects = self.projects
            units = [number for number in units if projects[number] == cell]
        later = approval.events[len(before) :]
        events = sorted(set(units).intersection(later)) if later else []
        first = before[0] if before else start
        at_risk, episodes = find_episodes([*earlier[bisect_left(earlier, first) :], *units], [*before, *events])
        split, cut = bisect_left(at_risk, start), bisect_left(episodes, start)
        counted = Baseline(
            Count(len(before), len(earlier)), Count(len(before), len(earlier) - bisect_left(earlier, first)),
            Count(cut, split),
        )  # fmt: skip
        stored = approval.baseline
        if stored and (not before or stored.sessions > counted.before.sessions):
            counted = counted._replace(before=stored)
        return _Rule(
            approval, cell, counted, units, events, at_risk[split:], episodes[cut:],
        )  # fmt: skip

    def judge_all(self, now: int | None = None) -> tuple[list[Judged], Pooled | None]:
        """Judge every rule approved by then, from the first `now` sessions; also the effect of all together."""
        now = len(self.sessions) if now is None else now
        rules = [one for one in self.rules if one.approval.start <= now]
        waiting = [one.approval.events for one in self.rules if one.approval.start > now]  # controls until then
        seen = []
        for one in rules:
            events, sessions = one.baseline.before
            seen.append(Seen(events, sessions, max(sessions, self.count_sessions(one.cell, 0, now))))
        controls: dict[str, list[int]] = {}
        for numbers in (*self.keys.values(), *waiting):
            listed = numbers[: bisect_left(numbers, now)]
            if listed:
                cell = self.find_cell(listed)
                controls.setdefault(cell, []).extend(listed)
                sessions = self.count_sessions(cell, 0, now)
                seen.append(Seen(len(listed), sessions, sessions))
        for listed in controls.values():
            listed.sort()
        prior = verdict.fit_prior(seen)
        judged = []
        for rule in rules:
            case = self._count(rule, controls, now)
            judged.append(Judged(rule.approval.learning, case, verdict.judge(case, prior)))
        return judged, verdict.pool((one.case, one.verdict) for one in judged)

    def count_recent(self, judged: Judged, first: int) -> Judged:
        """Return a rule as judged, with only its sessions from number `first` on, and what to expect in them."""
        rule = self._by_learning[judged.learning]
        case, found = judged.case, judged.verdict
        units = len(rule.units) - bisect_left(rule.units, first)
        events = len(rule.events) - bisect_left(rule.events, first)
        share = units / case.after.sessions if case.after.sessions else 0.0
        expected = found.expected._replace(mean=found.expected.mean * share)
        return Judged(judged.learning, case._replace(after=Count(events, units)), found._replace(expected=expected))

    def _count(self, rule: _Rule, controls: Mapping[str, list[int]], now: int) -> Case:
        start = rule.approval.start
        others = []
        for cell, events in controls.items():
            before = bisect_left(events, start)
            sessions = self.count_sessions(cell, 0, start), self.count_sessions(cell, start, now)
            others.append(Controls(before, len(events) - before, *sessions))
        return Case(
            rule.baseline.before, Count(bisect_left(rule.events, now), bisect_left(rule.units, now)),
            rule.baseline.since_first, rule.baseline.episodes,
            Count(bisect_left(rule.episodes, now), bisect_left(rule.at_risk, now)),
            others, self._changes.get(rule.cell, now) < now,
        )  # fmt: skip


def find_episodes(units: Sequence[int], events: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the sessions at risk, and those among them with an event: the three sessions after an event are not.

    `events` are some of the `units`; both are sorted.
    """
    at_risk: list[int] = []
    episodes, free = [], 0  # `free`: the first unit after the last event that is at risk
    for number in events:
        place = bisect_left(units, number)
        if place >= free:
            at_risk += units[free : place + 1]
            episodes.append(number)
        free = place + 1 + _NOT_AT_RISK
    return [*at_risk, *units[free:]], episodes
