"""Undoing and redoing the last decision on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.rules import dismiss, restore
from reflect_git.store import api, policy
from reflect_git.store.main import main_branch
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import FAIL, KILL
from tests.rules import reverts
from tests.rules.queues import BY, capture_signal
from tests.rules.reverts import (
    BASE,
    amend,
    approve,
    list_rules_in_force,
    open_queue,
    read_claude_md,
    write_project_file,
)
from tests.rules.test_revert import struck
from tests.sync.sample_records import build_decision, build_files

SCRIPT = {**BY, "road": "unattended"}


def test_again_is_redo(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    approved = read_claude_md()
    for number in range(4):
        reverts.undo(store)
        assert (read_claude_md(), list_rules_in_force(store)) == ((approved, [rule]) if number % 2 else (BASE, []))


def test_an_amendment_a_dismissal_and_a_revert(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    first = read_claude_md()
    amend(store, rule, "Install with pnpm.")
    reverts.undo(store)
    assert read_claude_md() == first
    reverts.revert(store, rule)
    reverts.undo(store)
    assert (read_claude_md(), list_rules_in_force(store)) == (first, [rule])
    signal = capture_signal(store, "use ruff, not black")
    dismiss.dismiss(store, open_queue(store).find_candidate(signal), BY)
    for status in ("captured", "dismissed", "captured"):
        reverts.undo(store)
        assert reader.scan(store).history.status(signal) == status
    assert read_claude_md() == first


def test_a_commit_that_only_names_a_decision_made_none(store: Store) -> None:
    """As a commit from a remote may do."""
    old = approve(store, "use pnpm, not npm").learning
    named = restore.select_last(open_queue(store)).decisions[0]["id"]
    new = approve(store, "use ruff, not black").learning
    other = build_decision(900)
    message = f"dismiss: no\n\nDecision: {named}\nDecision: x\u2028{'0' * 40} {named}\n"
    with store.locked(5):
        main_branch.commit_files(store, build_files(other), message)
    reverts.undo(store)
    assert list_rules_in_force(store) == [old] and new != old


def test_what_was_replaced_comes_and_goes_with_it(store: Store) -> None:
    old = approve(store, "use pnpm, not npm").learning
    one = read_claude_md()
    new = approve(store, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    other = read_claude_md()
    for state in ((one, [old]), (other, [new]), (one, [old])):
        reverts.undo(store)
        assert (read_claude_md(), list_rules_in_force(store)) == state


def test_an_entry_that_was_moved_by_hand_comes_back_where_it_was(store: Store) -> None:
    """An untouched file gets its exact earlier bytes back, not what we would write."""
    rule = approve(store, "use pnpm, not npm").learning
    write_project_file(b"mine\n\n<!-- " + rule.encode() + b" -->\n\n* Use pnpm, not npm\n")
    moved = read_claude_md()
    reverts.revert(store, rule)
    assert read_claude_md() == b"mine\n"
    reverts.undo(store)
    assert read_claude_md() == moved
    reverts.undo(store)
    write_project_file(b"mine, edited\n")
    reverts.undo(store)
    assert read_claude_md().startswith(b"mine, edited\n") and rule.encode() in read_claude_md()


def test_only_what_a_person_decided_here(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    no = capture_signal(store, "use ruff, not black")
    dismiss.dismiss(store, open_queue(store).find_candidate(no), SCRIPT)  # type: ignore[arg-type]
    elsewhere = api.build_decision(store, "pinned", rule, BY, utc_precise())
    api.commit_records(store, [{**elsewhere, "machine": "sofa"}], "pin: x", {})
    assert [made["subject"] for made in restore.select_last(open_queue(store)).decisions] == [rule]
    assert [made["subject"] for made in restore.select_last(open_queue(store), only_persons=False).decisions] == [no]


def test_a_clock_that_was_wrong_once_does_not_matter(store: Store) -> None:
    first = capture_signal(store, "use ruff, not black")
    wrong = api.build_decision(store, "dismissed", first, BY, "2031-01-01T00:00:00.000Z")
    api.commit_records(store, [wrong], "dismiss: x", {})
    rule = approve(store, "use pnpm, not npm").learning
    assert [made["subject"] for made in restore.select_last(open_queue(store)).decisions] == [rule]


def test_a_switched_policy_is_passed_over(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    for value in ("unattended", "ask"):
        policy.set_policies(store, {"reflect.approval": value}, BY, utc_precise())
    reverts.undo(store)
    assert list_rules_in_force(store) == []
    policy.set_policies(store, {"reflect.approval": None}, BY, utc_precise())
    reverts.undo(store)
    assert list_rules_in_force(store) == [rule]


def test_no_hint_switches_a_safety_off(store: Store) -> None:
    for value in ("unattended", "ask"):
        policy.set_policies(store, {"reflect.approval": value}, BY, utc_precise())
    switched = open_queue(store).scan.history.decisions[-1]["id"]
    with pytest.raises(ReflectError, match=r"switched a policy, 'reflect\.approval'") as caught:
        reverts.revert(store, switched)
    assert caught.value.hint == "policies are switched by their own command: see 'reflect-git config reflect.approval'"


def test_nothing_to_undo(store: Store) -> None:
    policy.set_policies(store, {"reflect.approval": "ask"}, BY, utc_precise())
    with pytest.raises(ReflectError, match="no decisions about rules or signals on this machine yet") as no:
        reverts.undo(store)
    assert (no.value.hint or "").startswith("revert a rule with 'reflect-git revert LRN-…'")


@pytest.mark.parametrize(
    "mode, first, step",
    [(KILL, 3, 6), pytest.param(KILL, 1, 1, marks=pytest.mark.slow), pytest.param(FAIL, 1, 1, marks=pytest.mark.slow)],
)
def test_whenever_it_is_struck(store: Store, tmp_path: Path, mode: str, first: int, step: int) -> None:
    old = approve(store, "use pnpm, not npm").learning
    approve(store, "no, always use npm in this project, never pnpm", supersedes=(old,))
    struck(store, tmp_path, reverts.undo_last, mode, first, step)


@pytest.mark.slow
def test_a_redo_whenever_it_is_struck(store: Store, tmp_path: Path) -> None:
    approve(store, "use pnpm, not npm", "rules")
    reverts.undo(store)
    assert not (reverts.get_current_project() / ".claude").exists()
    struck(store, tmp_path, reverts.undo_last, KILL, 1, 1)
