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
from tests.rules.queues import BY, say
from tests.rules.reverts import BASE, amend, approve, claude_md, in_force, sit, write
from tests.rules.test_revert import struck
from tests.sync.offers import decision, files_of

SCRIPT = {**BY, "road": "unattended"}


def test_again_is_redo(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    approved = claude_md()
    for number in range(4):
        reverts.undo(shelf)
        assert (claude_md(), in_force(shelf)) == ((approved, [rule]) if number % 2 else (BASE, []))


def test_an_amendment_a_dismissal_and_a_revert(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    first = claude_md()
    amend(shelf, rule, "Install with pnpm.")
    reverts.undo(shelf)
    assert claude_md() == first
    reverts.revert(shelf, rule)
    reverts.undo(shelf)
    assert (claude_md(), in_force(shelf)) == (first, [rule])
    signal = say(shelf, "use ruff, not black")
    dismiss.dismiss(shelf, sit(shelf).find(signal), BY)
    for status in ("captured", "dismissed", "captured"):
        reverts.undo(shelf)
        assert reader.scan(shelf).history.status(signal) == status
    assert claude_md() == first


def test_a_commit_that_only_names_a_decision_made_none(shelf: Store) -> None:
    """As a commit from a remote may do."""
    old = approve(shelf, "use pnpm, not npm").learning
    named = restore.last(sit(shelf)).decisions[0]["id"]
    new = approve(shelf, "use ruff, not black").learning
    other = decision(900)
    message = f"dismiss: no\n\nDecision: {named}\nDecision: x\u2028{'0' * 40} {named}\n"
    with shelf.locked(5):
        main_branch.record(shelf, files_of(other), message)
    reverts.undo(shelf)
    assert in_force(shelf) == [old] and new != old


def test_what_was_replaced_comes_and_goes_with_it(shelf: Store) -> None:
    old = approve(shelf, "use pnpm, not npm").learning
    one = claude_md()
    new = approve(shelf, "no, always use npm in this project, never pnpm", supersedes=(old,)).learning
    other = claude_md()
    for state in ((one, [old]), (other, [new]), (one, [old])):
        reverts.undo(shelf)
        assert (claude_md(), in_force(shelf)) == state


def test_an_entry_that_was_moved_by_hand_comes_back_where_it_was(shelf: Store) -> None:
    """An untouched file gets its exact earlier bytes back, not what we would write."""
    rule = approve(shelf, "use pnpm, not npm").learning
    write(b"mine\n\n<!-- " + rule.encode() + b" -->\n\n* Use pnpm, not npm\n")
    moved = claude_md()
    reverts.revert(shelf, rule)
    assert claude_md() == b"mine\n"
    reverts.undo(shelf)
    assert claude_md() == moved
    reverts.undo(shelf)
    write(b"mine, edited\n")
    reverts.undo(shelf)
    assert claude_md().startswith(b"mine, edited\n") and rule.encode() in claude_md()


def test_only_what_a_person_decided_here(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    no = say(shelf, "use ruff, not black")
    dismiss.dismiss(shelf, sit(shelf).find(no), SCRIPT)  # type: ignore[arg-type]
    elsewhere = api.decision(shelf, "pinned", rule, BY, utc_precise())
    api.record(shelf, [{**elsewhere, "machine": "sofa"}], "pin: x", {})
    assert [made["subject"] for made in restore.last(sit(shelf)).decisions] == [rule]
    assert [made["subject"] for made in restore.last(sit(shelf), only_persons=False).decisions] == [no]


def test_a_clock_that_was_wrong_once_does_not_matter(shelf: Store) -> None:
    first = say(shelf, "use ruff, not black")
    wrong = api.decision(shelf, "dismissed", first, BY, "2031-01-01T00:00:00.000Z")
    api.record(shelf, [wrong], "dismiss: x", {})
    rule = approve(shelf, "use pnpm, not npm").learning
    assert [made["subject"] for made in restore.last(sit(shelf)).decisions] == [rule]


def test_a_switched_policy_is_passed_over(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    for value in ("unattended", "ask"):
        policy.switch(shelf, {"reflect.approval": value}, BY, utc_precise())
    reverts.undo(shelf)
    assert in_force(shelf) == []
    policy.switch(shelf, {"reflect.approval": None}, BY, utc_precise())
    reverts.undo(shelf)
    assert in_force(shelf) == [rule]


def test_no_hint_switches_a_safety_off(shelf: Store) -> None:
    for value in ("unattended", "ask"):
        policy.switch(shelf, {"reflect.approval": value}, BY, utc_precise())
    switched = sit(shelf).scan.history.decisions[-1]["id"]
    with pytest.raises(ReflectError, match=r"switched a policy, 'reflect\.approval'") as caught:
        reverts.revert(shelf, switched)
    assert caught.value.hint == "policies are switched by their own command: see 'reflect-git config reflect.approval'"


def test_nothing_to_undo(shelf: Store) -> None:
    policy.switch(shelf, {"reflect.approval": "ask"}, BY, utc_precise())
    with pytest.raises(ReflectError, match="no decisions about rules or signals on this machine yet") as no:
        reverts.undo(shelf)
    assert (no.value.hint or "").startswith("revert a rule with 'reflect-git revert LRN-…'")


@pytest.mark.parametrize(
    "mode, first, step",
    [(KILL, 3, 6), pytest.param(KILL, 1, 1, marks=pytest.mark.slow), pytest.param(FAIL, 1, 1, marks=pytest.mark.slow)],
)
def test_whenever_it_is_struck(shelf: Store, tmp_path: Path, mode: str, first: int, step: int) -> None:
    old = approve(shelf, "use pnpm, not npm").learning
    approve(shelf, "no, always use npm in this project, never pnpm", supersedes=(old,))
    struck(shelf, tmp_path, reverts.undo_last, mode, first, step)


@pytest.mark.slow
def test_a_redo_whenever_it_is_struck(shelf: Store, tmp_path: Path) -> None:
    approve(shelf, "use pnpm, not npm", "rules")
    reverts.undo(shelf)
    assert not (reverts.project() / ".claude").exists()
    struck(shelf, tmp_path, reverts.undo_last, KILL, 1, 1)
