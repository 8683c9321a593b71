"""Somebody said too much: it is purged from everything, after a typed confirmation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import disk_search
from tests.conftest import RunCli
from tests.faults import git
from tests.stories.conftest import Reviews, Says, list_commits
from tests.stories.terminal import Terminal

SAID = "no, never deploy to xanadu, always deploy to shangrila"


@pytest.fixture
def approved(project: Path, says: Says, reviews: Reviews, store_home: Path) -> Path:
    says(SAID)
    with reviews() as terminal:
        terminal.passes("?]?")
        terminal.types("y")
        terminal.ends()
    assert list_commits(store_home)[0].startswith("approve: ")
    return project


def test_it_goes_when_the_phrase_is_typed(approved: Path, store_home: Path) -> None:
    with Terminal("purge", "--match", "xanadu", cwd=approved) as terminal:
        seen = terminal.passes("type 'purge 3 records' to continue:")
        assert "reverted first: LRN-1 in 'CLAUDE.md'" in seen
        assert "not purged: other clones of the store, until they sync" in seen
        terminal.types("purge 3 records")
        assert "purged 3 records, commit " in terminal.ends()
    assert disk_search.find_texts(store_home, "xanadu") == []
    assert not (approved / "CLAUDE.md").exists()


def test_a_file_of_the_project_that_a_rule_left_is_to_be_committed(approved: Path, store_home: Path) -> None:
    git(approved, "add", "CLAUDE.md")
    git(approved, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "rules")
    with Terminal("purge", "--match", "xanadu", cwd=approved) as terminal:
        terminal.passes("to continue:")
        terminal.types("purge 3 records")
        assert terminal.ends().count("CLAUDE.md changed in your project; commit it with your work") == 1


@pytest.mark.parametrize("typed", ["yes", "purge 2 records", ""])
def test_nothing_goes_for_any_other_word(approved: Path, store_home: Path, typed: str) -> None:
    before = git(store_home, "for-each-ref")
    with Terminal("purge", "--match", "xanadu", cwd=approved) as terminal:
        terminal.passes("to continue:")
        terminal.types(typed)
        terminal.exits_with("nothing was changed", 1)
    assert git(store_home, "for-each-ref") == before


def test_no_flag_answers_for_a_person(approved: Path, store_home: Path, run_cli: RunCli) -> None:
    before = git(store_home, "for-each-ref")
    for words in (("--yes",), ("--yes", "--json"), ("--no-input",)):
        done = run_cli(*words, "purge", "--match", "xanadu", cwd=approved)
        assert done.code == 1 and "cannot purge without a terminal" in done.out + done.err
    with Terminal("--yes", "purge", "--match", "xanadu", cwd=approved, env={"CLAUDECODE": "1"}) as terminal:
        terminal._child.wait(60)
    assert git(store_home, "for-each-ref") == before


def test_a_learning_in_other_words_than_its_signal_is_named(
    says: Says, run_cli: RunCli, project: Path, store_home: Path
) -> None:
    signal = says("use pnpm, not npm")
    with Terminal("approve", signal, "--to", "project", "--text", "Install with pnpm.", cwd=project) as terminal:
        terminal.ends()
    (rule,) = [one["id"] for one in run_cli("rules", "--json", cwd=project).json()["data"]]
    shown = run_cli("purge", signal, "--dry-run", cwd=project).out
    assert f"kept: {rule}, a rule made from it: Install with pnpm.\n" in shown
    assert f"purge them with: reflect-git purge {rule}\n" in shown
    assert run_cli("purge", signal, "--dry-run", "--json", cwd=project).json()["data"]["stays"] == [rule]
    assert "kept: " not in run_cli("purge", rule, "--dry-run", cwd=project).out
    with Terminal("purge", signal, cwd=project) as terminal:
        terminal.passes("type 'purge 1 record' to continue:")
        terminal.types("purge 1 record")
        assert "purged 1 record, commit " in terminal.ends()
