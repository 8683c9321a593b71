"""What a signal is made of, for the type checker alone: it accepts no text here that did not come out of redaction."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, TypedDict

    from reflect_git.adapters.redact import Redacted
    from reflect_git.model.schema import Project

    class Origin(TypedDict, total=False):
        """Where a moment is found. `draft` makes a safe name of `entry`, which is an id."""

        hook: str
        turn: Optional[int]
        entry: str
        file: Redacted

    class Meta(TypedDict, total=False):
        score: float
        durable: bool
        via: str
        captured: bool
        sessions: int
        agent: Redacted
        streak: Redacted
        tool: Redacted
        goal: Redacted
        outcome: Redacted
        todos: list[Redacted]
        failing: Redacted
        decisions: list[Redacted]
        files: list[Redacted]
        tools: dict[Redacted, int]

    class _Optional(TypedDict, total=False):
        type: str
        family: str
        ordinal: int
        confidence: int
        category: Optional[str]
        timestamp: str
        session_id: str
        source: Origin
        context: Redacted
        trust: str
        tags: list[Redacted]
        meta: Meta
        project: Optional[Project]

    class Facts(_Optional):
        content: Redacted
