"""The facts of a signal that no message carries, and how far apart its parts may stand."""

from __future__ import annotations

from reflect_git.adapters.redact import redact
from reflect_git.capture.failure import excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.adapters.transcript import Turn

# In texts of the user and the assistant. The next reading begins 20 of them back: of what stands further apart than
# SPAN a reading from the beginning would see more than one that goes on.
HORIZON = 9
SPAN = 2 * HORIZON
_CLIP = 160
_AGENT_LIMIT = 64


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
    turn: Turn, family: str, kind: str, confidence: int, content: str, *,
    context: str = "", category: str = "gotcha", trust: str = "tool_output", file: str = "", score: float = 0.5,
    durable: bool = True, **meta: Any,
) -> dict[str, Any]:  # fmt: skip
    """As messages give them; named by the call, or by the entry where there is none."""
    if turn.sidechain:
        meta["agent"] = turn.agent[:_AGENT_LIMIT]
    return {
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
            "file": file,
        },
        "content": content,
        "context": excerpt(context),
        "trust": trust,
        "tags": [turn.tool] if turn.tool else [],
        "meta": {"score": score, "durable": durable, **meta},
    }


def clip(text: str, limit: int = _CLIP) -> str:
    """On one line, cut where it is too long for a sentence."""
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def text_in(turn: Turn, field: str) -> str:
    value = turn.input.get(field)
    return value if type(value) is str else ""


def quote(text: str, limit: int = 120) -> str:
    """As code; a backtick within would end it."""
    return f"`{clip(redact(text), limit).replace('`', chr(39))}`"
