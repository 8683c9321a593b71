"""Restoring a backup, and a store that agrees with the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.rules import restore
from reflect_git.store.main import backups
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import FAIL, KILL, git
from tests.rules import reverts
from tests.rules.reverts import (
    BASE,
    amend,
    approve,
    list_rules_in_force,
    open_queue,
    read_claude_md,
    write_project_file,
)
from tests.rules.test_revert import struck


def test_they_are_listed_with_their_files_and_sizes(store: Store, home: Path) -> None:
    one = approve(store, "use pnpm, not npm")
    other = approve(store, "use ruff, not black", "global")
    git(Path(store.root), "branch", "backup/mine")  # a person's own branch
    listed = backups.list_backups(store)
    assert [(kept.name, kept.learning) for kept in listed] == [
        (other.backup, other.learning), (one.backup, one.learning),
    ]  # fmt: skip
    assert listed[0].files == [(str(home / ".claude/CLAUDE.md"), None)]
    assert listed[1].files == [(str(reverts.get_current_project() / "CLAUDE.md"), len(BASE))]
    assert listed[1].time[:10] == reader.scan(store).history.decisions[0]["timestamp"][:10]


def test_the_later_of_one_second_is_listed_first(store: Store) -> None:
    began = 1_800_000_000.0
    with store.locked(5):
        names = [
            backups.create(store, f"LRN-20270115-{end}", [("/a", b"")], began + part)
            for end, part in (
                ("bbbbbbbb", 0.1),
                ("aaaaaaaa", 0.2),
                ("cccccccc", 0.3),
                ("aaaaaaaa", 0.4),
                ("bcbcbcbc", 0.5),
            )
        ]
    assert [kept.name for kept in backups.list_backups(store)] == names[::-1]


def test_any_unique_part_of_a_name(store: Store) -> None:
    one = approve(store, "use pnpm, not npm")
    approve(store, "use ruff, not black")
    for part in (one.backup, one.learning, one.learning[-6:], one.backup.removeprefix("backup/").upper()):
        assert restore.find_backup(store, part).name == one.backup
    for part, code in (("LRN-", "ambiguous-backup"), ("nothing", "unknown-backup"), ("", "unknown-backup")):
        with pytest.raises(ReflectError) as caught:
            restore.find_backup(store, part)
        assert caught.value.code == code


def test_later_approvals_go_and_what_was_taken_back_comes(store: Store) -> None:
    first = approve(store, "use pnpm, not npm").learning
    two = approve(store, "use ruff, not black")
    then = read_claude_md()
    backup = reverts.revert(store, first).backup  # has both
    third = approve(store, "use uv, not pip").learning
    write_project_file(read_claude_md() + b"mine\r\n")
    restoring = restore.plan_restore(open_queue(store), restore.find_backup(store, backup))
    assert [one["id"] for one in restoring.removed] == [third]
    assert [one["id"] for one in restoring.reinstated] == [first]
    done = reverts.restore(store, backup)
    assert read_claude_md() == then and list_rules_in_force(store) == [first, two.learning]
    assert done.backup not in ("", backup), "what was there before is kept, too"
    saved = dict(backups.read_contents(store, done.backup))[str(reverts.get_current_project() / "CLAUDE.md")]
    assert saved is not None and saved.endswith(b"mine\r\n")
    said = git(Path(store.root), "log", "-1", "--format=%B", "main")
    assert said.startswith("revert: CLAUDE.md as of ") and said.count("Reverts: ") == 2
    with pytest.raises(ReflectError, match="the files are as they were then"):
        restore.plan_restore(open_queue(store), restore.find_backup(store, backup))


def test_words_of_before_an_amendment(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    then = read_claude_md()
    backup = amend(store, rule, "Install with pnpm.").backup
    reverts.restore(store, backup)
    assert read_claude_md() == then and list_rules_in_force(store) == [rule]
    assert reader.scan(store).history.learnings[rule]["text"] == "Use pnpm, not npm"


def test_two_files_of_one_decision(store: Store, home: Path) -> None:
    rule = approve(store, "use pnpm, not npm").learning
    then = read_claude_md()
    backup = amend(store, rule, to="global").backup
    assert read_claude_md() == BASE
    reverts.restore(store, backup)
    assert read_claude_md() == then and not (home / ".claude/CLAUDE.md").exists()
    assert reader.scan(store).history.learnings[rule]["target"] == {"kind": "project", "path": "CLAUDE.md"}


def test_a_file_that_was_not_there_goes_with_its_folders(store: Store, project: Path) -> None:
    backup = approve(store, "use pnpm, not npm", "rules").backup
    reverts.restore(store, backup)
    assert not (project / ".claude").exists() and list_rules_in_force(store) == []


def test_a_restore_can_be_undone_and_redone_whatever_the_bytes(store: Store) -> None:
    approve(store, "use pnpm, not npm")
    backup = backups.list_backups(store)[0].name
    broken = b"\xff\0 no text at all"
    write_project_file(broken)
    reverts.restore(store, backup)
    assert read_claude_md() == BASE
    reverts.undo(store)
    assert read_claude_md() == broken
    reverts.undo(store)
    assert read_claude_md() == BASE


def test_a_restore_that_changes_no_rule_is_a_decision_too(store: Store) -> None:
    backup = approve(store, "use pnpm, not npm").backup
    reverts.undo(store)
    write_project_file(b"edited\n")
    count = len(reader.scan(store).history.decisions)
    reverts.restore(store, backup)
    assert read_claude_md() == BASE and len(reader.scan(store).history.decisions) == count + 1
    write_project_file(b"edited again\n")
    with pytest.raises(ReflectError, match=r"'CLAUDE\.md' was changed since") as caught:
        reverts.undo(store)
    assert str(caught.value.hint).startswith("what it was before is kept: reflect-git restore backup/")


def test_a_link_is_followed(store: Store, project: Path) -> None:
    (project / "docs").mkdir()
    (project / "CLAUDE.md").rename(project / "docs/rules.md")
    (project / "CLAUDE.md").symlink_to("docs/rules.md")
    (project / "docs/rules.md").chmod(0o600)
    backup = approve(store, "use pnpm, not npm").backup
    reverts.restore(store, backup)
    assert (project / "CLAUDE.md").is_symlink() and read_claude_md() == BASE and list_rules_in_force(store) == []
    assert os.stat(project / "docs/rules.md").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "mode, first, step",
    [(KILL, 2, 6), pytest.param(KILL, 1, 1, marks=pytest.mark.slow), pytest.param(FAIL, 1, 1, marks=pytest.mark.slow)],
)
def test_whenever_it_is_struck(store: Store, tmp_path: Path, mode: str, first: int, step: int) -> None:
    approve(store, "use pnpm, not npm")
    approve(store, "use ruff, not black")
    struck(store, tmp_path, reverts.restore_oldest, mode, first, step)
