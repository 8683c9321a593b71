"""The cost of calls to Claude, a line each in `.git/reflect/usage.jsonl`: numbers and model names, never a text.

A call is reserved before it is made and settled after it. The reservation of a killed process counts in full that day.
"""

from __future__ import annotations

import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records import json_form
from reflect_git.records.ids import local_day, parse_utc, random_id, utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.store.repository import Store

FILE = "usage.jsonl"
CAP_KEY = "reflect.maxUsdPerDay"
DEFAULT_CAP = 2.0
MAX_CALL_USD = 0.25
RESERVED, DONE, FAILED = "reserved", "done", "failed"
_MAX_AGE = 90 * 86400.0
_MAX_BYTES = 1 << 22
_LOCK_SECONDS = 5.0

Line = dict[str, "Any"]


def read(store: Store) -> list[Line]:
    """Return each call once, as last written; skip damaged lines."""
    found: dict[str, Line] = {}
    data = files.read_if_exists(store.private_path(FILE), _MAX_BYTES) or b""
    for text in data.splitlines():
        line = _parse_line(text)
        if line is not None:
            found[line["id"]] = line
    return list(found.values())


def _parse_line(text: bytes) -> Line | None:
    try:
        line = json_form.loads(text)
        is_whole = isinstance(line["id"], str) and parse_utc(line["at"]) > 0 and float(line["usd"]) >= 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return line if is_whole else None


def get_spent_today(store: Store) -> float:
    """Return the dollars spent on this local day, including reservations."""
    today = local_day(time.time())
    return sum(float(line["usd"]) for line in read(store) if local_day(parse_utc(line["at"])) == today)


def summarise(store: Store) -> dict[str, Any]:
    """Return the calls, tokens and dollars of the last 90 days and of today; empty without any call."""
    lines = read(store)
    if not lines:
        return {}
    return {
        "calls": len(lines), "failed": sum(line.get("state") == FAILED for line in lines),
        "tokens": sum(int(line.get("tokens") or 0) for line in lines),
        "usd": round(sum(float(line["usd"]) for line in lines), 4), "usd_today": round(get_spent_today(store), 4),
    }  # fmt: skip


def get_cap(store: Store) -> float:
    """Return the daily limit in dollars."""
    try:
        return max(0.0, float(store.get_setting(CAP_KEY) or DEFAULT_CAP))
    except ValueError:
        return DEFAULT_CAP


def reserve_cost(
    store: Store, task: str, model: str, usd: float, tokens: int, *, limit: float = MAX_CALL_USD,
    other_hint: str = "press e to word it yourself, or ",
) -> Line:  # fmt: skip
    """Reserve the cost of a call from the rest of the day; refuse if the call is likely to cost more.

    `usd` and `tokens` are the expected cost of the call, and `limit` is what it may cost at most.
    """
    with store.locked(_LOCK_SECONDS):
        cap, spent = get_cap(store), get_spent_today(store)
        left = cap - spent
        if left < usd or left <= 0:
            raise ReflectError(
                f"the daily cap of ${cap:.2f} is reached: ${spent:.2f} was used today",
                f"{other_hint}raise the cap: reflect-git config {CAP_KEY} {max(1.0, cap * 2):.2f}",
                "cap",
            )
        now = utc()
        line = {
            "id": random_id("USE", now), "at": now, "task": task, "model": model, "state": RESERVED,
            "usd": round(min(limit, left), 6), "expected": tokens,
        }  # fmt: skip
        _write_line(store, line)
    return line


def record_cost(store: Store, line: Line, state: str, **facts: Any) -> Line:
    """Write the actual cost of a reserved call."""
    settled = {**line, **facts, "state": state}
    with store.locked(_LOCK_SECONDS):
        _write_line(store, settled)
    return settled


def _write_line(store: Store, line: Line) -> None:
    """Write the line, and drop those older than 90 days. The caller holds the lock."""
    oldest = time.time() - _MAX_AGE
    kept = {one["id"]: one for one in read(store) if parse_utc(one["at"]) > oldest}
    kept[line["id"]] = line
    data = b"".join(json_form.dumps(one) + b"\n" for one in kept.values())
    files.write_atomic(store.private_path(FILE), data)
