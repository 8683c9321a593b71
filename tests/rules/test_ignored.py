"""A project that a person has ignored: nothing of ours is added to its files, and existing entries can be removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import arrivals
from reflect_git.store.repository import Store
from tests.rules.reverts import amend, approve, claude_md, sit
from tests.rules.test_arrivals import approved_elsewhere, reverted_elsewhere


@pytest.fixture
def shelf(shelf: Store, home: Path) -> Store:
    (home / "shop" / ".reflectignore").touch()
    return shelf


@pytest.mark.parametrize("to", ["project", "rules", "improvements", "project-local"])
def test_nothing_is_approved_into_it(shelf: Store, to: str) -> None:
    before = claude_md()
    with pytest.raises(ReflectError, match="is ignored: nothing is learned there") as refused:
        approve(shelf, "indent with tabs", to=to)
    assert refused.value.code == "ignored" and claude_md() == before


def test_no_rule_is_moved_into_it(shelf: Store) -> None:
    rule = approve(shelf, "indent with tabs", to="global").learning
    with pytest.raises(ReflectError, match="is ignored: nothing is learned there"):
        amend(shelf, rule, to="project")
    amend(shelf, rule, text="Indent with two tabs")


def test_what_is_for_all_projects_is_approved_there_as_anywhere(shelf: Store) -> None:
    assert approve(shelf, "indent with tabs", to="global").target == "~/.claude/CLAUDE.md"


def test_what_others_learned_for_it_does_not_come(shelf: Store, home: Path) -> None:
    ignore = home / "shop" / ".reflectignore"
    ignore.unlink()
    approved_elsewhere(shelf, "Indent with tabs.")
    assert [one.kind for one in arrivals.waiting(sit(shelf))] == [arrivals.ADD]
    ignore.touch()
    assert arrivals.waiting(sit(shelf)) == []


def test_what_others_took_back_leaves_it(shelf: Store, home: Path) -> None:
    ignore = home / "shop" / ".reflectignore"
    ignore.unlink()
    rule = approve(shelf, "indent with tabs").learning
    ignore.touch()
    reverted_elsewhere(shelf, rule)
    (one,) = arrivals.waiting(sit(shelf))
    assert one.kind == arrivals.REMOVE
