"""`reflect-git effect` on a store with 60 invented sessions, whose verdicts are computed here by hand.

Two of three sessions are in the bakery, the third is in the mill. Four rules are approved: one works, one is ignored,
one has not been loaded often enough, and one was never broken.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.effect import from_store, table
from reflect_git.records import schema
from reflect_git.records.history import session_hash
from reflect_git.records.ids import get_signal_id, parse_utc
from reflect_git.store import api, append
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.effect import by_hand
from tests.effect.by_hand import Control, Key
from tests.store.store_checks import open_store

BAKERY, MILL = ({"key": f"git.example.org/{name}", "name": name} for name in ("bakery", "mill"))
OVEN, FLOUR, YEAST, SALT = (f"LRN-2026031{day}-0000000{day}" for day in (2, 3, 5, 6))
BY: Any = {"road": "terminal", "name": "Ada", "email": "ada@example.com"}
# Key → sessions in which the person said it.
SAID = {
    "oven": [0, 4, 9, 13, 18, 21],
    "flour": [1, 2, 10, 14, 19, 25, 29, 31, 35, 38, 41, 44, 47, 53, 57],
    "yeast": [5, 17],
    "sugar": [3, 8, 12, 26, 33, 44],
    "eggs": [6, 7, 27, 40, 52],
    "milk": [11, 38, 56],
}
EXPIRED = 20  # sessions whose signals are only tally lines by now


def moment(at: int, minute: int = 0) -> str:
    return f"2026-03-{at // 2 + 1:02d}T{9 + at % 2 * 6:02d}:{minute:02d}:00Z"


def session(at: int) -> str:
    return f"5e55{at:04d}-0000-4000-8000-000000000000"


def project(at: int) -> dict[str, str]:
    return MILL if at % 3 == 2 else BAKERY


def exposure(at: int, name: str = "", **more: Any) -> dict[str, Any]:
    loaded = {
        OVEN: at >= 24 and project(at) is BAKERY,
        FLOUR: at >= 24 and at not in (30, 31, 32),
        YEAST: at >= 45 and project(at) is MILL,
        SALT: at >= 40,
    }
    rules = [rule for rule, is_loaded in loaded.items() if is_loaded]
    return {
        "id": get_signal_id(moment(at), name or f"end {at}", "exposure", prefix="EXP"), "version": 1,
        "session": session_hash(session(at)), "project": project(at), "start": moment(at), "end": moment(at, 50),
        "turns": 8, "typed": 4, "corrections": 0, "failures": {}, "interruptions": 0, "model": "claude-x",
        "client": f"2.1.{at}", "attended": True, "rules": {"CLAUDE.md": rules} if rules else {},
        "hits": {FLOUR: 2} if at in range(25, 60, 3) else {}, **more,
    }  # fmt: skip


def signal(store: Store, at: int, key: str, **more: Any) -> dict[str, Any]:
    return {
        **dict.fromkeys(schema.SIGNAL_FIELDS, ""), "id": get_signal_id(moment(at, 5), f"{key} {at}", "correction"),
        "version": 1, "timestamp": moment(at, 5), "session_id": session(at), "type": "correction",
        "status": "captured", "confidence": 2, "source": {"hook": "mine", "turn": 1, "file": None, "entry": None},
        "content": f"mind the {key}", "context": f"mind the {key}", "category": "convention", "tags": [],
        "related": [], "promoted_to": None, "meta": {}, "project": project(at), "machine": store.machine,
        "trust": "user_typed", "key": key, "stored": moment(at, 6).replace("Z", ".000Z"), **more,
    }  # fmt: skip


def approve(store: Store, identity: str, key: str, start: int, text: str, where: Any, **meta: Any) -> list[Any]:
    """Return the records of an approval just before a session, dated like the session before it."""
    now = moment(start - 1, 55).replace("Z", ".000Z")
    target = {"kind": "project" if where else "global", "path": "CLAUDE.md"}
    made = api.build_decision(store, "approved", identity, BY, now, text=text, key=key, target=target, meta=meta)  # type: ignore[arg-type]
    return [made, {
        "id": identity, "version": 1, "timestamp": now, "text": text, "title": text, "category": "convention",
        "scope": "project" if where else "global", "project": where, "target": target, "topic": None, "paths": [],
        "signals": [], "decision": made["id"], "supersedes": [], "reason": "", "trust": "user_typed", "matcher": None,
        "meta": {},
    }]  # fmt: skip


@pytest.fixture
def bakery(store_home: Path) -> Store:
    store = open_store(store_home)
    records: list[Any] = [exposure(at) for at in range(60)]
    records.append(exposure(5, "resumed", start=moment(5, 30)))
    nobody = {"session": session_hash("a script"), "attended": False}
    records.append(exposure(7, "unattended", **nobody))
    lines = [
        [key, "correction", project(at)["key"], moment(at)[:10], session_hash(session(at)), "user_typed"]
        for key, listed in SAID.items() for at in listed if at < EXPIRED
    ]  # fmt: skip
    lines.append(["goal", "summary", BAKERY["key"], moment(3)[:10], session_hash(session(3)), "assistant"])
    records.append({"id": "TLY-20260320-00000001", "version": 1, "machine": store.machine, "day": "2026-03-20",
                    "lines": lines})  # fmt: skip
    stored = {"since": moment(0), "sessions": 16, "events": 6}
    records += approve(store, OVEN, "oven", 24, "Preheat the oven.", BAKERY, baseline=stored)
    records += approve(store, FLOUR, "flour", 24, "Sift the flour.", None)
    records += approve(store, YEAST, "yeast", 30, "Feed the yeast.", MILL)
    records += approve(store, SALT, "salt", 40, "Weigh the salt.", None)
    api.commit_records(store, records, "record: sixty sessions", {})
    live = [signal(store, at, key) for key, listed in SAID.items() for at in listed if at >= EXPIRED]
    append.append_new(store, live, 5)
    return store


# Counted in the story above: events and sessions before, events and sessions after.
COUNTS = {OVEN: (6, 16, 0, 24), FLOUR: (5, 24, 9, 33), YEAST: (2, 10, 0, 5), SALT: (0, 40, 0, 20)}
# Those with an event before, up to their approval, and the never-approved ones up to now.
KEYS = [Key(6, 16, 40), Key(5, 24, 60), Key(2, 10, 20), Key(6, 60, 60), Key(5, 40, 40), Key(3, 20, 20)]
AT_24 = [Control(3, 3, 24, 36), Control(2, 3, 16, 24), Control(1, 2, 8, 12)]
AT_30 = [Control(4, 2, 30, 30), Control(3, 2, 20, 20), Control(1, 2, 10, 10)]


def expected(rule: str, sessions: int | None = None) -> tuple[float, float]:
    """Return M and k of a rule."""
    x0, t0, _, t1 = COUNTS[rule]
    m1, c = by_hand.rate(by_hand.weights(KEYS), x0, t0)
    g, d = by_hand.drift(AT_30 if rule == YEAST else AT_24, 0.25)
    return m1 * g * (t1 if sessions is None else sessions), 1 / ((1 + c) * (1 + d) - 1)


def rules_in(run_cli: RunCli, *words: str) -> dict[str, Any]:
    data = run_cli("effect", "--json", *words).json()["data"]
    return {one["learning"]: one for one in data["learnings"]}


def test_counts_are_those_of_the_story(bakery: Store, run_cli: RunCli) -> None:
    names = ("events_before", "sessions_before", "events_after", "sessions_after")
    found = rules_in(run_cli)
    assert {rule: tuple(one[name] for name in names) for rule, one in found.items()} == COUNTS
    assert {rule: one["baseline"] for rule, one in found.items() if one["baseline"] != "late"} == {OVEN: "stored"}
    assert {rule: one["hits_after"] for rule, one in found.items() if one["hits_after"]} == {FLOUR: 12}


def test_ratios_are_as_computed_by_hand(bakery: Store, run_cli: RunCli) -> None:
    found = rules_in(run_cli)
    for rule in (OVEN, FLOUR, YEAST):
        events = COUNTS[rule][2]
        mean, k = expected(rule)
        low, middle, high = (by_hand.ratio_at(share, events, mean, k) for share in (0.05, 0.5, 0.95))
        wanted = [middle, low if events else 0.0, high]
        assert [found[rule]["ratio"], *found[rule]["interval"]] == pytest.approx(wanted, rel=2e-3), rule


def test_verdicts_are_as_computed_by_hand(bakery: Store, run_cli: RunCli) -> None:
    found = rules_in(run_cli)
    assert list(found) == [FLOUR, *sorted((YEAST, SALT), key=lambda one: -found[one]["ratio"]), OVEN], "the worst first"
    assert by_hand.at_most(0, *expected(OVEN)) <= 0.05
    assert found[OVEN]["verdict"] == "helping"
    mean, k = expected(FLOUR)
    assert by_hand.at_most(9, mean, k) > 0.01 and 1 - by_hand.at_most(8, mean, k) > 0.01
    assert by_hand.share_below(9, k, 0.5 * mean / k) <= 0.1
    assert found[FLOUR]["verdict"] == "recurring despite the rule"
    needs = next(n for n in range(1, 501) if by_hand.at_most(0, *expected(YEAST, 5 + n)) <= 0.05)
    assert (found[YEAST]["verdict"], found[YEAST]["needs"]) == ("no evidence yet", needs)
    assert (found[SALT]["verdict"], found[SALT]["needs"]) == ("no evidence yet: no baseline", None)


def test_the_pooled_effect_leaves_out_what_has_no_baseline(bakery: Store, run_cli: RunCli) -> None:
    pooled = run_cli("effect", "--json").json()["data"]["pooled"]
    assert (pooled["events"], pooled["rules"]) == (9, 3)
    assert pooled["expected"] == pytest.approx(sum(expected(rule)[0] for rule in (OVEN, FLOUR, YEAST)), rel=1e-3)


def test_the_table_in_words(bakery: Store, run_cli: RunCli) -> None:
    said = run_cli("effect").out
    needs = rules_in(run_cli)[YEAST]["needs"]
    assert f"{FLOUR}  recurring despite the rule\n    before: 5 of 24 sessions*, after: 9 of 33 sessions; ratio" in said
    assert "; Claude did it in 12 sessions since\n    Sift the flour.\n" in said
    assert f"{YEAST}  no evidence yet: about {needs} more sessions\n" in said
    assert f"{SALT}  no evidence yet: no baseline\n    before: 0 of 40 sessions*, after: 0 of 20 sessions\n" in said
    assert f"{OVEN}  helping\n    before: 6 of 16 sessions, after: 0 of 24 sessions; ratio 0." in said


def test_one_rule_by_the_end_of_its_id(bakery: Store, run_cli: RunCli) -> None:
    assert list(rules_in(run_cli, OVEN[:12])) == [OVEN]
    done = run_cli("effect", "LRN-20300101-00000000")
    assert done.code == 1 and "LRN-20300101-00000000" in done.err


def test_a_reverted_rule_is_listed_by_name_only_and_its_key_is_no_control(bakery: Store, run_cli: RunCli) -> None:
    before = rules_in(run_cli)
    made = api.build_decision(bakery, "reverted", FLOUR, BY, moment(59, 59).replace("Z", ".000Z"))
    api.commit_records(bakery, [made], "revert: flour", {})
    after = rules_in(run_cli)
    assert set(after) == {OVEN, YEAST, SALT}
    assert after[OVEN] == before[OVEN]
    assert rules_in(run_cli, FLOUR)[FLOUR]["events_after"] == 9


def test_only_rules_of_this_project(bakery: Store, run_cli: RunCli, tmp_path: Path) -> None:
    from tests.faults import git

    folder = tmp_path / "mill"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", "https://git.example.org/mill.git")
    data = run_cli("effect", "--json", "--project", cwd=folder).json()["data"]
    assert [one["learning"] for one in data["learnings"]] == [YEAST]


def test_without_a_store_there_is_nothing_to_say(run_cli: RunCli, home: Path) -> None:
    assert run_cli("effect", "--json").json()["data"] == {"learnings": [], "pooled": None}
    assert "no store" in run_cli("effect").err
    assert not os.path.exists(home / ".claude" / "reflections")


def test_rules_show_and_why_have_the_effect_on_one_line(bakery: Store, run_cli: RunCli) -> None:
    needs = rules_in(run_cli)[YEAST]["needs"]
    listed = {one["id"]: one["effect"] for one in run_cli("rules", "--all", "--json").json()["data"]}
    assert listed[OVEN].startswith("helping; before: 6 of 16 sessions, after: 0 of 24 sessions; ratio 0.")
    assert listed[YEAST].startswith(f"no evidence yet: about {needs} more sessions; before: 2 of 10 sessions*")
    said = run_cli("rules", "--all").out
    assert "    helping; before: 6 of 16 sessions, after: 0 of 24 sessions; ratio 0." in said
    shown = " ".join(run_cli("show", OVEN).out.split())
    assert "does it help helping; before: 6 of 16 sessions, after: 0 of 24 sessions" in shown


def test_a_rule_without_recorded_sessions_has_no_line(store_home: Path, run_cli: RunCli) -> None:
    store = open_store(store_home)
    api.commit_records(store, approve(store, OVEN, "oven", 24, "Preheat the oven.", BAKERY), "approve: oven", {})
    (listed,) = run_cli("rules", "--all", "--json").json()["data"]
    assert listed["effect"] is None
    assert run_cli("status", "--json").json()["data"]["effect"] is None
    assert f"reflect-git effect {OVEN}" in run_cli("show", OVEN).out


def revert_flour(store: Store) -> None:
    made = api.build_decision(store, "reverted", FLOUR, BY, moment(59, 59).replace("Z", ".000Z"))
    api.commit_records(store, [made], "revert: flour", {})


def test_status_counts_verdicts_until_something_was_prevented(bakery: Store, run_cli: RunCli) -> None:
    told = "1 recurring despite the rule, 2 no evidence yet, 1 helping"
    assert run_cli("status", "--json").json()["data"]["effect"] == told
    assert f"effect        {told}: reflect-git effect" in run_cli("status").out


def test_status_says_how_much_the_rules_prevented_in_the_last_month(
    bakery: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the sessions since then, each rule has its share of what was to be expected."""
    revert_flour(bakery)
    first = 45  # in both projects
    days = (time.time() - parse_utc(moment(first)) + 60) / 86400
    monkeypatch.setattr(from_store, "RECENT_DAYS", days)
    found = table.load_effects(reader.scan(bakery), {})
    assert found.pooled and found.pooled.interval[1] < 1, "all sessions are evidence"
    recent = {one.rule["id"]: one.recent.case.after for one in found.rules}
    assert recent[OVEN] == (0, 10) and recent[YEAST] == (0, 5)
    mean = expected(OVEN, 10)[0] + expected(YEAST, 5)[0]
    ratio = by_hand_ratio(found, mean)
    assert table.headline(found) == (
        f"rules prevented about {mean * (1 - ratio[1]):.0f} repeats in 30 days"
        f" ({max(0.0, mean * (1 - ratio[2])):.0f}–{mean:.0f})"
    )


def by_hand_ratio(found: from_store.Effects, mean: float) -> list[float]:
    """Return the 5, 50 and 95 % points of the ratio if nothing happened: step 7 with the sums written out."""
    spreads = [(one.recent.verdict.expected, one.rule["id"]) for one in found.rules if one.rule["id"] in (OVEN, YEAST)]
    share = sum(one.spread * one.mean**2 for one, _ in spreads) / mean**2
    share += sum(one.drift_spread * one.mean for one, _ in spreads) / mean
    return [by_hand.ratio_at(point, 0, mean, 1 / share) for point in (0.05, 0.5, 0.95)]


def test_status_says_how_many_sessions_are_missing(store_home: Path, run_cli: RunCli) -> None:
    store = open_store(store_home)
    records: list[Any] = [exposure(at) for at in range(48)]
    records += approve(store, YEAST, "yeast", 30, "Feed the yeast.", MILL)
    api.commit_records(store, records, "record: sessions", {})
    append.append_new(store, [signal(store, at, "yeast") for at in (5, 17)], 5)
    needs = rules_in(run_cli)[YEAST]["needs"]
    assert run_cli("status", "--json").json()["data"]["effect"] == f"no evidence yet: about {needs} more sessions"
