"""Find our markers, entries and headings in a file, and edit its lines.

Only the top level of the text counts: a marker in a code fence, a list or front matter is an example that somebody
wrote.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from reflect_git.errors import ReflectError
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.targets import markdown
from reflect_git.targets.markdown import Piece, is_blank, split_lines
from reflect_git.targets.safe_text import normalize_text, strip_bullet

CATEGORY_TITLES = {
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
MIN_RULES_FOR_HEADINGS = 10  # rules in a block
LIST_NOTE = "list"  # note in a marker: with fewer rules the block becomes a list again
_CATEGORY_ORDER = list(CATEGORY_TITLES)
_RULE_PATTERN = re.compile(r"(LRN-[0-9]{8}-[0-9a-z]+)(?::([0-9a-f]{4}))?")
BEGIN_PATTERN = re.compile(
    rf"<!--\s*reflect-git:begin((?:\s+(?:[a-z-]+(?:=[0-9a-f]+)?|{_RULE_PATTERN.pattern}))*)\s*-->"
)


class ListedRule(NamedTuple):
    """A rule as the first marker names it."""

    id: str
    category: str
    checksum: str

    @property
    def sort_key(self) -> tuple[int, str]:
        """Return the sort key: category, then id."""
        return (
            _CATEGORY_ORDER.index(self.category) if self.category in CATEGORY_TITLES else len(_CATEGORY_ORDER),
            self.id,
        )


class Bullet(NamedTuple):
    """A list item between the markers: lines `start` up to but not including `end`."""

    start: int
    end: int
    text: str


def compute_checksum(text: str) -> str:
    """Return four digits that stay the same when a formatter wraps or escapes the text."""
    return f"{zlib.crc32(normalize_text(text).encode('utf-8', 'surrogatepass')) & 0xFFFF:04x}"


def build_listed_rule(record_id: str, category: str, text: str) -> ListedRule:
    """Return a rule as the first marker names it."""
    return ListedRule(record_id, category, compute_checksum(text))


def parse_markers(markers: Sequence[str]) -> tuple[dict[str, str], tuple[ListedRule, ...]]:
    """Return the notes and the rules in first markers; several markers are merged, each rule once."""
    notes: dict[str, str] = {}
    rules: dict[str, ListedRule] = {}
    for marker in markers:
        category = ""
        match = BEGIN_PATTERN.fullmatch(marker.strip())
        for word in match[1].split() if match else ():
            if rule := _RULE_PATTERN.fullmatch(word):
                rules.setdefault(rule[1], ListedRule(rule[1], category, rule[2] or ""))
            elif word in CATEGORY_TITLES:
                category = word
            else:
                name, _, value = word.partition("=")
                notes[name] = value
    found = tuple(rules.values())
    return notes, found if len(markers) < 2 else tuple(sorted(found, key=lambda rule: rule.sort_key))


def render_marker(notes: dict[str, str], rules: Sequence[ListedRule]) -> str:
    """Return the first marker."""
    words = [f"{name}={value}" if value else name for name, value in notes.items()]
    category = ""
    for rule in rules:
        if rule.category != category:
            category = rule.category
            words.append(category)
        words.append(f"{rule.id}:{rule.checksum}" if rule.checksum else rule.id)
    return " ".join(["<!-- reflect-git:begin", *words, "-->"])


def insert_rule(rules: Sequence[ListedRule], new: ListedRule) -> tuple[list[ListedRule], int]:
    """Return the rules with one more, in the order of categories and ids, and its position."""
    place = next((number for number, one in enumerate(rules) if one.sort_key > new.sort_key), len(rules))
    return [*rules[:place], new, *rules[place:]], place


def assign_bullets(rules: Sequence[ListedRule], bullets: Sequence[Bullet], guess: bool) -> dict[str, Bullet]:
    """Map ids to bullets: by checksum, or with `guess` the first free bullet between those of the neighbours.

    A rule whose bullet was deleted has none.
    """
    found: dict[str, int] = {}
    sums = [compute_checksum(bullet.text) for bullet in bullets]
    free = set(range(len(bullets)))
    for rule in rules:
        place = next((at for at in sorted(free) if sums[at] == rule.checksum), None)
        if place is not None:
            found[rule.id] = place
            free.discard(place)
    for number, rule in enumerate(rules if guess else ()):
        if rule.id in found:
            continue
        low = max((found[one.id] for one in rules[:number] if one.id in found), default=-1)
        later = [found[one.id] for one in rules[number:] if found.get(one.id, -1) > low]
        place = next((at for at in sorted(free) if low < at < min(later, default=len(bullets))), None)
        if place is not None:
            found[rule.id] = place
            free.discard(place)
    return {identity: bullets[at] for identity, at in found.items()}


_CATEGORY_BY_TITLE = {title.lower(): category for category, title in CATEGORY_TITLES.items()}

_END_PATTERN = re.compile(r"<!--\s*reflect-git:end\s*-->")
ID_PATTERN = re.compile(r"<!--\s*(LRN-[0-9]{8}-[0-9a-z]+)\s*-->")
_BODY_KINDS = ("list", "paragraph")


class Entry(NamedTuple):
    """A learning in a file: its bullet, with the comment above it if it has one.

    Lines `start` up to but not including `end`, counted from 0. A rule of a list whose bullet is gone has no text and
    no lines.
    """

    id: str
    text: str
    category: str
    raw: bytes
    start: int
    end: int
    inside: bool


class MarkerProblem(NamedTuple):
    """Ambiguous markers. Kinds: unclosed, unopened, nested, doubled, entry-doubled."""

    kind: str
    line: int
    message: str


class Block(NamedTuple):
    """Our part of a file; `start` and `end` are the marker lines, None if there is no complete pair.

    `listed_rules` are the rules that the first marker names, and `header` the lines of that marker: two after a merge
    in which both sides were kept.
    """

    start: int | None
    end: int | None
    notes: dict[str, str]
    entries: tuple[Entry, ...]
    problems: tuple[MarkerProblem, ...]
    listed_rules: tuple[ListedRule, ...] = ()
    header: tuple[int, int] = (0, 0)

    @property
    def pair(self) -> tuple[int, int] | None:
        """Return both marker lines; None if there is no complete pair."""
        return None if self.start is None or self.end is None else (self.start, self.end)

    def get_entry(self, record_id: str) -> Entry | None:
        """Return the entry with this id."""
        return next((entry for entry in self.entries if entry.id == record_id), None)


def find_block(data: bytes | None) -> Block | None:
    """Return our part of a file; None if there is neither a marker nor an entry."""
    return locate_block(read_page(data))


def has_entry(data: bytes | None, record_id: str) -> bool:
    """Return whether a file has an entry with this id."""
    block = find_block(data)
    return bool(block and block.get_entry(record_id))


def get_block_bytes(data: bytes | None) -> bytes:
    """Return everything from the first marker to the last one; empty if there is no complete block."""
    page = read_page(data)
    block = locate_block(page)
    return "".join(page.lines[block.pair[0] : block.pair[1] + 1]).encode() if block and block.pair else b""


def locate_block(page: Page) -> Block | None:
    """Return our part of a page; None if there is neither a marker nor an entry."""
    begins, ends, comments = _find_markers(page)
    header = _find_header(page, begins)
    begins = [line for line in begins if not header[0] <= line < header[1] - 1]
    pair = (begins[0], ends[0]) if len(begins) == len(ends) == 1 and begins[0] < ends[0] else None
    notes, listed = parse_markers(page.lines[header[0] : header[1]])
    entries = [_read_entry(page, index, pair) for index in comments]
    entries += _find_listed_entries(page, header, ends, pair, listed, entries)
    entries.sort(key=lambda entry: entry.start)
    if not begins and not ends and not entries:
        return None
    troubles = (*_find_marker_problems(begins, ends), *_find_doubled_entries(entries))
    if pair is None:
        return Block(None, None, {}, tuple(entries), troubles, listed, header)
    return Block(*pair, notes, tuple(entries), troubles, listed, header)


def format_with_id(entry: Entry) -> bytes:
    """Return the entry below a comment with its id, as in a target snapshot."""
    if ID_PATTERN.match(entry.raw.decode()) or not entry.raw:
        return entry.raw
    newline = "\r\n" if entry.raw.endswith(b"\r\n") else "\n"
    return f"<!-- {entry.id} -->{newline}{newline}".encode() + entry.raw


def _find_header(page: Page, begins: list[int]) -> tuple[int, int]:
    """Return the lines of the first marker; adjacent markers that name rules count as one."""
    if not begins:
        return 0, 0
    start = end = begins[0]
    while end in begins and (end == start or all(parse_markers([page.lines[at]])[1] for at in (end - 1, end))):
        end += 1
    return start, end


def _find_listed_entries(
    page: Page,
    header: tuple[int, int],
    ends: list[int],
    pair: tuple[int, int] | None,
    listed: tuple[ListedRule, ...],
    known: list[Entry],
) -> list[Entry]:
    """Return the entries of rules that the first marker names.

    Without a last marker, only bullets with exactly the approved words belong to them.
    """
    if not listed:
        return []
    end = next((line for line in ends if line >= header[1]), len(page.lines))
    taken = {line for entry in known for line in range(entry.start, entry.end)}
    items = [item for piece in page.pieces if piece.kind == "list" for item in piece.items]
    bullets = [
        Bullet(first, last, strip_bullet(list(page.lines[first:last])))
        for first, last in items
        if header[1] <= first < end and first not in taken
    ]
    found = assign_bullets(listed, bullets, guess=pair is not None)
    gone = Bullet(header[0], header[0], "")
    entries = []
    for rule in listed:
        bullet = found.get(rule.id, gone)
        raw = "".join(page.lines[bullet.start : bullet.end]).encode()
        inside = pair is not None
        category = rule.category if inside else ""
        entries.append(Entry(rule.id, bullet.text, category, raw, bullet.start, bullet.end, inside))
    return entries


def _find_markers(page: Page) -> tuple[list[int], list[int], list[int]]:
    """Return the lines of first and of last markers, and the piece indexes of id comments."""
    begins, ends, comments = [], [], []
    for index, piece in enumerate(page.pieces):
        if piece.kind != "html" or piece.end != piece.start + 1:
            continue
        line = page.lines[piece.start].strip()
        if BEGIN_PATTERN.fullmatch(line):
            begins.append(piece.start)
        elif _END_PATTERN.fullmatch(line):
            ends.append(piece.start)
        elif ID_PATTERN.fullmatch(line):
            comments.append(index)
    return begins, ends, comments


def _read_entry(page: Page, index: int, pair: tuple[int, int] | None) -> Entry:
    """Return the entry below an id comment."""
    comment = page.pieces[index]
    end, text = comment.end, ""
    body = page.pieces[index + 1] if index + 1 < len(page.pieces) else None
    if body and body.kind in _BODY_KINDS and body.start == page.next_text(comment.end):
        start, end = body.items[0] if body.items else (body.start, body.end)
        text = strip_bullet(list(page.lines[start:end]))
    match = ID_PATTERN.fullmatch(page.lines[comment.start].strip())
    inside = bool(pair and pair[0] < comment.start < pair[1])
    return Entry(
        id=match[1] if match else "",
        text=text,
        category=_find_category(page, comment.start, pair) if inside else "",
        raw="".join(page.lines[comment.start : end]).encode(),
        start=comment.start,
        end=end,
        inside=inside,
    )


def _find_category(page: Page, line: int, pair: tuple[int, int] | None) -> str:
    headings = [piece for piece in get_headings(page, pair) if piece.start < line]
    return get_category(headings[-1]) if headings else ""


def get_category(heading: Piece) -> str:
    """Return the category of a heading; empty if it is not one of ours."""
    return _CATEGORY_BY_TITLE.get(heading.text.strip().lower(), "")


def get_headings(page: Page, pair: tuple[int, int] | None) -> list[Piece]:
    """Return the headings between the two markers."""
    if not pair:
        return []
    return [piece for piece in page.pieces if piece.kind == "heading" and pair[0] < piece.start < pair[1]]


def _find_marker_problems(begins: list[int], ends: list[int]) -> list[MarkerProblem]:
    found: list[MarkerProblem] = []
    opened: int | None = None
    pairs = 0
    for line in sorted([*begins, *ends]):
        if line in begins:
            if opened is not None:
                found.append(MarkerProblem("nested", line, "a block of ours begins before the one above it has ended"))
            opened = line
        elif opened is None:
            found.append(MarkerProblem("unopened", line, "a block of ours ends that never began"))
        else:
            opened, pairs = None, pairs + 1
            if pairs > 1:
                found.append(MarkerProblem("doubled", line, "the file has two blocks of ours"))
    if opened is not None:
        found.append(MarkerProblem("unclosed", opened, "a block of ours begins and never ends"))
    return found


def _find_doubled_entries(entries: list[Entry]) -> list[MarkerProblem]:
    seen: set[str] = set()
    found = []
    for entry in entries:
        if entry.id in seen:
            found.append(MarkerProblem("entry-doubled", entry.start, f"the entry of '{entry.id}' is there twice"))
        seen.add(entry.id)
    return found


MAX_FILE_BYTES = 1_000_000
BOM = "\ufeff"
_LINE_ENDS = ("\n", "\r\n", "\r")
# Lines that begin a new block whatever is above them.
_SAFE_STARTS = ("#", "<!--")


class UnfitFileError(ReflectError):
    """Raised for a file that cannot be patched without risk to its bytes."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint, code="unfit")


