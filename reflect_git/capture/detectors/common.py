"""Build the fields of a signal that detectors report, and measure how close its parts must be."""

from __future__ import annotations

from reflect_git.capture.failure import EXCERPT_LIMIT
from reflect_git.redact import clip, clip_middle, flatten, format_redacted, redact, redact_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from reflect_git.capture.new_signal import Facts, Meta
    from reflect_git.capture.transcript import Turn
    from reflect_git.redact import Redacted

# Counted in texts of the user and the assistant. The next pass starts 20 of them back. If evidence could span more than
# SPAN, a pass from the start would find more than one that continues.
HORIZON = 9
SPAN = 2 * HORIZON
_TEXT_LIMIT = 160
_NAME_LIMIT = 64
_READ_LIMIT = 32 << 10


class Clock:
    """Counts the texts of a conversation; detectors forget what is more than SPAN texts back."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts = 0

    def is_recent(self, texts: int) -> bool:
        """Return whether a position is recent enough to count."""
        return self.texts - texts <= SPAN


def completes_series(times: list[int], length: int) -> bool:
    """Return whether the last event completes a series that was not complete before, so that it counts once.

    Looks back two horizons at most, so that the result does not depend on where reading began.
    """
    return _has_series(times, length) and not _has_series(times[:-1], length)


def _has_series(times: list[int], length: int) -> bool:
    return sum(times[-1] - time <= HORIZON for time in times) >= length if times else False


def build_facts(
    turn: Turn, family: str, kind: str, confidence: int, content: Redacted, *,
    context: Optional[Redacted] = None, category: str = "gotcha", trust: str = "tool_output", file: str = "",
    meta: Optional[Meta] = None,
) -> Facts:  # fmt: skip
    """Return the fields of a signal, identified by the tool call or else by the transcript entry."""
    told: Meta = {"score": 0.5, "durable": True, **(meta or {})}
    if turn.sidechain:
        told["agent"] = redact_name(turn.agent)
    facts: Facts = {
        "type": kind,
        "family": family,
        "confidence": confidence,
        "category": category,
        "timestamp": turn.timestamp,
        "session_id": turn.session,
        "source": {
            "hook": "transcript",
            "turn": turn.index,
            "entry": turn.tool_use_id or turn.entry,
            "file": redact(file),
        },
        "content": content,
        "context": clip_middle(context, EXCERPT_LIMIT) if context else redact(""),
        "trust": trust,
        "tags": [redact(turn.tool)] if turn.tool else [],
        "meta": told,
    }
    return facts


def redact_name(text: str) -> Redacted:
    """Redact and truncate a name from a transcript."""
    return clip(redact(text), _NAME_LIMIT)


def shorten(text: str, limit: int = _TEXT_LIMIT) -> Redacted:
    """Redact a whole text, then put it on one line and truncate it to fit into a sentence."""
    return flatten(redact_ends(text, _READ_LIMIT), limit)


def get_input_text(turn: Turn, field: str) -> str:
    """Return a text field of a call's input; empty if it is missing or not a text."""
    value = turn.input.get(field)
    return value if type(value) is str else ""


def format_code(text: Redacted, limit: int = 120) -> Redacted:
    """Format a text as code; backticks inside would end it and are replaced."""
    return format_redacted("`{}`", redact(flatten(text, limit).replace("`", "'")))
