"""Figures per week, the picture, and the search for the approval behind a change, on a store with a known story."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reflect_git.candidates.session_events import RecordedSession
from reflect_git.effect import chart, trend
from reflect_git.effect.scores import load_scores
from reflect_git.effect.trend import Week
from reflect_git.records.history import session_hash
from reflect_git.records.ids import parse_utc, utc
from reflect_git.store import api
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.store.store_checks import open_store

BY: Any = {"road": "terminal", "name": "Ada", "email": "ada@example.org"}
RULES = ["LRN-20260105-aaaaaaa1", "LRN-20260105-aaaaaaa2", "LRN-20260105-aaaaaaa3"]
WEEK = 7 * 86400
NOW = parse_utc(utc())
NO_SCORES: Any = {}


def session(start: str, typed: int = 10, **figures: Any) -> RecordedSession:
    return RecordedSession(start, "p", "m", "2.1", frozenset(), frozenset(), typed=typed, **figures)


def test_a_week_begins_on_monday_and_the_last_one_is_running() -> None:
    assert trend.get_monday("2026-03-16T00:00:00Z") == trend.get_monday("2026-03-22T23:59:59Z") == "2026-03-16"
    assert trend.get_monday("2026-03-15T23:59:59Z") == "2026-03-09"
    assert trend.list_weeks("2026-03-18T10:00:00Z", 3) == ["2026-03-02", "2026-03-09", "2026-03-16"]


def test_figures_are_for_each_hundred_typed_messages() -> None:
    sessions = [
        session("2026-03-09T10:00:00Z", 30, corrections=3, failures=6, interruptions=1, tokens=600),
        session("2026-03-12T10:00:00Z", 10, corrections=1),
        session("2026-03-17T10:00:00Z", 0),
        session("2026-01-17T10:00:00Z", 50, corrections=50),
    ]
    first, second = trend.count_weeks(sessions, (), NO_SCORES, ["2026-03-09", "2026-03-16"])
    assert (first.sessions, first.typed, first.corrections) == (2, 40, 4)
    assert [first.get_rate(name) for name in trend.FIGURES] == [10.0, 15.0, 2.5, 2000.0]
    assert [second.get_rate(name) for name in trend.FIGURES] == [None] * 4


def test_a_week_has_the_mean_scores_of_its_sessions() -> None:
    records = [
        {"id": f"EVL-2026-{at}", "session": name, "timestamp": f"2026-03-1{at}T10:00:00Z", "overall": overall,
         "scores": {"tone": overall}, "anchored": True, "judge": {"kind": "claude"}}
        for at, (name, overall) in enumerate([("a", 1.0), ("a", 4.0), ("b", 3.0), ("c", None)])
    ]  # fmt: skip
    scores = load_scores([*records, {"id": "EXP-1", "session": "z"}])
    assert {name: one.overall for name, one in scores.items()} == {"a": 4.0, "b": 3.0}, "the last one counts"
    sessions = [session("2026-03-09T10:00:00Z", name=name) for name in ("a", "b", "c")]
    (week,) = trend.count_weeks(sessions, (), scores, ["2026-03-09"])
    assert (week.scored, week.score, week.criteria) == (2, 3.5, {"tone": 3.5})


@pytest.mark.parametrize(
    ("values", "line"),
    [([0.0, 1.0, None, 8.0], "▁▂ █"), ([], ""), ([None], " "), ([0.0, 0.0], "▁▁"), ([5.0, 5.0], "██")],
)
def test_a_line_of_blocks_begins_at_zero(values: list[float | None], line: str) -> None:
    assert chart.build_sparkline(values) == line


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0.0"), (99.96, "100"), (1234.0, "1234"), (9999.6, "10k"), (999_960.0, "1.0M")],
)
def test_figures_take_five_characters_at_most(value: float | None, text: str) -> None:
    assert chart.format_rate(value) == text


def week(start: str, corrections: int = 4, typed: int = 50, approvals: int = 0) -> Week:
    return Week(start, 5, typed, corrections, 9, 1, 40_000, typed, approvals, approvals, 0, 0, None, {})


def test_the_picture_has_a_panel_for_each_figure_and_a_gap_for_an_empty_week() -> None:
    mondays = trend.list_weeks("2026-03-18T10:00:00Z", 5)
    weeks = [week(day, typed=0 if at == 2 else 50, approvals=2 * (at == 1)) for at, day in enumerate(mondays)]
    root = ElementTree.fromstring(chart.build_svg(weeks, trend.FIGURES))
    kinds = [one.get("class") for one in root.iter()]
    assert kinds.count("line") == 2 * len(trend.FIGURES), "the line is interrupted"
    assert kinds.count("dot") == 4 * len(trend.FIGURES)
    assert kinds.count("mark") == len(trend.FIGURES)
    said = [one.text for one in root.iter() if one.tag.endswith("text")]
    assert {"2", "16 Feb", "16 Mar", "corrections per 100 messages"} <= set(said)
    assert root.get("width") == "600"
    assert all(0 <= float(one.get("cx", "0")) <= 600 for one in root.iter())


def test_the_picture_of_the_readme_is_the_one_that_its_script_draws() -> None:
    from docs import trend_picture

    assert Path("docs/trend.svg").read_text() == trend_picture.draw()


@pytest.fixture
def story(store_home: Path) -> Store:
    """Ten sessions a week for eight weeks; corrections are rare until the second rule."""
    store = open_store(store_home)
    dice = random.Random("story")
    records: list[Any] = []
    starts = [utc(NOW - 8 * WEEK + at * WEEK / 10) for at in range(80)]
    for at, start in enumerate(starts):
        corrections = dice.choice([0, 0, 1]) if at < 40 else dice.choice([3, 4, 5])
        records.append({
            "id": f"EXP-20260301-{at:08d}", "version": 1, "session": session_hash(f"s{at}"), "project": None,
            "start": start, "end": start, "turns": 20, "typed": 10, "corrections": corrections, "failures": {"Bash": 2},
            "interruptions": 0, "model": "m", "client": "2.1.0", "attended": True, "rules": {}, "hits": {},
        })  # fmt: skip
    for rule, at in zip(RULES, (20, 40, 60), strict=True):
        now = utc(parse_utc(starts[at]) - 60).replace("Z", ".000Z")
        target: Any = {"kind": "global", "path": "CLAUDE.md"}
        made = api.build_decision(store, "approved", rule, BY, now, text=f"Rule {at}.", key=f"k{at}", target=target)
        records += [made, {
            "id": rule, "version": 1, "timestamp": now, "text": f"Rule {at}.", "title": f"Rule {at}",
            "category": "convention", "scope": "global", "project": None, "target": target, "topic": None, "paths": [],
            "signals": [], "decision": made["id"], "supersedes": [], "reason": "", "trust": "user_typed",
            "matcher": None, "meta": {},
        }]  # fmt: skip
    lines = [["k40", "correction", "", starts[at][:10], session_hash(f"s{at}"), "user_typed"] for at in range(40, 80)]
    records.append({"id": "TLY-20260320-00000001", "version": 1, "machine": store.machine, "day": "2026-03-20",
                    "lines": lines})  # fmt: skip
    api.commit_records(store, records, "record: eight weeks", {})
    return store


def test_trend_counts_every_session_once(story: Store, run_cli: RunCli) -> None:
    weeks = run_cli("trend", "--weeks", "10", "--json").json()["data"]["weeks"]
    assert len(weeks) == 10
    assert sum(one["sessions"] for one in weeks) == 80
    assert sum(one["approvals"] for one in weeks) == 3
    full = [one for one in weeks if one["sessions"] == 10]
    assert all(one["per_100"]["failures"] == 20.0 and one["per_100"]["tokens"] is None for one in full)
    assert full[-1]["per_100"]["corrections"] > 30 > 10 > full[0]["per_100"]["corrections"]


def test_trend_in_words_has_a_line_of_blocks_and_a_table(story: Store, run_cli: RunCli, tmp_path: Path) -> None:
    picture = tmp_path / "trend.svg"
    done = run_cli("trend", "--weeks", "10", "--svg", str(picture))
    lines = done.out.splitlines()
    assert lines[0] == "per 100 of your messages, 10 weeks: 80 sessions, 800 messages, 3 rules approved"
    assert lines[2].startswith("corrections    ") and "█" in lines[2]
    assert not any(line.startswith("tokens") for line in lines), "no session recorded them"
    assert len([line for line in lines if line[:3] == "202"]) == 10
    assert ElementTree.parse(picture).getroot().get("width") == "600"
    assert "wrote" in done.err


def test_a_picture_that_cannot_be_written_is_one_sentence(story: Store, run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("trend", "--svg", str(tmp_path / "no" / "trend.svg"))
    assert done.code == 1
    assert "no such file or directory" in done.err


def test_bisect_names_the_approval_after_which_corrections_rose(story: Store, run_cli: RunCli) -> None:
    found = run_cli("bisect", "--json").json()["data"]
    assert (found["metric"], found["sessions"], found["changes"], found["is_clear"]) == ("corrections", 80, 3, True)
    assert [one["learnings"] for one in found["suspects"]] == [[RULES[1]]]
    said = run_cli("bisect").out
    assert said.startswith("corrections became more: more than 1000 times more likely than no change, in 80 sessions")
    assert RULES[1] in said and RULES[0] not in said


def test_bisect_by_the_need_of_one_rule(story: Store, run_cli: RunCli) -> None:
    for name in (RULES[1], "k40"):
        found = run_cli("bisect", "--metric", name, "--json").json()["data"]
        assert found["is_clear"] and [one["learnings"] for one in found["suspects"]] == [[RULES[1]]]
    quiet = run_cli("bisect", "--metric", RULES[0])
    assert quiet.out.startswith(f"no evidence that sessions that needed {RULES[0]} became more after one of 3 changes")


def test_bisect_by_scores_needs_scores(story: Store, run_cli: RunCli) -> None:
    done = run_cli("bisect", "--metric", "score")
    assert done.code == 1 and "no session has a score" in done.err and "--metric corrections" in done.err
    assert run_cli("bisect", "--metric", "LRN-20300101-00000000").code == 1


@pytest.mark.parametrize("command", ["trend", "bisect"])
def test_without_a_store_there_is_nothing_to_show(command: str, run_cli: RunCli, home: Path) -> None:
    assert "no store" in run_cli(command).err
    assert json.loads(run_cli(command, "--json").out)["data"]
    assert not (home / ".claude" / "reflections").exists()


def test_versions_have_the_figures_and_scores_of_the_sessions_that_loaded_them() -> None:
    sessions = [
        session("2026-03-09T10:00:00Z", 30, corrections=3, name="a", versions={"CLAUDE.md": 1, "global/CLAUDE.md": 4}),
        session("2026-03-10T10:00:00Z", 10, corrections=3, name="b", versions={"CLAUDE.md": 1}),
        session("2026-03-11T10:00:00Z", 20, corrections=1, name="c", versions={"CLAUDE.md": 2}),
        session("2026-03-12T10:00:00Z", 20, corrections=9, name="d"),
    ]
    records = [
        {"id": f"EVL-2026-{name}", "session": name, "timestamp": "2026-03-13T10:00:00Z", "overall": score,
         "scores": {"tone": score}, "anchored": True, "judge": {"kind": "claude"}}
        for name, score in (("a", 2.0), ("b", 3.0), ("d", 1.0))
    ]  # fmt: skip
    found = trend.count_versions(sessions, load_scores(records))
    assert [(one.project, one.path, one.version) for one in found] == [
        ("", "global/CLAUDE.md", 4), ("p", "CLAUDE.md", 1), ("p", "CLAUDE.md", 2),
    ]  # fmt: skip
    first, second = found[1].figures, found[2].figures
    assert (first.sessions, first.get_rate("corrections"), first.score, first.criteria) == (2, 15.0, 2.5, {"tone": 2.5})
    assert (second.sessions, second.get_rate("corrections"), second.score) == (1, 5.0, None)
    told = found[1].as_json()
    assert (told["target"], told["version"], told["per_100"]["corrections"], told["criteria"]) == (
        "CLAUDE.md", 1, 15.0, {"tone": 2.5},
    )  # fmt: skip


def add_scored_sessions(store: Store) -> None:
    records: list[Any] = []
    for at in range(4):
        when, name = utc(NOW - 3600 * (8 - at)), session_hash(f"scored {at}")
        records.append({
            "id": f"EXP-20260302-{at:08d}", "version": 2, "session": name, "project": None, "start": when, "end": when,
            "turns": 20, "typed": 10, "corrections": 4 - at, "failures": {}, "interruptions": 0, "model": "m",
            "client": "2.1.0", "attended": True, "rules": {}, "hits": {},
            "versions": {"global/CLAUDE.md": 1 + at // 2}, "guards": {},
            "tokens": {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0}, "skills": {},
            "loaded": "instructions",
        })  # fmt: skip
        records.append({
            "id": f"EVL-20260302-{at:08d}", "version": 1, "timestamp": when, "machine": store.machine, "session": name,
            "project": None, "messages": {"first": 1, "last": 9, "count": 9}, "versions": {"global/CLAUDE.md": 1},
            "rules": [], "scores": {"tone": 2 + at // 2, "missed_opportunities": 3}, "overall": 2 + at // 2,
            "recommendation": "keep", "judge": {"kind": "claude", "model": "m", "rubric_sha": "1", "prompt_sha": "2"},
            "usage": {"input": 1, "output": 1, "usd": 0.0}, "anchored": True, "meta": {},
        })  # fmt: skip
    api.commit_records(store, records, "record: scored sessions", {})


def test_trend_by_version_and_the_scores_of_weeks(story: Store, run_cli: RunCli) -> None:
    assert "no session recorded which version" in run_cli("trend", "--by-version").err
    add_scored_sessions(story)
    one, two = run_cli("trend", "--by-version", "--json").json()["data"]["versions"]
    assert [(row["version"], row["sessions"], row["per_100"]["corrections"]) for row in (one, two)] == [
        (1, 2, 35.0), (2, 2, 15.0),
    ]  # fmt: skip
    said = run_cli("trend", "--by-version").out.split("\n")
    assert said[0] == "global/CLAUDE.md, for each 100 of your messages"
    assert [line.split()[:4] for line in said[2:4]] == [["v1", "2", "20", "35.0"], ["v2", "2", "20", "15.0"]]
    weeks = run_cli("trend", "--weeks", "10").out
    assert "tone" in weeks and "missed " in weeks and "of 5" in weeks and "\nversions " in weeks
    assert run_cli("trend", "--by-version", "--svg", "x.svg").code == 2
