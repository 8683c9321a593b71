"""Our block in a CLAUDE.md: entries are found by their id, wherever they stand, and every other byte stays.

Fewer than ten rules are a plain list (`listing.py`). From the tenth on they stand below headings:

    <!-- reflect-git:begin list -->

    ## Commands

    <!-- LRN-20260211-4c8d2a1f -->

    - Use pnpm, not npm.

    <!-- reflect-git:end -->

Each part brings the blank line above it and takes it away again, so a removal undoes an addition byte for byte. What
cannot be seen from the file afterwards stands in the first marker: `new` (there was no file), `eof=…` (the last line,
with this checksum, had no end), `above` (the blank line below the block is ours), `list` (it was a list before the
tenth rule, and becomes one again). A block with headings that an older program wrote becomes a list when the next
rule is added to it; one in which somebody wrote lines of their own keeps its form.
"""

from __future__ import annotations

import re
import zlib

from reflect_git.adapters.outline import Piece, is_blank
from reflect_git.apply import listing
from reflect_git.apply import page as pages
from reflect_git.apply.finding import (
    Block,
    Entry,
    Trouble,
    block_bytes,
    category_of,
    find,
    headings_of,
    holds,
    locate,
)
from reflect_git.apply.inert import inert
from reflect_git.apply.listing import HEADINGS_FROM, TITLES, WAS_LIST, Listed
from reflect_git.apply.page import Page
from reflect_git.apply.targets import AGENTS_IMPORT
from reflect_git.apply.wording import Reworded, same
from reflect_git.errors import EXIT_DECISION, ReflectError

__all__ = [
    "Block", "Entry", "Trouble", "Reworded",
    "find", "holds", "block_bytes", "same", "inert", "entry_bytes", "add", "remove", "replace",
]  # fmt: skip

_ORDER = list(TITLES)


def entry_bytes(identity: str, text: str, newline: str = "\n") -> bytes:
    """An entry as it is written."""
    return _entry(identity, inert(text)[0], newline).encode()


def add(data: bytes | None, identity: str, text: str, category: str, opening: str = "") -> bytes:
    """The file with one entry more. `opening`: what a file that did not exist begins with."""
    page = pages.read(data if data is not None else opening.encode())
    block = locate(page)
    _check(block, identity)
    line = _line(text)
    if block is not None and block.start is not None:
        candidates = [page]
    else:
        candidates = _with_block(page, is_new=data is None)
    for candidate in candidates:
        added = _insert(_as_list(candidate, room=1), identity, line, category)
        if added and _is_there(added, identity, line, category):
            return _with_headings(added).data
    raise _no_place(identity)


def remove(data: bytes | None, identity: str, was: str, force: bool = False) -> bytes | None:
    """The file without the entry; None if the file was made for our block and has nothing else.

    `was` is the approved text: an entry that says something else by now is taken only with `force`.
    """
    page = pages.read(data)
    for entry in reversed(_entries_to_take(page, identity, was, force)):
        page = _take(page, entry)
    block = locate(page)
    return _without_block(_as_list(page) if block and WAS_LIST in block.notes else page)


def replace(
    data: bytes, identity: str, was: str, text: str, category: str, successor: str = "", force: bool = False
) -> bytes:
    """The entry with other words, in its place, or in its new category; `successor`: and with another id."""
    page = pages.read(data)
    entry = _entries_to_take(page, identity, was, force)[0]
    name, line = successor or identity, _line(text)
    if successor:
        _check(locate(page), successor)
    is_listed = _is_listed(page, entry)
    if (category == entry.category or not entry.inside) and (entry.text or not is_listed):
        newline = page.newline_at(entry.start)
        rendered = f"- {line}{newline}" if is_listed else _entry(name, line, newline)
        is_last = not page.lines[entry.end - 1].endswith(("\n", "\r"))
        page = page.splice(entry.start, entry.end, rendered.rstrip("\r\n") if is_last else rendered)
        return (_renamed(page, entry, listing.listed(name, category, line)) if is_listed else page).data
    _check(locate(page), "")
    moved = _insert(_take(page, entry), name, line, category)
    if moved is None or not _is_there(moved, name, line, category):
        raise _no_place(name)
    return moved.data


