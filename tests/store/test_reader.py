"""docs/store.md is enough to read a store: a reader based on it alone sees what the program sees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.rules import arrivals
from reflect_git.rules.dismiss import declined, dismiss
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules import reverts
from tests.rules.queues import BY, say
from tests.rules.test_arrivals import approved_elsewhere
from tests.store.reader import Reader
from tests.store.test_golden_store import store as golden_store

REPO = Path(__file__).resolve().parents[2]
golden = golden_store


def require_agreement(store: Store) -> Reader:
    read, other = reader.read(store), Reader(Path(store.root))
    assert set(other.records) == set(read.by_id)
    assert other.signals() == {one["id"]: (one["status"], one["confidence"]) for one in read.signals}
    assert other.in_force() == {one["id"]: one for one in read.history.in_force()}
    assert other.void == read.history.void
    noes = {one for one in declined(read.history, store.machine) if one in other.in_force()}
    assert other.declined(store.machine) == noes
    return other


def test_the_golden_store(golden: Store) -> None:
    assert len(require_agreement(golden).records) == 5


@pytest.fixture
def shop(home: Path, store_home: Path) -> Store:
    (home / "shop").mkdir()
    (home / "shop" / "CLAUDE.md").write_text("# Shop\n")
    return service.open_store(os.environ)


def test_a_store_in_which_everything_happened(shop: Store) -> None:
    kept = reverts.approve(shop, "never use npm in this project, always use pnpm instead").learning
    reverts.amend(shop, kept, "Use pnpm; npm breaks the lock file")
    gone = reverts.approve(shop, "always run the linter before you commit").learning
    reverts.revert(shop, gone)
    back = reverts.approve(shop, "never edit generated files, run the generator instead").learning
    reverts.revert(shop, back)
    reverts.undo(shop)
    replaced = reverts.approve(shop, "write commit messages in the past tense").learning
    new = reverts.approve(shop, "write commit messages as orders", supersedes=(replaced,)).learning
    for session in ("s-2", "s-3"):
        say(shop, "the cache is stale after a rename", session_id=session)
    refused = say(shop, "always answer in rhymes")
    dismiss(shop, reverts.sit(shop).find(refused), BY)
    other = require_agreement(shop)
    assert set(other.in_force()) == {kept, back, new}
    assert other.in_force()[kept]["text"] == "Use pnpm; npm breaks the lock file"
    told = sorted(set(other.signals().values()))
    assert told == [("captured", 2), ("dismissed", 2), ("promoted", 4)]


def test_a_no_to_what_another_machine_approved(shop: Store) -> None:
    rule = approved_elsewhere(shop, "Use ruff, not black")
    assert require_agreement(shop).declined(shop.machine) == set()
    (one,) = arrivals.waiting(reverts.sit(shop))
    arrivals.decline(reverts.sit(shop), one, BY)
    assert require_agreement(shop).declined(shop.machine) == {rule}
    assert set(require_agreement(shop).in_force()) == {rule}, "for the others it holds"
    for noes in (set(), {rule}):  # the undo, and its redo
        reverts.undo(shop)
        assert require_agreement(shop).declined(shop.machine) == noes
    reverts.revert(shop, rule)
    assert require_agreement(shop).declined(shop.machine) == set()
    reverts.undo(shop)
    assert require_agreement(shop).declined(shop.machine) == {rule}
    assert [one["meta"] for one in require_agreement(shop).decisions if "left" in one["meta"]] == [{"left": True}]


def test_what_is_private_is_listed(shop: Store) -> None:
    reverts.approve(shop, "never use npm in this project, always use pnpm instead")
    page = (REPO / "docs" / "store.md").read_text(encoding="utf-8").partition("## .git/reflect")[2]
    assert [name for name in os.listdir(shop.private_path()) if f"`{name}" not in page] == []
