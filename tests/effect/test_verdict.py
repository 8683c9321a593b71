"""Verdicts from counts alone, compared with arithmetic that is written out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.effect import verdict
from reflect_git.effect.verdict import Case, Controls, Count, Seen
from tests.effect import by_hand
from tests.effect.by_hand import Control, Key

USUAL = [Seen(x, 80, 80) for x in (1, 1, 1, 2, 2, 3, 4, 6)]
PRIOR = verdict.fit_prior(USUAL)
STEADY = [Controls(20, 20, 80, 80)]


def case(before: tuple[int, int], after: tuple[int, int], episodes: int | None = None) -> Case:
    events = after[0] if episodes is None else episodes
    return Case(Count(*before), Count(*after), Count(*before), Count(*before), Count(events, after[1]), STEADY)


def test_the_prior_is_fitted_as_by_hand() -> None:
    seen = [Seen(1, 30, 60), Seen(4, 60, 60), Seen(1, 12, 20), Seen(7, 45, 90), Seen(0, 50, 50)]
    wanted = by_hand.weights([Key(*one) for one in seen if one.events])
    assert [one.weight for one in verdict.fit_prior(seen)] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("is_mixed", [False, True])
def test_the_drift_is_the_same_for_summed_and_for_single_controls(is_mixed: bool) -> None:
    single = [Control(1, 2, 30, 40), Control(3, 0, 30, 40), Control(0, 5, 30, 40), Control(2, 1, 12, 9)]
    summed = [Controls(4, 7, 30, 40), Controls(2, 1, 12, 9)]
    assert verdict.estimate_drift(summed, is_mixed) == pytest.approx(by_hand.drift(single, 0.5 if is_mixed else 0.25))


def test_without_controls_nothing_is_known_of_the_drift() -> None:
    mean, spread = verdict.estimate_drift([], False)
    assert mean == pytest.approx(1.03, abs=0.01) and spread == pytest.approx(0.063, abs=0.005)
    assert verdict.estimate_drift([Controls(5, 0, 40, 0)], False) == (mean, spread)


@given(st.integers(0, 30), st.floats(0.05, 40), st.floats(0.3, 500))
def test_tails_are_those_of_the_negative_binomial_distribution(events: int, mean: float, shape: float) -> None:
    assert verdict.tail_below(events, mean, shape) == pytest.approx(by_hand.at_most(events, mean, shape), rel=1e-6)


@given(st.integers(0, 40), st.floats(0.3, 2000), st.sampled_from([0.05, 0.5, 0.95]))
def test_a_quantile_has_the_wanted_share_below_it(events: int, shape: float, wanted: float) -> None:
    odds = verdict.beta_odds(events + 0.5, shape, wanted)
    assert verdict.incomplete_beta(events + 0.5, shape, odds) == pytest.approx(wanted, abs=1e-6)
    assert by_hand.share_below(events, shape, odds) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ((8, 60), (0, 80), verdict.HELPING),
        ((8, 60), (6, 60), verdict.RECURRING),
        ((3, 100), (16, 60), verdict.HARMFUL),
        ((2, 60), (0, 10), verdict.NO_EVIDENCE),
    ],
)
def test_each_verdict(before: tuple[int, int], after: tuple[int, int], wanted: str) -> None:
    assert verdict.judge(case(before, after), PRIOR).verdict == wanted


def test_repetitions_in_one_episode_are_not_recurring_and_not_harmful() -> None:
    assert verdict.judge(case((3, 100), (16, 60), episodes=1), PRIOR).verdict == verdict.NO_EVIDENCE


def test_harm_needs_a_rise_over_the_sessions_since_the_first_event() -> None:
    """A key that was seen for the first time just before its approval has no low rate before it."""
    late = case((3, 100), (16, 60))._replace(since_first=Count(3, 9))
    assert verdict.judge(late, PRIOR).verdict == verdict.RECURRING


def test_recurring_needs_a_high_rate_over_the_sessions_since_the_first_event() -> None:
    """A season that began late makes the rate before the approval look low."""
    steady = case((4, 100), (3, 40))
    assert verdict.judge(steady, PRIOR).verdict == verdict.RECURRING
    assert verdict.judge(steady._replace(since_first=Count(4, 5)), PRIOR).verdict == verdict.NO_EVIDENCE


def test_no_event_before_the_approval_is_no_baseline() -> None:
    found = verdict.judge(case((0, 40), (0, 400)), PRIOR)
    assert (found.verdict, found.reason, found.needs) == (verdict.NO_EVIDENCE, verdict.NO_BASELINE, None)


def test_no_session_since_the_approval_has_no_ratio() -> None:
    found = verdict.judge(case((3, 40), (0, 0)), PRIOR)
    assert (found.verdict, found.ratio, found.interval) == (verdict.NO_EVIDENCE, None, (0.0, None))
    assert found.needs


@pytest.mark.parametrize("after", [(0, 4), (1, 12), (0, 0)])
def test_the_needed_sessions_are_the_fewest_that_are_enough(after: tuple[int, int]) -> None:
    needs = verdict.judge(case((6, 60), after), PRIOR).needs
    assert needs is not None and needs > 1
    enough, fewer = ((after[0], after[1] + more) for more in (needs, needs - 1))
    assert verdict.judge(case((6, 60), enough), PRIOR).verdict == verdict.HELPING
    assert verdict.judge(case((6, 60), fewer), PRIOR).verdict == verdict.NO_EVIDENCE


def test_a_rare_event_is_not_decidable() -> None:
    found = verdict.judge(case((1, 900), (0, 20)), PRIOR)
    assert (found.reason, found.needs) == (verdict.NOT_DECIDABLE, None)


def test_the_pooled_effect_is_as_by_hand() -> None:
    cases = [case((6, 60), (1, 70)), case((3, 80), (0, 60)), case((0, 80), (2, 60))]
    found = verdict.pool((one, verdict.judge(one, PRIOR)) for one in cases)
    w = by_hand.weights([Key(*one) for one in USUAL])
    g, d = by_hand.drift([Control(20, 20, 80, 80)], 0.25)
    (m, c), (n, e) = by_hand.rate(w, 6, 60), by_hand.rate(w, 3, 80)
    means = m * g * 70, n * g * 60
    total = sum(means)
    k = 1 / ((c * means[0] ** 2 + e * means[1] ** 2) / total**2 + d)
    assert found is not None and (found.events, found.rules) == (1, 2), "one without a baseline is left out"
    assert found.expected == pytest.approx(total)
    assert (found.ratio, *found.interval) == pytest.approx(
        [by_hand.ratio_at(share, 1, total, k) for share in (0.5, 0.05, 0.95)], rel=1e-3
    )
    assert verdict.pool([]) is None
