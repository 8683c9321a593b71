"""Build a complete signal from detected fields: redact known secrets, limit lengths, set the id and the key."""

from __future__ import annotations

from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records import schema
from reflect_git.records.ids import digest, get_signal_id, random_id
from reflect_git.redact import clip, redact, redact_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional, TypedDict

    from reflect_git.records.schema import Project, Signal
    from reflect_git.redact import Redacted

    class SourceFields(TypedDict, total=False):
        """The place where a signal was found; `draft` turns `entry`, which is an id, into a safe name."""

        hook: str
        turn: Optional[int]
        entry: str
        file: Redacted

    class Meta(TypedDict, total=False):
        """Further fields of a signal, depending on its detector."""

        score: float
        durable: bool
        standing: bool
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
        lessons: list[Redacted]
        chars: int

    class _OptionalFacts(TypedDict, total=False):
        type: str
        family: str
        moment: str
        ordinal: int
        confidence: int
        category: Optional[str]
        timestamp: str
        session_id: str
        source: SourceFields
        context: Redacted
        trust: str
        tags: list[Redacted]
        meta: Meta
        project: Optional[Project]

    class Facts(_OptionalFacts):
        """The fields of a signal as detectors report them."""

        content: Redacted


CONTENT_LIMIT = 2048
CONTEXT_LIMIT = 4096
NAME_LIMIT = 256
_MAX_TAGS = 16
_TYPES_AS_CATEGORIES = ("command", "gotcha")  # types that are also categories


def build_signal(facts: Facts, machine: str, now: str, home: str = "") -> Signal:
    """Build a signal from the fields of a session, which are already redacted."""
    return build_signal_from_input(facts, machine, now, home)


def build_signal_from_input(facts: Mapping[str, Any], machine: str, now: str, home: str = "") -> Signal:
    """Build a signal from outside values: redact each, fill in what is missing and normalize the rest.

    For complete outside data, such as command-line options or an entry of another tool. Computed fields are ignored.
    """
    timestamp = _parse_time(facts.get("timestamp"), f"{now[:19]}Z")
    content = clip(redact(_as_text(facts.get("content")), home), CONTENT_LIMIT)
    if not content.strip():
        raise ReflectError("a signal needs a content", "give it with --content TEXT", "usage", EXIT_USAGE)
    source = _build_source(facts.get("source"), home)
    return {
        "id": _build_id(facts, timestamp, source["entry"]),
        "version": schema.VERSION,
        "timestamp": timestamp,
        "session_id": safe_name(redact(_as_text(facts.get("session_id")))),
        "type": _get_choice(facts, "type", schema.TYPES, "discovery"),
        "status": "captured",
        "confidence": _check_confidence(facts.get("confidence", 1)),
        "source": source,
        "content": content,
        "context": clip(redact(_as_text(facts.get("context")), home), CONTEXT_LIMIT),
        "category": _get_choice(facts, "category", schema.CATEGORIES, _get_default_category(facts)),
        "tags": _build_tags(facts.get("tags"), home),
        "related": [],
        "promoted_to": None,
        "meta": redact_value(facts.get("meta") or {}, home),
        "project": redact_project(facts.get("project"), home),
        "machine": machine,
        "trust": _get_choice(facts, "trust", schema.TRUSTS, "assistant"),
        "key": compute_key(content, facts.get("type") == "failure"),
        "stored": now,
    }  # fmt: skip


def _get_default_category(facts: Mapping[str, Any]) -> str:
    kind = facts.get("type")
    return str(kind) if kind in _TYPES_AS_CATEGORIES else "convention"


def _build_id(facts: Mapping[str, Any], timestamp: str, entry: Optional[str]) -> str:
    """Return the same id for the same event; an event without a moment or a transcript entry gets a random one."""
    moment = _as_text(facts.get("moment")) or entry
    if not moment:
        return random_id("SIG", timestamp)
    return get_signal_id(
        timestamp, moment, _as_text(facts.get("family")) or _as_text(facts.get("type")), int(facts.get("ordinal", 0))
    )