def _line(text: str) -> str:
    line = inert(text)[0]
    if not line:
        raise ReflectError("the text of the learning is empty", "give it with --text", code="empty")
    return line


def _entry(identity: str, line: str, newline: str) -> str:
    return f"<!-- {identity} -->{newline}{newline}- {line}{newline}"


def _check(block: Block | None, identity: str) -> None:
    for trouble in block.troubles if block else ():
        if trouble.kind != "entry-doubled":
            raise ReflectError(
                f"line {trouble.line + 1}: {trouble.words}",
                "leave one line '<!-- reflect-git:begin -->' and, below it, one line '<!-- reflect-git:end -->'",
                code="markers",
                exit_code=EXIT_DECISION,
            )
    if block and identity and block.entry(identity):
        raise ReflectError(f"the file has an entry of '{identity}' already", code="duplicate")


def _entries_to_take(page: Page, identity: str, was: str, force: bool) -> list[Entry]:
    block = locate(page)
    found = [entry for entry in block.entries if entry.id == identity] if block else []
    if not found:
        raise _absent(identity)
    if force:
        return found
    if len(found) > 1:
        raise ReflectError(
            f"the entry of '{identity}' is there twice, at lines {found[0].start + 1} and {found[1].start + 1}",
            "delete one of the two, or use --force to take both",
            code="entry-doubled",
            exit_code=EXIT_DECISION,
        )
    # A comment whose bullet was deleted by hand says nothing that could be lost.
    if found[0].text and not same(found[0].text, was):
        raise Reworded(identity, was, found[0].text)
    return found


def _absent(identity: str) -> ReflectError:
    return ReflectError(f"the file has no entry of '{identity}'", code="missing")


def _no_place(identity: str) -> ReflectError:
    return ReflectError(
        f"there is no place in the file where the entry of '{identity}' could be found again",
        "look for a code fence or an HTML comment in it that is never closed",
        code="no-place",
    )


def _with_block(page: Page, is_new: bool) -> list[Page]:
    """The page with an empty block: at the end, else above what swallows the end, else below the front matter."""
    front = page.pieces[0].end if page.pieces and page.pieces[0].kind == "front" else 0
    last = page.pieces[-1].start if page.pieces else 0
    return [_with_block_at(page, place, is_new) for place in (len(page.lines), max(front, last), front)]


def _with_block_at(page: Page, place: int, is_new: bool) -> Page:
    newline, notes = page.newline_for(place, page.newline), ""
    if is_new:
        notes += " new"
    above = page.lines[place - 1] if place else ""
    if above and not above.endswith(("\n", "\r")):
        notes += f" eof={_checksum(above)}"
        page = page.splice(place - 1, place, above + newline)
    if place < len(page.lines):
        notes += " above"
    lines = [f"<!-- reflect-git:begin{notes} -->", "", "<!-- reflect-git:end -->"]
    lines = [""] * bool(place) + lines + [""] * (place < len(page.lines))
    return page.splice(place, place, "".join(line + newline for line in lines))


def _checksum(line: str) -> str:
    return f"{zlib.crc32(line.encode()) & 0xFFFF:04x}"


def _insert(page: Page, identity: str, line: str, category: str) -> Page | None:
    """With the entry in its category, in the order of ids, which is that of approval: the same set of entries is the
    same text."""
    block = locate(page)
    if block is None or block.pair is None:
        return None
    if block.listed or page.next_text(block.pair[0] + 1) == block.pair[1]:
        return _insert_bullet(page, block, block.pair, listing.listed(identity, category, line), line)
    section = _section(page, block.pair, category)
    if section is None:
        place = _heading_place(page, block.pair, category)
    else:
        later = [entry.start for entry in block.entries if entry.id > identity]
        place = next((start for start in later if section[0] < start < section[1]), section[1])
    place = page.after_text(place)
    newline = page.newline_for(place, page.newline_at(block.pair[0]))
    heading = f"{newline}{'#' * _level(page, block.pair)} {TITLES[category]}{newline}" if section is None else ""
    return page.splice(place, place, heading + newline + _entry(identity, line, newline))


