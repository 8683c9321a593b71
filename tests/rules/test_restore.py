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
from tests.rules.reverts import BASE, amend, approve, claude_md, in_force, sit, write
from tests.rules.test_revert import struck


def test_they_are_listed_with_their_files_and_sizes(shelf: Store, home: Path) -> None:
    one = approve(shelf, "use pnpm, not npm")
    other = approve(shelf, "use ruff, not black", "global")
    git(Path(shelf.root), "branch", "backup/mine")  # a person's own branch
    listed = backups.kept(shelf)
    assert [(kept.name, kept.learning) for kept in listed] == [
        (other.backup, other.learning), (one.backup, one.learning),
    ]  # fmt: skip
    assert listed[0].files == [(str(home / ".claude/CLAUDE.md"), None)]
    assert listed[1].files == [(str(reverts.project() / "CLAUDE.md"), len(BASE))]
    assert listed[1].time[:10] == reader.scan(shelf).history.decisions[0]["timestamp"][:10]


def test_the_later_of_one_second_is_listed_first(shelf: Store) -> None:
    began = 1_800_000_000.0
    with shelf.locked(5):
        names = [
            backups.make(shelf, f"LRN-20270115-{end}", [("/a", b"")], began + part)
            for end, part in (
                ("bbbbbbbb", 0.1),
                ("aaaaaaaa", 0.2),
                ("cccccccc", 0.3),
                ("aaaaaaaa", 0.4),
                ("bcbcbcbc", 0.5),
            )
        ]
    assert [kept.name for kept in backups.kept(shelf)] == names[::-1]


def test_any_unique_part_of_a_name(shelf: Store) -> None:
    one = approve(shelf, "use pnpm, not npm")
    approve(shelf, "use ruff, not black")
    for part in (one.backup, one.learning, one.learning[-6:], one.backup.removeprefix("backup/").upper()):
        assert restore.find(shelf, part).name == one.backup
    for part, code in (("LRN-", "ambiguous-backup"), ("nothing", "unknown-backup"), ("", "unknown-backup")):
        with pytest.raises(ReflectError) as caught:
            restore.find(shelf, part)
        assert caught.value.code == code


def test_later_approvals_go_and_what_was_taken_back_comes(shelf: Store) -> None:
    first = approve(shelf, "use pnpm, not npm").learning
    two = approve(shelf, "use ruff, not black")
    then = claude_md()
    backup = reverts.revert(shelf, first).backup  # has both
    third = approve(shelf, "use uv, not pip").learning
    write(claude_md() + b"mine\r\n")
    restoring = restore.propose(sit(shelf), restore.find(shelf, backup))
    assert [one["id"] for one in restoring.dropped] == [third]
    assert [one["id"] for one in restoring.back] == [first]
    done = reverts.restore(shelf, backup)
    assert claude_md() == then and in_force(shelf) == [first, two.learning]
    assert done.backup not in ("", backup), "what was there before is kept, too"
    assert dict(backups.contents(shelf, done.backup))[str(reverts.project() / "CLAUDE.md")].endswith(b"mine\r\n")  # type: ignore[union-attr]
    said = git(Path(shelf.root), "log", "-1", "--format=%B", "main")
    assert said.startswith("revert: CLAUDE.md as of ") and said.count("Reverts: ") == 2
    with pytest.raises(ReflectError, match="the files are as they were then"):
        restore.propose(sit(shelf), restore.find(shelf, backup))


def test_words_of_before_an_amendment(shelf: Store) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    then = claude_md()
    backup = amend(shelf, rule, "Install with pnpm.").backup
    reverts.restore(shelf, backup)
    assert claude_md() == then and in_force(shelf) == [rule]
    assert reader.scan(shelf).history.learnings[rule]["text"] == "Use pnpm, not npm"


def test_two_files_of_one_decision(shelf: Store, home: Path) -> None:
    rule = approve(shelf, "use pnpm, not npm").learning
    then = claude_md()
    backup = amend(shelf, rule, to="global").backup
    assert claude_md() == BASE
    reverts.restore(shelf, backup)
    assert claude_md() == then and not (home / ".claude/CLAUDE.md").exists()
    assert reader.scan(shelf).history.learnings[rule]["target"] == {"kind": "project", "path": "CLAUDE.md"}


def test_a_file_that_was_not_there_goes_with_its_folders(shelf: Store, shop: Path) -> None:
    backup = approve(shelf, "use pnpm, not npm", "rules").backup
    reverts.restore(shelf, backup)
    assert not (shop / ".claude").exists() and in_force(shelf) == []


def test_a_restore_can_be_undone_and_redone_whatever_the_bytes(shelf: Store) -> None:
    approve(shelf, "use pnpm, not npm")
    backup = backups.kept(shelf)[0].name
    broken = b"\xff\0 no text at all"
    write(broken)
    reverts.restore(shelf, backup)
    assert claude_md() == BASE
    reverts.undo(shelf)
    assert claude_md() == broken
    reverts.undo(shelf)
    assert claude_md() == BASE


def test_a_restore_that_changes_no_rule_is_a_decision_too(shelf: Store) -> None:
    backup = approve(shelf, "use pnpm, not npm").backup
    reverts.undo(shelf)
    write(b"edited\n")
    count = len(reader.scan(shelf).history.decisions)
    reverts.restore(shelf, backup)
    assert claude_md() == BASE and len(reader.scan(shelf).history.decisions) == count + 1
    write(b"edited again\n")
    with pytest.raises(ReflectError, match=r"'CLAUDE\.md' was changed since") as caught:
        reverts.undo(shelf)
    assert str(caught.value.hint).startswith("what it was before is kept: reflect-git restore backup/")


def test_a_link_is_followed(shelf: Store, shop: Path) -> None:
    (shop / "docs").mkdir()
    (shop / "CLAUDE.md").rename(shop / "docs/rules.md")
    (shop / "CLAUDE.md").symlink_to("docs/rules.md")
    (shop / "docs/rules.md").chmod(0o600)
    backup = approve(shelf, "use pnpm, not npm").backup
    reverts.restore(shelf, backup)
    assert (shop / "CLAUDE.md").is_symlink() and claude_md() == BASE and in_force(shelf) == []
    assert os.stat(shop / "docs/rules.md").st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "mode, first, step",
    [(KILL, 2, 6), pytest.param(KILL, 1, 1, marks=pytest.mark.slow), pytest.param(FAIL, 1, 1, marks=pytest.mark.slow)],
)
def test_whenever_it_is_struck(shelf: Store, tmp_path: Path, mode: str, first: int, step: int) -> None:
    approve(shelf, "use pnpm, not npm")
    approve(shelf, "use ruff, not black")
    struck(shelf, tmp_path, reverts.restore_oldest, mode, first, step)
