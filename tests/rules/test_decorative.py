"""Decorative rules: which of twelve are, who is asked about them, and that keeping one as advice is remembered."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.audit import run_audit
from reflect_git.records.ids import utc_precise
from reflect_git.rules.guarding import guards
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.rules.guard_calls import guard, load
from tests.rules.queues import BY, get_project_folder
from tests.stories.terminal import Terminal

GUARDABLE = [
    "Use pnpm, not npm.", "Never run git push --force.", "Never edit files in src/gen.", "Use uv instead of pip.",
    "Don't use sudo.",
]  # fmt: skip
COUNTED = ["Keep answers short.", "Explain your plan first.", "Write comments in English."]
MUTE = ["Be kind.", "Think twice before large changes.", "Prefer simple solutions.", "Keep functions small."]
QUESTION = "Guard it, keep it as advice, retire it [g,n,x,s,q,?]?"
COULD_BE = "it could be guarded, and is not"
NOTHING = "it names no command, file or content, and nothing counts whether it is followed"


@pytest.fixture
def rules(store: Store) -> dict[str, str]:
    """Approve twelve rules a month ago, three of them for something that the person said; return text → id."""
    records: list[Any] = []
    found = {}
    project = load(store).place.project
    for number, text in enumerate([*GUARDABLE, *COUNTED, *MUTE]):
        identity, now = (
            f"LRN-20260{number % 9 + 1}01-0000000{number:x}",
            utc_precise(time.time() - (40 - number) * 86400),
        )
        target = {"kind": "project", "path": "CLAUDE.md"}
        key = f"key {number}" if text in COUNTED else None
        made = api.build_decision(store, "approved", identity, BY, now, text=text, key=key, target=target)  # type: ignore[arg-type]
        records += [made, {
            "id": identity, "version": 1, "timestamp": now, "text": text, "title": text, "category": "convention",
            "scope": "project", "project": project, "target": target, "topic": None, "paths": [], "signals": [],
            "decision": made["id"], "supersedes": [], "reason": "", "trust": "user_typed", "matcher": None, "meta": {},
        }]  # fmt: skip
        found[text] = identity
    api.commit_records(store, records, "approve: twelve rules", {})
    return found


def decorative(store: Store, now: float = 0.0) -> dict[str, str]:
    scan = reader.scan(store)
    listed = guards.find_decorative_rules(store, scan, scan.history.get_rules_in_force(), now or time.time())
    return {rule["text"]: why for rule, why in listed}


def test_rules_that_could_be_guarded_or_that_nothing_counts(store: Store, rules: dict[str, str]) -> None:
    assert decorative(store) == {**dict.fromkeys(GUARDABLE, COULD_BE), **dict.fromkeys(MUTE, NOTHING)}
    guard(store, rules[GUARDABLE[0]])
    assert set(decorative(store)) == {*GUARDABLE[1:], *MUTE}


def test_a_new_rule_is_left_alone(store: Store, rules: dict[str, str]) -> None:
    assert decorative(store, time.time() - 30 * 86400) == {}
    assert list(decorative(store, time.time() - 25.5 * 86400)) == [GUARDABLE[0]]


def test_what_a_person_keeps_as_advice_is_not_asked_again_until_it_was_guarded(
    store: Store, rules: dict[str, str]
) -> None:
    text = GUARDABLE[1]
    ctx = load(store)
    guards.write_advice(ctx, guards.find_rule(ctx, rules[text]), BY)
    assert text not in decorative(store)
    parts = guards.describe_rule_parts(store, reader.scan(store), rules.values())
    assert [text for text, one in rules.items() if parts[one]["kept_as_advice"]] == [text]
    decision = guard(store, rules[text])
    assert text not in decorative(store)
    made = api.build_decision(store, "reverted", rules[text], BY, utc_precise(), reopens=decision)
    api.commit_records(store, [made], "revert: guard", {})
    assert text not in decorative(store), "without the guard, it is advice again"
    later = load(store)
    guard(store, rules[text])
    state = guards.plan_unguard(load(store), rules[text])
    guards.write_unguard(later, state, BY)
    assert text in decorative(store), "a removed guard is no wish to keep it as advice"


def test_the_audit_reports_them_as_a_note(store: Store, rules: dict[str, str]) -> None:
    report = run_audit(store, os.environ, time.time(), reader.scan)
    found = {one.subject for one in report.findings if one.code == "rule-decorative"}
    assert found == {rules[text] for text in (*GUARDABLE, *MUTE)}
    assert not any(one.needs_decision for one in report.findings if one.code == "rule-decorative")


def test_the_list_shows_trigger_enforcement_and_verification(
    store: Store, rules: dict[str, str], run_cli: RunCli
) -> None:
    guard(store, rules[GUARDABLE[0]], "ask")
    told = {one["text"]: one for one in run_cli("rules", "--json", cwd=get_project_folder(os.environ)).json()["data"]}
    assert len(told) == 12
    first = told[GUARDABLE[0]]
    assert (first["trigger"]["text"], first["enforcement"], first["verification"]["by"]) == ("`npm`", "ask", "firings")
    assert {told[text]["verification"]["by"] for text in COUNTED} == {"repeats"}
    assert all(told[text]["trigger"] is None and told[text]["verification"] is None for text in MUTE)
    assert {text for text, one in told.items() if one["decorative"]} == {*GUARDABLE[1:], *MUTE}


def test_review_asks_about_the_oldest_three(store: Store, rules: dict[str, str], run_cli: RunCli) -> None:
    folder = Path(get_project_folder(os.environ))
    with Terminal("review", cwd=folder) as terminal:
        seen = terminal.passes(f"(1/3) {QUESTION}")
        assert f"Decorative rule 1 of 3 — {COULD_BE}" in " ".join(seen.split()) and GUARDABLE[0] in seen
        terminal.types("n")
        assert "kept as advice; not asked again" in terminal.passes(f"(2/3) {QUESTION}")
        terminal.types("g")
        terminal.passes("Guard it: watch, hint, ask or deny; Enter: hint [w,h,a,d,q,?]?")
        terminal.types("w")
        terminal.passes("guard it [y,n]?")
        terminal.types("y")
        terminal.passes(f"(3/3) {QUESTION}")
        terminal.types("s")
        assert "1 kept as advice, 1 guarded" in terminal.ends()
    assert set(decorative(store)) == {*GUARDABLE[2:], *MUTE}
    data = run_cli("review", "--json", cwd=folder).json()
    assert [one["text"] for one in data["decorative"]] == [*GUARDABLE[2:5]]