def compute_key(content: str, is_failure: bool = False) -> str:
    """Return the key that signals with the same meaning share: "use X, not Y" in any order, or the same sentence.

    For failures every word counts (`make` is not `make all`); case, spaces and punctuation do not.
    """
    if not is_failure:
        from reflect_git.language import parse  # the failure hook does not need it

        return parse.compute_key(content)
    letters = "".join(c if c.isalnum() or c == "_" else " " for c in content.casefold())
    return digest("sentence", " ".join(letters.split()))[:16]


def safe_name(text: str) -> str:
    """Return a session id unchanged, and a hash for anything else: names end up in paths and messages."""
    if len(text) <= 64 and all(c.isascii() and (c.isalnum() or c == "-") for c in text):
        return text
    return "h" + digest("name", text)[:16]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _parse_time(value: Any, now: str) -> str:
    """Return a UTC time, with or without milliseconds; the current time for anything else."""
    text = _as_text(value)
    whole = text[:19] + "Z"
    return whole if text.endswith("Z") and text[19:20] in ("Z", ".") and is_utc_time(whole) else now


def is_utc_time(text: str) -> bool:
    """Return whether a text is a UTC time such as 2026-02-11T10:23:00Z.

    It compiles no pattern, because this runs in every hook.
    """
    if len(text) != 20 or not text.isascii() or text[4::3] != "--T::Z":
        return False
    digits = text[0:4] + text[5:7] + text[8:10] + text[11:13] + text[14:16] + text[17:19]
    if not digits.isdigit():
        return False
    month, day, hour, minute, second = (int(digits[at : at + 2]) for at in range(4, 14, 2))
    return 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 60


def _get_choice(facts: Mapping[str, Any], field: str, words: tuple[str, ...], default: str) -> str:
    """Return one of the allowed words, or the default if the field is missing."""
    value = facts.get(field)
    if value is None:
        return default
    if value not in words:
        raise ReflectError(f"'{_as_text(value)}' is not a {field}", f"one of: {', '.join(words)}", "usage", EXIT_USAGE)
    return str(value)


def _check_confidence(value: Any) -> int:
    """Check a confidence.

    4 is reserved for approval; no detector and no caller may claim it.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 3:
        raise ReflectError(f"'{_as_text(value)}' is not a confidence", "one of: 1, 2, 3", "usage", EXIT_USAGE)
    return value


def _build_source(value: Any, home: str) -> schema.Source:
    given = value if isinstance(value, dict) else {}
    turn = given.get("turn")
    return {
        "hook": clip(redact(_as_text(given.get("hook")), home), NAME_LIMIT) or "manual",
        "turn": turn if isinstance(turn, int) and not isinstance(turn, bool) else None,
        "file": clip(redact(_as_text(given.get("file")), home), NAME_LIMIT) or None,
        "entry": safe_entry(redact(_as_text(given.get("entry")), home)) or None,
    }


def safe_entry(text: str) -> str:
    """Return a tool_use_id or entry uuid unchanged, and a hash for anything else."""
    cleaned = text.replace("_", "-")
    return text if safe_name(cleaned) == cleaned else safe_name(text)


def _build_tags(value: Any, home: str) -> list[str]:
    given = value if isinstance(value, (list, tuple)) else []
    return [clip(redact(_as_text(tag), home), NAME_LIMIT) for tag in given[:_MAX_TAGS] if _as_text(tag).strip()]


def redact_project(value: Any, home: str) -> Optional[Project]:
    """Return a project with redacted and shortened names; None if it has no key."""
    if not isinstance(value, dict) or not value.get("key"):
        return None
    return {
        "key": clip(redact(_as_text(value["key"]), home), NAME_LIMIT),
        "name": clip(redact(_as_text(value.get("name")), home), NAME_LIMIT),
    }
