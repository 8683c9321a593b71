"""Past tool calls in transcripts, and decisions about guards, for tests."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reflect_git.records.ids import utc
from reflect_git.rules.context import Context, load_context
from reflect_git.rules.guarding import guard_backtest, guards
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules.queues import BY, get_project_folder

DAY = 86400


def write_calls(
    home: Path, cwd: Path, session: str, calls: Iterable[tuple[str, Mapping[str, Any]]], days_ago: float = 1
) -> Path:
    """Write a transcript in which the model made these calls."""
    folder = home / ".claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", str(cwd))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    lines = []
    for number, (tool, given) in enumerate(calls):
        block = {"type": "tool_use", "id": f"toolu_{session}{number}", "name": tool, "input": given}
        lines.append({
            "type": "assistant", "timestamp": utc(time.time() - days_ago * DAY), "sessionId": session, "cwd": str(cwd),
            "uuid": f"{session}-{number}", "message": {"role": "assistant", "content": [block]},
        })  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": command}


def load(store: Store, folder: Path | None = None) -> Context:
    return load_context(store, os.environ, reader.scan(store), str(folder or get_project_folder(os.environ)))


def guard(store: Store, rule: str, mode: str = "hint", **more: Any) -> str:
    """Guard a rule; return the id of the decision."""
    ctx = load(store)
    plan = guards.plan_guard(ctx, guards.find_rule(ctx, rule), mode, **more)
    found = guard_backtest.run_backtest(ctx, plan.rule, plan.matcher)
    return guards.write_guard(ctx, plan, found.figures, BY)[0]


def list_modes(store: Store) -> dict[str, str]:
    """Map each guarded rule to its mode."""
    return {one.learning: one.mode for one in guards.list_guards(reader.scan(store).history, store.machine)}
