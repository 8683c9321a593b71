"""Transcripts of any size with the shares that real ones have: nine tenths are snapshots that nobody has to read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SESSION = "5d0c8a11-7e2f-4b7d-9b1a-4f8e0c2d6a90"
_TASKS = (
    "add a date picker to the checkout page",
    "the totals are off by one cent when the cart has a voucher, please look into it",
    "run the tests",
    "now do the same for the invoice page",
    "ok, go on",
    "can you explain why the lock file changed?",
    "looks good, commit it",
)
_LESSONS = (
    "no, use pnpm here, not npm",
    "always run the formatter before you commit",
    "that's wrong, the staging database is read-only, never write to it",
    "stop mocking the clock, pass it in instead",
)
_REPLIES = (
    "I updated the component and its test. All tests pass now.",
    "The voucher was subtracted before rounding. I moved the rounding to the end and added a test for it.",
    "Let me look at the failing test first.",
)
_COMMANDS = ("pnpm test", "git status --short", "rg -n 'total' src", "pnpm tsc --noEmit", "cat src/cart.ts")
_FAILURE_OUTPUT = "Exit code 1\nFAIL src/cart.test.ts\n  expected 41 to be 42"


def write_transcript(path: Path, size: int, taught: float = 0.02) -> int:
    """A transcript of about `size` bytes; returns how many messages were meant to be learnt from."""
    dice = random.Random(size)
    count = written = 0
    with path.open("w", encoding="utf-8") as file:
        for number, (entry, is_taught) in enumerate(_iter_entries(dice, taught)):
            line = json.dumps(_complete_entry(entry, number), separators=(",", ":")) + "\n"
            file.write(line)
            written += len(line)
            count += is_taught
            if written >= size:
                return count
    return count


def _complete_entry(entry: dict[str, Any], number: int) -> dict[str, Any]:
    minute, second = divmod(number, 60)
    hour, minute = divmod(minute, 60)
    stamp = f"2026-02-{11 + hour // 24 % 17:02d}T{hour % 24:02d}:{minute:02d}:{second:02d}.000Z"
    return {
        "parentUuid": None, "isSidechain": False, **entry, "uuid": f"{number:08x}-0000-4000-8000-000000000000",
        "timestamp": stamp, "sessionId": SESSION, "cwd": "/home/dev/shop", "version": "2.1.325", "entrypoint": "cli",
    }  # fmt: skip


def _iter_entries(dice: random.Random, taught: float) -> Iterator[tuple[dict[str, Any], bool]]:
    call = 0
    while True:
        is_taught = dice.random() < taught * 6
        yield _build_prompt(dice.choice(_LESSONS if is_taught else _TASKS)), is_taught
        copy = {"role": "user", "content": "x" * dice.randint(20_000, 60_000)}
        yield {"type": "api-request-blob", "message": copy}, False
        for _ in range(dice.randint(1, 6)):
            call += 1
            yield _build_reply({"type": "tool_use", "id": f"toolu_{call:09d}", "name": "Bash",
                         "input": {"command": dice.choice(_COMMANDS), "description": "look"}}), False  # fmt: skip
            yield _build_result(call, dice.random() < 0.06, dice), False
            yield {"type": "prompt_snapshot", "snapshot": {"text": "y" * dice.randint(4_000, 24_000)}}, False
        yield _build_reply({"type": "text", "text": dice.choice(_REPLIES)}), False


def _build_prompt(text: str) -> dict[str, Any]:
    human = {"origin": {"kind": "human"}, "promptSource": "typed"}
    return {"type": "user", "message": {"role": "user", "content": text}, **human}


def _build_reply(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "model": "claude-x", "content": [block]}}


def _build_result(call: int, failed: bool, dice: random.Random) -> dict[str, Any]:
    output = _FAILURE_OUTPUT if failed else "ok\n" * dice.randint(1, 400)
    block = {"type": "tool_result", "tool_use_id": f"toolu_{call:09d}", "content": output, "is_error": failed}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": {"stdout": output}}
