"""An instruction file as lines that can be spliced: every byte that is not ours comes back as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

from reflect_git.adapters import markdown
from reflect_git.adapters.outline import Piece, is_blank, split
from reflect_git.errors import ReflectError

LIMIT = 1_000_000
BOM = "\ufeff"
_BARE = ("\n", "\r\n", "\r")
# Lines that begin a new block whatever stands above them.
_SAFE_STARTS = ("#", "<!--")


class Unfit(ReflectError):
    """A file that cannot be patched without a risk to its bytes."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint, code="unfit")


@dataclass(frozen=True)
class Page:
    """The byte order mark, if any, and the lines with their ends."""

    bom: str
    lines: tuple[str, ...]

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return markdown.pieces("".join(self.lines))

    @property
    def data(self) -> bytes:
        return (self.bom + "".join(self.lines)).encode()

    def splice(self, start: int, end: int, text: str) -> Page:
        """The page with lines `start` to `end` replaced."""
        return replace(self, lines=(*self.lines[:start], *split(text), *self.lines[end:]))

    @property
    def newline(self) -> str:
        """As most lines end."""
        crlf = sum(line.endswith("\r\n") for line in self.lines)
        lf = sum(line.endswith("\n") for line in self.lines) - crlf
        return "\r\n" if crlf > lf else "\n"

    def newline_at(self, line: int) -> str:
        """As this line ends, else as most do."""
        ending = re.search(r"\r?\n\Z", self.lines[line])
        return ending[0] if ending else self.newline

    def newline_for(self, place: int, newline: str) -> str:
        """The newline to begin a text with that is put there: behind a lone CR, LF would not be a line of its own."""
        return "\r\n" if place and self.lines[place - 1].endswith("\r") else newline

    def after_text(self, line: int) -> int:
        """The place behind the last line above `line` that is not blank."""
        while line and is_blank(self.lines[line - 1]):
            line -= 1
        return line

    def next_text(self, line: int) -> int:
        """The first line from `line` on that is not blank, or the end."""
        while line < len(self.lines) and is_blank(self.lines[line]):
            line += 1
        return line

    def cut(self, start: int, end: int) -> Page:
        """Without these lines and the blank line above them, which came with them.

        The blank line stays if the lines that meet would otherwise become one block.
        """
        following = self.lines[end].lstrip(" ") if end < len(self.lines) else ""
        if self.is_bare(start - 1) and (is_blank(following) or following.startswith(_SAFE_STARTS)):
            start -= 1
        return self.splice(start, end, "")

    def is_bare(self, line: int) -> bool:
        """Is there a line of nothing but its end, as we add them?"""
        return 0 <= line < len(self.lines) and self.lines[line] in _BARE


def read(data: bytes | None) -> Page:
    """The page in a file; one that is missing reads as an empty one."""
    data = data or b""
    if len(data) > LIMIT:
        raise Unfit(
            f"file has {len(data)} bytes, more than {LIMIT}", "move parts of it into files of their own and import them"
        )
    if b"\0" in data:
        raise Unfit("file has NUL bytes, so it is not a text", "choose another target, or write the file anew as UTF-8")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        hint = "convert it with 'iconv -f WINDOWS-1252 -t UTF-8', or whatever its encoding is"
        raise Unfit(f"file is not UTF-8: byte {error.start + 1} cannot be read", hint) from None
    bom = BOM if text.startswith(BOM) else ""
    return Page(bom, tuple(split(text[len(bom) :])))
