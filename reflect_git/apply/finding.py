"""What of a file is ours: markers, entries and headings, and where they stand.

Only what is at the top level of the text counts: a marker in a code fence, in a list or in front matter is an example
that somebody wrote down.
"""

from __future__ import annotations

import re

from reflect_git.adapters.outline import Piece
from reflect_git.apply import page as pages
from reflect_git.apply.page import Page
from reflect_git.apply.wording import unbullet
from reflect_git.model.tuples import NamedTuple

TITLES = {
    "command": "Commands",
    "convention": "Conventions",
    "gotcha": "Gotchas",
    "preference": "Preferences",
    "project-structure": "Project structure",
    "documentation": "Documentation",
    "naming": "Naming",
    "test-structure": "Test structure",
    "configuration": "Configuration",
}
_CATEGORIES = {title.lower(): category for category, title in TITLES.items()}

_BEGIN = re.compile(r"<!--\s*reflect-git:begin((?:\s+[a-z]+(?:=[0-9a-f]+)?)*)\s*-->")
_END = re.compile(r"<!--\s*reflect-git:end\s*-->")
ID = re.compile(r"<!--\s*(LRN-[0-9]{8}-[0-9a-z]+)\s*-->")
_BODIES = ("list", "paragraph")


class Entry(NamedTuple):
    """A learning in a file: its comment and its bullet, lines `start` up to but not including `end`, counted from 0."""

    id: str
    text: str
    category: str
    raw: bytes
    start: int
    end: int
    inside: bool


class Trouble(NamedTuple):
    """Markers that cannot be read in one way only. Kinds: unclosed, unopened, nested, doubled, entry-doubled."""

    kind: str
    line: int
    words: str


class Block(NamedTuple):
    """What of a file is ours. `start` and `end` are the marker lines, None where there is no whole pair of them."""

    start: int | None
    end: int | None
    notes: dict[str, str]
    entries: tuple[Entry, ...]
    troubles: tuple[Trouble, ...]

    @property
    def pair(self) -> tuple[int, int] | None:
        return None if self.start is None or self.end is None else (self.start, self.end)

    def entry(self, identity: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.id == identity), None)


def find(data: bytes | None) -> Block | None:
    """Our part of a file; None where there is neither a marker nor an entry."""
    return locate(pages.read(data))


def holds(data: bytes | None, identity: str) -> bool:
    block = find(data)
    return bool(block and block.entry(identity))


def block_bytes(data: bytes | None) -> bytes:
    """From the first marker to the last one; nothing where there is no whole block."""
    page = pages.read(data)
    block = locate(page)
    return "".join(page.lines[block.pair[0] : block.pair[1] + 1]).encode() if block and block.pair else b""


def locate(page: Page) -> Block | None:
    begins, ends, comments = _markers(page)
    pair = (begins[0], ends[0]) if len(begins) == len(ends) == 1 and begins[0] < ends[0] else None
    entries = tuple(_read(page, index, pair) for index in comments)
    if not begins and not ends and not entries:
        return None
    troubles = (*_marker_troubles(begins, ends), *_doubled(entries))
    if pair is None:
        return Block(None, None, {}, entries, troubles)
    match = _BEGIN.fullmatch(page.lines[pair[0]].strip())
    notes = dict(word.partition("=")[::2] for word in (match[1] if match else "").split())
    return Block(*pair, notes, entries, troubles)


def _markers(page: Page) -> tuple[list[int], list[int], list[int]]:
    """Lines of first markers and of last markers, and the places of id comments among the pieces."""
    begins, ends, comments = [], [], []
    for index, piece in enumerate(page.pieces):
        if piece.kind != "html" or piece.end != piece.start + 1:
            continue
        line = page.lines[piece.start].strip()
        if _BEGIN.fullmatch(line):
            begins.append(piece.start)
        elif _END.fullmatch(line):
            ends.append(piece.start)
        elif ID.fullmatch(line):
            comments.append(index)
    return begins, ends, comments


def _read(page: Page, index: int, pair: tuple[int, int] | None) -> Entry:
    comment = page.pieces[index]
    end, text = comment.end, ""
    body = page.pieces[index + 1] if index + 1 < len(page.pieces) else None
    if body and body.kind in _BODIES and body.start == page.next_text(comment.end):
        start, end = body.items[0] if body.items else (body.start, body.end)
        text = unbullet(list(page.lines[start:end]))
    match = ID.fullmatch(page.lines[comment.start].strip())
    inside = bool(pair and pair[0] < comment.start < pair[1])
    return Entry(
        id=match[1] if match else "",
        text=text,
        category=_category(page, comment.start, pair) if inside else "",
        raw="".join(page.lines[comment.start : end]).encode(),
        start=comment.start,
        end=end,
        inside=inside,
    )


def _category(page: Page, line: int, pair: tuple[int, int] | None) -> str:
    headings = [piece for piece in headings_of(page, pair) if piece.start < line]
    return category_of(headings[-1]) if headings else ""


def category_of(heading: Piece) -> str:
    """The category that a heading stands for, or nothing."""
    return _CATEGORIES.get(heading.text.strip().lower(), "")


def headings_of(page: Page, pair: tuple[int, int] | None) -> list[Piece]:
    """The headings between the two markers."""
    if not pair:
        return []
    return [piece for piece in page.pieces if piece.kind == "heading" and pair[0] < piece.start < pair[1]]


def _marker_troubles(begins: list[int], ends: list[int]) -> list[Trouble]:
    found: list[Trouble] = []
    opened: int | None = None
    pairs = 0
    for line in sorted([*begins, *ends]):
        if line in begins:
            if opened is not None:
                found.append(Trouble("nested", line, "a block of ours begins before the one above it has ended"))
            opened = line
        elif opened is None:
            found.append(Trouble("unopened", line, "a block of ours ends that never began"))
        else:
            opened, pairs = None, pairs + 1
            if pairs > 1:
                found.append(Trouble("doubled", line, "the file has two blocks of ours"))
    if opened is not None:
        found.append(Trouble("unclosed", opened, "a block of ours begins and never ends"))
    return found


def _doubled(entries: tuple[Entry, ...]) -> list[Trouble]:
    seen: set[str] = set()
    found = []
    for entry in entries:
        if entry.id in seen:
            found.append(Trouble("entry-doubled", entry.start, f"the entry of '{entry.id}' is there twice"))
        seen.add(entry.id)
    return found
