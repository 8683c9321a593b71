"""The user's own git on main: a `git revert` applies; what it removes is put back and asked about."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.store.main import user_git
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.cli.old_store import reword
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.audit.audited_store import (
    ADA,
    TABS,
    approve,
    commit,
    create_audited_store,
    list_codes,
    list_records,
    read_claude_md,
    run_audit,
)
from tests.rules.queues import PNPM
from tests.store.store_checks import main_paths, open_recovered_store, require_promises

RUFF = "no, always use ruff here, never black"


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    return create_audited_store(store_home, home, PNPM, TABS, RUFF)


def approvals(store: Store) -> list[str]:
    """Return the approvals, newest first."""
    return git(Path(store.root), "log", "--format=%H", "--grep=^approve: ", "main").split()


def revert(store: Store, sha: str) -> None:
    git(Path(store.root), *ADA, "revert", "--no-edit", sha)


def in_force(store: Store) -> set[str]:
    return {one["id"] for one in reader.read(store).history.get_rules_in_force()}


@pytest.mark.parametrize("number", [0, 1])
def test_git_revert_of_an_approval_applies_and_loses_nothing(store: Store, number: int) -> None:
    root, rules, live = Path(store.root), in_force(store), read_claude_md().read_bytes()
    before, mirrors = main_paths(root), git(root, "rev-parse", "main:targets")
    revert(store, approvals(store)[number])
    assert len(main_paths(root)) == len(before) - 2, "a learning and its decision went"
    open_recovered_store(root)
    assert main_paths(root) == before
    assert git(root, "rev-parse", "main:targets") == mirrors
    assert in_force(store) == rules and read_claude_md().read_bytes() == live
    assert git(root, "log", "-1", "--format=%s", "main").startswith("restore: ")
    assert list_codes(store) == ["record-deleted"]
    require_promises(root)


def test_an_approval_that_no_command_saw_yet_is_put_back_as_well(store: Store) -> None:
    """Approved and reverted between two commands: neither command sees the record."""
    root = Path(store.root)
    approve(store, "no, always squash commits, never merge them")
    before = git(root, "rev-parse", "main^{tree}")
    revert(store, approvals(store)[0])
    open_recovered_store(root)
    assert git(root, "rev-parse", "main^{tree}") == before


def test_the_only_approval_of_a_file_takes_its_mirror_along_and_back(store_home: Path, home: Path) -> None:
    store = create_audited_store(store_home, home, PNPM)
    before = git(store_home, "rev-parse", "main^{tree}")
    revert(store, approvals(store)[0])
    open_recovered_store(store_home)
    assert git(store_home, "rev-parse", "main^{tree}") == before


def test_it_is_asked_whether_it_was_meant_for_good(store: Store, run_cli: RunCli) -> None:
    revert(store, approvals(store)[1])
    asked = [one for one in run_audit(store).findings if one.needs_decision]
    rule = next(one.subject for one in asked if one.subject.startswith("LRN-"))
    assert {one.code for one in asked} == {"record-deleted"}
    assert [one.hint for one in asked] == [f"if so: reflect-git revert {rule}; 'reflect-git review' asks, too"]
    assert asked[0].message.endswith("revert it for good?")
    shown = run_cli("audit")
    assert shown.code == 4 and f"reflect-git revert {rule}" in shown.out


def test_an_amendment_that_git_reverted_is_asked_about_and_not_its_rule(store: Store) -> None:
    rule = sorted(in_force(store))[0]
    reword(store, read_claude_md().parent, rule, "Something else entirely.")
    (made,) = [one for one in reader.read(store).history.decisions if one["kind"] == "amended"]
    revert(store, "main")
    open_recovered_store(Path(store.root))
    (asked,) = [one for one in run_audit(store).findings if one.needs_decision]
    assert asked.subject == made["id"] and f"reflect-git revert {made['id']}" in asked.hint


def test_a_commit_that_removes_records_is_noticed_by_any_command(store: Store, run_cli: RunCli) -> None:
    root = Path(store.root)
    before = main_paths(root)
    git(root, "rm", "-q", "-r", "decisions", "learnings")
    commit(store, "away with it")
    assert run_cli("status").code == 0
    assert main_paths(root) == before
    assert git(root, "status", "--porcelain") == ""


def test_files_of_the_user_may_go(store: Store) -> None:
    root = Path(store.root)
    (root / "notes.md").write_text("mine\n")
    commit(store)
    open_recovered_store(root)
    git(root, "rm", "-q", "notes.md")
    made = commit(store)
    open_recovered_store(root)
    assert git(root, "rev-parse", "main").strip() == made


def test_nothing_is_put_back_while_the_users_git_holds_the_index(store: Store) -> None:
    root = Path(store.root)
    revert(store, approvals(store)[0])
    after = git(root, "rev-parse", "main")
    lock = root / ".git" / "index.lock"
    lock.touch()
    open_recovered_store(root)
    assert git(root, "rev-parse", "main") == after
    lock.unlink()
    open_recovered_store(root)
    assert git(root, "rev-parse", "main") != after


def test_moving_main_back_is_the_users_right_and_remembered(store: Store) -> None:
    root = Path(store.root)
    tip = git(root, "rev-parse", "main").strip()
    git(root, "reset", "-q", "--hard", "main~1")
    for _ in range(2):
        open_recovered_store(root)
    back = git(root, "rev-parse", "main").strip()
    assert user_git.load_tips(store) == [tip, back]
    git(root, "merge", "-q", "--ff-only", tip)
    open_recovered_store(root)
    assert user_git.load_tips(store) == [tip]


@pytest.mark.parametrize("harm", ["attributes", "config"])
def test_what_makes_a_revert_apply_is_kept_by_every_command(store: Store, harm: str) -> None:
    root = Path(store.root)
    if harm == "attributes":
        (root / ".git" / "info" / "attributes").write_text("*.md text\n")
    else:
        git(root, "config", "--unset", "merge.reflect.driver")
    open_recovered_store(root)
    assert git(root, "check-attr", "merge", "targets/x/global/CLAUDE.md").endswith(": reflect\n")
    assert git(root, "config", "merge.reflect.driver") == "true\n"
    if harm == "attributes":
        assert (root / ".git" / "info" / "attributes").read_text().startswith("*.md text\n"), "lines of the user's stay"
    revert(store, approvals(store)[1])
    require_promises(root)


def test_a_quiet_store_needs_no_look(store: Store) -> None:
    open_recovered_store(Path(store.root))
    assert not user_git.is_repair_needed(store)
    git(Path(store.root), "pack-refs", "--all")
    assert not user_git.is_repair_needed(store), "a packed ref is the same ref"
    approve(store, "no, always squash commits, never merge them")
    assert user_git.is_repair_needed(store)


def test_a_deleted_record_comes_back_on_another_branch_too(store: Store) -> None:
    """HEAD is on another branch: only the ref of main moves."""
    root = Path(store.root)
    before = main_paths(root)
    git(root, "checkout", "-q", "-b", "mine")
    learning = list_records(store, "learnings")[0]
    learning.unlink()
    made = commit(store)
    git(root, "update-ref", "refs/heads/main", made)
    open_recovered_store(root)
    assert main_paths(root) == before
    git(root, "checkout", "-q", "main")
    assert list_codes(store) == ["record-deleted"]
    assert os.path.exists(learning)
