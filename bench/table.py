"""What a measurement says: rows of two figures, a ratio to what they are measured against, and its ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.timing import Times

TIME_COLUMNS = ("min ms", "median ms")
_RATIO_COLUMNS = ("ratio", "to", "ceiling", "")


@dataclass(frozen=True)
class Row:
    """`figures` are seconds. Without a ceiling a row only informs; without a base its ratio is a plain number."""

    name: str
    figures: Sequence[float] = ()
    ratio: float | None = None
    base: str = ""
    ceiling: float | None = None

    @property
    def is_over(self) -> bool:
        return self.ceiling is not None and self.ratio is not None and self.ratio > self.ceiling

    def cells(self) -> list[str]:
        figures = [f"{figure * 1000:.1f}" for figure in self.figures] or ["", ""]
        ceiling = "" if self.ceiling is None else f"{self.ceiling:g}"
        verdict = "" if self.ceiling is None else "OVER" if self.is_over else "ok"
        return [self.name, *figures, _format_ratio(self.ratio), self.base, ceiling, verdict]


def _format_ratio(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:g}" if ratio == int(ratio) else f"{ratio:.2f}"


@dataclass(frozen=True)
class Table:
    title: str
    rows: Sequence[Row]
    columns: Sequence[str] = TIME_COLUMNS
    notes: Sequence[str] = field(default_factory=tuple)

    def cells(self) -> list[list[str]]:
        return [["", *self.columns, *_RATIO_COLUMNS], *(row.cells() for row in self.rows)]


def build_timed_row(times: Times, base: Times | None = None, ceiling: float | None = None, name: str = "") -> Row:
    """A row of a subject; its ratio is that of the medians."""
    ratio = times.median / base.median if base else None
    return Row(name or times.name, (times.fastest, times.median), ratio, base.name if base else "", ceiling)


def as_text(table: Table) -> str:
    """Aligned columns: words to the left, numbers to the right."""
    cells = table.cells()
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    lines = [
        "  ".join(_align_cell(text, width, at) for at, (text, width) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    return "\n".join([table.title, *(f"  {line.rstrip()}" for line in lines), *(f"  {note}" for note in table.notes)])


def _align_cell(text: str, width: int, at: int) -> str:
    return text.rjust(width) if at in (1, 2, 3, 5) else text.ljust(width)


def as_markdown(table: Table) -> str:
    head, *rows = table.cells()
    lines = [_format_line(head), "|---|--:|--:|--:|---|--:|---|", *(_format_line(row) for row in rows)]
    return "\n".join([f"## {table.title}", "", *lines, "", *(f"- {note}" for note in table.notes)]).rstrip() + "\n"


def _format_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
