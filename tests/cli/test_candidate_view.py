"""How a candidate is described."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import click
import pytest

from reflect_git.candidates.candidate import format_backtest
from reflect_git.cli.context import display_width
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.candidate_view import wrap
from reflect_git.records.ids import local_day, parse_utc, utc
from tests.conftest import SetZone


def _candidate(sessions_ago: int | None, last_seen: str = "2026-02-01T10:00:00Z") -> Any:
    return SimpleNamespace(sessions_ago=sessions_ago, last_seen=last_seen)


def test_sessions_are_counted_back_from_the_last() -> None:
    assert candidate_view.format_last_seen(_candidate(0)) == "from the last session"
    assert candidate_view.format_last_seen(_candidate(1)) == "from 2 sessions ago"


@pytest.mark.parametrize(("tier", "said"), [("strong", "medium"), ("weak", "low")])
def test_a_weak_one_has_low_confidence_whoever_said_it(tier: str, said: str) -> None:
    candidate: Any = SimpleNamespace(
        trust="user_typed", quote="tabs", confidence=2, sessions=1, tier=tier, dismissed_before=None, backtest=None,
        similar=(), conflicts_with=(),
    )  # fmt: skip
    assert f"  confidence    {said} (seen in 1 session)" in map(click.unstyle, candidate_view.format_facts(candidate))


def test_what_was_typed_by_hand_has_an_age() -> None:
    assert candidate_view.format_last_seen(_candidate(None, utc(time.time() - 3 * 86400))) == "from 3 days ago"


@pytest.mark.parametrize(
    ("backtest", "said"),
    [
        ({"applied": 0, "days": 0, "last": None}, "no past session to test it on"),
        ({"applied": 0, "days": 1, "last": None}, "no match in the last day"),
        (
            {"applied": 14, "days": 60, "last": {"timestamp": "2026-02-03T11:30:00Z", "value": "npm install"}},
            "14 matches in the last 60 days; last: `npm install` on 2026-02-03",
        ),
    ],
)
def test_a_backtest_in_words(set_zone: SetZone, backtest: dict[str, Any], said: str) -> None:
    set_zone("UTC")
    assert format_backtest(backtest) == said


@pytest.mark.parametrize(
    ("zone", "now", "moment", "said"),
    [
        ("UTC", "2026-11-19T00:03:00Z", "2026-11-18T23:55:00Z", "on Wednesday"),
        ("Pacific/Kiritimati", "2026-11-19T00:03:00Z", "2026-11-18T23:55:00Z", "today"),
        ("Pacific/Kiritimati", "2026-11-18T10:03:00Z", "2026-11-18T09:55:00Z", "on Wednesday"),
        ("Etc/GMT+12", "2026-11-19T11:58:00Z", "2026-11-18T12:02:00Z", "today"),
        ("UTC", "2026-11-19T10:00:00Z", "2026-11-12T11:00:00Z", "on 2026-11-12"),  # also a Thursday
        ("Europe/Berlin", "2026-10-25T22:30:00Z", "2026-10-24T22:30:00Z", "today"),  # a day of 25 hours
        ("Pacific/Kiritimati", "2026-11-19T00:03:00Z", "2026-02-03T11:30:00Z", "on 2026-02-04"),
    ],
)
def test_the_last_call_was_on_a_day_where_the_person_is(
    set_zone: SetZone, monkeypatch: pytest.MonkeyPatch, zone: str, now: str, moment: str, said: str
) -> None:
    set_zone(zone)
    monkeypatch.setattr("time.time", lambda: parse_utc(now))
    assert format_backtest({"applied": 1, "days": 1, "last": {"timestamp": moment, "value": "npm ci"}}).endswith(said)


def test_a_day_of_this_week_has_its_name() -> None:
    yesterday = time.time() - 86400
    if local_day(yesterday) == local_day(time.time()):  # clocks went back: a day of 25 hours
        yesterday -= 7200
    told = format_backtest({"applied": 1, "days": 2, "last": {"timestamp": utc(yesterday), "value": "npm ci"}})
    name = time.strftime("%A", time.localtime(yesterday))
    assert told == f"1 match in the last 2 days; last: `npm ci` on {name}"


def test_the_day_it_is_has_no_name() -> None:
    told = format_backtest({"applied": 1, "days": 1, "last": {"timestamp": utc(time.time()), "value": "npm ci"}})
    assert told.endswith("; last: `npm ci` today")


@pytest.mark.parametrize("text", ["a" * 30, "one two three four five", "請使用正體中文撰寫", "a é 瞭 " * 9, ""])
def test_nothing_is_lost_when_lines_are_broken(text: str) -> None:
    lines = wrap(text, 10)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(display_width(line) <= 10 for line in lines)


def test_a_way_out_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    command = "reflect-git approve SIG-20260211-7k3v9q2m --to project --supersedes LRN-20260211-4c8d2a1f"
    lines = click.unstyle(candidate_view.format_way_out(f"to replace it: {command}", "red")).split("\n")
    assert lines == [f"{'':16}→ to replace it:", f"{'':16}{command}"]
