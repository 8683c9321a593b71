"""What waits, in one look: counted once, kept in a file of five lines for those who may not take the time to count."""

from __future__ import annotations

import math
import os

from reflect_git.adapters import files
from reflect_git.model.ids import utc
from reflect_git.store import expiry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

SOON = 3
SETTLED, STRONG, WEAK = "settled", "strong", "weak"  # what a review makes of a signal
_SURE = 2
_MAIN = "refs/heads/main"
_OWN_WORDS = ("user_typed", "user_feedback")
_FIELDS = ("id", "type", "status", "trust", "confidence", "stored", "durable")


class Glance:
    """`going` says how many go on which of the next days, today being 0."""

    __slots__ = ("going", "last_capture", "said", "strong", "waiting")

    def __init__(
        self, waiting: int, strong: int, going: list[dict[str, int]], last_capture: Optional[str], said: int = 0
    ) -> None:  # fmt: skip
        self.waiting = waiting
        self.strong = strong
        self.said = said  # of the strong ones, what the user said
        self.going = going
        self.last_capture = last_capture


def count(store: Store, scan: Scan, now: float, judged: Mapping[str, str]) -> Glance:
    """Summaries are there to be read, and what is settled is asked about by no review: neither waits. What is strong
    says the review, too; of what was captured since, as well as one can tell of a signal alone."""
    columns = [scan.columns[field] for field in _FIELDS]
    waits = [row for row in zip(*columns) if row[2] == "captured" and row[1] != "summary"]
    captured = [dict(zip(_FIELDS, row)) for row in waits if judged.get(row[0]) != SETTLED]
    strong = [signal for signal in captured if judged.get(signal["id"], _likely(signal)) == STRONG]
    said = sum(signal["trust"] in _OWN_WORDS for signal in strong)
    last = max(scan.columns["stored"], default=None)
    return Glance(len(captured), len(strong), _going(store, captured, now), last, said)


def _likely(signal: Mapping[str, Any]) -> str:
    return STRONG if signal["confidence"] >= _SURE and signal["durable"] else WEAK


def _going(store: Store, captured: list[Any], now: float) -> list[dict[str, int]]:
    ttl, shown = expiry.lifetime(store), expiry.shown(store)
    counts: dict[int, int] = {}
    for signal in captured:
        left = (expiry.goes_on(signal, ttl, shown) - now) / expiry.DAY
        if left <= SOON:
            days = max(0, math.floor(left))
            counts[days] = counts.get(days, 0) + 1
    return [{"days": days, "count": counts[days]} for days in sorted(counts)]


def line(glance: Glance) -> str:
    """For the status line: `✎ 5 · 2 go today, 3 in 2 days`; nothing where nothing waits."""
    if not glance.waiting:
        return ""
    return " · ".join([f"✎ {glance.waiting}", *([going_said(glance.going)] if glance.going else [])])


def going_said(going: list[dict[str, int]]) -> str:
    """`2 go today, 5 in 3 days`."""
    words = {0: "today", 1: "tomorrow"}
    parts = [f"{day['count']} {words.get(day['days']) or 'in ' + str(day['days']) + ' days'}" for day in going]
    number, _, rest = parts[0].partition(" ")
    return ", ".join([f"{number} {'goes' if number == '1' else 'go'} {rest}", *parts[1:]])


def seen(store: Store) -> str:
    """The inbox branch and its tip. Taken before counting: what is captured meanwhile makes the count old."""
    from reflect_git.store import inbox

    ref = inbox.current(store)
    return f"{ref}\n{_tip(store, ref)}"


def keep(store: Store, glance: Glance, inbox_seen: str, now: float) -> None:
    """Five lines: the inbox branch, its tip, the day, what the user said, the line that hooks/statusline.py shows."""
    text = f"{inbox_seen}\n{utc(now)[:10]}\n{glance.said}\n{line(glance)}\n"
    try:
        files.write_whole(store.private_path("cache", "glance"), text.encode(), sync=False)
    except OSError:  # read-only or full: then it is counted each time
        pass


def keep_judged(store: Store, judged: Mapping[str, str]) -> None:
    """For those who may not take the time to find out what a review asks about: as main is now."""
    try:
        lines = (_tip(store, _MAIN), *(f"{identity} {word}" for identity, word in sorted(judged.items())))
        files.write_whole(store.private_path("cache", "judged"), "\n".join(lines).encode(), sync=False)
    except OSError:
        pass


def _judged(store: Store) -> Mapping[str, str]:
    """As somebody found out last; nothing if something was decided since, which may have opened it again."""
    tip, *listed = (files.read_if_there(store.private_path("cache", "judged"), 1 << 23) or b"").decode().split("\n")
    is_now = bool(tip) and tip == _tip(store, _MAIN)
    told = (line.partition(" ") for line in (listed if is_now else ()))
    return {identity: word for identity, _, word in told}


def _tip(store: Store, ref: str) -> str:
    """As the loose ref says; empty while it is packed. Only whether it changed is of interest."""
    return (files.read_if_there(os.path.join(store.git_dir, *ref.split("/"))) or b"").decode("ascii", "replace").strip()


def refresh(store: Store, now: float) -> None:
    """Count again; for processes that nobody waits for."""
    from reflect_git.store import reading

    before = seen(store)
    keep(store, count(store, reading.scan(store), now, _judged(store)), before, now)


def own_words_waiting(store: Store) -> int:
    """How many strong ones in the user's own words waited when somebody last counted."""
    lines = (files.read_if_there(store.private_path("cache", "glance")) or b"").decode("utf-8", "replace").split("\n")
    return int(lines[3]) if len(lines) > 4 and lines[3].isdigit() else 0
