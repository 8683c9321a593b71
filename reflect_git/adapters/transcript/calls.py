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


def _calls_of(entry: dict[str, Any]) -> Iterator[Call]:
    content = fields_of(entry.get("message")).get("content")
    if entry.get("type") != "assistant" or type(content) is not list:
        return
    for block in map(fields_of, content):
        if block.get("type") == "tool_use" and block.get("name"):
            yield text_of(entry.get("timestamp")), text_of(block["name"]), fields_of(block.get("input"))
