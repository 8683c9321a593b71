"""The facts of a signal that no message carries, and how far apart its parts may stand."""

from __future__ import annotations

from reflect_git.adapters.redact import clip, clip_middle, fill, flatten, redact, redact_ends
from reflect_git.capture.failure import EXCERPT_LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from reflect_git.adapters.redact import Redacted
    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts, Meta

# In texts of the user and the assistant. The next reading begins 20 of them back: of what stands further apart than
# SPAN a reading from the beginning would see more than one that goes on.
HORIZON = 9
SPAN = 2 * HORIZON
_CLIP = 160
_NAME_LIMIT = 64
_READ_LIMIT = 32 << 10


class Clock:
    """Counts the texts of a conversation, so that detectors can forget what is too far back."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        self.texts = 0

    def is_near(self, texts: int) -> bool:
        return self.texts - texts <= SPAN


def completes(times: list[int], length: int) -> bool:
    """Whether the last of like moments makes a row of them, and the one before did not: a row counts once.

    Looks back two horizons at the most, so that it does not matter where reading began.
    """
    return _is_row(times, length) and not _is_row(times[:-1], length)


def _is_row(times: list[int], length: int) -> bool:
    return sum(times[-1] - time <= HORIZON for time in times) >= length if times else False


def facts_of(
    turn: Turn, family: str, kind: str, confidence: int, content: Redacted, *,
    context: Optional[Redacted] = None, category: str = "gotcha", trust: str = "tool_output", file: str = "",
    meta: Optional[Meta] = None,
) -> Facts:  # fmt: skip
    """As messages give them; named by the call, or by the entry where there is none."""
    told: Meta = {"score": 0.5, "durable": True, **(meta or {})}
    if turn.sidechain:
        told["agent"] = name_of(turn.agent)
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


def name_of(text: str) -> Redacted:
    """Return a name from a transcript, without secrets and not too long."""
    return clip(redact(text), _NAME_LIMIT)


def shorten(text: str, limit: int = _CLIP) -> Redacted:
    """Redact a whole text, then put it on one line and cut it to what fits into a sentence."""
    return flatten(redact_ends(text, _READ_LIMIT), limit)


def text_in(turn: Turn, field: str) -> str:
    value = turn.input.get(field)
    return value if type(value) is str else ""


def quote(text: Redacted, limit: int = 120) -> Redacted:
    """As code; a backtick within would end it."""
    return fill("`{}`", redact(flatten(text, limit).replace("`", "'")))
