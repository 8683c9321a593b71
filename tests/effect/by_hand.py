"""The arithmetic of a verdict, written out key by key and with sums for integrals, to compare the program with."""

from __future__ import annotations

import math
from dataclasses import dataclass

GRID = [(a, 0.005 * 2**i) for a in (0.4, 0.8, 1.6, 3.2) for i in range(7)]


@dataclass(frozen=True)
class Key:
    """Events x in t sessions, of T in which it could have been seen."""

    x: int
    t: int
    T: int


@dataclass(frozen=True)
class Control:
    """Events and sessions of one key, before and after an approval."""

    y0: int
    y1: int
    s0: int
    s1: int


def weights(keys: list[Key]) -> list[float]:
    logs = []
    for a, m in GRID:
        b = a / m
        value = -(((math.log(m) - math.log(0.04)) / 0.8) ** 2) / 2
        for key in keys:
            value += math.lgamma(a + key.x) - math.lgamma(a) + a * math.log(b) - (a + key.x) * math.log(b + key.t)
            value -= math.log(1 - (b / (b + key.T)) ** a)
        logs.append(value)
    whole = [math.exp(value - max(logs)) for value in logs]
    return [value / sum(whole) for value in whole]


def rate(found: list[float], x0: int, t0: int) -> tuple[float, float]:
    """Return m1 and c."""
    parts = [(w, a + x0, a / m + t0) for w, (a, m) in zip(found, GRID, strict=True)]
    m1 = sum(w * top / below for w, top, below in parts)
    m2 = sum(w * top * (top + 1) / below**2 for w, top, below in parts)
    return m1, m2 / m1**2 - 1


def drift(controls: list[Control], s: float) -> tuple[float, float]:
    """Return E[g] and d."""
    found = []
    for i in range(25):
        g = math.exp(s * (i - 12) / 4)
        value = -((math.log(g) / s) ** 2) / 2
        value += sum(c.y1 * math.log(g) - (c.y0 + c.y1) * math.log(c.s0 + g * c.s1) for c in controls)
        found.append((value, g))
    best = max(value for value, _ in found)
    total = sum(math.exp(value - best) for value, _ in found)
    first = sum(math.exp(value - best) * g for value, g in found) / total
    second = sum(math.exp(value - best) * g * g for value, g in found) / total
    return first, second / first**2 - 1


def at_most(x: int, mean: float, k: float) -> float:
    """Sum the negative binomial distribution from its formula with factorials."""
    p = k / (k + mean)
    one = [math.lgamma(k + i) - math.lgamma(k) - math.lgamma(i + 1) for i in range(x + 1)]
    return sum(math.exp(value + k * math.log(p) + i * math.log(1 - p)) for i, value in enumerate(one))


def share_below(x1: int, k: float, odds: float, steps: int = 1000) -> float:
    """Integrate the density of ln odds from far below; it is smooth and has thin tails."""
    a, low, high = x1 + 0.5, -40.0, math.log(odds)
    norm = math.lgamma(a + k) - math.lgamma(a) - math.lgamma(k)

    def density(y: float) -> float:
        return math.exp(norm + a * y - (a + k) * math.log1p(math.exp(y)))

    width = (high - low) / steps
    inner = sum((4 if i % 2 else 2) * density(low + i * width) for i in range(1, steps))
    return (density(low) + inner + density(high)) * width / 3


def ratio_at(share: float, x1: int, mean: float, k: float) -> float:
    """Return the ratio with this share below it, by halving."""
    low, high = -30.0, 30.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if share_below(x1, k, math.exp(middle)) < share else (low, middle)
    return math.exp(low) * k / mean
