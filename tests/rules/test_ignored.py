"""A project that a person has ignored: nothing of ours is added to its files, and existing entries can be removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import arrivals
from reflect_git.store.repository import Store
from tests.rules.reverts import amend, approve, open_queue, read_claude_md
from tests.rules.test_arrivals import approved_elsewhere, reverted_elsewhere


@pytest.fixture
def store(store: Store, home: Path) -> Store:
    (home / "shop" / ".reflectignore").touch()
    return store


@pytest.mark.parametrize("to", ["project", "rules", "improvements", "project-local"])
def test_nothing_is_approved_into_it(store: Store, to: str) -> None:
    before = read_claude_md()
    with pytest.raises(ReflectError, match="is ignored: nothing is learned there") as refused:
        approve(store, "indent with tabs", to=to)
    assert refused.value.code == "ignored" and read_claude_md() == before


def test_no_rule_is_moved_into_it(store: Store) -> None:
    rule = approve(store, "indent with tabs", to="global").learning
    with pytest.raises(ReflectError, match="is ignored: nothing is learned there"):
        amend(store, rule, to="project")
    amend(store, rule, text="Indent with two tabs")


def test_what_is_for_all_projects_is_approved_there_as_anywhere(store: Store) -> None:
    assert approve(store, "indent with tabs", to="global").target == "~/.claude/CLAUDE.md"


def test_what_others_learned_for_it_does_not_come(store: Store, home: Path) -> None:
    ignore = home / "shop" / ".reflectignore"
    ignore.unlink()
    approved_elsewhere(store, "Indent with tabs.")
    assert [one.kind for one in arrivals.list_arrivals(open_queue(store))] == [arrivals.ADD]
    ignore.touch()
    assert arrivals.list_arrivals(open_queue(store)) == []


def test_what_others_took_back_leaves_it(store: Store, home: Path) -> None:
    ignore = home / "shop" / ".reflectignore"
    ignore.unlink()
    rule = approve(store, "indent with tabs").learning
    ignore.touch()
    reverted_elsewhere(store, rule)
    (one,) = arrivals.list_arrivals(open_queue(store))
    assert one.kind == arrivals.REMOVE
