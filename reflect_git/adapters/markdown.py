"""Where things stand in a Markdown text, as line ranges. No other file imports markdown-it-py.

The parser only locates. It never writes a text back: what a person wrote would come back in the parser's taste.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from reflect_git.adapters.outline import Piece, is_blank, is_sentence, simple_pieces, split
from reflect_git.model.tuples import NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A thematic break on the first line is no front matter: what stands below must look like YAML.
_YAML_LINE = re.compile(r"[ \t]*$|[ \t#}\]]|- |-$|[^\s:<][^:]*:(?:\s|$)")
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\x00-\x20<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+)>")
_ESCAPE = re.compile(r"\\[!-/:-@\[-`{-~]")
_RUN = re.compile("`+")
_TEXT = re.compile(r"[^\\`<]+")
_KINDS = {
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "paragraph_open": "paragraph",
    "heading_open": "heading",
    "html_block": "html",
    "fence": "fence",
}


class Span(NamedTuple):
    """A stretch of a line. Kinds: text (as written), code (between its backticks), tag, link (an address in `<>`)."""

    kind: str
    text: str
    start: int


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Imported with the first text: it takes 50 ms, and many commands look at none."""
    from markdown_it import MarkdownIt

    # A list nested deeper than half of this swallows the rest of the file; with the usual 20 that is 10.
    parser = MarkdownIt("commonmark", {"maxNesting": 200})
    parser.core.ruler.disable(["inline", "text_join"], True)
    return parser


@lru_cache(maxsize=16)
def pieces(text: str) -> tuple[Piece, ...]:
    """The blocks at the top level, in order. What stands inside a list, a quotation or a fence is not listed."""
    lines = split(text)
    front = front_matter(lines)
    found = [Piece("front", 0, front)] if front else []
    simple = simple_pieces(lines, front)
    return (*found, *(_parsed_pieces(lines, front) if simple is None else simple))


def front_matter(lines: list[str]) -> int:
    """How many lines at the top are YAML front matter."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return number + 1
        if not _YAML_LINE.match(line):
            return 0
    return 0


def _parsed_pieces(lines: list[str], first: int) -> list[Piece]:
    tokens = _parser().parse("\n" * first + "".join(lines[first:]))
    return [
        _piece(tokens, index, lines)
        for index, token in enumerate(tokens)
        if token.level == 0 and token.nesting >= 0 and token.map
    ]


def _piece(tokens: list[Token], index: int, lines: list[str]) -> Piece:
    token = tokens[index]
    kind = _KINDS.get(token.type, "other")
    if kind == "heading" and not token.markup.startswith("#"):
        kind = "other"
    start, end = _span(token, lines)
    if kind == "heading":
        return Piece(kind, start, end, int(token.tag[1:]), tokens[index + 1].content)
    return Piece(kind, start, end, items=_items(tokens, index, lines) if kind == "list" else ())


def _items(tokens: list[Token], index: int, lines: list[str]) -> tuple[tuple[int, int], ...]:
    found = []
    for number in range(index + 1, len(tokens)):
        token = tokens[number]
        if token.level == 0:
            break
        if token.level == 1 and token.type == "list_item_open":
            found.append(_span(token, lines))
    return tuple(found)


def _span(token: Token, lines: list[str]) -> tuple[int, int]:
    start, end = token.map or [0, 0]
    end = min(end, len(lines))
    while end > start + 1 and is_blank(lines[end - 1]):
        end -= 1
    return start, end


def is_plain(text: str) -> bool:
    """Is `- text` a list of one item with one paragraph, and this very text in it?"""
    if is_sentence(text):
        return True
    tokens = _parser().parse(f"- {text}\n")
    shape = ["bullet_list_open", "list_item_open", "paragraph_open", "inline"]
    return [token.type for token in tokens[:4]] == shape and len(tokens) == 7 and tokens[3].content == text


def spans(line: str) -> list[Span]:
    """What stands in one line; of code, a tag and an address that overlap, the leftmost counts."""
    found: list[Span] = []
    place = text = 0
    while place < len(line):
        span, end = _span_at(line, place)
        if span:
            found += [Span("text", line[text:place], text), span] if text < place else [span]
            text = end
        place = end
    return [*found, Span("text", line[text:], text)] if text < len(line) else found


@lru_cache(maxsize=1)
def _tag() -> re.Pattern[str]:
    from markdown_it.common.html_re import HTML_TAG_RE

    return HTML_TAG_RE


def _span_at(line: str, place: int) -> tuple[Span | None, int]:
    plain = _TEXT.match(line, place) or _ESCAPE.match(line, place)
    if plain:
        return None, plain.end()
    if line[place] == "`":
        return _code_at(line, place)
    for kind, pattern in (("link", _AUTOLINK), ("tag", _tag())):
        match = pattern.match(line[place:] if kind == "tag" else line, 0 if kind == "tag" else place)
        if match:
            return Span(kind, match[0], place), place + len(match[0])
    return None, place + 1


def _code_at(line: str, place: int) -> tuple[Span | None, int]:
    length = len(_RUN.match(line, place)[0])  # type: ignore[index]
    for run in _RUN.finditer(line, place + length):
        if len(run[0]) == length:
            return Span("code", line[place + length : run.start()], place), run.end()
    return None, place + length
