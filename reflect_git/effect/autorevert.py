"""Decide from a judge's scores whether to propose going back: a Bayes factor of a drop against no change.

A few low scores in a row happen by chance many times a year, so they may open a question but never act.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, exp, pi, sqrt

from reflect_git.records.named_tuple import NamedTuple

BEFORE, LEAST_AFTER, MOST_AFTER = 40, 10, 60
LEAST_BEFORE = 10
COOLDOWN = 20  # sessions after a proposal
_LEAST_VARIANCE = 0.2
_OTHER_JUDGE = 0.042  # the variance that a change of judge or calibration adds
_DROP, _DROP_VARIANCE = 0.7, 0.16  # the usual drop, if there is one
_FACTOR = 100.0
_NOTABLE, _SURE = 0.3, 0.9
_LOW_SCORES, _LOW_MEAN = 3, 2.5


class Drop(NamedTuple):
    """The change of scores after a change of instructions: its size, and how likely it is a real drop."""

    drop: float
    factor: float
    sure: float  # the probability of a drop of more than 0.3
    before: int
    after: int

    @property
    def is_proposed(self) -> bool:
        return self.factor >= _FACTOR and self.sure >= _SURE


def _normal(value: float, mean: float, variance: float) -> float:
    return exp(-((value - mean) ** 2) / (2 * variance)) / sqrt(2 * pi * variance)


def estimate_drop(before: Sequence[float], after: Sequence[float], is_same_judge: bool = True) -> Drop | None:
    """Compare the scores around a change; None if there are too few sessions."""
    old, new = before[-BEFORE:], after[:MOST_AFTER]
    if len(old) < LEAST_BEFORE or len(new) < LEAST_AFTER:
        return None
    mean = sum(old) / len(old)
    variance = max(_LEAST_VARIANCE, sum((score - mean) ** 2 for score in old) / (len(old) - 1))
    drop = mean - sum(new) / len(new)
    error = variance / len(old) + variance / len(new) + (0.0 if is_same_judge else _OTHER_JUDGE)
    unchanged = _normal(drop, 0.0, error)
    factor = _normal(drop, _DROP, error + _DROP_VARIANCE) / unchanged if unchanged else float("inf")
    spread = 1 / (1 / _DROP_VARIANCE + 1 / error)
    centre = spread * (_DROP / _DROP_VARIANCE + drop / error)
    sure = erfc((_NOTABLE - centre) / sqrt(2 * spread)) / 2
    return Drop(drop, factor if drop > 0 else 0.0, sure, len(old), len(new))


def find_drop(
    scores: Sequence[float], changes: Sequence[int], proposed: Sequence[int] = (), judge_changes: Sequence[int] = ()
) -> tuple[int, Drop] | None:  # fmt: skip
    """Return the change to go back on, and the drop since it; None if there is no reason, or a proposal was just made.

    `scores`: of all scored sessions, oldest first. `changes`, `proposed`, `judge_changes`: how many scored sessions
    came before each change of instructions, each earlier proposal, and each change of judge.
    """
    now = len(scores)
    if any(now - one < COOLDOWN for one in proposed):
        return None
    found = []
    for change in changes:
        if LEAST_AFTER <= now - change <= MOST_AFTER:
            first = max(0, change - BEFORE)
            is_same = not any(first < one < now for one in judge_changes)
            drop = estimate_drop(scores[first:change], scores[change:], is_same)
            if drop and drop.is_proposed:
                found.append((drop.factor, change, drop))
    if not found:
        return None
    _, change, drop = max(found)
    return change, drop


def is_low(scores: Sequence[float]) -> bool:
    """Tell whether the last three scores are low on average: a reason to ask, not to act."""
    last = scores[-_LOW_SCORES:]
    return len(last) == _LOW_SCORES and sum(last) / _LOW_SCORES < _LOW_MEAN
