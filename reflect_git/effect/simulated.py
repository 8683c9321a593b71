"""Judge simulated histories with known truth, to test the procedure: folders with exposures, approvals and events."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from reflect_git.candidates.session_events import NO_PROJECT
from reflect_git.effect.exposure import Approval, Record, Session
from reflect_git.effect.table import as_json, pooled_json
from reflect_git.errors import EXIT_USAGE, ReflectError

_FILES = ("exposures.jsonl", "approvals.jsonl", "events.jsonl")


def find_histories(folder: str) -> list[str]:
    """Return the folders below this one, or itself, that hold a history, sorted."""
    found = [top for top, _, names in os.walk(folder) if set(_FILES) <= set(names)]
    if not found:
        raise ReflectError(
            f"'{folder}' holds no history", f"a history is a folder with {', '.join(_FILES)}", "usage", EXIT_USAGE
        )
    return sorted(found)


def _read_lines(folder: str, name: str) -> list[dict[str, Any]]:
    with open(os.path.join(folder, name), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def load_record(folder: str) -> Record:
    """Load one history."""
    exposures, approvals, events = (_read_lines(folder, name) for name in _FILES)
    numbers = {one["session"]: number for number, one in enumerate(exposures)}
    by_key: dict[str, set[int]] = {}
    for one in events:
        if one["session"] in numbers and one["count"]:
            by_key.setdefault(one["key"], set()).add(numbers[one["session"]])
    sessions = [
        Session(
            one["project"]["key"] if one["project"] else NO_PROJECT, one["model"],
            frozenset(rule for listed in one["rules"].values() for rule in listed),
        )
        for one in exposures
    ]  # fmt: skip
    made = []
    for one in approvals:
        hits = [number for number, exposure in enumerate(exposures) if one["learning"] in exposure["hits"]]
        listed = hits if one["matcher"] else sorted(by_key.get(one["key"], ()))
        by_key.pop(one["key"], None)
        project = one["project"]["key"] if one["project"] else ""
        made.append(Approval(one["learning"], _find_start(one, exposures, numbers), listed, project))
    return Record(sessions, made, {key: sorted(listed) for key, listed in by_key.items()})


def _find_start(approval: dict[str, Any], exposures: list[dict[str, Any]], numbers: dict[str, int]) -> int:
    """Return how many sessions began before an approval."""
    last = numbers.get(approval.get("after_session") or "")
    if last is not None:
        return last + 1
    return sum(one["start"] < approval["timestamp"] for one in exposures)


def judge_histories(folder: str, every: int) -> Iterator[dict[str, Any]]:
    """Yield a look at each history after every so many sessions, and after the last one."""
    for path in find_histories(folder):
        record = load_record(path)
        total = len(record.sessions)
        for now in sorted({*range(every, total + 1, every), total}):
            judged, pooled = record.judge_all(now)
            yield {
                "history": os.path.relpath(path, folder), "at": now,
                "learnings": [as_json(one) for one in judged], "pooled": pooled_json(pooled),
            }  # fmt: skip