def _insert_bullet(page: Page, block: Block, pair: tuple[int, int], new: Listed, line: str) -> Page:
    rules, place = listing.inserted(block.listed, new)
    newline = page.newline_at(pair[0])
    entries = {entry.id: entry for entry in block.entries if entry.text}
    above = [entries[one.id] for one in rules[:place] if one.id in entries]
    below = [entries[one.id] for one in rules[place + 1 :] if one.id in entries]
    if below:
        page = page.splice(below[0].start, below[0].start, f"- {line}{newline}")
    elif above:
        page = page.splice(above[-1].end, above[-1].end, f"- {line}{newline}")
    else:
        at = page.after_text(pair[1])
        page = page.splice(at, at, f"{newline}- {line}{newline}")
    return _with_header(page, block, rules)


def _with_header(page: Page, block: Block, rules: list[Listed], notes: dict[str, str] | None = None) -> Page:
    start, end = block.header
    if notes is None:
        notes = listing.parse(page.lines[start:end])[0]
    return page.splice(start, end, listing.render(notes, rules) + page.newline_at(start))


def _is_listed(page: Page, entry: Entry) -> bool:
    block = locate(page)
    return bool(block and any(one.id == entry.id for one in block.listed)) and not entry.raw.startswith(b"<!--")


def _renamed(page: Page, entry: Entry, new: Listed) -> Page:
    """With other words, or another id, in the first marker."""
    block = locate(page)
    assert block is not None
    return _with_header(page, block, [new if one.id == entry.id else one for one in block.listed])


def _as_list(page: Page, room: int = 0) -> Page:
    """A block with headings as a list, if it has few enough rules and nothing but rules."""
    block = locate(page)
    if not (block and block.pair and block.entries) or block.listed or len(block.entries) + room >= HEADINGS_FROM:
        return page
    if not _has_only_rules(page, block, block.pair):
        return page
    bullets = [_bullet_lines(page, entry) for entry in block.entries]
    rules = [listing.listed(entry.id, entry.category, entry.text) for entry in block.entries]
    notes = {name: value for name, value in block.notes.items() if name != WAS_LIST}
    newline = page.newline_at(block.pair[0])
    lines = [listing.render(notes, rules) + newline, newline, *bullets, newline]
    return page.splice(block.pair[0], block.pair[1], "".join(lines))


def _with_headings(page: Page) -> Page:
    """A list of ten rules or more as a block with headings, if it has nothing but rules."""
    block = locate(page)
    if not (block and block.pair) or len(block.listed) < HEADINGS_FROM or not _has_only_rules(page, block, block.pair):
        return page
    newline, level, category = page.newline_at(block.pair[0]), "#" * _level(page, block.pair), ""
    lines = [listing.render({**block.notes, WAS_LIST: ""}, ()) + newline]
    for entry in block.entries:
        if entry.category != category:
            category = entry.category
            lines += [newline, f"{level} {TITLES[category]}{newline}"]
        lines += [newline, f"<!-- {entry.id} -->{newline}", newline, _bullet_lines(page, entry)]
    return page.splice(block.pair[0], block.pair[1], "".join([*lines, newline]))


def _has_only_rules(page: Page, block: Block, pair: tuple[int, int]) -> bool:
    """Are there only bullets with an id, in the order of categories, and headings of ours between the markers?"""
    if not all(entry.inside and entry.text and entry.category in TITLES for entry in block.entries):
        return False
    ranks = [_ORDER.index(entry.category) for entry in block.entries]
    if block.troubles or ranks != sorted(ranks) or not all(_bullet_lines(page, entry) for entry in block.entries):
        return False
    known = {line for entry in block.entries for line in range(entry.start, entry.end)}
    known |= {heading.start for heading in headings_of(page, pair) if category_of(heading)}
    return all(line in known or is_blank(page.lines[line]) for line in range(pair[0] + 1, pair[1]))


