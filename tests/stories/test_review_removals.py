"""Somebody typed `git revert` in the store: it applied, nothing was lost, and the review asks what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.project_edits import approve, commit, make_project
from tests.store.probe import opened, swept
from tests.stories.conftest import Reviews, commits

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
def shop(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def reverted(store_home: Path, shop: Path) -> Store:
    """Create a rule whose approval the person reverted with their own git."""
    store = opened(store_home)
    approve(store, shop)
    commit(shop)
    swept(store_home)
    git(store_home, *ADA, "revert", "--no-edit", "main")
    return store


def _in_force(store: Store) -> int:
    return len(reader.scan(store).history.in_force())


def test_it_was_meant_for_good(reverted: Store, reviews: Reviews, shop: Path, run_cli: RunCli) -> None:
    assert "removed       1 commit of yours removed records, now restored: reflect-git review" in run_cli("status").out
    terminal = reviews()
    terminal.sees(SCREEN)
    terminal.types("x")
    said = terminal.ends()
    assert "retired it, commit " in said and "CLAUDE.md changed in your project" in said
    assert _in_force(reverted) == 0 and (shop / "CLAUDE.md").read_text() == "# Shop\n\nOur own text.\n"
    assert commits(Path(reverted.root))[0] == "revert: Use pnpm, not npm"
    assert run_cli("audit", cwd=shop).code == 0 and "removed" not in run_cli("status").out


def test_it_was_not(reverted: Store, reviews: Reviews, shop: Path, run_cli: RunCli) -> None:
    before = (shop / "CLAUDE.md").read_bytes()
    assert run_cli("audit", cwd=shop).code == 4
    terminal = reviews()
    terminal.sees(SCREEN)
    terminal.types("?")
    assert "i  keep it in force; do not ask again" in terminal.passes("(1/1) Retire it [x,i,s,q,?]?")
    terminal.types("i")
    assert "left in force" in terminal.ends()
    assert _in_force(reverted) == 1 and (shop / "CLAUDE.md").read_bytes() == before
    assert run_cli("audit", cwd=shop).code == 0 and "removed" not in run_cli("status").out
    assert "Nothing to reflect on." in reviews().ends()


def test_not_now_and_nobody_to_ask(reverted: Store, reviews: Reviews, shop: Path, run_cli: RunCli) -> None:
    terminal = reviews()
    terminal.sees(SCREEN)
    terminal.types("s")
    assert "left for later: 1 changed rule" in terminal.ends()
    told = run_cli("review", cwd=shop)
    assert "removed this from the store" in told.out and "answer these in a terminal" in told.err
    assert _in_force(reverted) == 1


def test_from_another_folder_the_project_is_found(reverted: Store, reviews: Reviews, shop: Path, home: Path) -> None:
    terminal = reviews(cwd=home)
    terminal.sees(SCREEN)
    terminal.types("x")
    assert "changed in your project" not in terminal.ends()
    assert (shop / "CLAUDE.md").read_text() == "# Shop\n\nOur own text.\n"


def test_a_dismissal_that_git_reverted(store_home: Path, shop: Path, reviews: Reviews) -> None:
    from reflect_git.rules import dismiss
    from tests.rules.project_edits import sit
    from tests.rules.queues import BY, say

    store = opened(store_home)
    signal = say(store, "use pnpm, not npm")
    dismiss.dismiss(store, sit(store, shop).find(signal), BY)
    swept(store_home)
    git(store_home, *ADA, "revert", "--no-edit", "main")
    terminal = reviews()
    assert "dismissed" in terminal.passes("(1/1) Retire it [x,i,s,q,?]?")
    terminal.types("x")
    assert "retired it, commit" in terminal.ends()
    assert reader.scan(store).history.status(signal) == "captured", "the question is open again"
