"""The score of a session from its evaluations."""

from __future__ import annotations

from typing import Any

import pytest

from reflect_git.effect.scores import load_scores

JUDGE = {"kind": "claude", "model": "m", "rubric_sha": "r", "prompt_sha": "p"}


def build(overall: float | None, first: int, last: int, at: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"EVL-{at}", "session": "a", "timestamp": f"2026-02-11T10:00:{at:02d}Z", "overall": overall,
        "scores": {"tone": overall} if overall else {},
        "messages": {"first": first, "last": last, "count": last + 1 - first}, "judge": JUDGE,
        "anchored": True, "versions": {"CLAUDE.md": at}, "recommendation": "keep", **more,
    }  # fmt: skip


def test_the_parts_of_a_session_count_by_their_messages() -> None:
    (found,) = load_scores([build(2.0, 1, 20, 1), build(2.0, 21, 40, 2), build(5.0, 41, 45, 3)]).values()
    assert found.overall == pytest.approx((2.0 * 40 + 5.0 * 5) / 45) == found.criteria["tone"]
    assert (found.versions, found.is_anchored) == ({"CLAUDE.md": 3}, True)


def test_a_part_that_was_judged_again_counts_once() -> None:
    (found,) = load_scores([build(2.0, 1, 20, 1), build(2.0, 21, 30, 2), build(4.0, 1, 30, 3)]).values()
    assert found.overall == 4.0
    (found,) = load_scores([build(2.0, 1, 20, 1), build(4.0, 1, 10, 3)]).values()
    assert found.overall == 4.0, "the older one overlaps"


def test_another_judge_an_unscored_part_and_the_session_itself_do_not_mix_in() -> None:
    other, own = {**JUDGE, "model": "other"}, {**JUDGE, "kind": "in-session"}
    records = [
        build(1.0, 1, 20, 1, judge=other, anchored=False), build(None, 21, 40, 2), build(5.0, 41, 60, 4, judge=own),
        build(3.0, 21, 40, 3),
    ]  # fmt: skip
    (found,) = load_scores(records).values()
    assert (found.overall, found.is_anchored) == (3.0, True)
    (found,) = load_scores([build(3.0, 1, 20, 1, anchored=False), build(3.0, 21, 40, 2)]).values()
    assert not found.is_anchored