def _bullet_lines(page: Page, entry: Entry) -> str:
    """The entry without the comment above it; nothing if it is no bullet."""
    start = entry.start
    if page.lines[start].lstrip().startswith("<!--"):
        start = page.next_text(start + 1)
    is_item = any(piece.kind == "list" and (start, entry.end) in piece.items for piece in page.pieces)
    return "".join(page.lines[start : entry.end]) if is_item else ""


def _section(page: Page, pair: tuple[int, int], category: str) -> tuple[int, int] | None:
    """The heading line of a category and the line where its section ends. An empty section is somebody else's."""
    headings = headings_of(page, pair)
    for number, heading in enumerate(headings):
        if category_of(heading) == category and not _is_empty(page, heading, pair):
            following = headings[number + 1].start if number + 1 < len(headings) else pair[1]
            return heading.start, following
    return None


def _is_empty(page: Page, heading: Piece, pair: tuple[int, int]) -> bool:
    line = page.next_text(heading.end)
    following = next((piece for piece in headings_of(page, pair) if piece.start == line), None)
    return line == pair[1] or bool(following and (following.level <= heading.level or category_of(following)))


def _heading_place(page: Page, pair: tuple[int, int], category: str) -> int:
    later = _ORDER[_ORDER.index(category) + 1 :]
    return next((heading.start for heading in headings_of(page, pair) if category_of(heading) in later), pair[1])


def _level(page: Page, pair: tuple[int, int]) -> int:
    """As the other headings of the block; else as the sections of the file: below its title, if it has one title."""
    mine = [heading.level for heading in headings_of(page, pair) if category_of(heading)]
    if mine:
        return mine[0]
    return 1 if sum(piece.kind == "heading" and piece.level == 1 for piece in page.pieces) > 1 else 2


def _is_there(page: Page, identity: str, line: str, category: str) -> bool:
    block = locate(page)
    entry = block.entry(identity) if block else None
    return bool(entry and entry.inside and entry.text == line and entry.category == category)


def _take(page: Page, entry: Entry) -> Page:
    """Without the entry, and without the heading above it if that is ours and has nothing below it any more."""
    block = locate(page)
    if block and _is_listed(page, entry):
        page = page.cut(entry.start, entry.end) if entry.start < entry.end else page
        return _with_header(page, block, [one for one in block.listed if one.id != entry.id])
    above = [heading for heading in headings_of(page, block.pair if block else None) if heading.start < entry.start]
    page = page.cut(entry.start, entry.end)
    block = locate(page)
    if not (entry.inside and entry.category and above and block and block.pair):
        return page
    heading = above[-1]
    return page.cut(heading.start, heading.end) if _is_empty(page, heading, block.pair) else page


def _without_block(page: Page) -> bytes | None:
    block = locate(page)
    if block is None or block.pair is None or page.next_text(block.pair[0] + 1) != block.pair[1]:
        return page.data
    start, end = block.pair[0], block.pair[1] + 1
    end += "above" in block.notes and page.is_bare(end)
    start -= page.is_bare(start - 1)
    page = page.splice(start, end, "")
    if "eof" in block.notes and start == len(page.lines):
        page = _without_last_newline(page, block.notes["eof"])
    if "new" in block.notes and "".join(page.lines) in ("", AGENTS_IMPORT):
        return None
    return page.data


def _without_last_newline(page: Page, checksum: str) -> Page:
    last = page.lines[-1] if page.lines else ""
    bare = re.sub(r"\r?\n\Z", "", last)
    return page.splice(len(page.lines) - 1, len(page.lines), bare) if last and _checksum(bare) == checksum else page
