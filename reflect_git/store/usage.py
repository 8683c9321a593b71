"""The cost of calls to Claude, a line each in `.git/reflect/usage.jsonl`: numbers and model names, never a text.

A call is reserved before it is made and settled after it. The reservation of a killed process counts in full that day.
"""

from __future__ import annotations

import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records import json_form
from reflect_git.records.ids import local_day, random_id, seconds_of, utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from reflect_git.store.repository import Store

FILE = "usage.jsonl"
CAP = "reflect.maxUsdPerDay"
DEFAULT_CAP = 2.0
MOST_A_CALL = 0.25
RESERVED, DONE, FAILED = "reserved", "done", "failed"
_KEPT = 90 * 86400.0
_LARGEST = 1 << 22
_WAIT = 5.0

Line = dict[str, "Any"]


def read(store: Store) -> list[Line]:
    """Return each call once, as last written; skip damaged lines."""
    found: dict[str, Line] = {}
    data = files.read_if_there(store.private_path(FILE), _LARGEST) or b""
    for text in data.splitlines():
        line = _parse(text)
        if line is not None:
            found[line["id"]] = line
    return list(found.values())


def _parse(text: bytes) -> Line | None:
    try:
        line = json_form.loads(text)
        is_whole = isinstance(line["id"], str) and seconds_of(line["at"]) > 0 and float(line["usd"]) >= 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return line if is_whole else None


def spent_today(store: Store) -> float:
    """Return the dollars spent on this local day, including reservations."""
    today = local_day(time.time())
    return sum(float(line["usd"]) for line in read(store) if local_day(seconds_of(line["at"])) == today)


def cap_of(store: Store) -> float:
    """Return the daily limit in dollars."""
    try:
        return max(0.0, float(store.setting(CAP) or DEFAULT_CAP))
    except ValueError:
        return DEFAULT_CAP


def reserve(store: Store, task: str, model: str, usd: float, tokens: int) -> Line:
    """Reserve the cost of a call from the rest of the day; refuse if the call is likely to cost more.

    `usd` and `tokens` are the expected cost of the call.
    """
    with store.locked(_WAIT):
        cap, spent = cap_of(store), spent_today(store)
        left = cap - spent
        if left < usd or left <= 0:
            raise ReflectError(
                f"the daily cap of ${cap:.2f} is reached: ${spent:.2f} was used today",
                f"press e to word it yourself, or raise the cap: reflect-git config {CAP} {max(1.0, cap * 2):.2f}",
                "cap",
            )
        now = utc()
        line = {
            "id": random_id("USE", now), "at": now, "task": task, "model": model, "state": RESERVED,
            "usd": round(min(MOST_A_CALL, left), 6), "expected": tokens,
        }  # fmt: skip
        _write(store, line)
    return line


def settle(store: Store, line: Line, state: str, **facts: Any) -> Line:
    """Write the actual cost of a reserved call."""
    settled = {**line, **facts, "state": state}
    with store.locked(_WAIT):
        _write(store, settled)
    return settled


def _write(store: Store, line: Line) -> None:
    """Write the line, and drop those older than 90 days. The caller holds the lock."""
    oldest = time.time() - _KEPT
    kept = {one["id"]: one for one in read(store) if seconds_of(one["at"]) > oldest}
    kept[line["id"]] = line
    data = b"".join(json_form.dumps(one) + b"\n" for one in kept.values())
    files.write_whole(store.private_path(FILE), data)
