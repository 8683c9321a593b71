"""Read the scores that a judge gave to sessions, from its evaluation records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reflect_git.records.named_tuple import NamedTuple

_IN_SESSION = "in-session"  # judged by the session's own model, which could write what it likes
_JUDGE_FIELDS = ("kind", "model", "rubric_sha", "prompt_sha")


class Score(NamedTuple):
    """The overall score of one session, from 1 to 5. `judge`: scores of different ones are not comparable.

    `is_anchored`: the judge was calibrated. `versions`: of each file that the session loaded.
    """

    session: str
    timestamp: str
    overall: float
    criteria: Mapping[str, float]
    judge: tuple[str, ...]
    is_anchored: bool
    versions: Mapping[str, int]
    recommendation: str = ""


def load_overall_scores(records: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, bool]]:
    """Map each session to its overall score, and whether its judge was calibrated."""
    return {name: (one.overall, one.is_anchored) for name, one in load_scores(records).items()}


def load_scores(records: Iterable[Mapping[str, Any]]) -> dict[str, Score]:
    """Map each session to its score: the mean of its parts, weighted by their messages.

    The judge of the newest evaluation counts, and of parts that overlap the newest. Evaluations without an overall
    score are left out, and those of a session by itself: it could write what it likes.
    """
    by_session: dict[str, list[Mapping[str, Any]]] = {}
    for one in records:
        overall = one.get("overall") if str(one["id"]).startswith("EVL-") else None
        if isinstance(overall, (int, float)) and _get_judge(one)[0] != _IN_SESSION:
            by_session.setdefault(one["session"], []).append(one)
    return {name: _build_score(found) for name, found in by_session.items()}


def _build_score(evaluations: Sequence[Mapping[str, Any]]) -> Score:
    ordered = sorted(evaluations, key=lambda one: str(one["timestamp"]), reverse=True)
    newest = ordered[0]
    parts: list[Mapping[str, Any]] = []
    for one in ordered:
        first, last, _ = _get_messages(one)
        is_free = all(last < start or first > end for start, end, _ in map(_get_messages, parts))
        if is_free and _get_judge(one) == _get_judge(newest):
            parts.append(one)
    overall = _weigh([(one["overall"], _get_messages(one)[2]) for one in parts])
    given = [(one.get("scores") or {}, _get_messages(one)[2]) for one in parts]
    criteria = {
        name: _weigh([(scores[name], count) for scores, count in given if name in scores])
        for name in dict.fromkeys(name for scores, _ in given for name in scores)
    }
    return Score(
        newest["session"], newest["timestamp"], overall, criteria, _get_judge(newest),
        all(one.get("anchored") is True for one in parts), newest.get("versions") or {},
        str(newest.get("recommendation") or ""),
    )  # fmt: skip


def _get_judge(evaluation: Mapping[str, Any]) -> tuple[str, ...]:
    judge = evaluation.get("judge") or {}
    return tuple(str(judge.get(name) or "") for name in _JUDGE_FIELDS)


def _get_messages(evaluation: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the first and last message of a part, and how many it has."""
    given = evaluation.get("messages") or {"first": 1, "last": 1, "count": 1}
    return given["first"], given["last"], max(1, given["count"])


def _weigh(values: Sequence[tuple[float, int]]) -> float:
    """Return the mean of values with weights."""
    return sum(value * count for value, count in values) / sum(count for _, count in values)
