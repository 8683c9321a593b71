"""Locate the parts of a Markdown text as line ranges. The only module that imports markdown-it-py.

The parser only locates and never writes text back: that would reformat what a person wrote.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A thematic break on the first line is not front matter: what follows must look like YAML.
_YAML_LINE = re.compile(r"[ \t]*$|[ \t#}\]]|- |-$|[^\s:<][^:]*:(?:\s|$)")
_AUTOLINK_PATTERN = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\x00-\x20<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+)>")
_ESCAPE_PATTERN = re.compile(r"\\[!-/:-@\[-`{-~]")
_BACKTICK_RUN = re.compile("`+")
_TEXT_PATTERN = re.compile(r"[^\\`<]+")
_KIND_BY_TOKEN = {
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "paragraph_open": "paragraph",
    "heading_open": "heading",
    "html_block": "html",
    "fence": "fence",
}


class Span(NamedTuple):
    """A part of a line. Kinds: text (as written), code (between its backticks), tag, link (an address in `<>`)."""

    kind: str
    text: str
    start: int


@lru_cache(maxsize=1)
def _get_parser() -> MarkdownIt:
    """Return the parser, imported on first use: that takes 50 ms, and many commands parse nothing."""
    from markdown_it import MarkdownIt

    # A list nested deeper than half of this swallows the rest of the file; with the default of 20 that is 10.
    parser = MarkdownIt("commonmark", {"maxNesting": 200})
    parser.core.ruler.disable(["inline", "text_join"], True)
    return parser


@lru_cache(maxsize=16)
def parse_pieces(text: str) -> tuple[Piece, ...]:
    """Return the top-level blocks in order. The contents of lists, quotations and fences are not listed."""
    lines = split_lines(text)
    front = count_front_matter_lines(lines)
    found = [Piece("front", 0, front)] if front else []
    simple = parse_simple_pieces(lines, front)
    return (*found, *(_parse_with_library(lines, front) if simple is None else simple))


def count_front_matter_lines(lines: list[str]) -> int:
    """Return how many lines at the top are YAML front matter."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return number + 1
        if not _YAML_LINE.match(line):
            return 0
    return 0


def _parse_with_library(lines: list[str], first: int) -> list[Piece]:
    tokens = _get_parser().parse("\n" * first + "".join(lines[first:]))
    return [
        _build_piece(tokens, index, lines)
        for index, token in enumerate(tokens)
        if token.level == 0 and token.nesting >= 0 and token.map
    ]


def _build_piece(tokens: list[Token], index: int, lines: list[str]) -> Piece:
    token = tokens[index]
    kind = _KIND_BY_TOKEN.get(token.type, "other")
    if kind == "heading" and not token.markup.startswith("#"):
        kind = "other"
    start, end = _get_line_range(token, lines)
    if kind == "heading":
        return Piece(kind, start, end, int(token.tag[1:]), tokens[index + 1].content)
    return Piece(kind, start, end, items=_get_items(tokens, index, lines) if kind == "list" else ())


def _get_items(tokens: list[Token], index: int, lines: list[str]) -> tuple[tuple[int, int], ...]:
    found = []
    for number in range(index + 1, len(tokens)):
        token = tokens[number]
        if token.level == 0:
            break
        if token.level == 1 and token.type == "list_item_open":
            found.append(_get_line_range(token, lines))
    return tuple(found)


def _get_line_range(token: Token, lines: list[str]) -> tuple[int, int]:
    start, end = token.map or [0, 0]
    end = min(end, len(lines))
    while end > start + 1 and is_blank(lines[end - 1]):
        end -= 1
    return start, end


def is_plain_item(text: str) -> bool:
    """Return whether `- text` is a list of one item with one paragraph that contains exactly this text."""
    if is_sentence(text):
        return True
    tokens = _get_parser().parse(f"- {text}\n")
    shape = ["bullet_list_open", "list_item_open", "paragraph_open", "inline"]
    return [token.type for token in tokens[:4]] == shape and len(tokens) == 7 and tokens[3].content == text


def parse_spans(line: str) -> list[Span]:
    """Return the parts of one line; where code, a tag and an address overlap, the leftmost counts."""
    found: list[Span] = []
    place = text = 0
    while place < len(line):
        span, end = _parse_span(line, place)
        if span:
            found += [Span("text", line[text:place], text), span] if text < place else [span]
            text = end
        place = end
    return [*found, Span("text", line[text:], text)] if text < len(line) else found


@lru_cache(maxsize=1)
def _get_tag_pattern() -> re.Pattern[str]:
    from markdown_it.common.html_re import HTML_TAG_RE

    return HTML_TAG_RE


def _parse_span(line: str, place: int) -> tuple[Span | None, int]:
    plain = _TEXT_PATTERN.match(line, place) or _ESCAPE_PATTERN.match(line, place)
    if plain:
        return None, plain.end()
    if line[place] == "`":
        return _parse_code(line, place)
    for kind, pattern in (("link", _AUTOLINK_PATTERN), ("tag", _get_tag_pattern())):
        match = pattern.match(line[place:] if kind == "tag" else line, 0 if kind == "tag" else place)
        if match:
            return Span(kind, match[0], place), place + len(match[0])
    return None, place + 1


