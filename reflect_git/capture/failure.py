"""Turn hook events about failures into signals.

Nobody typed the data of a failure, so its trust is low.
"""

from __future__ import annotations

from reflect_git.redact import clip, clip_middle, flatten, format_redacted, redact, redact_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.capture.new_signal import Facts
    from reflect_git.redact import Redacted

_ATTEMPT_LIMIT = 300
EXCERPT_LIMIT = 2048
_NAME_LIMIT = 64
# At either end. Claude Code truncates errors at 150,000 characters at most, so they are redacted as a whole.
_READ_LIMIT = 128 << 10
# One failure is a weak sign; repetition shows that it lasts.
_SCORE = 0.3
_ATTEMPT_FIELDS = ("command", "file_path", "pattern", "url", "path")


def build_facts(event: Mapping[str, Any], home: str = "") -> Optional[Facts]:
    """Return the fields of a PostToolUseFailure event; None for an interruption, which is not a failure."""
    if event.get("is_interrupt"):
        return None
    given = event.get("tool_input")
    inputs = given if isinstance(given, dict) else {}
    tool = redact(_as_text(event.get("tool_name")) or "tool", home)
    tried = _get_attempt(inputs, home)
    facts: Facts = {
        "type": "failure",
        "confidence": 1,
        "category": "command" if tool == "Bash" else "gotcha",
        "trust": "tool_output",
        "session_id": _as_text(event.get("session_id")),
        "source": {
            "hook": _as_text(event.get("hook_event_name")),
            "entry": _as_text(event.get("tool_use_id")),
            "file": redact(_as_text(inputs.get("file_path")), home),
        },
        "content": format_redacted("{} failed: {}", tool, tried) if tried else format_redacted("{} failed", tool),
        "context": build_excerpt(_as_text(event.get("error")), home),
        "tags": [tool],
        "meta": {"score": _SCORE, "durable": False},
    }
    if event.get("agent_id"):
        facts["meta"]["agent"] = clip(redact(_as_text(event["agent_id"])), _NAME_LIMIT)
    return facts


def build_stop_facts(event: Mapping[str, Any], home: str = "") -> Facts:
    """Return the fields of a StopFailure event: Claude Code gave up the turn because of an API error or a limit."""
    reason = flatten(redact_ends(_as_text(event.get("error")), _READ_LIMIT, home), _ATTEMPT_LIMIT, "")
    return {
        "type": "failure",
        "family": "stop",
        "confidence": 1,
        "category": "gotcha",
        "trust": "tool_output",
        "session_id": _as_text(event.get("session_id")),
        "source": {"hook": "StopFailure", "entry": _as_text(event.get("prompt_id"))},
        "content": format_redacted("loop stopped: {}", reason) if reason else redact("loop stopped"),
        "context": build_excerpt(_as_text(event.get("last_assistant_message")), home),
        "tags": [redact("loop")],
        "meta": {"score": _SCORE, "durable": False},
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _get_attempt(inputs: Mapping[str, Any], home: str) -> Redacted:
    """Return the command or the file on one line; redacted first, so that truncation leaves no half of a secret."""
    found = next((inputs[field] for field in _ATTEMPT_FIELDS if isinstance(inputs.get(field), str)), "")
    return flatten(redact_ends(found, _READ_LIMIT, home), _ATTEMPT_LIMIT, "")


def build_excerpt(error: str, home: str = "") -> Redacted:
    """Return the beginning and the end of a text, where errors explain themselves; 2 KiB in total."""
    return clip_middle(redact_ends(error, _READ_LIMIT, home), EXCERPT_LIMIT)
