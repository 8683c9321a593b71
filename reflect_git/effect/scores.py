"""Read the scores that a judge gave to sessions, from its evaluation records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def load_scores(records: Iterable[Mapping[str, Any]]) -> dict[str, Score]:
    """Map each session to its last score.

    Evaluations without an overall score are left out, and those of a session by itself: it could write what it likes.
    """
    found: dict[str, Score] = {}
    for one in records:
        overall = one.get("overall") if str(one["id"]).startswith("EVL-") else None
        if not isinstance(overall, (int, float)):
            continue
        judge = one.get("judge") or {}
        named = tuple(str(judge.get(name) or "") for name in _JUDGE_FIELDS)
        if named[0] == _IN_SESSION:
            continue
        is_anchored = one.get("anchored") is True
        made = Score(
            one["session"], one["timestamp"], float(overall), one.get("scores") or {}, named, is_anchored,
            one.get("versions") or {}, str(one.get("recommendation") or ""),
        )  # fmt: skip
        known = found.get(made.session)
        if known is None or known.timestamp < made.timestamp:
            found[made.session] = made
    return found
