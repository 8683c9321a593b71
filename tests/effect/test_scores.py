"""Proposals to go back and the search for the approval behind a drop, on simulated scores."""

from __future__ import annotations

import math
import random

import pytest

from reflect_git.effect import autorevert
from reflect_git.effect import bisect as steps

SPREAD = 0.55


def scores(dice: random.Random, count: int, mean: float) -> list[float]:
    return [min(5.0, max(1.0, dice.gauss(mean, SPREAD))) for _ in range(count)]


def test_the_factor_is_a_ratio_of_two_normal_densities() -> None:
    before, after = [4.0, 5.0] * 20, [3.5] * 10
    found = autorevert.estimate_drop(before, after)
    variance = 40 * 0.25 / 39
    error = variance / 40 + variance / 10
    wanted = math.sqrt(error / (error + 0.16)) * math.exp(1.0**2 / (2 * error) - 0.3**2 / (2 * (error + 0.16)))
    assert found is not None and found.drop == pytest.approx(1.0)
    assert found.factor == pytest.approx(wanted)
    assert found.is_proposed


@pytest.mark.parametrize(("before", "after"), [(40, 9), (9, 10)])
def test_too_few_sessions_say_nothing(before: int, after: int) -> None:
    assert autorevert.estimate_drop([4.0] * before, [1.0] * after) is None


def test_better_scores_are_no_reason_to_go_back() -> None:
    found = autorevert.estimate_drop([2.0] * 40, [5.0] * 20)
    assert found is not None and not found.is_proposed


def test_another_judge_makes_a_drop_less_certain() -> None:
    before, after = scores(random.Random(1), 40, 4.0), [3.3] * 14
    same, other = (autorevert.estimate_drop(before, after, is_same) for is_same in (True, False))
    assert same is not None and other is not None
    assert same.factor > other.factor


def test_after_a_proposal_there_is_a_pause() -> None:
    values = [4.0, 4.5] * 20 + [2.5] * 12
    found = autorevert.find_drop(values, [40])
    assert found is not None and found[0] == 40
    assert autorevert.find_drop(values, [40], proposed=[50]) is None
    assert autorevert.find_drop(values, [40], proposed=[32]) is not None
    assert autorevert.find_drop(values, [40], judge_changes=[45]) is not None


def test_a_drop_of_one_is_found_within_twelve_sessions() -> None:
    """Of 6,000, 99 % were found within twelve sessions, and 96 % after ten."""
    dice, found = random.Random("drops"), 0
    for _ in range(300):
        values = scores(dice, 40, 4.0)
        later = scores(dice, 12, 3.0)
        found += any(autorevert.find_drop(values + later[:count], [40]) for count in range(10, 13))
    assert found / 300 >= 0.95


def test_false_alarms_are_rare() -> None:
    """Forty years with 15 scored sessions a week and a change every 20 sessions; 120 years gave 0.13 a year."""
    dice, alarms, years, weekly = random.Random("alarms"), 0, 40, 15
    known = autorevert.BEFORE + autorevert.MOST_AFTER
    for _ in range(years):
        values, last = scores(dice, 52 * weekly, 4.0), -autorevert.COOLDOWN
        for now in range(1, len(values) + 1):
            first = max(0, now - known)
            changes = [change - first for change in range(20, now, 20) if now - change <= autorevert.MOST_AFTER]
            if autorevert.find_drop(values[first:now], changes, [last - first]):
                alarms, last = alarms + 1, now
    assert alarms / years <= 0.3


def test_low_scores_in_a_row_only_open_a_question() -> None:
    assert autorevert.is_low([4.0, 2.0, 2.5, 2.9])
    assert not autorevert.is_low([2.0, 2.0]) and not autorevert.is_low([1.0, 4.0, 2.0, 2.0])


@pytest.mark.parametrize(("drop", "first_guess", "members"), [(1.0, 0.9, 1.5), (0.5, 0.55, 3.5)])
def test_the_approval_behind_a_drop_is_found(drop: float, first_guess: float, members: float) -> None:
    dice, right, listed, covered = random.Random("steps"), 0, 0, 0
    approvals = [10 * (at + 1) for at in range(8)]
    for _ in range(300):
        culprit = dice.randrange(8)
        values = scores(dice, approvals[culprit], 4.0) + scores(dice, 90 - approvals[culprit], 4.0 - drop)
        suspects = steps.find_step(values, approvals).suspects
        likely = steps.find_likely_set(suspects)
        assert sum(one.probability for one in suspects) == pytest.approx(1.0)
        right += suspects[0].approval == culprit
        listed += len(likely)
        covered += culprit in [one.approval for one in likely]
    assert right / 300 >= first_guess and listed / 300 <= members and covered / 300 >= 0.87


def test_an_approval_without_sessions_on_both_sides_is_left_out() -> None:
    assert steps.find_step([4.0] * 10, [0, 10]).suspects == []
    assert [one.approval for one in steps.find_step([4.0, 4.1, 3.0, 3.1], [0, 2, 4]).suspects] == [1]


def test_the_factor_of_a_step_says_whether_there_was_one() -> None:
    """It is the mean over the approvals of the ratio of two likelihoods."""
    dice = random.Random("factor")
    flat, fallen = scores(dice, 90, 4.0), scores(dice, 45, 4.0) + scores(dice, 45, 3.0)
    assert steps.find_step(flat, [15, 30, 45, 60, 75]).factor < 1
    assert steps.find_step(fallen, [15, 30, 45, 60, 75]).factor > 1000
    one = steps.find_step([4.0, 4.5, 3.0, 3.5], [2])
    variance = max(0.2, (4 * 0.25**2) / 2)
    error = variance / 2 + variance / 2
    wanted = math.sqrt(error / (error + 0.16)) * math.exp(1.0 / (2 * error) - 0.3**2 / (2 * (error + 0.16)))
    assert one.factor == pytest.approx(wanted)
    assert one.suspects == [steps.Suspect(0, 1.0)]


def test_values_of_any_unit_are_compared_by_their_spread() -> None:
    dice = random.Random("units")
    fallen = scores(dice, 40, 4.0) + scores(dice, 40, 3.0)
    small, large = (steps.normalise([value * unit for value in fallen], [40]) for unit in (0.01, 100.0))
    assert small == pytest.approx(large)
    assert steps.normalise([1.0] * 6, [3]) == [1.0] * 6
