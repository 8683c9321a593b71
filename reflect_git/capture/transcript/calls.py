"""Read only the tool calls in a transcript, as the model made them.

Results are skipped unparsed, which takes a fifth of the time of reading turns.
"""

from __future__ import annotations

import os
import re
import time

from reflect_git.capture.transcript.lines import MAX_LINE, Lines, open_transcript, parse
from reflect_git.capture.transcript.turn import fields_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    Call = tuple[str, str, dict[str, Any]]  # timestamp, tool, input

_CALL = b'"tool_use"'
_RESULT = b'"tool_result"'


class ToolCall:
    """A call and where it was made; `session` is the one the person sees, even for a call of a subagent."""

    __slots__ = ("cwd", "id", "input", "path", "session", "timestamp", "tool")

    def __init__(self, path: str, entry: dict[str, Any], block: dict[str, Any]) -> None:
        self.path = path
        self.timestamp = text_of(entry.get("timestamp"))
        self.session = text_of(entry.get("sessionId"))
        self.cwd = text_of(entry.get("cwd"))
        self.tool = text_of(block.get("name"))
        self.input = fields_of(block.get("input"))
        self.id = text_of(block.get("id"))


def calls_in(path: str, projects: str = "") -> Iterator[Optional[Call]]:
    """Yield each call, and None now and then so that callers can check the time."""
    descriptor = open_transcript(path, projects)
    try:
        for _, _, line in Lines(descriptor, 0):
            if not line:
                yield None
            elif _CALL in line:
                yield from _calls_of(parse(line) or {})
    finally:
        os.close(descriptor)


def tool_calls(path: str, projects: str = "") -> Iterator[ToolCall]:
    """Yield each call of a transcript."""
    descriptor = open_transcript(path, projects)
    try:
        for _, _, line in Lines(descriptor, 0):
            if _CALL in line:
                entry = parse(line) or {}
                for block in _blocks(entry):
                    yield ToolCall(path, entry, block)
    finally:
        os.close(descriptor)


def result_of(call: ToolCall, projects: str = "") -> Optional[tuple[str, bool]]:
    """Return when a call ended and whether it failed; None if the transcript has no result for it."""
    wanted = call.id.encode("utf-8", "replace")
    descriptor = open_transcript(call.path, projects)
    try:
        for _, _, line in Lines(descriptor, 0):
            if wanted in line and _RESULT in line:
                entry = parse(line) or {}
                content = fields_of(entry.get("message")).get("content")
                for block in map(fields_of, content if type(content) is list else ()):
                    if block.get("type") == "tool_result" and block.get("tool_use_id") == call.id:
                        return text_of(entry.get("timestamp")), block.get("is_error") is True
        return None
    finally:
        os.close(descriptor)


def _calls_of(entry: dict[str, Any]) -> Iterator[Call]:
    for block in _blocks(entry):
        yield text_of(entry.get("timestamp")), text_of(block["name"]), fields_of(block.get("input"))


def _blocks(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = fields_of(entry.get("message")).get("content")
    if entry.get("type") != "assistant" or type(content) is not list:
        return
    for block in map(fields_of, content):
        if block.get("type") == "tool_use" and block.get("name"):
            yield block


_BLOCK = 1 << 20
_MENTIONS_CALL = re.compile(rb'"name": ?"(?:Edit|Write|MultiEdit|Bash)"')
_FILE = re.compile(rb'"file_path": ?"(?:[^"\\]|\\.)*?([^"\\/]+\.md)"')
_NAMED = re.compile(rb"[\w.-]{1,60}\.md\b")
# Prefix of a file name that is only mentioned, in a command or in a text other than a Markdown file.
IN_TEXT = "$"


def edits_in(
    path: str, start: int = 0, projects: str = "", deadline: Optional[float] = None
) -> tuple[list[tuple[int, str]], int]:
    """Return (line offset, file name) for each call from an offset on, and the offset up to which lines were read.

    A file that a Bash command or a script mentions has IN_TEXT before its name. The deadline (by time.monotonic) is
    checked between blocks.
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
            if len(rest) > MAX_LINE:  # no transcript entry is that long
                offset, rest = offset + len(rest), b""
            if deadline is not None and time.monotonic() > deadline:
                break
        return found, offset
    finally:
        os.close(descriptor)


def _edits(data: bytes, end: int) -> Iterator[tuple[int, str]]:
    """Yield the calls in complete lines; each line has one call."""
    last = -1
    for call in _MENTIONS_CALL.finditer(data, 0, end):
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