@dataclass(frozen=True)
class Page:
    """A file as lines with their ends, and its byte order mark if it has one."""

    bom: str
    lines: tuple[str, ...]

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return markdown.parse_pieces("".join(self.lines))

    @property
    def data(self) -> bytes:
        return (self.bom + "".join(self.lines)).encode()

    def splice(self, start: int, end: int, text: str) -> Page:
        """Return the page with lines `start` to `end` replaced."""
        return replace(self, lines=(*self.lines[:start], *split_lines(text), *self.lines[end:]))

    @property
    def newline(self) -> str:
        """Return the most common line end."""
        crlf = sum(line.endswith("\r\n") for line in self.lines)
        lf = sum(line.endswith("\n") for line in self.lines) - crlf
        return "\r\n" if crlf > lf else "\n"

    def newline_at(self, line: int) -> str:
        """Return the end of this line, or the most common one if it has none."""
        ending = re.search(r"\r?\n\Z", self.lines[line])
        return ending[0] if ending else self.newline

    def newline_for(self, place: int, newline: str) -> str:
        """Return the newline to begin an inserted text with: after a lone CR, LF would not be a separate line."""
        return "\r\n" if place and self.lines[place - 1].endswith("\r") else newline

    def after_text(self, line: int) -> int:
        """Return the position after the last non-blank line above `line`."""
        while line and is_blank(self.lines[line - 1]):
            line -= 1
        return line

    def next_text(self, line: int) -> int:
        """Return the first non-blank line from `line` on, or the end."""
        while line < len(self.lines) and is_blank(self.lines[line]):
            line += 1
        return line

    def cut(self, start: int, end: int) -> Page:
        """Remove these lines and the blank line above them, which was added with them.

        The blank line stays if the lines that meet would otherwise become one block.
        """
        following = self.lines[end].lstrip(" ") if end < len(self.lines) else ""
        if self.is_empty_line(start - 1) and (is_blank(following) or following.startswith(_SAFE_STARTS)):
            start -= 1
        return self.splice(start, end, "")

    def is_empty_line(self, line: int) -> bool:
        """Return whether a line is empty except for its end, as those we add."""
        return 0 <= line < len(self.lines) and self.lines[line] in _LINE_ENDS


def read_page(data: bytes | None) -> Page:
    """Return the page of a file; a missing file is an empty page."""
    data = data or b""
    if len(data) > MAX_FILE_BYTES:
        raise UnfitFileError(
            f"file has {len(data)} bytes, more than {MAX_FILE_BYTES}",
            "move parts of it into files of their own and import them",
        )
    if b"\0" in data:
        raise UnfitFileError(
            "file has NUL bytes, so it is not a text", "choose another target, or write the file anew as UTF-8"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        hint = "convert it with 'iconv -f WINDOWS-1252 -t UTF-8', or whatever its encoding is"
        raise UnfitFileError(f"file is not UTF-8: byte {error.start + 1} cannot be read", hint) from None
    bom = BOM if text.startswith(BOM) else ""
    return Page(bom, tuple(split_lines(text[len(bom) :])))
