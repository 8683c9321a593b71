"""Who added a line of a project's file; the project's own settings have no effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.platform.project_git import blame
from tests.conftest import REAL_GIT
from tests.faults import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    _commit(tmp_path, "Ada", "start", "one\ntwo\n")
    _commit(tmp_path, "Bob", "more: the second", "one\n2\nthree\n")
    return tmp_path


def _commit(folder: Path, author: str, message: str, text: str) -> None:
    (folder / "CLAUDE.md").write_text(text, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "-c", f"user.name={author}", "-c", "user.email=x@example.org", "commit", "-q", "-m", message)


def _told(folder: Path) -> list[tuple[str, str, str]]:
    return [(line.text, line.author, line.subject) for line in blame(REAL_GIT, str(folder), str(folder / "CLAUDE.md"))]


def test_each_line_has_its_commit(project: Path) -> None:
    (project / "CLAUDE.md").write_text("not committed\n", encoding="utf-8")
    assert _told(project) == [
        ("one", "Ada", "start"), ("2", "Bob", "more: the second"), ("three", "Bob", "more: the second"),
    ]  # fmt: skip


def test_what_head_does_not_have_has_none(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert blame(REAL_GIT, str(project), str(project / "AGENTS.md")) == []
    empty = tmp_path_factory.mktemp("empty")
    git(empty, "init", "-q")
    assert blame(REAL_GIT, str(empty), str(empty / "CLAUDE.md")) == []


def test_no_program_of_the_project_runs(project: Path) -> None:
    trap = project / "trap"
    trap.write_text(f"#!/bin/sh\ntouch '{project}/sprung'\ncat \"$1\"\n", encoding="utf-8")
    trap.chmod(0o755)
    (project / ".gitattributes").write_text("*.md diff=trap filter=trap\n", encoding="utf-8")
    for key in ("diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge", "core.fsmonitor", "core.pager"):
        git(project, "config", key, str(trap))
    assert [author for _, author, _ in _told(project)] == ["Ada", "Bob", "Bob"]
    assert not (project / "sprung").exists()
