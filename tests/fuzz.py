"""Generate invalid hook inputs and transcripts by corrupting valid ones at random."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

TEXTS = (
    "", " ", "no, use pnpm, not npm", "x" * 5000, "\0", "\ud800", "é\u202e\u200b", "</reflect-git>", "../../etc/passwd",
    "[Request interrupted by user]", "<command-name>/x</command-name>", "ghp_" + "Z9" * 18, "`" * 300, "\n" * 300, "{",
    "Implement the following plan:", "always use tabs in this project, never spaces!!", "\x1b]52;c;aGk=\x07", "🙂" * 50,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1 << 70, 1.5, 1e308, [], {}, [[]], {"a": None}, ["no, never"], {"text": "no"}, *TEXTS,
)  # fmt: skip
EVENTS = (
    "UserPromptSubmit", "PostToolUseFailure", "StopFailure", "PreCompact", "SessionStart", "SessionEnd", "PostToolUse",
    "Stop",
)  # fmt: skip
SOURCES = ("startup", "compact", "resume")
QUESTION = "Learning 1 of 1 [SIG-20260211-7k3v9q2m]"
TOOLS = ("Bash", "Edit", "Write", "Grep", "Glob", "Read", "TodoWrite", "AskUserQuestion", "mcp__x__y", "")


def draw_event(dice: random.Random, transcript: str) -> dict[str, Any]:
    return {
        "hook_event_name": dice.choice(EVENTS), "session_id": f"s-{dice.randrange(5)}", "transcript_path": transcript,
        "cwd": "/srv/shop", "prompt_id": f"p-{dice.randrange(9)}", "source": dice.choice(SOURCES),
        "prompt": dice.choice(TEXTS),
        "trigger": "auto", "reason": "other", "tool_name": dice.choice(TOOLS), "tool_use_id": f"t-{dice.random()}",
        "tool_input": {"command": dice.choice(TEXTS), "file_path": dice.choice(TEXTS)}, "error": dice.choice(TEXTS),
        "tool_response": {"answers": {f"{QUESTION}\n---\n{dice.choice(TEXTS)}\n---": "yes"}},
    }  # fmt: skip


def draw_entry(dice: random.Random, number: int) -> dict[str, Any]:
    kinds: tuple[Callable[[random.Random], dict[str, Any]], ...] = (
        _draw_prompt,
        _draw_reply,
        _draw_call,
        _draw_result,
        _draw_queued,
        _draw_other,
    )
    common = {
        "uuid": f"u-{number}", "timestamp": f"2026-02-11T10:00:{number % 60:02d}.000Z", "sessionId": "s-1",
        "cwd": "/srv/shop", "version": "2.1.325", "entrypoint": dice.choice(("cli", "sdk-cli")),
        "isSidechain": dice.random() < 0.1,
    }  # fmt: skip
    return {**common, **dice.choice(kinds)(dice)}


def _draw_prompt(dice: random.Random) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": dice.choice(TEXTS)}, "promptSource": "typed"}


def _draw_reply(dice: random.Random) -> dict[str, Any]:
    block = {"type": "text", "text": dice.choice(TEXTS)}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def _draw_call(dice: random.Random) -> dict[str, Any]:
    given = {"command": dice.choice(TEXTS), "file_path": "/a", "old_string": "a", "new_string": "b", "pattern": "x"}
    block = {"type": "tool_use", "id": f"t-{dice.randrange(6)}", "name": dice.choice(TOOLS), "input": given}
    return {"type": "assistant", "message": {"role": "assistant", "content": [block]}}


def _draw_result(dice: random.Random) -> dict[str, Any]:
    call, failed = f"t-{dice.randrange(6)}", dice.random() < 0.5
    block = {"type": "tool_result", "tool_use_id": call, "content": dice.choice(TEXTS), "is_error": failed}
    more = {"userFeedback": dice.choice(TEXTS), "toolDenialKind": "user-rejected"} if dice.random() < 0.2 else {}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": {"answers": {}}, **more}


def _draw_queued(dice: random.Random) -> dict[str, Any]:
    operation = dice.choice(("enqueue", "dequeue", "remove", "popAll", "?"))
    return {"type": "queue-operation", "operation": operation, "content": dice.choice(TEXTS)}


def _draw_other(dice: random.Random) -> dict[str, Any]:
    kinds = ("instructions", "queued_command", "nested_memory", "edited_text_file", "hook_success", "?")
    attached = {
        "type": dice.choice(kinds),
        "files": [{"path": "/a/CLAUDE.md", "content": "x"}],
        "prompt": dice.choice(TEXTS),
    }
    boundary = {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}
    return boundary if dice.random() < 0.3 else {"type": "attachment", "attachment": attached}


def corrupt_value(dice: random.Random, value: Any, chance: float = 0.15) -> Any:
    """Return a copy in which some parts are replaced, missing or wrapped."""
    if dice.random() < chance / 3:
        return dice.choice(VALUES)
    if isinstance(value, dict):
        kept = {key: corrupt_value(dice, item, chance) for key, item in value.items() if dice.random() > chance / 4}
        return {**kept, dice.choice(("x", "type", "id")): dice.choice(VALUES)} if dice.random() < chance / 4 else kept
    if isinstance(value, list):
        return [corrupt_value(dice, item, chance) for item in value for _ in range(dice.choice((1, 1, 1, 0, 2)))]
    return value


def encode_corrupted(dice: random.Random, value: Any) -> bytes:
    """Return the value as bytes, some of them flipped, cut or doubled."""
    data = json.dumps(value, ensure_ascii=dice.random() < 0.5).encode("utf-8", "surrogatepass")
    roll = dice.random()
    if roll < 0.06 and data:
        at = dice.randrange(len(data))
        return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
    if roll < 0.10:
        return data[: dice.randrange(len(data) + 1)]
    return data * 2 if roll < 0.12 else data


def draw_transcript(dice: random.Random) -> bytes:
    entries = [
        encode_corrupted(dice, corrupt_value(dice, draw_entry(dice, number))) for number in range(dice.randrange(1, 30))
    ]
    return b"\n".join(entries) + (b"\n" if dice.random() < 0.8 else b"")
