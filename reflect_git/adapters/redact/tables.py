"""What stands below a name in a table, as Markdown, the shells of databases and CSV write it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Span = tuple[int, int]

BARS = ("|", "│", "┃")
_BAR = r"(?<!\\)[|│┃]"
_CROSSINGS = frozenset("|+│┃┼╪╋╂├╞┝┠")
_DASHES = frozenset("-=─═━")
_RULE = _CROSSINGS | _DASHES | frozenset("┤╡┥┨┌┐└┘: \t\r>")
_WIDEST = 4096
_COLUMNS = 1000
_ROWS = 1000
_VALUES = r"(?i)\s{0,8}(?:\\n\s{0,8})?values\s{0,8}(?:\\n\s{0,8})?"
_CELL = (
    r"\\?(?P<quote>['\"])(?P<value>[^'\"\n\\]{0,400})\\?(?P=quote)|(?P<bare>[^\s,'\"()]{1,400}(?:\([^()\n]{0,80}\))?)"
)
_ROW = r"[\s,]{0,12}\(((?:[^()'\"\n]|\([^()\n]{0,80}\)|'[^'\n]{0,400}'|\"[^\"\n]{0,400}\"){1,4000})\)"
_AROUND = " \t\r*_`\"'"


def below(text: str, start: int, end: int) -> Iterator[Span]:
    """The cells under the one that text[start:end] closes; none where there is no such cell, or no rule under it."""
    lines = _lines(text, _begin(text, start))
    head = _cells(text, *next(lines, (0, 0)))
    place = next((at for at, (left, right) in enumerate(head) if left <= start < right), -1)
    rule = next(lines, (0, 0)) if place >= 0 else (0, 0)
    if not _is_rule(text[slice(*rule)]) or text[end : head[place][1]].strip(_AROUND):
        return
    for begin, stop in lines:
        cells = _cells(text, begin, stop)
        if not cells and not _is_rule(text[begin:stop]):
            return
        if place < len(cells):
            yield cells[place]


def separated(text: str, start: int, end: int) -> Iterator[Span]:
    """Find the fields under the one that text[start:end] closes, in lines of as many fields: CSV and the like."""
    lines = _lines(text, _begin(text, start))
    begin, stop = next(lines, (0, 0))
    mark = next((mark for mark in ",;\t" if mark in text[begin:stop]), "")
    title = text[begin:stop].strip(_AROUND)
    if not mark or not title.replace(mark, "").replace("_", "").replace(" ", "").replace('"', "").isalnum():
        return
    place, count = text.count(mark, begin, start), text.count(mark, begin, stop)
    if text[end : text.find(mark, end, stop) if mark in text[end:stop] else stop].strip(_AROUND):
        return
    for begin, stop in lines:
        fields = text[begin:stop].split(mark)
        if len(fields) != count + 1:
            return
        at = begin + sum(len(field) + 1 for field in fields[:place])
        yield at, at + len(fields[place])


def inserted(text: str, start: int, end: int) -> Iterator[Span]:
    """Find the values of the column that text[start:end] names: `INSERT INTO t (name, password) VALUES ('…', '…')`."""
    import re

    opening = text.rfind("(", max(0, start - _COLUMNS), start)
    closing = text.find(")", end, end + _COLUMNS)
    rows = re.compile(_VALUES).match(text, closing + 1) if opening >= 0 and closing >= 0 else None
    if not rows:
        return
    place, at = text.count(",", opening, start), rows.end()
    row, cell = re.compile(_ROW), re.compile(_CELL)
    for _ in range(_ROWS):
        match = row.match(text, at)
        if not match:
            return
        cells = [one.span("value") for one in cell.finditer(text, match.start(1), match.end(1))]
        if place < len(cells):
            yield cells[place]
        at = match.end()


def _begin(text: str, at: int) -> int:
    """Of its line, as it is and as JSON writes it; of one without end, of what is looked at."""
    far = max(0, at - _WIDEST)
    ends = [text.rfind(end, far, at) + len(end) for end in ("\n", "\\n") if text.find(end, far, at) >= 0]
    return max(ends, default=far)


def _lines(text: str, begin: int) -> Iterator[Span]:
    """One after the other, up to one without end."""
    import re

    ends = re.compile(r"\n|\\n")
    while begin < len(text):
        end = ends.search(text, begin, begin + _WIDEST)
        yield begin, end.start() if end else min(len(text), begin + _WIDEST)
        if not end:
            return
        begin = end.end()


def _cells(text: str, begin: int, stop: int) -> list[Span]:
    """What stands between bars; a bar at the beginning, of the line or of a string in it, is but a frame."""
    import re

    bars = [match.start() for match in re.compile(_BAR).finditer(text, begin, stop)]
    if not bars:
        return []
    cells = [(left + 1, right) for left, right in zip([begin - 1, *bars], [*bars, stop])]
    before = text[slice(*cells[0])].strip(" \t>")
    return cells[1:] if not before or before[-1] in "\"'" else cells


def _is_rule(line: str) -> bool:
    return _RULE.issuperset(line) and not _DASHES.isdisjoint(line) and not _CROSSINGS.isdisjoint(line)
