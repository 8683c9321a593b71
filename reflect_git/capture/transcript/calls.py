"""Read only the tool calls in a transcript, as the model made them.

Results are skipped unparsed, which takes a fifth of the time of reading turns.
"""

from __future__ import annotations

import os
import re
import time

from reflect_git.capture.transcript.lines import MAX_LINE, LineReader, open_transcript, parse_line
from reflect_git.capture.transcript.turn import as_dict, as_text
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    Call = tuple[str, str, dict[str, Any]]  # timestamp, tool, input

_CALL_MARK = b'"tool_use"'
_RESULT_MARK = b'"tool_result"'


class ToolCall:
    """A call and where it was made; `session` is the one the person sees, even for a call of a subagent.

    `tokens` is what the model wrote in the whole message; other calls of the same `message` repeat the figure.
    """

    __slots__ = ("cwd", "id", "input", "message", "path", "session", "timestamp", "tokens", "tool")

    def __init__(self, path: str, entry: dict[str, Any], block: dict[str, Any]) -> None:
        self.path = path
        self.timestamp = as_text(entry.get("timestamp"))
        self.session = as_text(entry.get("sessionId"))
        self.cwd = as_text(entry.get("cwd"))
        self.tool = as_text(block.get("name"))
        self.input = as_dict(block.get("input"))
        self.id = as_text(block.get("id"))
        message = as_dict(entry.get("message"))
        self.message = as_text(message.get("id"))
        written = as_dict(message.get("usage")).get("output_tokens")
        self.tokens = written if type(written) is int else 0


def read_calls(path: str, projects: str = "") -> Iterator[Optional[Call]]:
    """Yield each call, and None now and then so that callers can check the time."""
    descriptor = open_transcript(path, projects)
    try:
        for _, _, line in LineReader(descriptor, 0):
            if not line:
                yield None
            elif _CALL_MARK in line:
                yield from _get_calls(parse_line(line) or {})
    finally:
        os.close(descriptor)


def read_tool_calls(path: str, projects: str = "") -> Iterator[ToolCall]:
    """Yield each call of a transcript."""
    descriptor = open_transcript(path, projects)
    try:
        for _, _, line in LineReader(descriptor, 0):
            if _CALL_MARK in line:
                yield from iter_tool_calls(path, parse_line(line) or {})
    finally:
        os.close(descriptor)


def iter_tool_calls(path: str, entry: dict[str, Any]) -> Iterator[ToolCall]:
    """Yield the calls of one entry of a transcript."""
    for block in _get_tool_blocks(entry):
        yield ToolCall(path, entry, block)


def list_transcripts(projects: str) -> Iterator[str]:
    """Yield all transcripts, including those of agents."""
    for folder, _, names in os.walk(projects):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".jsonl"))


def read_past_calls(path: str, projects: str) -> Iterator[ToolCall]:
    """Yield the calls of a transcript; a transcript that cannot be read has none."""
    try:
        yield from (made for made in read_tool_calls(path, projects) if made.timestamp)
    except (ReflectError, OSError):
        return


def find_result(call: ToolCall, projects: str = "") -> Optional[tuple[str, bool]]:
    """Return when a call ended and whether it failed; None if the transcript has no result for it."""
    wanted = call.id.encode("utf-8", "replace")
    descriptor = open_transcript(call.path, projects)
    try:
        for _, _, line in LineReader(descriptor, 0):
            if wanted in line and _RESULT_MARK in line:
                entry = parse_line(line) or {}
                content = as_dict(entry.get("message")).get("content")
                for block in map(as_dict, content if type(content) is list else ()):
                    if block.get("type") == "tool_result" and block.get("tool_use_id") == call.id:
                        return as_text(entry.get("timestamp")), block.get("is_error") is True
        return None
    finally:
        os.close(descriptor)


def _get_calls(entry: dict[str, Any]) -> Iterator[Call]:
    for block in _get_tool_blocks(entry):
        yield as_text(entry.get("timestamp")), as_text(block["name"]), as_dict(block.get("input"))


def _get_tool_blocks(entry: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = as_dict(entry.get("message")).get("content")
    if entry.get("type") != "assistant" or type(content) is not list:
        return
    for block in map(as_dict, content):
        if block.get("type") == "tool_use" and block.get("name"):
            yield block


_BLOCK_SIZE = 1 << 20
_CALL_PATTERN = re.compile(rb'"name": ?"(?:Edit|Write|MultiEdit|Bash)"')
_FILE_PATTERN = re.compile(rb'"file_path": ?"(?:[^"\\]|\\.)*?([^"\\/]+\.md)"')
_NAME_PATTERN = re.compile(rb"[\w.-]{1,60}\.md\b")
# Prefix of a file name that is only mentioned, in a command or in a text other than a Markdown file.
MENTION_PREFIX = "$"


def find_edits(
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
        while block := os.read(descriptor, _BLOCK_SIZE):
            data = rest + block
            end = data.rfind(b"\n") + 1
            found += [(offset + line, name) for line, name in _find_edits_in_block(data, end)]
            offset, rest = offset + end, data[end:]
            if len(rest) > MAX_LINE:  # no transcript entry is that long
                offset, rest = offset + len(rest), b""
            if deadline is not None and time.monotonic() > deadline:
                break
        return found, offset
    finally:
        os.close(descriptor)


def _find_edits_in_block(data: bytes, end: int) -> Iterator[tuple[int, str]]:
    """Yield the calls in complete lines; each line has one call."""
    last = -1
    for call in _CALL_PATTERN.finditer(data, 0, end):
        line = data.rfind(b"\n", 0, call.start()) + 1
        file = _FILE_PATTERN.search(data, call.end(), data.find(b"\n", call.end()))
        if line <= last:
            continue
        last = line
        if file and b"Bash" not in call[0]:
            yield line, file[1].decode("utf-8", "replace")
        else:
            named = _NAME_PATTERN.findall(data, call.end(), data.find(b"\n", call.end()))
            yield from ((line, MENTION_PREFIX + name.decode("utf-8", "replace")) for name in dict.fromkeys(named))
