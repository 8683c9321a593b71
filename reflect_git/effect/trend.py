"""Count corrections, failures, interruptions and tokens per week, for each 100 messages that the person typed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.records.ids import parse_utc, utc
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from reflect_git.candidates.session_events import RecordedSession
    from reflect_git.effect.scores import Score
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision

GLOBAL_PREFIX = "global/"  # of global files in the figures of a session
FIGURES = ("corrections", "failures", "interruptions", "tokens")
CHANGE_KINDS = ("approved", "amended", "reverted")
_DAY, _WEEK = 86400, 7 * 86400
_FIRST_MONDAY = 4 * _DAY  # 1970-01-05


class Week(NamedTuple):
    """The sessions that began in one week, UTC. `start`: its Monday.

    `tokens`: None if no session recorded them. `typed_with_tokens`: messages in sessions that did. `approvals`: of
    rules, `changes`: all decisions that changed an instruction file. `criteria`: mean scores of a judge.
    `is_anchored`: the judge of all of them was calibrated.
    """

    start: str
    sessions: int
    typed: int
    corrections: int
    failures: int
    interruptions: int
    tokens: int | None
    typed_with_tokens: int
    approvals: int
    changes: int
    reversions: int
    scored: int
    score: float | None
    criteria: Mapping[str, float]
    is_anchored: bool = False

    def get_rate(self, figure: str) -> float | None:
        """Return a figure for each 100 typed messages; None without messages."""
        typed = self.typed_with_tokens if figure == "tokens" else self.typed
        value = getattr(self, figure)
        return None if value is None or not typed else 100 * float(value) / typed

    def as_json(self) -> dict[str, Any]:
        rates = {figure: self.get_rate(figure) for figure in FIGURES}
        return {
            "start": self.start, "sessions": self.sessions, "typed": self.typed, "corrections": self.corrections,
            "failures": self.failures, "interruptions": self.interruptions, "tokens": self.tokens,
            "approvals": self.approvals, "changes": self.changes, "reversions": self.reversions,
            "scored": self.scored, "score": self.score, "criteria": dict(self.criteria),
            "anchored": self.is_anchored if self.scored else None,
            "per_100": {name: None if rate is None else round(rate, 2) for name, rate in rates.items()},
        }  # fmt: skip


def get_monday(timestamp: str) -> str:
    """Return the day of the Monday before a time, or that day."""
    seconds = parse_utc(timestamp)
    return utc(seconds - (seconds - _FIRST_MONDAY) % _WEEK)[:10]


def list_weeks(until: str, count: int) -> list[str]:
    """Return the Mondays of the last weeks, including the running one."""
    last = parse_utc(f"{get_monday(until)}T00:00:00Z")
    return [utc(last - _WEEK * (count - 1 - at))[:10] for at in range(count)]


def list_changes(history: History, projects: Collection[str] | None = None) -> list[Decision]:
    """Return the decisions that changed a rule, oldest first; with `projects`, only those that apply in them.

    Those that were taken back count as well: sessions ran with them.
    """
    found = []
    for made in history.decisions:
        rule = history.learnings.get(made["subject"])
        if rule is None or made["kind"] not in CHANGE_KINDS:
            continue
        is_global = rule["scope"] == "global" or not rule["project"]
        if projects is None or is_global or (rule["project"] or {"key": ""})["key"] in projects:
            found.append(made)
    return found


def count_weeks(
    sessions: Iterable[RecordedSession], changes: Iterable[Decision], scores: Mapping[str, Score],
    mondays: Sequence[str],
) -> list[Week]:  # fmt: skip
    """Return the figures of each week."""
    held: dict[str, list[RecordedSession]] = {monday: [] for monday in mondays}
    for one in sessions:
        held.get(get_monday(one.start), []).append(one)
    made: dict[str, list[Decision]] = {monday: [] for monday in mondays}
    for decision in changes:
        made.get(get_monday(decision["timestamp"]), []).append(decision)
    return [_count_week(monday, held[monday], made[monday], scores) for monday in mondays]


class VersionFigures(NamedTuple):
    """The sessions that loaded one version of a file. `project`: its key; "" for a global file."""

    project: str
    path: str
    version: int
    figures: Week

    def as_json(self) -> dict[str, Any]:
        left_out = ("start", "approvals", "changes", "reversions")
        figures = {name: value for name, value in self.figures.as_json().items() if name not in left_out}
        return {"target": self.path, "project": self.project or None, "version": self.version, **figures}


def count_versions(sessions: Iterable[RecordedSession], scores: Mapping[str, Score]) -> list[VersionFigures]:
    """Return the figures of the sessions under each version of each file, in the order of files and versions."""
    held: dict[tuple[str, str, int], list[RecordedSession]] = {}
    for one in sessions:
        for path, number in one.versions.items():
            held.setdefault(("" if path.startswith(GLOBAL_PREFIX) else one.project, path, number), []).append(one)
    return [VersionFigures(*name, _count_week("", held[name], (), scores)) for name in sorted(held)]


def _count_week(
    monday: str, sessions: Sequence[RecordedSession], made: Sequence[Decision], scores: Mapping[str, Score]
) -> Week:
    known = [one for one in sessions if one.tokens is not None]
    scored = [scores[one.name] for one in sessions if one.name in scores]
    named = {name for one in scored for name in one.criteria}
    criteria = {
        name: round(_mean([one.criteria[name] for one in scored if name in one.criteria]), 2) for name in sorted(named)
    }
    return Week(
        monday, len(sessions), sum(one.typed for one in sessions), sum(one.corrections for one in sessions),
        sum(one.failures for one in sessions), sum(one.interruptions for one in sessions),
        sum(one.tokens or 0 for one in known) if known else None, sum(one.typed for one in known),
        sum(one["kind"] == "approved" for one in made), len({one["timestamp"] for one in made}),
        sum(one["kind"] == "reverted" for one in made),
        len(scored), round(_mean([one.overall for one in scored]), 2) if scored else None, criteria,
        bool(scored) and all(one.is_anchored for one in scored),
    )  # fmt: skip


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
