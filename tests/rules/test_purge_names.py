"""A purge also removes text from the names of files and of people."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git import purge
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests import disk_search
from tests.faults import git
from tests.rules.audit.audited_store import TABS, approve, create_audited_store, run_audit
from tests.rules.purges import WORD
from tests.rules.queues import PNPM, get_project_folder
from tests.rules.test_purge import take_out

SLUG = WORD.lower()
BOB = ("-c", "user.name=Bob Quux", "-c", "user.email=bob@quux.example")


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    return create_audited_store(store_home, home, PNPM)


def commit_by_hand(root: Path) -> None:
    (root / "notes.md").write_text("mine\n", encoding="utf-8")
    git(root, "add", "notes.md")
    git(root, *BOB, "commit", "-qm", "notes")


@pytest.mark.parametrize("by", ["pattern", "id"])
def test_the_file_of_rules_of_a_learning_leaves_no_name(store: Store, store_home: Path, by: str) -> None:
    """Its name is made from the words: in the snapshot, in the approval's trailer, in its backup's message."""
    done = approve(store, f"always deploy to {WORD} at night", to="rules")
    approve(store, TABS, to="rules")
    assert len({place.partition(" ")[0] for place in disk_search.find_texts(store_home, SLUG)}) > 1
    wish = purge.select_by_pattern(WORD)
    if by == "id":
        wish = purge.select_by_id(reader.read(store), done.learning)
    assert take_out(store, wish).remaining == ()
    assert disk_search.find_texts(store_home, WORD, SLUG) == []
    (kept,) = (get_project_folder(os.environ) / ".claude" / "rules" / "reflect").iterdir()
    assert "tabs" in kept.name and run_audit(store).ok
    assert "tabs" in git(store_home, "log", "--format=%B", "main")


def test_a_file_of_rules_that_comes_back_is_not_mirrored(store: Store, store_home: Path) -> None:
    approve(store, f"always deploy to {WORD} at night", to="rules")
    (path,) = (get_project_folder(os.environ) / ".claude" / "rules" / "reflect").iterdir()
    before = path.read_bytes()
    take_out(store)
    path.parent.mkdir(parents=True)
    path.write_bytes(before)
    approve(store, TABS, to="rules")
    assert disk_search.find_texts(store_home, WORD, SLUG) == []


def test_the_name_of_a_project_goes_from_the_folders_of_its_mirrors(store: Store, store_home: Path) -> None:
    approve(store, TABS, to="global")
    listed = git(store_home, "ls-tree", "-r", "main").splitlines()
    (blob,) = (line.split()[2] for line in listed if "/shop-" in line)
    asked = purge.plan_purge(
        store, os.environ, reader.read, purge.select_by_pattern("shop-"), str(get_project_folder(os.environ))
    )
    assert blob in asked.found.blobs, "or the same bytes would come back from another machine"
    done = take_out(store, purge.select_by_pattern("shop"))
    assert not done.remaining and "shop" not in git(store_home, "log", "--all", "--format=%B", "--name-only", "-p")
    assert [place for place in disk_search.find_texts(store_home, "shop") if place.startswith("object ")] == []


def test_a_file_of_the_users_is_theirs_whatever_it_is_called(store: Store, store_home: Path) -> None:
    (store_home / f"{WORD}.md").write_text("mine\n", encoding="utf-8")
    git(store_home, "add", ".")
    git(store_home, *BOB, "commit", "-qm", "notes")
    approve(store, f"always deploy to {WORD} at night")
    assert take_out(store).remaining == (f"{WORD}.md", f"{WORD}.md (a name in history)")
    assert (store_home / f"{WORD}.md").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("pattern", ["Quux", "bob@quux", "Bob Quux <bob@quux.example>", "(?i)QUUX"])
def test_who_made_a_commit_is_not_told(store: Store, store_home: Path, pattern: str) -> None:
    commit_by_hand(store_home)
    git(store_home, *BOB, "tag", "-a", "v1", "-m", "a tag")
    wish = purge.select_by_pattern(pattern)
    assert take_out(store, wish).remaining == ()
    told = git(store_home, "log", "--all", "--format=%an <%ae> %cn <%ce>") + git(store_home, "cat-file", "-p", "v1")
    assert not wish.search.matches_text(told) and "[purged]" in told
    assert git(store_home, "show", "main:notes.md") == "mine\n"


def test_what_is_only_found_in_the_names_of_objects_is_not_said(store: Store, store_home: Path) -> None:
    """A number of four digits is in the hash of many trees; those commits do not contain the text, and stay."""
    commit_by_hand(store_home)
    root = git(store_home, "rev-list", "--max-parents=0", "main").strip()
    name = git(store_home, "rev-parse", f"{root}^{{tree}}")[:8]
    approve(store, f"always deploy to {WORD} at night")
    assert take_out(store, purge.select_by_pattern(f"{WORD}|{name}")).remaining == ()
    assert git(store_home, "rev-list", "--max-parents=0", "main").strip() == root
