"""Find which approval made a figure worse: the posterior of one step in a series, over the approvals."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt

from reflect_git.records.named_tuple import NamedTuple

_LEAST_VARIANCE = 0.2
STEP, _STEP_VARIANCE = 0.7, 0.16  # of scores from 1 to 5
_SURE = 0.9
_MOST_LOG = 700.0  # a larger exponent overflows


class Suspect(NamedTuple):
    """An approval, by its place in the given list, and the probability that the step came with it."""

    approval: int
    probability: float


class StepSearch(NamedTuple):
    """Every approval that may be behind a fall, most likely first.

    `factor`: how many times more likely the values are with one such fall than without any.
    """

    suspects: list[Suspect]
    factor: float


def find_step(values: Sequence[float], approvals: Sequence[int], step: float = STEP) -> StepSearch:
    """Return every approval with the probability that the values fell with it.

    `approvals`: how many values came before each. The values are constant before and after the step, except for noise.
    The level before it may be anything; the fall is about `step`.
    """
    usable = [index for index, at in enumerate(approvals) if 0 < at < len(values)]
    if not usable:
        return StepSearch([], 0.0)
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    variance = _estimate_variance(values, [approvals[index] for index in usable], sums)
    spread = _STEP_VARIANCE * (step / STEP) ** 2
    logs = []
    for index in usable:
        at, rest = approvals[index], len(values) - approvals[index]
        drop = sums[at] / at - (sums[-1] - sums[at]) / rest
        error = variance / at + variance / rest
        # Twice the gain in likelihood over "no step", with the level before and the size of the step integrated out.
        gain = drop**2 / error - (drop - step) ** 2 / (error + spread) + log(error / (error + spread))
        logs.append(gain / 2)
    best = max(logs)
    total = sum(exp(one - best) for one in logs)
    found = [Suspect(index, exp(one - best) / total) for index, one in zip(usable, logs, strict=True)]
    suspects = sorted(found, key=lambda one: (-one.probability, one.approval))
    return StepSearch(suspects, exp(min(best, _MOST_LOG)) * total / len(usable))


def normalise(values: Sequence[float], approvals: Sequence[int]) -> list[float]:
    """Return the values in units of their spread between two approvals, so that a step of 1 is a large one."""
    inner = sorted({at for at in approvals if 0 < at < len(values)})
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    spread = sqrt(_find_variance(values, inner, sums))
    return [value / spread for value in values] if spread else list(values)


def _estimate_variance(values: Sequence[float], approvals: Sequence[int], sums: Sequence[float]) -> float:
    return max(_LEAST_VARIANCE, _find_variance(values, approvals, sums))


def _find_variance(values: Sequence[float], approvals: Sequence[int], sums: Sequence[float]) -> float:
    """Return the variance between two approvals, so that the step itself adds nothing to it."""
    edges = sorted({0, *approvals, len(values)})
    squares, degrees = 0.0, 0
    for first, last in zip(edges, edges[1:], strict=False):
        mean = (sums[last] - sums[first]) / (last - first)
        squares += sum((value - mean) ** 2 for value in values[first:last])
        degrees += last - first - 1
    return squares / degrees if degrees else 0.0


def find_likely_set(suspects: Sequence[Suspect]) -> list[Suspect]:
    """Return the smallest set of approvals that has the one with a probability of 90 %."""
    found, total = [], 0.0
    for one in suspects:
        found.append(one)
        total += one.probability
        if total >= _SURE:
            break
    return found
