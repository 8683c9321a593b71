"""What became of a tool call."""

from __future__ import annotations

from reflect_git.adapters.transcript.turn import fields_of, text_of
from reflect_git.adapters.transcript.words import INTERRUPTION, texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.adapters.transcript.turn import Turn

    Fields = dict[str, Any]

_REFUSED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_REFUSED_BARE = "User rejected tool use"
_SAID = "the user said:\n"
# Put after the words of the user where the client keeps a memory of its own.
_NOTE = "\n\nNote: The user's next message may contain a correction or preference"
_NOT_GRANTED = ("Claude requested permissions to ", "Permission to use ")
_INVALID = ("<tool_use_error>", "InputValidationError")
_ABORTED = (INTERRUPTION, "<error>Command was aborted before completion")


def output_of(block: Fields) -> str:
    return "\n".join(texts_of(block.get("content")))


def fill(turn: Turn, entry: Fields, block: Fields) -> None:
    turn.raw_output = output_of(block)
    turn.details = fields_of(entry.get("toolUseResult"))
    turn.is_error = block.get("is_error") is True
    turn.interrupted = turn.details.get("interrupted") is True or turn.raw_output.startswith(_ABORTED)
    turn.invalid = turn.is_error and turn.raw_output.startswith(_INVALID)
    turn.refused = _refused(turn, entry)


def _refused(turn: Turn, entry: Fields) -> str:
    decision = fields_of(entry.get("permissionDecision"))
    if entry.get("toolDenialKind") or decision.get("decision") == "reject":
        # Without a person the client says 'user-rejected' as well; the source is what tells.
        by_person = entry.get("toolDenialKind") == "user-rejected" and decision.get("source") != "config"
        return "user" if by_person or decision.get("source") == "user_reject" else "config"
    if decision or not turn.is_error:
        return ""
    return _refused_by_text(turn, entry)


def _refused_by_text(turn: Turn, entry: Fields) -> str:
    """For clients without the fields. The errors of MCP tools are free texts and may say anything."""
    if not turn.tool or turn.tool.startswith("mcp__"):
        return ""
    if turn.raw_output.startswith(_REFUSED) or entry.get("toolUseResult") == _REFUSED_BARE:
        return "user"
    if turn.raw_output.startswith(_NOT_GRANTED) and ("granted" in turn.raw_output or "denied" in turn.raw_output):
        return "config"
    return ""


def feedback(turn: Turn, entry: Fields) -> str:
    """What a person said when refusing the call, or when allowing it."""
    if turn.refused == "config":
        return ""
    said = text_of(entry.get("userFeedback")).strip()
    if said or turn.refused != "user" or not turn.raw_output.startswith(_REFUSED):
        return said
    return turn.raw_output.partition(_SAID)[2].partition(_NOTE)[0].strip()
