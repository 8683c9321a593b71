"""Edit our block in a CLAUDE.md: entries are found by id anywhere in the file, and every other byte stays.

Fewer than ten rules are a plain list, whose ids are in the first marker. Ten or more are grouped under headings:

    <!-- reflect-git:begin list -->

    ## Commands

    <!-- LRN-20260211-4c8d2a1f -->

    - Use pnpm, not npm.

    <!-- reflect-git:end -->

Each part is added and removed together with the blank line above it, so a removal undoes an addition byte for byte.
The first marker notes facts that the file does not show afterwards:
new    there was no file
eof=…  the last line, with this checksum, had no end
above  the blank line below the block is ours
list   it was a list before the tenth rule, and becomes one again

A block with headings from an older version becomes a list when the next rule is added. A block in which somebody wrote
their own lines keeps its form.
"""

from __future__ import annotations

import re
import zlib

from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.targets import target_page
from reflect_git.targets import target_page as pages
from reflect_git.targets.markdown import Piece, is_blank
from reflect_git.targets.safe_text import RewordedError, is_same_text, make_safe
from reflect_git.targets.target_files import AGENTS_IMPORT
from reflect_git.targets.target_page import (
    CATEGORY_TITLES,
    LIST_NOTE,
    MIN_RULES_FOR_HEADINGS,
    Block,
    Entry,
    ListedRule,
    MarkerProblem,
    Page,
    find_block,
    get_block_bytes,
    get_category,
    get_headings,
    has_entry,
    locate_block,
)

__all__ = [
    "Block",
    "Entry",
    "MarkerProblem",
    "RewordedError",
    "find_block",
    "has_entry",
    "get_block_bytes",
    "is_same_text",
    "make_safe",
    "build_entry",
    "add",
    "remove",
    "replace",
]

_CATEGORY_ORDER = list(CATEGORY_TITLES)


def build_entry(record_id: str, text: str, newline: str = "\n") -> bytes:
    """Return an entry as it is written."""
    return _format_entry(record_id, make_safe(text)[0], newline).encode()


def add(data: bytes | None, record_id: str, text: str, category: str, opening: str = "") -> bytes:
    """Return the file with one more entry. `opening` is how a file that did not exist begins."""
    page = pages.read_page(data if data is not None else opening.encode())
    block = locate_block(page)
    _check_markers(block, record_id)
    line = _build_line(text)
    if block is not None and block.start is not None:
        candidates = [page]
    else:
        candidates = _try_block_places(page, is_new=data is None)
    for candidate in candidates:
        added = _insert_entry(_convert_to_list(candidate, room=1), record_id, line, category)
        if added and _is_entry_there(added, record_id, line, category):
            return _convert_to_headings(added).data
    raise _build_no_place_error(record_id)


def remove(data: bytes | None, record_id: str, was: str, force: bool = False) -> bytes | None:
    """Return the file without the entry; None if the file was created for our block and has nothing else.

    `was` is the approved text: an entry that was reworded is removed only with `force`.
    """
    page = pages.read_page(data)
    for entry in reversed(_find_entries_to_remove(page, record_id, was, force)):
        page = _remove_entry(page, entry)
    block = locate_block(page)
    return _remove_empty_block(_convert_to_list(page) if block and LIST_NOTE in block.notes else page)


def replace(
    data: bytes, record_id: str, was: str, text: str, category: str, successor: str = "", force: bool = False
) -> bytes:
    """Return the file with new words for an entry, in its place or in its new category; `successor` is a new id."""
    page = pages.read_page(data)
    entry = _find_entries_to_remove(page, record_id, was, force)[0]
    name, line = successor or record_id, _build_line(text)
    if successor:
        _check_markers(locate_block(page), successor)
    is_listed = _is_listed(page, entry)
    if (category == entry.category or not entry.inside) and (entry.text or not is_listed):
        newline = page.newline_at(entry.start)
        rendered = f"- {line}{newline}" if is_listed else _format_entry(name, line, newline)
        is_last = not page.lines[entry.end - 1].endswith(("\n", "\r"))
        page = page.splice(entry.start, entry.end, rendered.rstrip("\r\n") if is_last else rendered)
        return (
            _replace_listed_rule(page, entry, target_page.build_listed_rule(name, category, line))
            if is_listed
            else page
        ).data
    _check_markers(locate_block(page), "")
    moved = _insert_entry(_remove_entry(page, entry), name, line, category)
    if moved is None or not _is_entry_there(moved, name, line, category):
        raise _build_no_place_error(name)
    return moved.data


