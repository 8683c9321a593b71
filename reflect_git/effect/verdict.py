"""Judge a rule by its counts: sessions, and sessions with events, before and after its approval.

Only numbers come in and go out. A verdict is computed from scratch at every look, so it may change with new sessions.
The limits hold for a reader who looks after every session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, lgamma, log, sqrt

from reflect_git.records.named_tuple import NamedTuple

HARMFUL, HELPING, RECURRING = "harmful?", "helping", "recurring despite the rule"
NO_EVIDENCE, NO_BASELINE, NOT_DECIDABLE = "no evidence yet", "no baseline", "not decidable"
# The worst first.
ORDER = (HARMFUL, RECURRING, NO_EVIDENCE, HELPING)

# The prior of a key's rate: shapes and means of a Gamma distribution.
_SHAPES = (0.4, 0.8, 1.6, 3.2)
_MEANS = tuple(0.005 * 2**i for i in range(7))
_USUAL_MEAN, _SPREAD_OF_MEANS = 0.04, 0.8
_LEAST_WEIGHT = 1e-9  # below it, no digit that is shown depends on it
# The prior of the common drift g: ln g has this spread, and twice as much across a change of model.
_DRIFT, _DRIFT_ACROSS_MODELS = 0.25, 0.5
_NODES = tuple((i - 12) / 4 for i in range(25))
# ln g and g at each node, within one model and across models.
_FACTORS = [
    ([step * node for node in _NODES], [exp(step * node) for node in _NODES]) for step in (_DRIFT, _DRIFT_ACROSS_MODELS)
]

_HARM_LIMIT, _HARM_LEAST = 0.01, 3
_EPISODE_LIMIT, _EPISODE_LEAST = 0.05, 2
_NONE_LIMIT, _SOME_LIMIT = 0.05, 0.01  # of `helping`: without, and with, an event after the approval
# Of `recurring`. In simulated histories, two events and 0.9 alone called up to a quarter of the working rules recurring
# where keys have seasons, or where a rule works only after some sessions. With two episodes, and 0.75 since the first
# event, 3 % are; every limit has room. With 0.85, 4 % fewer of the rules without effect are found.
_RECURRING_RATIO, _RECURRING_LEAST = 0.5, 2
_RECURRING_SURE, _RECURRING_SURE_SINCE_FIRST = 0.9, 0.75
_MOST_NEEDED = 500
_LOW, _MIDDLE, _HIGH = 0.05, 0.5, 0.95
_NORMAL = {_LOW: -1.645, _HIGH: 1.645}
_PRECISION = 1e-9
_LAST_STEP = 1e-4  # of Newton's method: the error after it is about its square


class Count(NamedTuple):
    """Sessions, and those among them with an event."""

    events: int
    sessions: int


class Controls(NamedTuple):
    """The never-approved keys of one cell, before and after an approval: all their events, and the cell's sessions."""

    events_before: int
    events_after: int
    sessions_before: int
    sessions_after: int


class Case(NamedTuple):
    """The counts for one rule.

    `since_first`: as `before`, with sessions from the first event on. `episodes_before`, `episodes_after`: events in
    sessions that do not closely follow another event, and the number of such sessions.
    """

    before: Count
    after: Count
    since_first: Count
    episodes_before: Count
    episodes_after: Count
    controls: Sequence[Controls] = ()
    is_mixed: bool = False  # more than one model in the windows


class Seen(NamedTuple):
    """A key with at least one event: its counts, and how many sessions it could have been seen in."""

    events: int
    sessions: int
    possible: int


class Weighted(NamedTuple):
    """A Gamma distribution of rates and its posterior weight."""

    weight: float
    shape: float
    rate: float


class Expected(NamedTuple):
    """Events expected after the approval if the rule had no effect: mean, and squared relative errors."""

    mean: float
    spread: float  # of the key's own rate
    drift_spread: float  # of the common drift

    @property
    def shape(self) -> float:
        """Return the shape of the negative binomial distribution."""
        return 1 / ((1 + self.spread) * (1 + self.drift_spread) - 1)


class Verdict(NamedTuple):
    """The answer for one rule. `needs`: more sessions until `helping` is possible; None if not decidable or decided."""

    verdict: str
    reason: str
    needs: int | None
    ratio: float | None
    interval: tuple[float, float | None]
    expected: Expected


class Pooled(NamedTuple):
    """The effect of all rules together."""

    ratio: float
    interval: tuple[float, float]
    events: int
    expected: float
    rules: int


