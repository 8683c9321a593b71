"""What calls to Claude cost, a line each in `.git/reflect/usage.jsonl`: numbers and names of models, never a text.

A call is reserved before it is made and settled after it. A reservation of a killed process counts in full that day.
"""

from __future__ import annotations

import time

from reflect_git.adapters import files, jsontext
from reflect_git.errors import ReflectError
from reflect_git.model.ids import local_day, random_id, seconds_of, utc

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
    """Return each call once, as it was last written; damaged lines are skipped."""
    found: dict[str, Line] = {}
    data = files.read_if_there(store.private_path(FILE), _LARGEST) or b""
    for text in data.splitlines():
        line = _parse(text)
        if line is not None:
            found[line["id"]] = line
    return list(found.values())


def _parse(text: bytes) -> Line | None:
    try:
        line = jsontext.loads(text)
        is_whole = isinstance(line["id"], str) and seconds_of(line["at"]) > 0 and float(line["usd"]) >= 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return line if is_whole else None


def spent_today(store: Store) -> float:
    """Return the dollars of this local day, reservations included."""
    today = local_day(time.time())
    return sum(float(line["usd"]) for line in read(store) if local_day(seconds_of(line["at"])) == today)


def cap_of(store: Store) -> float:
    """Return how many dollars a day may cost."""
    try:
        return max(0.0, float(store.setting(CAP) or DEFAULT_CAP))
    except ValueError:
        return DEFAULT_CAP


def reserve(store: Store, task: str, model: str, usd: float, tokens: int) -> Line:
    """Take what a call may cost from what is left of the day; refused if the call is likely to cost more than that.

    `usd` and `tokens` are what the call is expected to take.
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
    """Write what a reserved call really took."""
    settled = {**line, **facts, "state": state}
    with store.locked(_WAIT):
        _write(store, settled)
    return settled


def _write(store: Store, line: Line) -> None:
    """Put the line in, and drop those that are older than 90 days. The caller holds the lock."""
    oldest = time.time() - _KEPT
    kept = {one["id"]: one for one in read(store) if seconds_of(one["at"]) > oldest}
    kept[line["id"]] = line
    data = b"".join(jsontext.dumps(one) + b"\n" for one in kept.values())
    files.write_whole(store.private_path(FILE), data)
