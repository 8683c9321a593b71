"""Where the story of an id is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.sitting import story
from reflect_git.store import upkeep
from reflect_git.store.excerpt import Excerpt
from reflect_git.store.repository import Store
from tests.cli.past import approve, say_no
from tests.faults import git
from tests.sitting.desk import say
from tests.sitting.shopkeeper import make_project
from tests.store.probe import opened


@pytest.fixture
def shop(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, shop: Path) -> Store:
    return opened(store_home)


def _subject(store: Store, identity: str) -> str:
    commit = story.commit_that_brought(store, identity)
    return git(Path(store.root), "log", "-1", "--format=%s", commit).strip()


def test_each_record_has_the_commit_that_brought_it(store: Store, shop: Path) -> None:
    rule = approve(store, shop, "use pnpm, not npm")
    signal = say_no(store, shop, "tests live beside the code")
    assert _subject(store, rule) == "approve: Use pnpm, not npm"
    assert _subject(store, signal) == "capture: 1 signal from shop"
    assert story.commit_that_brought(store, "LRN-20200101-00000000") == ""


def test_upkeep_keeps_what_finds_it_quickly(store: Store, shop: Path) -> None:
    """The commit-graph with its index of changed paths: without it, git opens every tree down to the first commit."""
    rule = approve(store, shop, "use pnpm, not npm")
    with store.locked(5):
        upkeep.free(store)
    graph = Path(store.git_dir, "objects", "info", "commit-graph").read_bytes()
    assert b"BIDX" in graph
    assert b"BDAT" in graph
    assert _subject(store, rule) == "approve: Use pnpm, not npm"


def test_what_is_decided_about_a_signal(store: Store, shop: Path) -> None:
    signal = say_no(store, shop, "tests live beside the code")
    other = say(store, "use ruff, not black")
    assert [made["kind"] for made in story.decisions_about(Excerpt(store), signal)] == ["dismissed"]
    assert story.decisions_about(Excerpt(store), other) == []


def test_a_learning_of_somebody_else_has_no_story_here(store: Store) -> None:
    assert story.tell(store, Excerpt(store), "LRN-20250101-c0113ag0") is None
    assert story.tell_all(Excerpt(store), []) == {}