def fit_prior(seen: Iterable[Seen]) -> list[Weighted]:
    """Fit the distribution of rates to the keys that were seen; keys without events are never seen."""
    by_events: dict[int, int] = {}
    by_sessions: dict[int, tuple[int, int]] = {}
    by_possible: dict[int, int] = {}
    keys = 0
    for events, sessions, possible in seen:
        if events:
            keys += 1
            by_events[events] = by_events.get(events, 0) + 1
            number, total = by_sessions.get(sessions, (0, 0))
            by_sessions[sessions] = number + 1, total + events
            by_possible[possible] = by_possible.get(possible, 0) + 1
    found = []
    for shape in _SHAPES:
        gammas = sum(number * lgamma(shape + events) for events, number in by_events.items()) - keys * lgamma(shape)
        for mean in _MEANS:
            rate = shape / mean
            fit = gammas + keys * shape * log(rate) - (log(mean / _USUAL_MEAN) / _SPREAD_OF_MEANS) ** 2 / 2
            for sessions, (number, total) in by_sessions.items():
                fit -= (number * shape + total) * log(rate + sessions)
            for possible, number in by_possible.items():
                fit -= number * log(1 - (rate / (rate + possible)) ** shape)
            found.append((fit, shape, rate))
    best = max(fit for fit, _, _ in found)
    total_weight = sum(exp(fit - best) for fit, _, _ in found)
    weighted = (Weighted(exp(fit - best) / total_weight, shape, rate) for fit, shape, rate in found)
    return [one for one in weighted if one.weight > _LEAST_WEIGHT]


def estimate_rate(prior: Sequence[Weighted], before: Count) -> tuple[float, float]:
    """Return the mean of a key's rate and its squared relative error."""
    first = second = 0.0
    for weight, shape, rate in prior:
        mean = (shape + before.events) / (rate + before.sessions)
        first += weight * mean
        second += weight * mean * (shape + before.events + 1) / (rate + before.sessions)
    return first, second / first**2 - 1


def estimate_drift(controls: Iterable[Controls], is_mixed: bool) -> tuple[float, float]:
    """Return by which factor everything changed after an approval, from never-approved keys, and its squared error."""
    powers, factors = _FACTORS[is_mixed]
    known = [one for one in controls if one.sessions_before and one.sessions_after]  # others say nothing about it
    gained = sum(one.events_after for one in known)
    logs = [gained * power - node * node / 2 for power, node in zip(powers, _NODES, strict=True)]
    for one in known:
        events, earlier, later = one.events_before + one.events_after, one.sessions_before, one.sessions_after
        if events:
            logs = [value - events * log(earlier + factor * later) for value, factor in zip(logs, factors, strict=True)]
    best = max(logs)
    weights = [exp(one - best) for one in logs]
    total = sum(weights)
    first = sum(weight * factor for weight, factor in zip(weights, factors, strict=True)) / total
    second = sum(weight * factor * factor for weight, factor in zip(weights, factors, strict=True)) / total
    return first, second / first**2 - 1


def tail_below(events: int, mean: float, shape: float) -> float:
    """Return the probability of at most so many events."""
    one = exp(-shape * log(1 + mean / shape))
    total, odds = one, mean / (shape + mean)
    for i in range(events):
        one *= (shape + i) / (i + 1) * odds
        total += one
    return min(1.0, total)


def _tail_above(events: int, mean: float, shape: float) -> float:
    return 1 - tail_below(events - 1, mean, shape) if events else 1.0


def judge(case: Case, prior: Sequence[Weighted]) -> Verdict:
    """Return the verdict on a rule."""
    drift, drift_spread = estimate_drift(case.controls, case.is_mixed)

    def expect(before: Count, sessions: int) -> Expected:
        mean, spread = estimate_rate(prior, before)
        return Expected(mean * drift * sessions, spread, drift_spread)

    expected = expect(case.before, case.after.sessions)
    shape, events = expected.shape, case.after.events
    ratio, interval = _ratio_of(events, expected.mean, shape)
    limit = _SOME_LIMIT if events else _NONE_LIMIT

    def is_harmful() -> bool:
        if events < _HARM_LEAST or case.episodes_after.events < _EPISODE_LEAST:
            return False
        late = expect(case.since_first, case.after.sessions)
        rare = expect(case.episodes_before, case.episodes_after.sessions)
        return (
            _tail_above(events, expected.mean, shape) <= _HARM_LIMIT
            and _tail_above(events, late.mean, late.shape) <= _HARM_LIMIT
            and _tail_above(case.episodes_after.events, rare.mean, rare.shape) <= _EPISODE_LIMIT
        )

    def is_recurring() -> bool:
        if (
            case.episodes_after.events < _RECURRING_LEAST
            or _compute_chance_above_half(events, expected) < _RECURRING_SURE
        ):
            return False
        if not case.before.events:
            return True
        # A key with a season seems rare if sessions before its first event count.
        late = expect(case.since_first, case.after.sessions)
        return _compute_chance_above_half(events, late) >= _RECURRING_SURE_SINCE_FIRST

    verdict, reason, needs = NO_EVIDENCE, "", None
    if case.before.events and is_harmful():
        verdict = HARMFUL
    elif case.before.events and tail_below(events, expected.mean, shape) <= limit:
        verdict = HELPING
    elif is_recurring():
        verdict = RECURRING
    elif not case.before.events:
        reason = NO_BASELINE
    else:
        needs = _count_needed(events, case.after.sessions, expect(case.before, 1), limit)
        reason = "" if needs else NOT_DECIDABLE
    return Verdict(verdict, reason, needs, ratio, interval, expected)


