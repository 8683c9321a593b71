"""One-line builders for signals, decisions and learnings as the store returns them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from reflect_git.candidates import gather as candidates
from reflect_git.candidates.gather import GatherResult
from reflect_git.candidates.grouping import Signals
from reflect_git.candidates.statements import Statement, parse_statements
from reflect_git.language.parse import compute_key
from reflect_git.records.history import History
from reflect_git.store.reading.signal_columns import INDEXED_FIELDS

PROJECT = {"key": "example.org/shop", "name": "shop"}
_numbers = count(1)


def signal(content: str, **facts: Any) -> dict[str, Any]:
    number = next(_numbers)
    day = facts.pop("day", 1)
    time = f"2026-03-{day:02d}T10:{number // 60 % 60:02d}:{number % 60:02d}Z"
    made = {
        "id": f"SIG-202603{day:02d}-{number:08d}", "version": 1, "timestamp": time, "session_id": f"session-{day}",
        "type": "correction", "status": "captured", "confidence": 2, "source": {"hook": "transcript"},
        "content": content, "context": content, "category": "convention", "tags": [], "related": [],
        "promoted_to": None, "meta": {"durable": True}, "project": PROJECT, "machine": "desk", "trust": "user_typed",
        "key": compute_key(content), "stored": time,
    }  # fmt: skip
    return {**made, **facts}


def failure(command: str, **facts: Any) -> dict[str, Any]:
    given = {"type": "failure", "confidence": 1, "trust": "tool_output", "category": "command", "context": "exit 1"}
    return signal(f"Bash failed: {command}", **{**given, **facts})


def learning(text: str, day: int = 1, **facts: Any) -> dict[str, Any]:
    made = {
        "id": f"LRN-202603{day:02d}-{next(_numbers):08d}", "version": 1, "timestamp": f"2026-03-{day:02d}T00:00:00Z",
        "text": text, "title": text, "category": "convention", "scope": "project", "project": PROJECT,
        "target": {"kind": "project", "path": "CLAUDE.md"}, "topic": None, "paths": [], "signals": [], "decision": "",
        "supersedes": [], "reason": "", "trust": "user_typed", "matcher": None, "meta": {},
    }  # fmt: skip
    return {**made, **facts}


def decision(kind: str, subject: str, key: str | None = None, day: int = 1, **facts: Any) -> dict[str, Any]:
    made = {
        "id": f"DEC-202603{day:02d}-{next(_numbers):08d}", "version": 1, "machine": "desk",
        "timestamp": f"2026-03-{day:02d}T23:00:00.000Z",
        "by": {"road": "terminal", "name": "", "email": ""}, "kind": kind, "subject": subject,
        "text": None, "text_sha256": None, "key": key, "target": None, "reason": "", "reopens": None, "meta": {},
    }  # fmt: skip
    return {**made, **facts}


def history(learnings: Sequence[Any] = (), decisions: Sequence[Any] = (), tallies: Sequence[Any] = ()) -> History:
    return History(learnings, decisions, tallies)


def gather(signals: Sequence[Any], past: History | None = None, files: str = "", **facts: Any) -> GatherResult:
    said: list[Statement] = parse_statements("CLAUDE.md", files)
    whole = sorted(signals, key=lambda signal: (min(signal["timestamp"], signal["stored"]), signal["id"]))
    columns: dict[str, list[Any]] = {name: [signal[name] for signal in whole] for name in INDEXED_FIELDS}
    columns["durable"] = [bool(signal["meta"].get("durable", True)) for signal in whole]
    listed = Signals(columns, range(len(whole)), lambda rows: [whole[row] for row in rows])
    return candidates.gather_candidates(listed, past or history(), said, **{"project": {PROJECT["key"]}, **facts})
