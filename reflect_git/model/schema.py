"""The records of the store: their fields, their order in a file, and the words allowed in them.

The shapes are `TypedDict`s that exist for the type checker only. A hook may not import `typing` (5 ms) or `dataclasses`
(15 ms) when the whole hook has 36 ms, and 10,000 frozen dataclasses take 100 ms to build; a mapping that was checked at
the door costs neither.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, TypedDict

    class Source(TypedDict):
        hook: str
        turn: Optional[int]
        file: Optional[str]
        entry: Optional[str]

    class Project(TypedDict):
        key: str
        name: str

    class Signal(TypedDict):
        id: str
        version: int
        timestamp: str
        session_id: str
        type: str
        status: str
        confidence: int
        source: Source
        content: str
        context: str
        category: str
        tags: list[str]
        related: list[str]
        promoted_to: Optional[str]
        meta: dict[str, Any]
        project: Optional[Project]
        machine: str
        trust: str
        key: str
        stored: str

    class Target(TypedDict):
        kind: str
        path: str

    class Learning(TypedDict):
        id: str
        version: int
        timestamp: str
        text: str
        title: str
        category: str
        scope: str
        project: Optional[Project]
        target: Target
        topic: Optional[str]
        paths: list[str]
        signals: list[str]
        decision: str
        supersedes: list[str]
        reason: str
        trust: str
        matcher: Optional[dict[str, Any]]
        meta: dict[str, Any]

    class By(TypedDict):
        road: str
        name: str
        email: str

    class Decision(TypedDict):
        id: str
        version: int
        timestamp: str
        machine: str
        by: By
        kind: str
        subject: str
        text: Optional[str]
        text_sha256: Optional[str]
        key: Optional[str]
        target: Optional[Target]
        reason: str
        reopens: Optional[str]
        meta: dict[str, Any]

    class Exposure(TypedDict):
        id: str
        version: int
        session: str
        project: Optional[Project]
        start: str
        end: str
        turns: int
        typed: int
        corrections: int
        failures: dict[str, int]
        interruptions: int
        model: Optional[str]
        client: Optional[str]
        attended: bool
        rules: dict[str, list[str]]
        hits: dict[str, int]

    class Tally(TypedDict):
        """What is left of expired signals; each line is [key, type, project key, day, session hash, trust]."""

        id: str
        version: int
        machine: str
        day: str
        lines: list[list[str]]


VERSION = 1

SIGNAL_FIELDS = (
    "id", "version", "timestamp", "session_id", "type", "status", "confidence", "source", "content", "context",
    "category", "tags", "related", "promoted_to", "meta", "project", "machine", "trust", "key", "stored",
)  # fmt: skip
LEARNING_FIELDS = (
    "id", "version", "timestamp", "text", "title", "category", "scope", "project", "target", "topic", "paths",
    "signals", "decision", "supersedes", "reason", "trust", "matcher", "meta",
)  # fmt: skip
DECISION_FIELDS = (
    "id", "version", "timestamp", "machine", "by", "kind", "subject", "text", "text_sha256", "key", "target",
    "reason", "reopens", "meta",
)  # fmt: skip
EXPOSURE_FIELDS = (
    "id", "version", "session", "project", "start", "end", "turns", "typed", "corrections", "failures",
    "interruptions", "model", "client", "attended", "rules", "hits",
)  # fmt: skip
TALLY_FIELDS = ("id", "version", "machine", "day", "lines")

FIELDS = {
    "SIG": SIGNAL_FIELDS,
    "LRN": LEARNING_FIELDS,
    "DEC": DECISION_FIELDS,
    "EXP": EXPOSURE_FIELDS,
    "TLY": TALLY_FIELDS,
}

TYPES = (
    "correction", "failure", "convention", "command", "gotcha", "discovery", "pattern", "project_friction", "summary",
)  # fmt: skip
CATEGORIES = (
    "command", "convention", "gotcha", "preference", "project-structure", "documentation", "naming",
    "test-structure", "configuration",
)  # fmt: skip
STATUSES = ("captured", "analyzed", "promoted", "dismissed", "archived")
# From the most to the least trusted; a derived text has the lowest trust of its sources.
TRUSTS = ("user_typed", "user_feedback", "assistant", "tool_output", "remote", "imported")
DECISION_KINDS = (
    "approved", "dismissed", "never", "reverted", "amended", "applied", "superseded", "joined", "archived", "pinned",
    "policy", "capture", "remote",
)  # fmt: skip
# Decisions about settings, not about rules: a command of their own switches them back.
SWITCHING_KINDS = ("policy", "capture", "remote")
ROADS = ("terminal", "ask-user-question", "own-machine", "unattended")
