"""Edit `.claude/improvements.md`: proposals for the project itself, under Pending, Applied or Deferred.

An entry is its id comment, its heading and its list. A heading or a file that we created has `<!-- reflect-git:new -->`
above it and is removed with its last entry. Everything else belongs to the project.
"""

from __future__ import annotations

import re
from itertools import pairwise

from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.targets import target_page as pages
from reflect_git.targets.markdown import Piece
from reflect_git.targets.safe_text import RewordedError, make_safe, normalize_text, strip_bullet
from reflect_git.targets.target_page import ID_PATTERN, Page

SECTIONS = ("Pending", "Applied", "Deferred")
NEW_MARK = "<!-- reflect-git:new -->"
SKELETON = f"""{NEW_MARK}

# Project Improvements

Proposed by `/reflect` — review and apply at your pace.

## Pending

## Applied

## Deferred
"""


class Improvement(NamedTuple):
    """A proposal; an empty field has no line. `confidence`: "High (the build command failed in 2 sessions)"."""

    id: str
    date: str
    title: str
    category: str
    impact: str
    details: str
    action: str
    confidence: str


class Proposal(NamedTuple):
    """An improvement in a file: lines `start` up to but not including `end`."""

    id: str
    section: str
    text: str
    raw: bytes
    start: int
    end: int


def render(item: Improvement, newline: str = "\n") -> str:
    """Return an improvement as Markdown."""
    fields = {
        "Category": item.category,
        "Impact": item.impact,
        "Details": item.details,
        "Suggested action": item.action,
        "Confidence": item.confidence,
    }
    lines = [f"<!-- {item.id} -->", "", f"### [{item.date}] {_format_title(item.title)}", ""]
    lines += [f"- **{name}**: {make_safe(value)[0]}" for name, value in fields.items() if value]
    return "".join(line + newline for line in lines)


def find_proposals(data: bytes | None) -> tuple[Proposal, ...]:
    """Return the improvements in a file."""
    return _locate_proposals(pages.read_page(data))


def add(data: bytes | None, item: Improvement) -> bytes:
    """Return the file with the proposal under Pending."""
    page = pages.read_page(SKELETON.encode() if data is None else data)
    if any(found.id == item.id for found in _locate_proposals(page)):
        raise ReflectError(f"the file has an entry of '{item.id}' already", code="duplicate")
    added = _insert_proposal(page, item.id, render(item, page.newline), "Pending")
    if _remove_proposal(added, _get_proposal(added, item.id)) != page:
        raise _build_no_place_error(item.id)
    return added.data


def remove(data: bytes | None, item: Improvement, force: bool = False) -> bytes | None:
    """Return the file without the proposal; None if the file was created for it and has nothing else."""
    page = pages.read_page(data)
    page = _remove_proposal(page, _get_unchanged_proposal(page, item, force))
    return None if "".join(page.lines).replace("\r\n", "\n") == SKELETON else page.data


def replace(data: bytes, old: Improvement, new: Improvement, force: bool = False) -> bytes:
    """Return the file with new words for the proposal, in the section it is in."""
    page = pages.read_page(data)
    found = _get_unchanged_proposal(page, old, force)
    text = render(new, page.newline_at(found.start))
    is_last = not page.lines[found.end - 1].endswith(("\n", "\r"))
    return page.splice(found.start, found.end, text.rstrip("\r\n") if is_last else text).data


def move(data: bytes, record_id: str, section: str) -> bytes:
    """Return the file with the proposal moved to another section, in its current words."""
    page = pages.read_page(data)
    found = _get_proposal(page, record_id)
    if found.section.lower() == section.lower():
        return data
    raw = found.raw.decode()
    raw = raw if raw.endswith(("\n", "\r")) else raw + page.newline
    return _insert_proposal(_remove_proposal(page, found), record_id, raw, section).data


def find_own_lines(page: Page) -> frozenset[int]:
    """Return the lines that we wrote around entries: our marks, the heading below one, all of a file we created."""
    own = {number for found in _locate_proposals(page) for number in range(found.start, found.end)}
    written = [number for number, line in enumerate(page.lines) if line.strip() and number not in own]
    ours = {number for number in written if page.lines[number].strip() == NEW_MARK}
    if written and written[0] in ours:
        skeleton = {line for line in SKELETON.split("\n") if line}
        return frozenset(number for number in written if page.lines[number].strip().lstrip("\ufeff") in skeleton)
    return frozenset(ours | {below for above, below in pairwise(written) if above in ours})


def has_same_text(found: Proposal, item: Improvement) -> bool:
    """Return whether a proposal in a file has the approved text, ignoring what formatters change."""
    return normalize_text(found.text) == normalize_text(get_text(item))


def get_text(item: Improvement) -> str:
    """Return the text of an entry, one line per field."""
    return _join_text(pages.read_page(render(item).encode()).lines[2:])


def _format_title(title: str) -> str:
    return make_safe(title)[0].rstrip("#").rstrip()


def _locate_proposals(page: Page) -> tuple[Proposal, ...]:
    found, section = [], ""
    for index, piece in enumerate(page.pieces):
        if piece.kind == "heading" and piece.level == 2:
            section = piece.text.strip()
        elif match := _match_id_comment(page, piece):
            end = _find_end(page, index)
            lines = page.lines[piece.start : end]
            text = _join_text(page.lines[piece.end : end])
            found.append(Proposal(match[1], section, text, "".join(lines).encode(), piece.start, end))
    return tuple(found)


