"""The blocks of a Markdown page that is simple enough to be read line by line, as most instruction files are.

markdown-it-py takes 40 ms to load and to read such a page, a fifth of what somebody waits for the first question of a
review. Whatever could be read in a second way (an indented line, a quotation, a tag, a rule, a lazy continuation) makes
this reader give up, and the library reads the page; the tests hold the two against each other.
"""

from __future__ import annotations

import re

from reflect_git.model.tuples import NamedTuple

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ODD = re.compile(r"[^\S \r\n]|[\x00-\x08\x0e-\x1f\x7f]|\r(?!\n)")
_FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})")
_HEADING = re.compile(r"(#{1,6}) +([^#\s](?:.*[^#\s])?) *\Z")
_COMMENT = re.compile(r"<!-- [^<>]* -->\Z")
_ITEM = re.compile(
    r"(?!(?:- *){2,}\Z|(?:\* *){2,}\Z)([-*+]|[0-9]{1,9}[.)]) (?![ >]|[-*+](?: |\Z)|[0-9]+[.)](?: |\Z))\S"
)
# A rule, the line below a heading, any other item, a quotation, a tag, an address for links.
_MANIFOLD = re.compile(r"[-=*_+ ]+\Z|(?:[-*+]|[0-9]+[.)])(?: |\Z)|[ >\[<#]")
# Far from where the parser stops to follow lists within lists: so many columns, or signs side by side.
_DEEPEST = 40
_MANY_SIGNS = re.compile(r" *(?:(?:[-*+>]|[0-9]{1,9}[.)]) *){3}")


class Piece(NamedTuple):
    """A block at the top level of a text: lines `start` up to but not including `end`, no blank ones at its end.

    Kinds: front, list, paragraph, heading (with `#`), html, fence, other. `level` and `text` are a heading's, `items`
    the line ranges of a list's own items.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    text: str = ""
    items: tuple[tuple[int, int], ...] = ()


def split(text: str) -> list[str]:
    """Lines with their ends, as CommonMark sees lines: U+2028 or a form feed does not end one."""
    return _LINE.findall(text)


def is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")


def is_sentence(text: str) -> bool:
    """Does it begin with a letter or with code, and end in the same line? Then a bullet with it is nothing else."""
    first = text[:1].isalpha() or (text.startswith("`") and not text.startswith("```"))
    return first and text.isprintable() and not text.endswith(" ")


def simple_pieces(lines: list[str], first: int) -> list[Piece] | None:
    """The blocks from line `first` on; None where a parser has to tell."""
    if _ODD.search("".join(lines[first:])):
        return None
    found: list[Piece] = []
    place = first
    while place < len(lines):
        if is_blank(lines[place]):
            place += 1
            continue
        piece = _piece_at(lines, place)
        if piece is None:
            return None
        found.append(piece)
        place = piece.end
    return found


def _piece_at(lines: list[str], start: int) -> Piece | None:
    line = lines[start].rstrip()
    if heading := _HEADING.match(line):
        return Piece("heading", start, start + 1, len(heading[1]), heading[2])
    if _COMMENT.match(line):
        return Piece("html", start, start + 1)
    if fence := _FENCE.match(line):
        return _fence(lines, start, fence[1])
    if item := _ITEM.match(line):
        return _list(lines, start, item[1])
    return None if _MANIFOLD.match(line) else _paragraph(lines, start)


def _fence(lines: list[str], start: int, opening: str) -> Piece | None:
    closing = re.compile(rf" {{0,3}}{opening[0]}{{{len(opening)},}}\s*\Z")
    for place in range(start + 1, len(lines)):
        if closing.match(lines[place]):
            return Piece("fence", start, place + 1)
    return None


def _paragraph(lines: list[str], start: int) -> Piece | None:
    for place in range(start + 1, len(lines)):
        line = lines[place].rstrip()
        if not line or _begins_anew(line):
            return Piece("paragraph", start, place)
        if _MANIFOLD.match(line) or _ITEM.match(line):
            return None
    return Piece("paragraph", start, len(lines))


def _list(lines: list[str], start: int, sign: str) -> Piece | None:
    """A list goes on with items of its own sign, and with what is indented as far as an item's text."""
    items: list[list[int]] = [[start, start + 1]]
    place, below_blank = start + 1, False
    while place < len(lines):
        line = lines[place].rstrip()
        item = _ITEM.match(line)
        depth = len(line) - len(line.lstrip(" "))
        if not line:
            below_blank = True
        elif item and item[1][-1] == sign[-1]:
            items.append([place, place + 1])
            sign, below_blank = item[1], False
        elif depth > len(sign):
            if depth > _DEEPEST or _MANY_SIGNS.match(line):
                return None
            items[-1][1], below_blank = place + 1, False
        elif depth or not (below_blank or _begins_anew(line)):
            return None
        else:
            break
        place += 1
    return Piece("list", start, items[-1][1], items=tuple((begin, end) for begin, end in items))


def _begins_anew(line: str) -> bool:
    """Does a line begin a block whatever stands above it?"""
    return bool(_HEADING.match(line) or _COMMENT.match(line) or _FENCE.match(line))
