"""How the history of an id is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.history import rule_history
from reflect_git.store import maintenance
from reflect_git.store.reading.lookup import RecordLookup
from reflect_git.store.repository import Store
from tests.cli.old_store import approve, dismiss_signal
from tests.faults import git
from tests.rules.project_edits import make_project
from tests.rules.queues import capture_signal
from tests.store.store_checks import open_store


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    return open_store(store_home)


def _subject(store: Store, identity: str) -> str:
    commit = rule_history.find_adding_commit(store, identity)
    return git(Path(store.root), "log", "-1", "--format=%s", commit).strip()


def test_each_record_has_the_commit_that_brought_it(store: Store, project: Path) -> None:
    rule = approve(store, project, "use pnpm, not npm")
    signal = dismiss_signal(store, project, "tests live beside the code")
    assert _subject(store, rule) == "approve: Use pnpm, not npm"
    assert _subject(store, signal) == "capture: 1 signal from shop"
    assert rule_history.find_adding_commit(store, "LRN-20200101-00000000") == ""


def test_upkeep_keeps_what_finds_it_quickly(store: Store, project: Path) -> None:
    """The commit-graph with its index of changed paths: without it, git opens every tree down to the first commit."""
    rule = approve(store, project, "use pnpm, not npm")
    with store.locked(5):
        maintenance.remove_unreachable(store)
    graph = Path(store.git_dir, "objects", "info", "commit-graph").read_bytes()
    assert b"BIDX" in graph
    assert b"BDAT" in graph
    assert _subject(store, rule) == "approve: Use pnpm, not npm"


def test_what_is_decided_about_a_signal(store: Store, project: Path) -> None:
    signal = dismiss_signal(store, project, "tests live beside the code")
    other = capture_signal(store, "use ruff, not black")
    assert [made["kind"] for made in rule_history.load_decisions_about(RecordLookup(store), signal)] == ["dismissed"]
    assert rule_history.load_decisions_about(RecordLookup(store), other) == []


def test_a_learning_of_somebody_else_has_no_story_here(store: Store) -> None:
    assert rule_history.load_rule_history(store, RecordLookup(store), "LRN-20250101-c0113ag0") is None
    assert rule_history.load_rule_histories(RecordLookup(store), [], store.machine) == {}
