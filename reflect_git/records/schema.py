"""The fields of each kind of record, their order in a file, and their allowed values.

The shapes are `TypedDict`s for the type checker only. A hook has 36 ms and cannot import `typing` (5 ms) or
`dataclasses` (15 ms), and building 10,000 frozen dataclasses takes 100 ms. A mapping that is checked on input costs
neither.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional, TypedDict

    class Source(TypedDict):
        """The place where a signal was noticed: hook, turn, transcript file and entry."""

        hook: str
        turn: Optional[int]
        file: Optional[str]
        entry: Optional[str]

    class Project(TypedDict):
        """A project's key, which is the same on every machine, and its name."""

        key: str
        name: str

    class Signal(TypedDict):
        """Something noticed in a session."""

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
        """The instruction file that a rule is written to."""

        kind: str
        path: str

    class Learning(TypedDict):
        """A rule that a person approved."""

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

    class DecisionAuthor(TypedDict):
        """The person who made a decision, and the channel."""

        road: str
        name: str
        email: str

    class Decision(TypedDict):
        """A decision about a signal, a rule or a setting."""

        id: str
        version: int
        timestamp: str
        machine: str
        by: DecisionAuthor
        kind: str
        subject: str
        text: Optional[str]
        text_sha256: Optional[str]
        key: Optional[str]
        target: Optional[Target]
        reason: str
        reopens: Optional[str]
        meta: dict[str, Any]

    class FirstExposure(TypedDict):
        """The statistics of one session, and the rules that were in effect: the fields of version 1."""

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

    class Exposure(FirstExposure, total=False):
        """The fields that records of version 1 lack.

        `versions`: target → version that was loaded. `guards`: rule → how often its guard fired, was obeyed and was
        overridden. `skills`: name → uses. `loaded`: whether the client reported any instruction files.
        """

        versions: dict[str, int]
        guards: dict[str, list[int]]
        tokens: dict[str, int]
        skills: dict[str, int]
        loaded: str

    class Evaluation(TypedDict):
        """The scores that a judge gave to a session; figures only. `overall` is null if too few criteria have one."""

        id: str
        version: int
        timestamp: str
        machine: str
        session: str
        project: Optional[Project]
        messages: dict[str, int]
        versions: dict[str, int]
        rules: list[str]
        scores: dict[str, float]
        overall: Optional[float]
        recommendation: str
        judge: dict[str, str]
        usage: dict[str, Any]
        anchored: bool
        meta: dict[str, Any]

    class Tally(TypedDict):
        """The remains of expired signals; each line is [key, type, project key, day, session hash, trust]."""

        id: str
        version: int
        machine: str
        day: str
        lines: list[list[str]]

    class DigestLine(TypedDict):
        """One line of a digest: everything with one key, with the lowest trust of its sources."""

        text: str
        ids: list[str]
        section: str
        key: str
        trust: str

    # `from` is a word of Python's, so the form with a call is needed.
    Digest = TypedDict(
        "Digest",
        {
            "id": str, "version": int, "timestamp": str, "period": str, "project": Optional[Project],
            "lines": list[DigestLine], "figures": dict[str, float], "from": list[str], "meta": dict[str, Any],
        },
    )  # fmt: skip


VERSION = 1
EXPOSURE_VERSION = 2
_VERSIONS = {"EXP": EXPOSURE_VERSION}  # of kinds whose fields have changed since version 1

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
    "interruptions", "model", "client", "attended", "rules", "hits", "versions", "guards", "tokens", "skills", "loaded",
)  # fmt: skip
EVALUATION_FIELDS = (
    "id", "version", "timestamp", "machine", "session", "project", "messages", "versions", "rules", "scores", "overall",
    "recommendation", "judge", "usage", "anchored", "meta",
)  # fmt: skip
# Fields that records of version 1 do not have.
LATER_FIELDS = {"EXP": ("versions", "guards", "tokens", "skills", "loaded")}
TOKENS = ("input", "output", "cache_read", "cache_write")
LOADED, NOT_LOADED = "instructions", "none"
TALLY_FIELDS = ("id", "version", "machine", "day", "lines")
DIGEST_FIELDS = ("id", "version", "timestamp", "period", "project", "lines", "figures", "from", "meta")

FIELDS = {
    "SIG": SIGNAL_FIELDS,
    "LRN": LEARNING_FIELDS,
    "DEC": DECISION_FIELDS,
    "EXP": EXPOSURE_FIELDS,
    "EVL": EVALUATION_FIELDS,
    "TLY": TALLY_FIELDS,
    "DIG": DIGEST_FIELDS,
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
    "guarded", "unguarded", "policy", "capture", "remote", "muted", "rootcause", "kept",
)  # fmt: skip
# What a line of a digest is about, in the order of the page.
DIGEST_SECTIONS = ("worked", "decided", "learned", "broken", "open", "noticed")
# Decisions about the guard of a rule; they change no file.
GUARD_KINDS = ("guarded", "unguarded")
GUARD_MODES = ("watch", "hint", "ask", "deny")
# Decisions about settings, not about rules; a separate command reverts them.
SETTING_KINDS = ("policy", "capture", "remote")
CHANNELS = (
    "terminal", "ask-user-question", "keep", "panel", "own-machine", "unattended", "autorevert", "autopilot",
)  # fmt: skip
CRITERIA = ("completeness", "depth", "tone", "scope", "missed_opportunities")
RECOMMENDATIONS = ("keep", "update", "revert")
JUDGE_KINDS = ("claude", "command", "in-session")


def is_newer(record_id: str, version: int) -> bool:
    """Return whether a record was written by a later version of the program, which may have changed its fields."""
    return version > _VERSIONS.get(record_id[:3], VERSION)


def build_version_test(kind: str, version: str) -> str:
    """Return the SQL test that a record is not newer than this program; the arguments name its columns."""
    known = " ".join([f"WHEN '{name}' THEN {number}" for name, number in _VERSIONS.items()])
    return f"{version} <= CASE {kind} {known} ELSE {VERSION} END"
