"""Draw charts as SVG, without colour as the only sign; the table with the same figures is in the template."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from markupsafe import Markup

from reflect_git.effect.chart import build_svg
from reflect_git.effect.trend import Week

_BAR, _GAP, _HEIGHT = 6, 2, 20
_WIDTH, _MIDDLE = 160, 12  # of an interval bar
_BUDGET = 120  # width of a budget bar
_LOWEST, _HIGHEST = 0.1, 10.0  # ratios at its ends


def draw_sparkline(counts: Sequence[int]) -> Markup:
    """Draw a bar for each week; a week without any has a line at the bottom."""
    most, step = max(1, *counts), _BAR + _GAP
    bars, empty = "", ""
    for at, count in enumerate(counts):
        height = max(1, round(count / most * (_HEIGHT - 2)))
        shape = f"M{at * step} {_HEIGHT}v-{height}h{_BAR}v{height}z"
        bars, empty = (bars + shape, empty) if count else (bars, empty + shape)
    parts = [f'<path class="{kind}" d="{shape}"/>' for kind, shape in (("bar", bars), ("bar none", empty)) if shape]
    return _wrap(len(counts) * step, _HEIGHT, "spark", parts)


def draw_interval(ratio: float, low: float, high: float) -> Markup:
    """Draw a ratio with its interval on a logarithmic axis: left of the middle is fewer than expected."""
    ends, dot = (_place(low), _place(high)), _place(ratio)
    parts = [
        f'<line class="axis" x1="0" y1="{_MIDDLE}" x2="{_WIDTH}" y2="{_MIDDLE}"/>',
        f'<line class="one" x1="{_WIDTH / 2}" y1="3" x2="{_WIDTH / 2}" y2="21"/>',
        f'<line class="range" x1="{ends[0]:.1f}" y1="{_MIDDLE}" x2="{ends[1]:.1f}" y2="{_MIDDLE}"/>',
        f'<circle class="dot" cx="{dot:.1f}" cy="{_MIDDLE}" r="4"/>',
        *(
            f'<text x="{_place(value):.1f}" y="36" text-anchor="{anchor}">{value:g}×</text>'
            for value, anchor in ((_LOWEST, "start"), (1.0, "middle"), (_HIGHEST, "end"))
        ),
    ]
    return _wrap(_WIDTH, 40, "interval", parts)


def draw_budget(used: int, most: int) -> Markup:
    """Draw how much of a limit is used: a filled part in a frame."""
    filled = min(_BUDGET, round(_BUDGET * used / most)) if most else 0
    parts = [
        f'<rect class="frame" x="0.5" y="0.5" width="{_BUDGET - 1}" height="9"/>',
        f'<rect class="{"part over" if used >= most else "part"}" x="0" y="0" width="{filled}" height="10"/>',
    ]
    return _wrap(_BUDGET, 10, "budget", parts)


def draw_trend(weeks: Sequence[Week], figures: Sequence[str]) -> Markup:
    """Draw a panel for each figure, with dashed lines where rules were approved."""
    return Markup(build_svg(weeks, figures, has_style=False))


def _place(ratio: float) -> float:
    """Return where a ratio is on the axis."""
    bounded = min(_HIGHEST, max(_LOWEST, ratio))
    return 5 + (_WIDTH - 10) * (log10(bounded) - log10(_LOWEST)) / (log10(_HIGHEST) - log10(_LOWEST))


def _wrap(width: int, height: int, kind: str, parts: Sequence[str]) -> Markup:
    """Return a picture that screen readers skip: they read the figures beside it."""
    sizes = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return Markup(f'<svg class="{kind}" {sizes} aria-hidden="true">{"".join(parts)}</svg>')
