"""What of a file is ours: markers, entries and headings, and where they stand.

Only what is at the top level of the text counts: a marker in a code fence, in a list or in front matter is an example
that somebody wrote down.
"""

from __future__ import annotations

import re

from reflect_git.adapters.outline import Piece
from reflect_git.apply import listing
from reflect_git.apply import page as pages
from reflect_git.apply.listing import BEGIN, TITLES, Bullet, Listed
from reflect_git.apply.page import Page
from reflect_git.apply.wording import unbullet
from reflect_git.model.tuples import NamedTuple

_CATEGORIES = {title.lower(): category for category, title in TITLES.items()}

_END = re.compile(r"<!--\s*reflect-git:end\s*-->")
ID = re.compile(r"<!--\s*(LRN-[0-9]{8}-[0-9a-z]+)\s*-->")
_BODIES = ("list", "paragraph")


class Entry(NamedTuple):
    """A learning in a file: its bullet, with the comment above it if it has one, lines `start` up to but not including
    `end`, counted from 0. A rule of a list whose bullet is gone has no text and no lines."""

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
    """What of a file is ours. `start` and `end` are the marker lines, None where there is no whole pair of them.

    `listed` are the rules that the first marker names, and `header` the lines of that marker: two after a merge in
    which both sides were kept.
    """

    start: int | None
    end: int | None
    notes: dict[str, str]
    entries: tuple[Entry, ...]
    troubles: tuple[Trouble, ...]
    listed: tuple[Listed, ...] = ()
    header: tuple[int, int] = (0, 0)

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
    header = _header(page, begins)
    begins = [line for line in begins if not header[0] <= line < header[1] - 1]
    pair = (begins[0], ends[0]) if len(begins) == len(ends) == 1 and begins[0] < ends[0] else None
    notes, listed = listing.parse(page.lines[header[0] : header[1]])
    entries = [_read(page, index, pair) for index in comments]
    entries += _listed(page, header, ends, pair, listed, entries)
    entries.sort(key=lambda entry: entry.start)
    if not begins and not ends and not entries:
        return None
    troubles = (*_marker_troubles(begins, ends), *_doubled(entries))
    if pair is None:
        return Block(None, None, {}, tuple(entries), troubles, listed, header)
    return Block(*pair, notes, tuple(entries), troubles, listed, header)


def with_id(entry: Entry) -> bytes:
    """The entry below a comment with its id, as a mirror has it."""
    if ID.match(entry.raw.decode()) or not entry.raw:
        return entry.raw
    newline = "\r\n" if entry.raw.endswith(b"\r\n") else "\n"
    return f"<!-- {entry.id} -->{newline}{newline}".encode() + entry.raw


def _header(page: Page, begins: list[int]) -> tuple[int, int]:
    """The lines of the first marker; of markers side by side, those that name rules count as one."""
    if not begins:
        return 0, 0
    start = end = begins[0]
    while end in begins and (end == start or all(listing.parse([page.lines[at]])[1] for at in (end - 1, end))):
        end += 1
    return start, end


def _listed(
    page: Page,
    header: tuple[int, int],
    ends: list[int],
    pair: tuple[int, int] | None,
    listed: tuple[Listed, ...],
    known: list[Entry],
) -> list[Entry]:
    """The rules that the first marker names. Without a last marker, only bullets with the very words are theirs."""
    if not listed:
        return []
    end = next((line for line in ends if line >= header[1]), len(page.lines))
    taken = {line for entry in known for line in range(entry.start, entry.end)}
    items = [item for piece in page.pieces if piece.kind == "list" for item in piece.items]
    bullets = [
        Bullet(first, last, unbullet(list(page.lines[first:last])))
        for first, last in items
        if header[1] <= first < end and first not in taken
    ]
    found = listing.assign(listed, bullets, guess=pair is not None)
    gone = Bullet(header[0], header[0], "")
    entries = []
    for rule in listed:
        bullet = found.get(rule.id, gone)
        raw = "".join(page.lines[bullet.start : bullet.end]).encode()
        inside = pair is not None
        category = rule.category if inside else ""
        entries.append(Entry(rule.id, bullet.text, category, raw, bullet.start, bullet.end, inside))
    return entries


def _markers(page: Page) -> tuple[list[int], list[int], list[int]]:
    """Lines of first markers and of last markers, and the places of id comments among the pieces."""
    begins, ends, comments = [], [], []
    for index, piece in enumerate(page.pieces):
        if piece.kind != "html" or piece.end != piece.start + 1:
            continue
        line = page.lines[piece.start].strip()
        if BEGIN.fullmatch(line):
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


def _doubled(entries: list[Entry]) -> list[Trouble]:
    seen: set[str] = set()
    found = []
    for entry in entries:
        if entry.id in seen:
            found.append(Trouble("entry-doubled", entry.start, f"the entry of '{entry.id}' is there twice"))
        seen.add(entry.id)
    return found
