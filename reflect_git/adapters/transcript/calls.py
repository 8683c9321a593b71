"""The calls of tools in a transcript, as the model made them. What came of them is passed over unparsed: a fifth of the
time that turns take."""

from __future__ import annotations

import os

from reflect_git.adapters.transcript.lines import Lines, parse
from reflect_git.adapters.transcript.opening import open_transcript
from reflect_git.adapters.transcript.turn import fields_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    Call = tuple[str, str, dict[str, Any]]  # when, which tool, what it was given

_CALL = b'"tool_use"'
_RESULT = b'"tool_result"'


class ToolCall:
    """A call with where it was made: `session` is the one that the person sees, also for a call of an agent."""

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
    """Each call; None now and then, for whoever looks at the clock."""
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
    """Return when a call ended and whether it failed; None if the transcript has no result of it."""
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
