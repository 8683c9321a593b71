"""Contents of a file in a project's git, in any repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reflect_git.platform.project_git import Checkout
from tests.faults import git

GIT = shutil.which("git") or "git"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "shop"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "Ada")
    git(top, "config", "user.email", "ada@example.com")
    return top


def _commit(top: Path) -> None:
    git(top, "add", "-A")
    git(top, "commit", "-q", "--allow-empty", "-m", "work")


def test_a_file_as_head_has_it_byte_for_byte(top: Path) -> None:
    checkout = Checkout(GIT, str(top))
    assert not checkout.has_commit()
    data = b"\xef\xbb\xbf# T\r\nno end"
    (top / "CLAUDE.md").write_bytes(data)
    (top / "sub").mkdir()
    (top / "sub" / "a b:c.md").write_bytes(b"x")
    _commit(top)
    (top / "CLAUDE.md").write_bytes(b"other")
    assert checkout.has_commit()
    assert checkout.read_head_file(str(top / "CLAUDE.md")) == data
    assert checkout.read_head_file(str(top / "sub" / "a b:c.md")) == b"x"
    assert checkout.read_head_file(str(top / "sub")) is None
    assert checkout.read_head_file(str(top / "none.md")) is None


def test_a_linked_work_tree_has_a_head_of_its_own(top: Path) -> None:
    (top / "CLAUDE.md").write_bytes(b"one")
    _commit(top)
    git(top, "worktree", "add", "-q", "-b", "second", "../second")
    (top / "CLAUDE.md").write_bytes(b"two")
    _commit(top)
    second = top.parent / "second"
    assert Checkout(GIT, str(second)).read_head_file(str(second / "CLAUDE.md")) == b"one"
    assert Checkout(GIT, str(top)).read_head_file(str(top / "CLAUDE.md")) == b"two"
    assert Checkout(GIT, str(second)).get_last_update_time()


def test_only_what_puts_other_files_there_is_a_move(top: Path) -> None:
    checkout = Checkout(GIT, str(top))
    _commit(top)
    _commit(top)
    assert checkout.get_last_update_time() == 0.0
    git(top, "switch", "-q", "-c", "other")
    moved = checkout.get_last_update_time()
    assert moved is not None and moved > 1e9
    _commit(top)
    assert checkout.get_last_update_time() == moved
    (top / ".git" / "logs" / "HEAD").unlink()
    assert checkout.get_last_update_time() is None


def test_a_conflict_is_unmerged_until_it_is_settled(top: Path) -> None:
    (top / "CLAUDE[1].md").write_bytes(b"one\n")
    (top / "CLAUDE1.md").write_bytes(b"one\n")
    _commit(top)
    git(top, "switch", "-q", "-c", "other")
    (top / "CLAUDE[1].md").write_bytes(b"two\n")
    _commit(top)
    git(top, "switch", "-q", "main")
    (top / "CLAUDE[1].md").write_bytes(b"three\n")
    _commit(top)
    git(top, "merge", "-q", "other", check=False)
    checkout = Checkout(GIT, str(top))
    assert checkout.is_unmerged(str(top / "CLAUDE[1].md"))
    assert not checkout.is_unmerged(str(top / "CLAUDE1.md"))
    git(top, "add", "-A")
    assert not checkout.is_unmerged(str(top / "CLAUDE[1].md"))


def test_what_is_no_repository_has_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nonexistent\n", encoding="utf-8")
    checkout = Checkout(GIT, str(tmp_path))
    assert (checkout.has_commit(), checkout.read_head_file(str(tmp_path / "x")), checkout.get_last_update_time()) == (
        False,
        None,
        None,
    )
