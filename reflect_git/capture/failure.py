"""A tool call that failed: what was tried and what came back. Data that nobody typed, so of low trust."""

from __future__ import annotations

from reflect_git.adapters.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

_TRIED_LIMIT = 300
_EXCERPT_LIMIT = 2048
_READ_LIMIT = 64 << 10
# One failure is a weak sign; that it lasts shows when it happens again.
_WORTH = {"score": 0.3, "durable": False}
_TRIED = ("command", "file_path", "pattern", "url", "path")


def facts_of(event: Mapping[str, Any], home: str = "") -> Optional[dict[str, Any]]:
    """The facts of a PostToolUseFailure event; None for an interruption, which is no failure."""
    if event.get("is_interrupt"):
        return None
    given = event.get("tool_input")
    inputs = given if isinstance(given, dict) else {}
    tool = _text(event.get("tool_name")) or "tool"
    tried = _tried(inputs, home)
    return {
        "type": "failure",
        "confidence": 1,
        "category": "command" if tool == "Bash" else "gotcha",
        "trust": "tool_output",
        "session_id": _text(event.get("session_id")),
        "source": {
            "hook": _text(event.get("hook_event_name")),
            "entry": _text(event.get("tool_use_id")),
            "file": _text(inputs.get("file_path")),
        },
        "content": f"{tool} failed: {tried}" if tried else f"{tool} failed",
        "context": excerpt(_text(event.get("error")), home),
        "tags": [tool],
        "meta": {**_WORTH, **({"agent": _text(event["agent_id"])[:64]} if event.get("agent_id") else {})},
    }


def facts_of_stop(event: Mapping[str, Any], home: str = "") -> dict[str, Any]:
    """The facts of a StopFailure event: the client gave the turn up, by an error of the API or a limit."""
    error = excerpt(_text(event.get("last_assistant_message")), home)
    reason = " ".join(redact(_text(event.get("error")), home).split())[:_TRIED_LIMIT]
    return {
        "type": "failure",
        "family": "stop",
        "confidence": 1,
        "category": "gotcha",
        "trust": "tool_output",
        "session_id": _text(event.get("session_id")),
        "source": {"hook": "StopFailure", "entry": _text(event.get("prompt_id"))},
        "content": f"loop stopped: {reason}" if reason else "loop stopped",
        "context": error,
        "tags": ["loop"],
        "meta": dict(_WORTH),
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _tried(inputs: Mapping[str, Any], home: str) -> str:
    """The command or the file, on one line; redacted whole, then cut, so that no half of a secret stays."""
    found = next((inputs[field] for field in _TRIED if isinstance(inputs.get(field), str)), "")
    return " ".join(redact(found[:_READ_LIMIT], home).split())[:_TRIED_LIMIT]


def excerpt(error: str, home: str = "") -> str:
    """Its beginning and its end, where errors say what they are; 2 KiB in all."""
    half = _READ_LIMIT // 2
    text = redact(error if len(error) <= _READ_LIMIT else f"{error[:half]}\n{error[-half:]}", home)
    if len(text.encode("utf-8", "surrogatepass")) <= _EXCERPT_LIMIT:
        return text
    quarter = (_EXCERPT_LIMIT - 16) // 8  # four bytes a character at the most
    return (
        f"{text[: 2 * quarter]} […] {text[-2 * quarter :]}"
        if text.isascii()
        else f"{text[:quarter]} […] {text[-quarter:]}"
    )
