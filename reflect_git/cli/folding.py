"""Prose for a terminal, broken between words; what a person may copy stays on one line, however long it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reflect_git.cli.front import columns

# What a command begins with that is named without quotes, as in "undo with: reflect-git remote remove".
_PROGRAMS = ("reflect-git", "git", "claude", "eval", "pipx", "sudo", "uv")
_QUOTES = ("'", "`")
_BESIDE_QUOTES = ".,:;?!()"


def folded(text: str, room: int, hang: int = 0) -> str:
    """In lines of at most `room` cells. Those below are indented by `hang`, or else like the line they go on with."""
    return "\n".join(part for line in text.split("\n") for part in _lines(line, room, hang))


def _lines(text: str, room: int, hang: int) -> Iterator[str]:
    bare = _unstyled(text)
    margin = " " * min(hang or len(bare) - len(bare.lstrip(" ")), room // 2)
    first, *rest = _pieces(text.split(" "))
    line = first
    for piece in rest:
        longer = f"{line} {piece}"
        if columns(_unstyled(longer)) <= room or not _unstyled(line).strip():
            line = longer
        elif piece:  # and not the second of two blanks
            yield line.rstrip(" ")
            line = margin + piece
    yield line


def _pieces(words: Sequence[str]) -> Iterator[str]:
    """Words, and what must not be broken: what stands in quotes, which is a name or a command, and other commands."""
    bare, at = [_unstyled(word) for word in words], 0
    while at < len(words):
        end = _end(bare, at)
        yield " ".join(words[at:end])
        at = end


def _end(words: Sequence[str], at: int) -> int:
    """Behind the last word that belongs to this one."""
    word = words[at].lstrip("(")
    if word.startswith(_QUOTES):
        closed = (n for n in range(at, len(words)) if _closes(words[n] if n > at else word[1:], word[0]))
        return next(closed, at) + 1
    if word in _PROGRAMS and _stands_alone(" ".join(words[:at])):
        return next((n for n in range(at, len(words)) if words[n].endswith(";")), len(words) - 1) + 1
    return at + 1


def _stands_alone(before: str) -> bool:
    """Whether a command may begin here: a line, a column, or what follows a colon."""
    return not before or before.endswith((" ", ":"))


def _closes(word: str, quote: str) -> bool:
    return word.rstrip(_BESIDE_QUOTES).endswith(quote)


def _unstyled(text: str) -> str:
    if "\x1b" not in text:
        return text
    import click  # who coloured it has loaded it

    return click.unstyle(text)
