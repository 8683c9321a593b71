"""How a candidate is told in words."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from reflect_git.cli import portrait
from reflect_git.cli.front import columns
from reflect_git.cli.portrait import Sessions, wrap
from reflect_git.model.ids import utc
from reflect_git.store.fold import session_hash


def _candidate(signal: str, last_seen: str) -> Any:
    return SimpleNamespace(signals=(signal,), last_seen=last_seen)


def _scan(rows: list[tuple[str, str, str]], *exposures: tuple[str, str]) -> Any:
    ids, sessions, times = map(list, zip(*rows, strict=True))
    others = {
        f"EXP-{number}": {"session": session_hash(name), "start": start}
        for number, (name, start) in enumerate(exposures)
    }
    return SimpleNamespace(columns={"id": ids, "session_id": sessions, "timestamp": times}, others=others)


def test_sessions_are_counted_back_from_the_last() -> None:
    scan = _scan(
        [
            ("SIG-1", "a", "2026-02-01T10:00:00Z"), ("SIG-2", "a", "2026-02-01T11:00:00Z"),
            ("SIG-3", "b", "2026-02-02T10:00:00Z"),
        ],
        ("c", "2026-02-03T10:00:00Z"), ("b", "2026-02-02T09:00:00Z"),
    )  # fmt: skip
    sessions = Sessions(scan)
    assert sessions.ago(_candidate("SIG-2", "2026-02-01T11:00:00Z")) == "from 3 sessions ago"
    assert sessions.ago(_candidate("SIG-3", "2026-02-02T10:00:00Z")) == "from 2 sessions ago"


def test_the_newest_is_of_the_last_session() -> None:
    scan = _scan([("SIG-1", "a", "2026-02-01T10:00:00Z"), ("SIG-2", "b", "2026-02-02T10:00:00Z")])
    assert Sessions(scan).ago(_candidate("SIG-2", "2026-02-02T10:00:00Z")) == "from the last session"


def test_what_was_typed_by_hand_has_an_age() -> None:
    moment = utc(time.time() - 3 * 86400)
    assert Sessions(_scan([("SIG-1", "", moment)])).ago(_candidate("SIG-1", moment)) == "from 3 days ago"


@pytest.mark.parametrize(
    ("backtest", "said"),
    [
        ({"applied": 0, "days": 0, "last": None}, "no past session to try it on"),
        ({"applied": 0, "days": 1, "last": None}, "would not have applied once in 1 day"),
        (
            {"applied": 14, "days": 60, "last": {"timestamp": "2026-02-03T10:00:00Z", "value": "npm install"}},
            "would have applied 14 times in 60 days; last: `npm install` on 2026-02-03",
        ),
    ],
)
def test_a_backtest_in_words(backtest: dict[str, Any], said: str) -> None:
    assert portrait.tested(backtest) == said


def test_a_day_of_this_week_has_its_name() -> None:
    yesterday = time.time() - 86400
    told = portrait.tested({"applied": 1, "days": 2, "last": {"timestamp": utc(yesterday), "value": "npm ci"}})
    name = time.strftime("%A", time.localtime(yesterday))
    assert told == f"would have applied 1 time in 2 days; last: `npm ci` on {name}"


@pytest.mark.parametrize("text", ["a" * 30, "one two three four five", "請使用正體中文撰寫", "a é 瞭 " * 9, ""])
def test_nothing_is_lost_when_lines_are_broken(text: str) -> None:
    lines = wrap(text, 10)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(columns(line) <= 10 for line in lines)