def _match_id_comment(page: Page, piece: Piece) -> re.Match[str] | None:
    return (
        ID_PATTERN.fullmatch(page.lines[piece.start].strip())
        if piece.kind == "html" and piece.end == piece.start + 1
        else None
    )


def _find_end(page: Page, index: int) -> int:
    """Return the end of an entry: that of its heading and of the list below it."""
    end = page.pieces[index].end
    for piece, kind in zip(page.pieces[index + 1 : index + 3], ("heading", "list"), strict=False):
        if piece.kind != kind or piece.start != page.next_text(end) or (kind == "heading" and piece.level < 3):
            break
        end = piece.end
    return end


def _join_text(lines: tuple[str, ...]) -> str:
    parts = [line if line.startswith(" ") else f"\n{strip_bullet([line])}" for line in lines if line.strip()]
    return "\n".join(" ".join(part.split()) for part in "".join(parts).split("\n") if part.strip())


def _get_unchanged_proposal(page: Page, item: Improvement, force: bool) -> Proposal:
    """Return the proposal to change; raise an error if it was reworded, unless `force`."""
    found = _get_proposal(page, item.id)
    if not force and not has_same_text(found, item):
        raise RewordedError(item.id, get_text(item), found.text)
    return found


def _get_proposal(page: Page, record_id: str) -> Proposal:
    """Return the only proposal with this id; raise an error if it is missing or doubled."""
    found = [proposal for proposal in _locate_proposals(page) if proposal.id == record_id]
    if not found:
        raise ReflectError(f"the file has no entry of '{record_id}'", code="missing")
    if len(found) > 1:
        raise ReflectError(
            f"the entry of '{record_id}' is there twice, at lines {found[0].start + 1} and {found[1].start + 1}",
            "delete one of the two",
            code="entry-doubled",
            exit_code=EXIT_DECISION,
        )
    return found[0]


def _build_no_place_error(record_id: str) -> ReflectError:
    return ReflectError(
        f"there is no place in the file where the entry of '{record_id}' could be found again",
        "look for a code fence or an HTML comment in it that is never closed",
        code="no-place",
    )


def _insert_proposal(page: Page, record_id: str, text: str, section: str) -> Page:
    """Insert in the order of ids, so that the same entries always give the same text."""
    heading = _find_section(page, section)
    if heading is None:
        place = len(page.lines)
    else:
        following = _find_section_end(page, heading)
        later = [found.start for found in _locate_proposals(page) if found.id > record_id]
        place = page.after_text(next((start for start in later if heading.start < start < following), following))
    newline = page.newline_for(place, page.newline)
    title = "" if heading else f"{NEW_MARK}{newline}{newline}## {section}{newline}{newline}"
    added = _insert_text(page, place, (newline if place else "") + title + text, newline)
    places = [found.section.lower() for found in _locate_proposals(added) if found.id == record_id]
    if places != [section.lower()]:
        raise _build_no_place_error(record_id)
    return added


def _insert_text(page: Page, place: int, text: str, newline: str) -> Page:
    """Insert a text; if the file had no last newline, it still has none."""
    last = page.lines[place - 1] if place else ""
    if not last or last.endswith(("\n", "\r")):
        return page.splice(place, place, text)
    return page.splice(place - 1, place, last + newline + text.removesuffix(newline))


def _find_section(page: Page, section: str) -> Piece | None:
    headings = [piece for piece in page.pieces if piece.kind == "heading" and piece.level == 2]
    return next((piece for piece in headings if piece.text.strip().lower() == section.lower()), None)


def _find_section_end(page: Page, heading: Piece) -> int:
    """Return the end of a section: the next heading of its level, or our mark above that."""
    later = [piece for piece in page.pieces if piece.start > heading.start]
    for index, piece in enumerate(later):
        if piece.kind == "heading" and piece.level <= 2:
            mark = later[index - 1] if index else None
            is_marked = mark is not None and page.lines[mark.start].strip() == NEW_MARK
            return mark.start if mark and is_marked else piece.start
    return len(page.lines)


def _remove_proposal(page: Page, found: Proposal) -> Page:
    """Remove the entry, and the heading above it if we created it and it is now empty."""
    page = _restore_last_line(page, page.cut(found.start, found.end), found.end)
    heading = _find_section(page, found.section)
    index = page.pieces.index(heading) if heading else 0
    mark = page.pieces[index - 1] if index else None
    if not heading or not mark or page.lines[mark.start].strip() != NEW_MARK:
        return page
    if page.next_text(heading.end) != page.next_text(_find_section_end(page, heading)):
        return page
    return _restore_last_line(page, page.cut(mark.start, heading.end), heading.end)


def _restore_last_line(before: Page, after: Page, end: int) -> Page:
    """Remove the newline of the new last line if the old last line had none."""
    if end < len(before.lines) or before.lines[-1].endswith(("\n", "\r")) or not after.lines:
        return after
    return after.splice(len(after.lines) - 1, len(after.lines), re.sub(r"\r?\n\Z", "", after.lines[-1]))
