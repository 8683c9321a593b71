"""Draw figures per week: as a line of blocks for a terminal, and as an SVG picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import floor, log10
from time import strptime

from reflect_git.effect.trend import Week
from reflect_git.records.ids import plural

_BLOCKS = "▁▂▃▄▅▆▇█"
_TITLES = {
    "corrections": "corrections per 100 messages", "failures": "failed tool calls per 100 messages",
    "interruptions": "interruptions per 100 messages", "tokens": "tokens per 100 messages",
}  # fmt: skip
_WIDTH, _LEFT, _RIGHT, _TOP = 600, 56, 16, 74
_PANEL, _GAP, _BOTTOM = 76, 34, 34
_TITLE = 18  # height of a panel's title
_COUNT_WIDTH = 18  # of a number with two digits
_MAX_DATES = 7
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# Light colours, then dark ones. Browsers apply the media query also to a picture in a page.
_STYLE = """\
text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}
.back{fill:#ffffff}.grid{stroke:#d1d9e0}.line{fill:none;stroke:#0969da;stroke-width:2}.dot{fill:#0969da}
.mark{stroke:#bc4c00;stroke-dasharray:3 3}.count{fill:#bc4c00;font-weight:600}.soft{fill:#59636e}.title{font-weight:600}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.back{fill:#0d1117}.grid{stroke:#3d444d}.line{stroke:#58a6ff}
.dot{fill:#58a6ff}.mark{stroke:#f0883e}.count{fill:#f0883e}.soft{fill:#9198a1}}"""


def build_sparkline(values: Sequence[float | None]) -> str:
    """Return one block for each value, from 0 to the largest; a blank for no value."""
    most = max((one for one in values if one is not None), default=0.0)
    return "".join(
        " " if one is None else _BLOCKS[round(one / most * (len(_BLOCKS) - 1)) if most else 0] for one in values
    )


def format_rate(value: float | None) -> str:
    """Return a figure in at most five characters."""
    if value is None:
        return "-"
    if value >= 999_950:
        return f"{value / 1e6:.1f}M"
    if value >= 9_999.5:
        return f"{value / 1000:.0f}k"
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def build_svg(weeks: Sequence[Week], figures: Sequence[str], has_style: bool = True) -> str:
    """Return a picture with one panel for each figure; dashed lines mark the weeks with approvals.

    A page with a style sheet of its own needs no style in the picture.
    """
    height = _TOP + len(figures) * (_PANEL + _GAP) - _GAP + _BOTTOM
    first, last = weeks[0].start, weeks[-1].start
    said = f"Per 100 typed messages, weeks of {_format_day(first)} to {_format_day(last)} {last[:4]}"
    sizes = f'viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(said)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" {sizes}>',
        *([f"<style>{_STYLE}</style>"] if has_style else []),
        f'<rect class="back" width="{_WIDTH}" height="{height}"/>',
        f'<text class="title" x="16" y="22">{escape(said)}</text>',
        *_draw_approvals(weeks, len(figures)),
    ]
    for at, figure in enumerate(figures):
        lines += _draw_panel(weeks, figure, _TOP + at * (_PANEL + _GAP))
    lines += _draw_dates(weeks, height - _BOTTOM + 18)
    return "\n".join([*lines, "</svg>", ""])


def _get_x(weeks: Sequence[Week], at: int) -> float:
    return _LEFT + (at + 0.5) * (_WIDTH - _LEFT - _RIGHT) / len(weeks)


def _draw_approvals(weeks: Sequence[Week], panels: int) -> Iterator[str]:
    """Yield a dashed line through each panel for each week with approvals, and their number above the panels."""
    step = (_WIDTH - _LEFT - _RIGHT) / len(weeks)
    yield '<text class="count" x="16" y="42">rules approved</text>'
    free = 0.0
    for at, week in enumerate(weeks):
        if not week.approvals:
            continue
        x = max(_get_x(weeks, at) - step / 2, _LEFT)  # before the sessions of that week
        if x >= free:  # many weeks are close together: the table has every number
            yield f'<text class="count" x="{x:.1f}" y="60" text-anchor="middle">{week.approvals}</text>'
            free = x + _COUNT_WIDTH
        for panel in range(panels):
            top = _TOP + panel * (_PANEL + _GAP)
            yield f'<line class="mark" x1="{x:.1f}" y1="{top + _TITLE}" x2="{x:.1f}" y2="{top + _PANEL}"/>'


def _draw_panel(weeks: Sequence[Week], figure: str, top: float) -> Iterator[str]:
    """Yield the title, the axis and the line of one figure; weeks without messages are gaps."""
    values = [week.get_rate(figure) for week in weeks]
    most = _round_up(max((one for one in values if one is not None), default=0.0))
    plot = top + _TITLE
    floor_y = top + _PANEL
    yield f'<text x="{_LEFT}" y="{top + 10}">{_TITLES[figure]}</text>'
    for share in (0.0, 0.5, 1.0):
        y = floor_y - share * (floor_y - plot)
        yield f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>'
        if share != 0.5:
            label = "0" if not share else format_rate(most).replace(".0", "")
            yield f'<text class="soft" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
    points = [
        None if one is None else (_get_x(weeks, at), floor_y - one / most * (floor_y - plot))
        for at, one in enumerate(values)
    ]
    line: list[str] = []
    for point in [*points, None]:
        if point:
            line.append(f"{point[0]:.1f},{point[1]:.1f}")
            yield f'<circle class="dot" cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="2.5"/>'
        elif line:
            yield f'<polyline class="line" points="{" ".join(line)}"/>'
            line = []


def _round_up(value: float) -> float:
    """Return the next number that is easy to read: 1, 1.5, 2, 3, 5 or 8 times a power of ten."""
    if value <= 0:
        return 1.0
    power = float(10 ** floor(log10(value)))
    return next(step * power for step in (1, 1.5, 2, 3, 5, 8, 10) if step * power >= value)


def _draw_dates(weeks: Sequence[Week], y: float) -> Iterator[str]:
    every = -(-len(weeks) // _MAX_DATES)
    for at in range(len(weeks) - 1, -1, -every):
        text = _format_day(weeks[at].start)
        yield f'<text class="soft" x="{_get_x(weeks, at):.1f}" y="{y}" text-anchor="middle">{text}</text>'


def _format_day(day: str) -> str:
    found = strptime(day, "%Y-%m-%d")
    return f"{found.tm_mday} {_MONTHS[found.tm_mon - 1]}"


def describe_approvals(weeks: Sequence[Week]) -> str:
    """Return how many rules were approved in these weeks."""
    return f"{plural(sum(week.approvals for week in weeks), 'rule')} approved"