def _build_line(text: str) -> str:
    line = make_safe(text)[0]
    if not line:
        raise ReflectError("the text of the learning is empty", "give it with --text", code="empty")
    return line


def _format_entry(record_id: str, line: str, newline: str) -> str:
    return f"<!-- {record_id} -->{newline}{newline}- {line}{newline}"


def _check_markers(block: Block | None, record_id: str) -> None:
    """Raise an error if the markers are broken, or the id is already in the file."""
    for problem in block.problems if block else ():
        if problem.kind != "entry-doubled":
            raise ReflectError(
                f"line {problem.line + 1}: {problem.message}",
                "leave one line '<!-- reflect-git:begin -->' and, below it, one line '<!-- reflect-git:end -->'",
                code="markers",
                exit_code=EXIT_DECISION,
            )
    if block and record_id and block.get_entry(record_id):
        raise ReflectError(f"the file has an entry of '{record_id}' already", code="duplicate")


def _find_entries_to_remove(page: Page, record_id: str, was: str, force: bool) -> list[Entry]:
    """Return the entries to remove; raise an error if missing or, unless `force`, if doubled or reworded."""
    block = locate_block(page)
    found = [entry for entry in block.entries if entry.id == record_id] if block else []
    if not found:
        raise _build_missing_error(record_id)
    if force:
        return found
    if len(found) > 1:
        raise ReflectError(
            f"the entry of '{record_id}' is there twice, at lines {found[0].start + 1} and {found[1].start + 1}",
            "delete one of the two, or use --force to take both",
            code="entry-doubled",
            exit_code=EXIT_DECISION,
        )
    # If the bullet was deleted by hand, its comment holds nothing that could be lost.
    if found[0].text and not is_same_text(found[0].text, was):
        raise RewordedError(record_id, was, found[0].text)
    return found


def _build_missing_error(record_id: str) -> ReflectError:
    return ReflectError(f"the file has no entry of '{record_id}'", code="missing")


def _build_no_place_error(record_id: str) -> ReflectError:
    return ReflectError(
        f"there is no place in the file where the entry of '{record_id}' could be found again",
        "look for a code fence or an HTML comment in it that is never closed",
        code="no-place",
    )


def _try_block_places(page: Page, is_new: bool) -> list[Page]:
    """Return pages with an empty block to try: at the end, above an unclosed last piece, below the front matter."""
    front = page.pieces[0].end if page.pieces and page.pieces[0].kind == "front" else 0
    last = page.pieces[-1].start if page.pieces else 0
    return [_insert_block(page, place, is_new) for place in (len(page.lines), max(front, last), front)]


def _insert_block(page: Page, place: int, is_new: bool) -> Page:
    newline, notes = page.newline_for(place, page.newline), ""
    if is_new:
        notes += " new"
    above = page.lines[place - 1] if place else ""
    if above and not above.endswith(("\n", "\r")):
        notes += f" eof={_compute_checksum(above)}"
        page = page.splice(place - 1, place, above + newline)
    if place < len(page.lines):
        notes += " above"
    lines = [f"<!-- reflect-git:begin{notes} -->", "", "<!-- reflect-git:end -->"]
    lines = [""] * bool(place) + lines + [""] * (place < len(page.lines))
    return page.splice(place, place, "".join(line + newline for line in lines))


def _compute_checksum(line: str) -> str:
    return f"{zlib.crc32(line.encode()) & 0xFFFF:04x}"


