"""Draw docs/trend.svg, the picture of `reflect-git trend` in the README, from invented weeks.

`make docs` runs this. Every run draws the same picture.
"""

from __future__ import annotations

import random
from pathlib import Path

from reflect_git.effect.chart import build_svg
from reflect_git.effect.trend import FIGURES, Week, list_weeks

PICTURE = Path(__file__).parent / "trend.svg"
_LAST = "2026-03-22T12:00:00Z"
_APPROVALS = {2: 3, 4: 1, 5: 2, 8: 1}  # week → approved rules
_LESS_WITH_EACH = 0.82  # of corrections that are left after a rule


def draw() -> str:
    """Return the picture of twelve weeks in which rules prevent some of the corrections."""
    dice = random.Random("trend")
    weeks, rate = [], 0.13
    for at, monday in enumerate(list_weeks(_LAST, 12)):
        typed = dice.randrange(180, 300)
        rate *= _LESS_WITH_EACH ** _APPROVALS.get(at, 0)
        corrections = round(typed * rate * dice.uniform(0.85, 1.2))
        failures, interruptions = round(typed * (0.1 + rate) * dice.uniform(0.8, 1.2)), dice.randrange(2, 9)
        tokens = round(typed * 9000 * (0.8 + rate) * dice.uniform(0.9, 1.1))
        approved = _APPROVALS.get(at, 0)
        weeks.append(
            Week(monday, typed // 9, typed, corrections, failures, interruptions, tokens, typed, approved, approved, 0,
                 0, None, {})
        )  # fmt: skip
    return build_svg(weeks, FIGURES)


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
