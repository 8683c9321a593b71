"""Advice on committing a changed project file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from reflect_git.rules import project_commits
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.reverts import open_queue

COMMIT = "CLAUDE.md changed in your project; commit it with your work"
KEEP = "keep it out of git: add CLAUDE.local.md to .gitignore"


def _advice(store: Store, name: str) -> str:
    queue = open_queue(store)
    return project_commits.get_commit_advice(queue, name, os.environ, queue.place.root)


def test_a_shared_file_is_to_be_committed_unless_git_ignores_it(store: Store, project: Path) -> None:
    (project / "CLAUDE.md").write_text("x\n")
    assert _advice(store, "CLAUDE.md") == COMMIT
    (project / ".gitignore").write_text("CLAUDE.md\n")
    assert _advice(store, "CLAUDE.md") == ""
    git(project, "add", "-f", "CLAUDE.md")
    assert _advice(store, "CLAUDE.md") == COMMIT


def test_what_is_again_as_committed_needs_no_commit(store: Store, project: Path) -> None:
    (project / "CLAUDE.md").write_text("x\n")
    git(project, "add", "CLAUDE.md")
    git(project, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "rules")
    assert _advice(store, "CLAUDE.md") == ""
    (project / "CLAUDE.md").write_text("y\n")
    assert _advice(store, "CLAUDE.md") == COMMIT


def test_a_file_that_went_is_only_told_of_where_git_has_it(store: Store, project: Path) -> None:
    file = project / "CLAUDE.md"
    file.unlink()
    assert _advice(store, "CLAUDE.md") == ""
    file.write_text("x\n")
    git(project, "add", "CLAUDE.md")
    file.unlink()
    assert _advice(store, "CLAUDE.md") == COMMIT


def test_a_private_file_is_kept_out_of_git(store: Store, project: Path, home: Path) -> None:
    (project / "CLAUDE.local.md").write_text("x\n")
    assert _advice(store, "CLAUDE.local.md") == KEEP
    patterns = home / ".config" / "git" / "ignore"
    patterns.parent.mkdir(parents=True)
    patterns.write_text("CLAUDE.local.md\n")
    assert _advice(store, "CLAUDE.local.md") == ""
    patterns.rename(home / "patterns")
    assert _advice(store, "CLAUDE.local.md") == KEEP
    with (home / ".gitconfig").open("a") as config:
        config.write("[core]\n\texcludesFile = ~/patterns\n")
    assert _advice(store, "CLAUDE.local.md") == ""


def test_outside_git_there_is_nothing_to_commit(store: Store, project: Path) -> None:
    shutil.rmtree(project / ".git")
    assert _advice(store, "CLAUDE.md") == ""