def _insert_entry(page: Page, record_id: str, line: str, category: str) -> Page | None:
    """Insert the entry in its category, in the order of ids; None if there is no block.

    Ids are in the order of approval, so the same entries always give the same text.
    """
    block = locate_block(page)
    if block is None or block.pair is None:
        return None
    if block.listed_rules or page.next_text(block.pair[0] + 1) == block.pair[1]:
        return _insert_bullet(page, block, block.pair, target_page.build_listed_rule(record_id, category, line), line)
    section = _find_section(page, block.pair, category)
    if section is None:
        place = _find_heading_place(page, block.pair, category)
    else:
        later = [entry.start for entry in block.entries if entry.id > record_id]
        place = next((start for start in later if section[0] < start < section[1]), section[1])
    place = page.after_text(place)
    newline = page.newline_for(place, page.newline_at(block.pair[0]))
    heading = (
        f"{newline}{'#' * _get_heading_level(page, block.pair)} {CATEGORY_TITLES[category]}{newline}"
        if section is None
        else ""
    )
    return page.splice(place, place, heading + newline + _format_entry(record_id, line, newline))


def _insert_bullet(page: Page, block: Block, pair: tuple[int, int], new: ListedRule, line: str) -> Page:
    rules, place = target_page.insert_rule(block.listed_rules, new)
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
    return _replace_header(page, block, rules)


def _replace_header(page: Page, block: Block, rules: list[ListedRule], notes: dict[str, str] | None = None) -> Page:
    """Replace the first marker."""
    start, end = block.header
    if notes is None:
        notes = target_page.parse_markers(page.lines[start:end])[0]
    return page.splice(start, end, target_page.render_marker(notes, rules) + page.newline_at(start))


def _is_listed(page: Page, entry: Entry) -> bool:
    """Return whether an entry is a bullet that the first marker names."""
    block = locate_block(page)
    return bool(block and any(one.id == entry.id for one in block.listed_rules)) and not entry.raw.startswith(b"<!--")


def _replace_listed_rule(page: Page, entry: Entry, new: ListedRule) -> Page:
    """Change the checksum or the id of an entry in the first marker."""
    block = locate_block(page)
    assert block is not None
    return _replace_header(page, block, [new if one.id == entry.id else one for one in block.listed_rules])


def _convert_to_list(page: Page, room: int = 0) -> Page:
    """Turn a block with headings into a list, if it has few enough rules and nothing but rules."""
    block = locate_block(page)
    if (
        not (block and block.pair and block.entries)
        or block.listed_rules
        or len(block.entries) + room >= MIN_RULES_FOR_HEADINGS
    ):
        return page
    if not _has_only_rules(page, block, block.pair):
        return page
    bullets = [_get_bullet(page, entry) for entry in block.entries]
    rules = [target_page.build_listed_rule(entry.id, entry.category, entry.text) for entry in block.entries]
    notes = {name: value for name, value in block.notes.items() if name != LIST_NOTE}
    newline = page.newline_at(block.pair[0])
    lines = [target_page.render_marker(notes, rules) + newline, newline, *bullets, newline]
    return page.splice(block.pair[0], block.pair[1], "".join(lines))


def _convert_to_headings(page: Page) -> Page:
    """Turn a list of ten rules or more into a block with headings, if it has nothing but rules."""
    block = locate_block(page)
    if (
        not (block and block.pair)
        or len(block.listed_rules) < MIN_RULES_FOR_HEADINGS
        or not _has_only_rules(page, block, block.pair)
    ):
        return page
    newline, level, category = page.newline_at(block.pair[0]), "#" * _get_heading_level(page, block.pair), ""
    lines = [target_page.render_marker({**block.notes, LIST_NOTE: ""}, ()) + newline]
    for entry in block.entries:
        if entry.category != category:
            category = entry.category
            lines += [newline, f"{level} {CATEGORY_TITLES[category]}{newline}"]
        lines += [newline, f"<!-- {entry.id} -->{newline}", newline, _get_bullet(page, entry)]
    return page.splice(block.pair[0], block.pair[1], "".join([*lines, newline]))


def _has_only_rules(page: Page, block: Block, pair: tuple[int, int]) -> bool:
    """Return whether the block has only bullets with ids, in the order of categories, and our headings."""
    if not all(entry.inside and entry.text and entry.category in CATEGORY_TITLES for entry in block.entries):
        return False
    ranks = [_CATEGORY_ORDER.index(entry.category) for entry in block.entries]
    if block.problems or ranks != sorted(ranks) or not all(_get_bullet(page, entry) for entry in block.entries):
        return False
    known = {line for entry in block.entries for line in range(entry.start, entry.end)}
    known |= {heading.start for heading in get_headings(page, pair) if get_category(heading)}
    return all(line in known or is_blank(page.lines[line]) for line in range(pair[0] + 1, pair[1]))


