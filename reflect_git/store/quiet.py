"""When capture was off: what was said then is not mined afterwards, though the transcript still has it."""

from __future__ import annotations

from reflect_git.model.ids import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Optional

QUIET = "reflect.quiet"
_KEPT = 200


def spans_in(values: Sequence[str]) -> list[str]:
    """The spans of reflect.quiet, which are one value: a call of git for each of them would take a second in time."""
    return " ".join(values).split()


def written(spans: Sequence[str]) -> Optional[str]:
    return " ".join(spans) or None


def mark_of(folder: str) -> str:
    """What a span says of the one folder it is about: not its name, which is nobody's business."""
    return digest("folder", folder)[:12]


def begun(spans: Sequence[str], start: str, end: str = "", mark: str = "") -> list[str]:
    """A span is `START/END`, for one folder `START/END@MARK`; one that has no end yet goes on."""
    if any(_parts(span)[1:] == ("", mark) for span in spans):
        return list(spans)
    return [*spans, _span(start, end, mark)][-_KEPT:]


def ended(spans: Sequence[str], now: str, mark: str = "") -> list[str]:
    """Spans of everywhere, or of one folder, that would go on end now."""
    found = []
    for span in spans:
        start, end, about = _parts(span)
        goes_on = about == mark and (not end or end > now)
        found.append(_span(start, now, about) if goes_on else span)
    return found


def covers(spans: Sequence[str], timestamp: str, marks: Collection[str] = ()) -> bool:
    """Whether capture was off at a time, everywhere or in a folder; times are UTC, with or without milliseconds."""
    moment = timestamp[:19]
    for span in spans:
        start, end, mark = _parts(span)
        if start[:19] <= moment and (not end or moment < end[:19]) and (not mark or mark in marks):
            return True
    return False


def marks_of(folder: str) -> set[str]:
    """The marks of a folder and of all that it lies in."""
    found = set()
    while folder and mark_of(folder) not in found:
        found.add(mark_of(folder))
        folder = folder.rpartition("/")[0]
    return found


def _parts(span: str) -> tuple[str, str, str]:
    times, _, mark = span.partition("@")
    start, _, end = times.partition("/")
    return start, end, mark


def _span(start: str, end: str, mark: str) -> str:
    return f"{start}/{end}@{mark}" if mark else f"{start}/{end}"
