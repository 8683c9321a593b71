"""Calls by which a transcript changes Markdown files: where they are. No line is parsed, so that 100 MB are passed over
in the time that reading them takes."""

from __future__ import annotations

import os
import re
import time

from reflect_git.adapters.transcript.lines import MAX_LINE
from reflect_git.adapters.transcript.opening import open_transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Optional

_BLOCK = 1 << 20
_CALL = re.compile(rb'"name": ?"(?:Edit|Write|MultiEdit|Bash)"')
_FILE = re.compile(rb'"file_path": ?"(?:[^"\\]|\\.)*?([^"\\/]+\.md)"')
_NAMED = re.compile(rb"[\w.-]{1,60}\.md\b")
# Before the name of a file that a command, or a text that is no Markdown file, only names.
IN_TEXT = "$"


def edits_in(
    path: str, start: int = 0, projects: str = "", deadline: Optional[float] = None
) -> tuple[list[tuple[int, str]], int]:
    """(offset of its line, name of the file) of each call from an offset on, and up to where whole lines were read.

    A file that a Bash command or a script names has IN_TEXT before its name.

    The deadline (by time.monotonic) is looked at between blocks.
    """
    descriptor = open_transcript(path, projects)
    found: list[tuple[int, str]] = []
    try:
        offset, rest = os.lseek(descriptor, start, os.SEEK_SET), b""
        while block := os.read(descriptor, _BLOCK):
            data = rest + block
            end = data.rfind(b"\n") + 1
            found += [(offset + line, name) for line, name in _edits(data, end)]
            offset, rest = offset + end, data[end:]
            if len(rest) > MAX_LINE:  # no entry of a client is that long
                offset, rest = offset + len(rest), b""
            if deadline is not None and time.monotonic() > deadline:
                break
        return found, offset
    finally:
        os.close(descriptor)


def _edits(data: bytes, end: int) -> Iterator[tuple[int, str]]:
    """In whole lines; one line has one call."""
    last = -1
    for call in _CALL.finditer(data, 0, end):
        line = data.rfind(b"\n", 0, call.start()) + 1
        file = _FILE.search(data, call.end(), data.find(b"\n", call.end()))
        if line <= last:
            continue
        last = line
        if file and b"Bash" not in call[0]:
            yield line, file[1].decode("utf-8", "replace")
        else:
            named = _NAMED.findall(data, call.end(), data.find(b"\n", call.end()))
            yield from ((line, IN_TEXT + name.decode("utf-8", "replace")) for name in dict.fromkeys(named))
