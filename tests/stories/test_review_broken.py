"""`reflect-git review`: a rule in force that the person has to repeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.stories.conftest import Reviews, Says, list_commits
from tests.stories.terminal import Terminal

PNPM = "use pnpm, not npm"
ASKED = "(1/1) Guard, reword, retire or leave it [h,a,d,e,x,n,s,v,q,?]?"


def card(broken: int, sessions: str) -> str:
    return f"""
Broken rule 1 of 1 — Claude broke this rule in {broken} of the last {sessions}

    Use pnpm, not npm

  you said      "use pnpm, not npm"
  last          a moment ago
  in            CLAUDE.md
  rule          LRN-1
{ASKED}
"""


@pytest.fixture
def rule(says: Says, reviews: Reviews) -> str:
    """Approve a rule; return its id."""
    says(PNPM, "--session", "s-1")
    terminal = reviews()
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    terminal.types("y")
    terminal.ends()
    return terminal.ids["LRN-1"]


@pytest.fixture
def again(rule: str, says: Says) -> str:
    """Repeat it in two of three later sessions, twice in one of them; return the id of the rule."""
    says(PNPM, "--session", "s-2")
    says(PNPM, "--session", "s-2")
    says("answer in short sentences", "--session", "s-3", kind="convention")
    says(PNPM, "--session", "s-4")
    return rule


@pytest.fixture
def broken(again: str, run_cli: RunCli, project: Path, says: Says, reviews: Reviews) -> str:
    """Also dismiss the other thing that was said."""
    other = next(one for one in run_cli("candidates", "--json", cwd=project).json()["data"])
    assert run_cli("dismiss", other["id"], "--never", cwd=project).code == 0
    return again


def test_sharpen(broken: str, reviews: Reviews, editor: Callable[[str], Path], project: Path, store_home: Path) -> None:
    shown = editor("Run every script with pnpm. Never call npm.\n")
    terminal = reviews()
    terminal.sees(card(2, "3 sessions"))
    terminal.types("e")
    terminal.sees("""
        diff --git a/CLAUDE.md b/CLAUDE.md
        --- a/CLAUDE.md
        +++ b/CLAUDE.md
        @@ -1,5 +1,5 @@
        -<!-- reflect-git:begin new convention LRN-1:899c -->
        +<!-- reflect-git:begin new convention LRN-1:b125 -->

        -- Use pnpm, not npm
        +- Run every script with pnpm. Never call npm.

         <!-- reflect-git:end -->
          note          about 11 tokens in every session
        change the rule like this [y,n]?
        """)
    terminal.types("y")
    terminal.exits_with("""
        amended LRN-1 in 'CLAUDE.md'

        1 reworded
        CLAUDE.md changed in your project; commit it with your work
        undo the last answer with: reflect-git undo
        """)
    assert "Claude broke this rule in 2 of the last 3 sessions" in shown.read_text(encoding="utf-8")
    assert "- Run every script with pnpm. Never call npm.\n" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert list_commits(store_home)[0] == "amend: Run every script with pnpm. Never call npm."
    assert "Backup: " in "\n".join(list_commits(store_home, "--format=%b", "-1"))
    reviews().exits_with("Nothing to reflect on.")  # earlier repetitions do not count against the new wording


def test_what_a_sharper_rule_answers_is_not_proposed_as_a_new_one(
    says: Says, reviews: Reviews, editor: Callable[[str], Path], project: Path, run_cli: RunCli
) -> None:
    """The rule then has another wording than what the person repeated."""
    says("write labels in Welsh", kind="convention")
    first = reviews()
    first.passes("?]?")
    first.presses("y")
    first.ends()
    says("I told you to write labels in Welsh")
    editor("Write labels and headings in Welsh, also in drafts.\n")
    terminal = reviews()
    terminal.passes("Reword, retire or leave it [e,x,n,s,v,q,?]?")
    terminal.types("e")
    terminal.passes("change the rule like this [y,n]?")
    terminal.types("y")
    assert "1 reworded" in terminal.ends()
    assert run_cli("review", "--json", cwd=project).json()["data"] == []
    assert run_cli("audit", "--json", cwd=project).json()["data"]["findings"] == []
    (rule,) = run_cli("rules", "--json", cwd=project).json()["data"]
    with Terminal("--yes", "revert", rule["id"], cwd=project) as revert:
        revert.ends()
    assert run_cli("review", "--json", cwd=project).json()["data"] == []


def test_what_was_sharpened_is_undone(
    broken: str, reviews: Reviews, editor: Callable[[str], Path], project: Path, run_cli: RunCli
) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    editor("Run every script with pnpm. Never call npm.\n")
    terminal = reviews()
    terminal.sees(card(2, "3 sessions"))
    terminal.types("e")
    terminal.passes("change the rule like this [y,n]?")
    terminal.types("n")
    terminal.sees(f"nothing was changed\n{ASKED}")
    assert (project / "CLAUDE.md").read_bytes() == before
    terminal.types("e")
    terminal.passes("change the rule like this [y,n]?")
    terminal.types("y")
    terminal.ends()
    undo(project)
    assert (project / "CLAUDE.md").read_bytes() == before
    reviews().sees(card(2, "3 sessions"))


def test_retire(broken: str, reviews: Reviews, project: Path, store_home: Path) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    terminal = reviews()
    terminal.sees(card(2, "3 sessions"))
    terminal.types("x")
    assert "-- Use pnpm, not npm\n" in terminal.passes("retire the rule [y,n]?")
    terminal.types("y")
    terminal.exits_with("""
        retired LRN-1

        1 retired
        undo the last answer with: reflect-git undo
        """)
    assert not (project / "CLAUDE.md").exists()
    assert list_commits(store_home)[0] == "revert: Use pnpm, not npm"
    assert "Backup: " in "\n".join(list_commits(store_home, "--format=%b", "-1"))
    reviews().exits_with("Nothing to reflect on.")  # and it is not proposed as a new rule
    undo(project)
    assert (project / "CLAUDE.md").read_bytes() == before
    reviews().sees(card(2, "3 sessions"))


def test_leave_it(broken: str, reviews: Reviews, says: Says, project: Path, store_home: Path) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    terminal = reviews()
    terminal.sees(card(2, "3 sessions"))
    terminal.types("n")
    terminal.exits_with("""
        LRN-1 unchanged; asked again when 3 more sessions break it

        1 kept unchanged
        undo the last answer with: reflect-git undo
        """)
    assert (project / "CLAUDE.md").read_bytes() == before
    assert list_commits(store_home)[0] == f"dismiss: {broken} stays as it is"
    for session in ("s-5", "s-6", "s-6"):
        reviews().exits_with("Nothing to reflect on.")
        says(PNPM, "--session", session)
    says(PNPM, "--session", "s-7")
    reviews().sees(card(3, "5 sessions"))


def test_that_it_was_left_is_undone(broken: str, reviews: Reviews, project: Path) -> None:
    terminal = reviews()
    terminal.sees(card(2, "3 sessions"))
    terminal.types("n")
    terminal.ends()
    undo(project)
    reviews().sees(card(2, "3 sessions"))


def test_skipping_looking_and_quitting_decide_nothing(broken: str, reviews: Reviews, store_home: Path) -> None:
    before = list_commits(store_home)
    terminal = reviews()
    terminal.sees(card(2, "3 sessions"))
    terminal.types("v")
    assert terminal.passes(ASKED).count("your own words") == 3
    terminal.types("?")
    assert "e  reword the rule in your editor" in terminal.passes(ASKED)
    terminal.types("s")
    terminal.exits_with("left for later: 1 broken rule; continue with: reflect-git review")
    terminal = reviews()
    terminal.sees(card(2, "3 sessions"))
    terminal.types("q")
    terminal.exits_with("left for later: 1 broken rule; continue with: reflect-git review")
    assert list_commits(store_home) == before


def test_it_comes_before_what_is_proposed(again: str, reviews: Reviews) -> None:
    terminal = reviews()
    seen = terminal.passes(ASKED)
    assert "to review: 1 broken rule, 1 proposed rule\n" in seen
    terminal.types("s")
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")


def test_where_nobody_can_be_asked_it_is_listed(broken: str, run_cli: RunCli, project: Path) -> None:
    line = f"{broken}  Claude broke this rule in 2 of the last 3 sessions\n    Use pnpm, not npm\n"
    assert line in run_cli("review", cwd=project).out
    assert run_cli("candidates", cwd=project).out == line
    document = run_cli("candidates", "--json", cwd=project).json()
    assert document["data"] == []
    (found,) = document["broken"]
    assert (found["rule"], found["broken"], found["sessions"], found["said"]) == (broken, 2, 3, [PNPM])
    assert found["answers"]["retire"] == f"reflect-git revert {broken}"
    assert run_cli("review", "--json", cwd=project).json()["broken"] == document["broken"]


def undo(project: Path) -> None:
    with Terminal("undo", cwd=project) as terminal:
        terminal.ends()
