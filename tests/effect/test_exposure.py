"""Counts from histories: cells, loaded rules, episodes, looks; and verdicts on invented users whose truth is known."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from reflect_git.effect import verdict
from reflect_git.effect.exposure import Approval, Record, Session, find_episodes
from reflect_git.effect.verdict import Case, Controls, Count
from tests.conftest import RunCli

RULE = "LRN-20260301-00000001"


def sessions(projects: str, loaded: range = range(0), setups: str = "") -> list[Session]:
    held = frozenset([RULE])
    return [
        Session(project, setups[at] if setups else "model", held if at in loaded else frozenset())
        for at, project in enumerate(projects)
    ]


def count(record: Record, now: int | None = None) -> Case:
    ((_, found, _),) = record.judge_all(now)[0]
    return found


def test_the_cell_is_the_one_project_where_it_was_seen() -> None:
    found = count(Record(sessions("abababab", range(4, 8)), [Approval(RULE, 4, [0, 2, 6, 7], "")], {}))
    assert (found.before, found.after) == (Count(2, 2), Count(1, 2))


def test_the_cell_is_everything_if_it_was_seen_in_two_projects() -> None:
    found = count(Record(sessions("abababab", range(4, 8)), [Approval(RULE, 4, [0, 1, 6, 7], "")], {}))
    assert (found.before, found.after) == (Count(2, 4), Count(2, 4))


def test_the_cell_is_that_of_the_rule_if_it_was_not_seen_before() -> None:
    found = count(Record(sessions("abababab", range(4, 8)), [Approval(RULE, 4, [6], "a")], {}))
    assert (found.before, found.after) == (Count(0, 2), Count(1, 2))


def test_after_the_approval_only_sessions_that_loaded_the_rule_count() -> None:
    found = count(Record(sessions("aaaaaaaa", range(5, 7)), [Approval(RULE, 4, [0, 4, 6, 7], "")], {}))
    assert (found.before, found.after) == (Count(1, 4), Count(1, 2))


def test_stored_counts_are_used_if_they_know_more_sessions() -> None:
    for stored, wanted in ((Count(5, 30), Count(5, 30)), (Count(1, 2), Count(2, 4))):
        record = Record(sessions("aaaaaaaa", range(4, 8)), [Approval(RULE, 4, [0, 2], "", stored)], {})
        assert count(record).before == wanted


def test_controls_are_summed_for_each_cell() -> None:
    keys = {"one": [0, 2, 6], "two": [4], "both": [1, 2, 7]}
    found = count(Record(sessions("abababab", range(4, 8)), [Approval(RULE, 4, [0, 2], "")], keys))
    assert sorted(found.controls) == [Controls(2, 1, 4, 4), Controls(2, 2, 2, 2)]


def test_a_look_knows_nothing_of_later_sessions() -> None:
    record = Record(sessions("a" * 12, range(4, 12)), [Approval(RULE, 4, [0, 2, 5, 9], "")], {"key": [1, 8]})
    found = count(record, 7)
    assert (found.before, found.after, list(found.controls)) == (Count(2, 4), Count(1, 3), [Controls(1, 0, 4, 3)])
    assert record.judge_all(3)[0] == [], "it was not approved yet"


def test_the_three_sessions_after_an_event_are_not_at_risk() -> None:
    at_risk, episodes = find_episodes(range(12), [1, 3, 9])
    assert (at_risk, episodes) == ([0, 1, 7, 8, 9], [1, 9])


def test_episodes_are_counted_from_the_first_event_and_across_the_approval() -> None:
    found = count(Record(sessions("a" * 14, range(6, 14)), [Approval(RULE, 6, [2, 5, 7, 13], "")], {}))
    assert found.since_first == Count(2, 4)
    assert (found.episodes_before, found.episodes_after) == (Count(1, 1), Count(1, 3))


def test_another_model_in_the_cell_widens_the_drift() -> None:
    for projects, wanted in (("aaaaaa", True), ("aaabbb", False)):
        record = Record(sessions(projects, range(3, 6), "xxxyyy"), [Approval(RULE, 3, [0], "")], {})
        assert count(record).is_mixed is wanted


def _user(dice: random.Random, effect: float) -> Record:
    """Return 160 sessions of a user with 25 habits; a rule is approved after the second time, and has this effect."""
    approvals, keys, loaded = [], {}, [set[str]() for _ in range(160)]
    for number in range(25):
        rate, start, events = dice.gammavariate(0.8, 0.08), 0, list[int]()
        for at in range(160):
            if dice.random() < rate * (effect if start else 1.0):
                events.append(at)
            if start:
                loaded[at].add(f"rule {number}")
            elif len(events) == 2 and number % 3:
                start = at + 1
        if start:
            approvals.append(Approval(f"rule {number}", start, events, "shop"))
        else:
            keys[f"key {number}"] = events
    return Record([Session("shop", "model", frozenset(one)) for one in loaded], approvals, keys)


def _share_of(wanted: str, effect: float, users: int = 12) -> float:
    """Return the share of rules that had this verdict at any look."""
    dice, found, total = random.Random(f"users {effect}"), set(), set()
    for user in range(users):
        record = _user(dice, effect)
        for now in range(20, 161, 20):
            for one in record.judge_all(now)[0]:
                total.add((user, one.learning))
                if one.verdict.verdict == wanted:
                    found.add((user, one.learning))
    return len(found) / len(total)


def test_a_rule_without_effect_is_rarely_called_helping_or_harmful() -> None:
    assert _share_of(verdict.HELPING, 1.0) <= 0.06
    assert _share_of(verdict.HARMFUL, 1.0) <= 0.06
    assert _share_of(verdict.RECURRING, 1.0) >= 0.25


def test_a_rule_that_works_is_often_called_helping_and_never_recurring() -> None:
    assert _share_of(verdict.HELPING, 0.0) >= 0.4
    assert _share_of(verdict.RECURRING, 0.0) == 0.0


def _write_history(folder: Path) -> None:
    project = {"key": "git.example.org/bakery", "name": "bakery"}
    lines: dict[str, list[dict[str, Any]]] = {"exposures": [], "approvals": [], "events": []}
    for at in range(25):
        rules = {"CLAUDE.md": [RULE]} if at >= 12 else {}
        hits = {"LRN-2": 1} if at in (3, 9) else {}
        moment = f"2026-03-{at + 1:02d}T09:00:00Z"
        lines["exposures"].append({
            "session": f"s{at}", "project": project, "start": moment, "model": "m", "rules": rules, "hits": hits,
        })  # fmt: skip
    events = [("oven", 2), ("oven", 7), ("flour", 4), ("flour", 20), ("oven", 15)]
    lines["events"] = [{"session": f"s{at}", "key": key, "count": 1} for key, at in events]
    for learning, key, last, matcher in ((RULE, "oven", 11, None), ("LRN-2", "tins", 14, {"tool": "Bash"})):
        lines["approvals"].append({
            "learning": learning, "key": key, "after_session": f"s{last}", "project": project, "matcher": matcher,
            "timestamp": f"2026-03-{last + 1:02d}T10:00:00Z",
        })  # fmt: skip
    folder.mkdir(parents=True)
    for name, listed in lines.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in listed), encoding="utf-8")


def test_the_command_looks_at_histories_in_a_folder(run_cli: RunCli, tmp_path: Path) -> None:
    _write_history(tmp_path / "plain" / "u000")
    looks = run_cli("effect", "--from", str(tmp_path), "--every", "10", "--json").json()["data"]["looks"]
    assert [(look["history"], look["at"]) for look in looks] == [("plain/u000", at) for at in (10, 20, 25)]
    assert [len(look["learnings"]) for look in looks] == [0, 2, 2]
    assert looks[0]["pooled"] is None
    first, second = looks[2]["learnings"]
    counts = ("sessions_before", "events_before", "sessions_after", "events_after")
    assert [first[name] for name in counts] == [12, 2, 13, 1]
    assert [second[name] for name in counts] == [15, 2, 0, 0], "with a matcher, its hits are the events"
    assert (second["ratio"], second["interval"]) == (None, [0.0, None])


def test_a_folder_without_a_history_is_an_error(run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("effect", "--from", str(tmp_path), "--json")
    assert (done.code, done.json()["error"]["code"]) == (2, "usage")
    assert run_cli("effect", "--from", str(tmp_path)).code == 2