def _get_bullet(page: Page, entry: Entry) -> str:
    """Return the entry without the comment above it; empty if it is not a bullet."""
    start = entry.start
    if page.lines[start].lstrip().startswith("<!--"):
        start = page.next_text(start + 1)
    is_item = any(piece.kind == "list" and (start, entry.end) in piece.items for piece in page.pieces)
    return "".join(page.lines[start : entry.end]) if is_item else ""


def _find_section(page: Page, pair: tuple[int, int], category: str) -> tuple[int, int] | None:
    """Return the heading line of a category and the end of its section; empty sections belong to somebody else."""
    headings = get_headings(page, pair)
    for number, heading in enumerate(headings):
        if get_category(heading) == category and not _is_empty_section(page, heading, pair):
            following = headings[number + 1].start if number + 1 < len(headings) else pair[1]
            return heading.start, following
    return None


def _is_empty_section(page: Page, heading: Piece, pair: tuple[int, int]) -> bool:
    line = page.next_text(heading.end)
    following = next((piece for piece in get_headings(page, pair) if piece.start == line), None)
    return line == pair[1] or bool(following and (following.level <= heading.level or get_category(following)))


def _find_heading_place(page: Page, pair: tuple[int, int], category: str) -> int:
    later = _CATEGORY_ORDER[_CATEGORY_ORDER.index(category) + 1 :]
    return next((heading.start for heading in get_headings(page, pair) if get_category(heading) in later), pair[1])


def _get_heading_level(page: Page, pair: tuple[int, int]) -> int:
    """Return the heading level of the block, or that of the file's sections: below the title, if it has one title."""
    mine = [heading.level for heading in get_headings(page, pair) if get_category(heading)]
    if mine:
        return mine[0]
    return 1 if sum(piece.kind == "heading" and piece.level == 1 for piece in page.pieces) > 1 else 2


def _is_entry_there(page: Page, record_id: str, line: str, category: str) -> bool:
    block = locate_block(page)
    entry = block.get_entry(record_id) if block else None
    return bool(entry and entry.inside and entry.text == line and entry.category == category)


def _remove_entry(page: Page, entry: Entry) -> Page:
    """Remove an entry, and the heading above it if that is ours and now empty."""
    block = locate_block(page)
    if block and _is_listed(page, entry):
        page = page.cut(entry.start, entry.end) if entry.start < entry.end else page
        return _replace_header(page, block, [one for one in block.listed_rules if one.id != entry.id])
    above = [heading for heading in get_headings(page, block.pair if block else None) if heading.start < entry.start]
    page = page.cut(entry.start, entry.end)
    block = locate_block(page)
    if not (entry.inside and entry.category and above and block and block.pair):
        return page
    heading = above[-1]
    return page.cut(heading.start, heading.end) if _is_empty_section(page, heading, block.pair) else page


def _remove_empty_block(page: Page) -> bytes | None:
    """Remove the block if it is empty; None if the file was created for it and has nothing else."""
    block = locate_block(page)
    if block is None or block.pair is None or page.next_text(block.pair[0] + 1) != block.pair[1]:
        return page.data
    start, end = block.pair[0], block.pair[1] + 1
    end += "above" in block.notes and page.is_empty_line(end)
    start -= page.is_empty_line(start - 1)
    page = page.splice(start, end, "")
    if "eof" in block.notes and start == len(page.lines):
        page = _drop_last_newline(page, block.notes["eof"])
    if "new" in block.notes and "".join(page.lines) in ("", AGENTS_IMPORT):
        return None
    return page.data


def _drop_last_newline(page: Page, checksum: str) -> Page:
    last = page.lines[-1] if page.lines else ""
    bare = re.sub(r"\r?\n\Z", "", last)
    return (
        page.splice(len(page.lines) - 1, len(page.lines), bare)
        if last and _compute_checksum(bare) == checksum
        else page
    )
