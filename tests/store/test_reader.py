"""docs/store.md is enough to read a store: a reader based on it alone sees what the program sees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.rules import arrivals
from reflect_git.rules.dismiss import dismiss, find_declines
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules import reverts
from tests.rules.queues import BY, capture_signal
from tests.rules.test_arrivals import approved_elsewhere
from tests.store.reference_reader import Reader
from tests.store.test_golden_store import store as golden_store

REPO = Path(__file__).resolve().parents[2]
golden = golden_store


def require_agreement(store: Store) -> Reader:
    read, other = reader.read(store), Reader(Path(store.root))
    assert set(other.records) == set(read.by_id)
    assert other.signals() == {one["id"]: (one["status"], one["confidence"]) for one in read.signals}
    assert other.in_force() == {one["id"]: one for one in read.history.get_rules_in_force()}
    assert other.void == read.history.void_decisions
    noes = {one for one in find_declines(read.history, store.machine) if one in other.in_force()}
    assert other.declined(store.machine) == noes
    return other


def test_the_golden_store(golden: Store) -> None:
    assert len(require_agreement(golden).records) == 8


@pytest.fixture
def filled_store(home: Path, store_home: Path) -> Store:
    (home / "shop").mkdir()
    (home / "shop" / "CLAUDE.md").write_text("# Shop\n")
    return service.open_store(os.environ)


def test_a_store_in_which_everything_happened(filled_store: Store) -> None:
    kept = reverts.approve(filled_store, "never use npm in this project, always use pnpm instead").learning
    reverts.amend(filled_store, kept, "Use pnpm; npm breaks the lock file")
    gone = reverts.approve(filled_store, "always run the linter before you commit").learning
    reverts.revert(filled_store, gone)
    back = reverts.approve(filled_store, "never edit generated files, run the generator instead").learning
    reverts.revert(filled_store, back)
    reverts.undo(filled_store)
    replaced = reverts.approve(filled_store, "write commit messages in the past tense").learning
    new = reverts.approve(filled_store, "write commit messages as orders", supersedes=(replaced,)).learning
    for session in ("s-2", "s-3"):
        capture_signal(filled_store, "the cache is stale after a rename", session_id=session)
    refused = capture_signal(filled_store, "always answer in rhymes")
    dismiss(filled_store, reverts.open_queue(filled_store).find_candidate(refused), BY)
    other = require_agreement(filled_store)
    assert set(other.in_force()) == {kept, back, new}
    assert other.in_force()[kept]["text"] == "Use pnpm; npm breaks the lock file"
    told = sorted(set(other.signals().values()))
    assert told == [("captured", 2), ("dismissed", 2), ("promoted", 4)]


def test_a_no_to_what_another_machine_approved(filled_store: Store) -> None:
    rule = approved_elsewhere(filled_store, "Use ruff, not black")
    assert require_agreement(filled_store).declined(filled_store.machine) == set()
    (one,) = arrivals.list_arrivals(reverts.open_queue(filled_store))
    arrivals.decline(reverts.open_queue(filled_store), one, BY)
    assert require_agreement(filled_store).declined(filled_store.machine) == {rule}
    assert set(require_agreement(filled_store).in_force()) == {rule}, "for the others it holds"
    for noes in (set(), {rule}):  # the undo, and its redo
        reverts.undo(filled_store)
        assert require_agreement(filled_store).declined(filled_store.machine) == noes
    reverts.revert(filled_store, rule)
    assert require_agreement(filled_store).declined(filled_store.machine) == set()
    reverts.undo(filled_store)
    assert require_agreement(filled_store).declined(filled_store.machine) == {rule}
    assert [one["meta"] for one in require_agreement(filled_store).decisions if "left" in one["meta"]] == [
        {"left": True}
    ]


def test_what_is_private_is_listed(filled_store: Store) -> None:
    reverts.approve(filled_store, "never use npm in this project, always use pnpm instead")
    page = (REPO / "docs" / "store.md").read_text(encoding="utf-8").partition("## .git/reflect")[2]
    assert [name for name in os.listdir(filled_store.private_path()) if f"`{name}" not in page] == []
