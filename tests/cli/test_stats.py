"""`stats` counts records."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import RunCli


def test_stats_counts_by_status_type_and_category(run_cli: RunCli, store_home: Path) -> None:
    run_cli("capture", "--type", "gotcha", "--content", "the cache lies", "--category", "gotcha")
    run_cli("capture", "--type", "gotcha", "--content", "the port is taken")
    run_cli("capture", "--type", "command", "--content", "make check")
    assert run_cli("stats", "--json").json()["data"] == {
        "total": 3,
        "summaries": 0,
        "status": {"captured": 3},
        "type": {"command": 1, "gotcha": 2},
        "category": {"command": 1, "gotcha": 2},
        "learnings": 0,
    }
    lines = run_cli("stats").out.splitlines()
    assert lines[0] == "3 signals, 0 rules in force"
    assert lines.index("       2  gotcha") < lines.index("       1  command")


def test_signals_are_what_can_be_reviewed_whoever_counts_them(run_cli: RunCli, store_home: Path) -> None:
    """The summary of a session is counted separately."""
    run_cli("capture", "--type", "gotcha", "--content", "the cache lies")
    for content in ("the cache was mended", "the port was freed"):
        run_cli("capture", "--type", "summary", "--content", content)
    counted = run_cli("stats", "--json").json()["data"]
    assert (counted["total"], counted["summaries"]) == (1, 2)
    assert [counted[field] for field in ("status", "type", "category")] == [
        {"captured": 1},
        {"gotcha": 1},
        {"gotcha": 1},
    ]
    assert run_cli("stats").out.startswith("1 signal, 2 session summaries, 0 rules in force\n")
    assert "1 signal, 2 session summaries, 0 approved rules" in run_cli("doctor").out
    assert run_cli("status", "--json").json()["data"]["waiting"] == 1


def test_stats_of_nothing_is_one_line(run_cli: RunCli, store_home: Path) -> None:
    assert "no store at" in run_cli("stats").err and not store_home.exists()
    run_cli("init")
    assert run_cli("stats").out == "0 signals, 0 rules in force\n"
