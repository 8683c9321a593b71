"""Somebody typed `git revert` in the store: it applied, nothing was lost, and the review asks what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.project_edits import approve, commit, make_project
from tests.store.store_checks import open_recovered_store, open_store
from tests.stories.conftest import Reviews, list_commits

ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
SCREEN = """
Change 1 of 1 — your commit 0123456789 removed this from the store

    Use pnpm, not npm
  approved      LRN-1, in force again

diff --git a/CLAUDE.md b/CLAUDE.md
--- a/CLAUDE.md
+++ b/CLAUDE.md
@@ -1,9 +1,3 @@
 # Shop

 Our own text.
-
-<!-- reflect-git:begin convention LRN-1:899c -->
-
-- Use pnpm, not npm
-
-<!-- reflect-git:end -->
(1/1) Retire it [x,i,s,q,?]?
"""


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def reverted(store_home: Path, project: Path) -> Store:
    """Create a rule whose approval the person reverted with their own git."""
    store = open_store(store_home)
    approve(store, project)
    commit(project)
    open_recovered_store(store_home)
    git(store_home, *ADA, "revert", "--no-edit", "main")
    return store


def _in_force(store: Store) -> int:
    return len(reader.scan(store).history.get_rules_in_force())


def test_it_was_meant_for_good(reverted: Store, reviews: Reviews, project: Path, run_cli: RunCli) -> None:
    assert "removed       1 commit of yours removed records, now restored: reflect-git review" in run_cli("status").out
    terminal = reviews()
    terminal.sees(SCREEN)
    terminal.types("x")
    said = terminal.ends()
    assert "retired it, commit " in said and "CLAUDE.md changed in your project" in said
    assert _in_force(reverted) == 0 and (project / "CLAUDE.md").read_text() == "# Shop\n\nOur own text.\n"
    assert list_commits(Path(reverted.root))[0] == "revert: Use pnpm, not npm"
    assert run_cli("audit", cwd=project).code == 0 and "removed" not in run_cli("status").out


def test_it_was_not(reverted: Store, reviews: Reviews, project: Path, run_cli: RunCli) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    assert run_cli("audit", cwd=project).code == 4
    terminal = reviews()
    terminal.sees(SCREEN)
    terminal.types("?")
    assert "i  keep it in force; do not ask again" in terminal.passes("(1/1) Retire it [x,i,s,q,?]?")
    terminal.types("i")
    assert "left in force" in terminal.ends()
    assert _in_force(reverted) == 1 and (project / "CLAUDE.md").read_bytes() == before
    assert run_cli("audit", cwd=project).code == 0 and "removed" not in run_cli("status").out
    assert "Nothing to reflect on." in reviews().ends()


def test_not_now_and_nobody_to_ask(reverted: Store, reviews: Reviews, project: Path, run_cli: RunCli) -> None:
    terminal = reviews()
    terminal.sees(SCREEN)
    terminal.types("s")
    assert "left for later: 1 changed rule" in terminal.ends()
    told = run_cli("review", cwd=project)
    assert "removed this from the store" in told.out and "answer these in a terminal" in told.err
    assert _in_force(reverted) == 1


def test_from_another_folder_the_project_is_found(reverted: Store, reviews: Reviews, project: Path, home: Path) -> None:
    terminal = reviews(cwd=home)
    terminal.sees(SCREEN)
    terminal.types("x")
    assert "changed in your project" not in terminal.ends()
    assert (project / "CLAUDE.md").read_text() == "# Shop\n\nOur own text.\n"


def test_a_dismissal_that_git_reverted(store_home: Path, project: Path, reviews: Reviews) -> None:
    from reflect_git.rules import dismiss
    from tests.rules.project_edits import open_queue
    from tests.rules.queues import BY, capture_signal

    store = open_store(store_home)
    signal = capture_signal(store, "use pnpm, not npm")
    dismiss.dismiss(store, open_queue(store, project).find_candidate(signal), BY)
    open_recovered_store(store_home)
    git(store_home, *ADA, "revert", "--no-edit", "main")
    terminal = reviews()
    assert "dismissed" in terminal.passes("(1/1) Retire it [x,i,s,q,?]?")
    terminal.types("x")
    assert "retired it, commit" in terminal.ends()
    assert reader.scan(store).history.status(signal) == "captured", "the question is open again"