def _parse_code(line: str, place: int) -> tuple[Span | None, int]:
    length = len(_BACKTICK_RUN.match(line, place)[0])  # type: ignore[index]
    for run in _BACKTICK_RUN.finditer(line, place + length):
        if len(run[0]) == length:
            return Span("code", line[place + length : run.start()], place), run.end()
    return None, place + length


_LINE_PATTERN = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_ODD_CHARACTERS = re.compile(r"[^\S \r\n]|[\x00-\x08\x0e-\x1f\x7f]|\r(?!\n)")
_FENCE_PATTERN = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})")
_HEADING_PATTERN = re.compile(r"(#{1,6}) +([^#\s](?:.*[^#\s])?) *\Z")
_COMMENT_PATTERN = re.compile(r"<!-- [^<>]* -->\Z")
_ITEM_PATTERN = re.compile(
    r"(?!(?:- *){2,}\Z|(?:\* *){2,}\Z)([-*+]|[0-9]{1,9}[.)]) (?![ >]|[-*+](?: |\Z)|[0-9]+[.)](?: |\Z))\S"
)
# A rule, the line below a heading, another kind of item, a quotation, a tag, or a link definition.
_AMBIGUOUS_LINE = re.compile(r"[-=*_+ ]+\Z|(?:[-*+]|[0-9]+[.)])(?: |\Z)|[ >\[<#]")
# Well below the nesting at which the parser gives up: this many columns, or markers in a row.
_MAX_INDENT = 40
_NESTED_MARKERS = re.compile(r" *(?:(?:[-*+>]|[0-9]{1,9}[.)]) *){3}")


class Piece(NamedTuple):
    """A top-level block: lines `start` up to but not including `end`, without blank lines at its end.

    Kinds: front, list, paragraph, heading (with `#`), html, fence, other. `level` and `text` are for headings, `items`
    are the line ranges of a list's own items.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    text: str = ""
    items: tuple[tuple[int, int], ...] = ()


def split_lines(text: str) -> list[str]:
    """Return lines with their ends, as CommonMark defines lines: U+2028 and form feeds do not end one."""
    return _LINE_PATTERN.findall(text)


def is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")


def is_sentence(text: str) -> bool:
    """Return whether a text begins with a letter or code and is one line: a bullet with it is then nothing else."""
    first = text[:1].isalpha() or (text.startswith("`") and not text.startswith("```"))
    return first and text.isprintable() and not text.endswith(" ")


def parse_simple_pieces(lines: list[str], first: int) -> list[Piece] | None:
    """Return the blocks from line `first` on without a parser; None if a parser has to decide."""
    if _ODD_CHARACTERS.search("".join(lines[first:])):
        return None
    found: list[Piece] = []
    place = first
    while place < len(lines):
        if is_blank(lines[place]):
            place += 1
            continue
        piece = _parse_piece(lines, place)
        if piece is None:
            return None
        found.append(piece)
        place = piece.end
    return found


def _parse_piece(lines: list[str], start: int) -> Piece | None:
    line = lines[start].rstrip()
    if heading := _HEADING_PATTERN.match(line):
        return Piece("heading", start, start + 1, len(heading[1]), heading[2])
    if _COMMENT_PATTERN.match(line):
        return Piece("html", start, start + 1)
    if fence := _FENCE_PATTERN.match(line):
        return _parse_fence(lines, start, fence[1])
    if item := _ITEM_PATTERN.match(line):
        return _parse_list(lines, start, item[1])
    return None if _AMBIGUOUS_LINE.match(line) else _parse_paragraph(lines, start)


def _parse_fence(lines: list[str], start: int, opening: str) -> Piece | None:
    closing = re.compile(rf" {{0,3}}{opening[0]}{{{len(opening)},}}\s*\Z")
    for place in range(start + 1, len(lines)):
        if closing.match(lines[place]):
            return Piece("fence", start, place + 1)
    return None


def _parse_paragraph(lines: list[str], start: int) -> Piece | None:
    for place in range(start + 1, len(lines)):
        line = lines[place].rstrip()
        if not line or _begins_block(line):
            return Piece("paragraph", start, place)
        if _AMBIGUOUS_LINE.match(line) or _ITEM_PATTERN.match(line):
            return None
    return Piece("paragraph", start, len(lines))


def _parse_list(lines: list[str], start: int, sign: str) -> Piece | None:
    """Return a list: items with its own marker, and lines indented as far as an item's text."""
    items: list[list[int]] = [[start, start + 1]]
    place, below_blank = start + 1, False
    while place < len(lines):
        line = lines[place].rstrip()
        item = _ITEM_PATTERN.match(line)
        depth = len(line) - len(line.lstrip(" "))
        if not line:
            below_blank = True
        elif item and item[1][-1] == sign[-1]:
            items.append([place, place + 1])
            sign, below_blank = item[1], False
        elif depth > len(sign):
            if depth > _MAX_INDENT or _NESTED_MARKERS.match(line):
                return None
            items[-1][1], below_blank = place + 1, False
        elif depth or not (below_blank or _begins_block(line)):
            return None
        else:
            break
        place += 1
    return Piece("list", start, items[-1][1], items=tuple((begin, end) for begin, end in items))


def _begins_block(line: str) -> bool:
    """Return whether a line begins a block whatever is above it."""
    return bool(_HEADING_PATTERN.match(line) or _COMMENT_PATTERN.match(line) or _FENCE_PATTERN.match(line))