def _compute_chance_above_half(events: int, expected: Expected) -> float:
    """Return the probability that the rule prevents less than half of the events."""
    odds = _RECURRING_RATIO * expected.mean / expected.shape
    return 1 - incomplete_beta(events + 0.5, expected.shape, odds)


def _count_needed(events: int, sessions: int, each: Expected, limit: float) -> int | None:
    """Return how many more sessions without an event would give `helping`; None above 500."""
    low, high = 0, _MOST_NEEDED + 1
    while high - low > 1:
        middle = (low + high) // 2
        if tail_below(events, each.mean * (sessions + middle), each.shape) <= limit:
            high = middle
        else:
            low = middle
    return high if high <= _MOST_NEEDED else None


def _ratio_of(events: int, mean: float, shape: float) -> tuple[float | None, tuple[float, float | None]]:
    """Return the median and the 90 % interval of observed over expected; no upper end without a session."""
    if not mean:
        return None, (0.0, None)
    middle, high = (beta_odds(events + 0.5, shape, wanted) * shape / mean for wanted in (_MIDDLE, _HIGH))
    low = beta_odds(events + 0.5, shape, _LOW) * shape / mean if events else 0.0
    return middle, (low, high)


def pool(verdicts: Iterable[tuple[Case, Verdict]]) -> Pooled | None:
    """Return the effect of all rules that have a baseline and a session since; None if there are none."""
    found = [(case, one.expected) for case, one in verdicts if case.before.events and one.expected.mean]
    mean = sum(expected.mean for _, expected in found)
    if not mean:
        return None
    events = sum(case.after.events for case, _ in found)
    spread = sum(expected.spread * expected.mean**2 for _, expected in found) / mean**2
    spread += sum(expected.drift_spread * expected.mean for _, expected in found) / mean
    ratio, (low, high) = _ratio_of(events, mean, 1 / spread)
    assert ratio is not None and high is not None
    return Pooled(ratio, (low, high), events, mean, len(found))


def incomplete_beta(a: float, b: float, odds: float) -> float:
    """Return the regularised incomplete beta function I_z(a, b) at z = odds / (1 + odds), by its continued fraction."""
    if odds <= 0:
        return 0.0
    x = odds / (1 + odds)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 / odds)  # the fraction converges fast on the other side
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) - b * log(1 + odds)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 1000):
        n = a + 2 * m
        term = m * (b - m) * x / ((n - 1) * n)
        d, c = 1 / (1 + term * d), 1 + term / c
        total *= c * d
        term = -(a + m) * (a + b + m) * x / (n * (n + 1))
        d, c = 1 / (1 + term * d), 1 + term / c
        total *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return front * total


def beta_odds(a: float, b: float, wanted: float) -> float:
    """Return the odds at which `incomplete_beta` has the wanted value: Newton's method on ln odds, kept in brackets."""
    norm = lgamma(a + b) - lgamma(a) - lgamma(b)
    at = log(a / b) + _NORMAL.get(wanted, 0.0) * sqrt(1 / a + 1 / b)
    low, high = -600.0, 600.0
    for _ in range(200):
        odds = exp(at)
        below = incomplete_beta(a, b, odds)
        low, high = (low, at) if below > wanted else (at, high)
        slope = exp(norm + a * at - (a + b) * log(1 + odds))
        # The logarithm of a tail is almost linear in ln odds.
        if wanted < _MIDDLE and below > 0:
            error = below * log(below / wanted)
        elif wanted >= _MIDDLE and below < 1:
            error = (1 - below) * log((1 - wanted) / (1 - below))
        else:
            error = below - wanted
        step = error / slope if slope else high - low
        if low < at - step < high:
            at -= step
            if abs(step) < _LAST_STEP:
                break
        else:
            at = (low + high) / 2
    return exp(at)
