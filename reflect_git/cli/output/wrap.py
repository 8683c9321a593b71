"""Prose for a terminal, broken between words; what a person may copy stays on one line, however long it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reflect_git.cli.context import display_width

# What a command begins with that is named without quotes, as in "undo with: reflect-git remote remove".
_PROGRAMS = frozenset("reflect-git git claude eval pipx sudo uv rm chmod cd".split())
_QUOTES = ("'", "`")
_PUNCTUATION = ".,:;?!()"
_MAX_QUOTED_WORDS = 60  # words of a name or a command in quotes


def wrap_text(text: str, room: int, hang: int = 0) -> str:
    """Wrap a text at `room` cells. Following lines are indented by `hang`, or like the line they continue."""
    return "\n".join(part for line in text.split("\n") for part in _wrap_line(line, room, hang))


def _wrap_line(text: str, room: int, hang: int) -> Iterator[str]:
    bare = _strip_style(text)
    lead = len(bare) - len(bare.lstrip(" "))
    margin = min(hang or lead, room // 2)
    line: list[str] = []
    width, is_begun = -1, False
    for piece in _split_pieces(text.split(" ")):
        wide = display_width(_strip_style(piece))
        is_full = is_begun and width + 1 + wide > room
        if is_full and not piece:  # the second of two blanks
            continue
        if is_full and wide:  # a colour alone takes no room
            yield _join_pieces(line)
            line, width = [" " * margin + piece], margin + wide
        else:
            line.append(piece)
            width += 1 + wide
        is_begun = is_begun or wide > 0
    yield " ".join(line)


def _join_pieces(pieces: list[str]) -> str:
    while len(pieces) > 1 and not pieces[-1]:
        del pieces[-1]
    return " ".join(pieces)


def _split_pieces(words: Sequence[str]) -> Iterator[str]:
    """Yield words, and whole names in quotes and commands, which must not be broken."""
    bare, at = [_strip_style(word) for word in words], 0
    while at < len(words):
        end = _find_end(bare, at)
        yield " ".join(words[at:end])
        at = end


def _find_end(words: Sequence[str], at: int) -> int:
    """Behind the last word that belongs to this one."""
    word = words[at].lstrip("(")
    if word.startswith(_QUOTES):
        return _find_end_of_quote(words, at, word[0])
    if word in _PROGRAMS and _is_command(words, at):
        return _find_end_of_command(words, at)
    return at + 1


def _find_end_of_quote(words: Sequence[str], at: int, quote: str) -> int:
    """Find the end of a quotation. Quotes may be nested: a command with a quoted path."""
    depth = 0
    for number in range(at, min(len(words), at + _MAX_QUOTED_WORDS)):
        word = words[number].lstrip("(")
        depth += word.startswith(quote)
        depth -= word.rstrip(_PUNCTUATION).endswith(quote) and len(word) > 1
        if not depth:
            return number + 1
    return at + 1


def _is_command(words: Sequence[str], at: int) -> bool:
    """Return whether a command begins here.

    Commands begin at the start of a line or column, or after a colon, except in "error: git failed".
    """
    if at + 1 < len(words) and not words[at + 1]:  # the name of a row
        return False
    before = words[at - 1] if at else ""
    return not before or (before.endswith(":") and before != "error:")


def _find_end_of_command(words: Sequence[str], at: int) -> int:
    """Find the end of a command: a semicolon outside quotes, or the end of the text."""
    quotes = 0
    for number in range(at, len(words)):
        quotes += words[number].count("'")
        if words[number].endswith(";") and quotes % 2 == 0:
            return number + 1
    return len(words)


def _strip_style(text: str) -> str:
    if "\x1b" not in text:
        return text
    import click  # who coloured it has loaded it

    return click.unstyle(text)
