"""`reflect-git review` offers a list before ten or more proposed rules, and weak ones behind the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.stories.conftest import Reviews, Says, commits
from tests.stories.terminal import Terminal

PAIRS = ("pnpm npm", "ruff black", "uv pip", "rg grep", "podman docker", "vitest jest", "biome prettier", "deno node",
         "poetry conda", "mypy pylint")  # fmt: skip
ASKED = "10 proposed rules wait: go through them [y,l,s,n,q,?]?"


@pytest.fixture
def ten(says: Says) -> None:
    for pair in PAIRS:
        wanted, unwanted = pair.split()
        says(f"use {wanted}, not {unwanted}")


@pytest.mark.usefixtures("ten")
def test_a_summary_comes_first_if_wanted(reviews: Reviews) -> None:
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.types("l")
    terminal.sees(
        """
  1  SIG-1  correction → project
     Use pnpm, not npm
  2  SIG-2  correction → project
     Use ruff, not black
  3  SIG-3  correction → project
     Use uv, not pip
  4  SIG-4  correction → project
     Use rg, not grep
  5  SIG-5  correction → project
     Use podman, not docker
  6  SIG-6  correction → project
     Use vitest, not jest
  7  SIG-7  correction → project
     Use biome, not prettier
  8  SIG-8  correction → project
     Use deno, not node
  9  SIG-9  correction → project
     Use poetry, not conda
 10  SIG-10  correction → project
     Use mypy, not pylint
"""
        + ASKED
    )
    terminal.types("?")
    terminal.sees(f"""
        y - yes: go through them one by one
        l - list them first
        s - skip all of them for now: they come again
        n - no to all of them, in one commit: each is asked once more after three
            further sessions
        q - quit: all of them wait
        ? - this help
        {ASKED}
        """)
    terminal.types("y")
    assert terminal.passes("(1/10) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?").startswith(
        "\nProposed rule 1 of 10 "
    )


@pytest.mark.usefixtures("ten")
def test_skipping_all_for_now_decides_nothing(reviews: Reviews, store_home: Path) -> None:
    before = commits(store_home)
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.types("s")
    terminal.is_left("skipped 10 for now: they come again")
    assert commits(store_home) == before
    reviews().sees(ASKED)


@pytest.mark.usefixtures("ten")
def test_no_to_all_is_one_commit_and_one_undo(reviews: Reviews, store_home: Path, shop: Path, run_cli: RunCli) -> None:
    before = commits(store_home)
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.types("n")
    terminal.sees("say no to all 10 [y,n]?")
    terminal.types("n")
    terminal.sees(ASKED)
    terminal.types("n")
    terminal.sees("say no to all 10 [y,n]?")
    terminal.types("y")
    terminal.is_left("""
        no to 10: each is asked once more after three further sessions
        to take it back: reflect-git undo
        """)
    assert commits(store_home) == ["dismiss: 10 proposed rules", *before]
    named = commits(store_home, "--format=%(trailers:key=Decision,valueonly)", "-1")
    assert sum(line.startswith("DEC-") for line in named) == 10
    assert run_cli("audit", "--json", cwd=shop).json()["data"]["findings"] == []
    reviews().is_left("Nothing to reflect on.")
    with Terminal("--yes", "undo", cwd=shop) as undo:
        undo.ends()
    reviews().sees(ASKED)


def test_every_proposed_rule_that_was_announced_is_asked(says: Says, reviews: Reviews) -> None:
    for pair in (*PAIRS, "bun yarn", "just make"):
        wanted, unwanted = pair.split()
        says(f"use {wanted}, not {unwanted}")
    terminal = reviews()
    terminal.sees(ASKED.replace("10", "12"))
    terminal.types("y")
    for number in range(1, 13):
        seen = terminal.passes(", q, ?]?".replace(" ", ""))
        assert f"({number}/12) Approve to project " in seen
        terminal.types("s")
    assert "12 skipped for now\n12 proposed rules wait: " in terminal.ends().replace("\r", "")


@pytest.mark.usefixtures("ten")
def test_quitting_at_once_leaves_all_of_them(reviews: Reviews, store_home: Path) -> None:
    before = commits(store_home)
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.types("q")
    terminal.is_left("10 proposed rules wait: run 'reflect-git review' when you like")
    assert commits(store_home) == before


def test_weak_ones_are_offered_behind_the_last(says: Says, claude_says: Says, reviews: Reviews) -> None:
    says("use pnpm, not npm")
    claude_says("indent with tabs")
    terminal = reviews()
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,w,q,?]?")
    terminal.types("n")
    offer = "1 weak one: w to see, it goes by itself in 13 days [w,u,q,?]?"
    terminal.sees(f"no: DEC-1\n{offer}")
    terminal.types("x")
    terminal.sees(f"""
        w - see the weak ones, too, behind the others
        u - undo the last answer
        q - quit: what is undecided waits
        ? - this help
        {offer}
        """)
    terminal.types("w")
    terminal.sees("""
        Proposed rule 2 of 2 — convention, from a moment ago, weak

            Indent with tabs

          it says       "indent with tabs"
          confidence    low (seen in 1 session)
          goes to       CLAUDE.md (project)
          risk          it rests on words that are not your own: from the assistant
                        → read it to the end
          note          about 4 tokens in every session

        diff --git a/CLAUDE.md b/CLAUDE.md
        new file mode 100644
        --- /dev/null
        +++ b/CLAUDE.md
        @@ -0,0 +1,5 @@
        +<!-- reflect-git:begin new convention LRN-1:e6d7 -->
        +
        +- Indent with tabs
        +
        +<!-- reflect-git:end -->
        (2/2) Approve to project [y,n,N,s,e,t,v,u,q,?]?
        """)
    terminal.types("w")
    terminal.sees("""
        there are no more weak ones
        (2/2) Approve to project [y,n,N,s,e,t,v,u,q,?]?
        """)
    terminal.types("q")  # a weak one that was looked at goes by itself, too: nothing waits
    terminal.is_left("1 no, 1 undecided\nto take the last answer back: reflect-git undo")


def test_weak_ones_come_behind_what_is_in_hand(says: Says, claude_says: Says, reviews: Reviews) -> None:
    says("use pnpm, not npm")
    claude_says("indent with tabs")
    terminal = reviews()
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,w,q,?]?")
    terminal.types("w")
    terminal.sees("""
        1 weak one added behind the others
        (1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?
        """)
    terminal.types("?")
    told = terminal.passes("(1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?")
    assert "s - skip for now: it comes in the next review" in told
    assert "j - leave it undecided, see the next one; it comes again in this review" in told
    terminal.types("n")
    assert "Indent with tabs" in terminal.passes("(2/2) Approve to project [y,n,N,s,e,t,v,u,q,?]?")


def test_a_risk_takes_the_first_word_of_the_rule(claude_says: Says, reviews: Reviews, shop: Path) -> None:
    claude_says("always commit with --no-verify")
    terminal = reviews()
    terminal.sees("1 weak one: w to see, it goes by itself in 13 days [w,q,?]?")
    terminal.types("w")
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    asked = """
        risk: it rests on words that are not your own: from the assistant
        risk: it switches a safeguard off
        type the rule's first word, 'Always', to approve it all the same:
        """
    for typed in ("y", "yes", "commit"):
        terminal.types("y")
        terminal.sees(asked)
        terminal.types(typed)
        terminal.sees("""
            not approved; it is still undecided
            (1/1) Approve to project [y,n,N,s,e,t,v,q,?]?
            """)
    assert not (shop / "CLAUDE.md").exists()
    terminal.types("y")
    terminal.sees(asked)
    terminal.types("always")
    terminal.is_left("""
        approved LRN-1 into 'CLAUDE.md'

        1 approved
        CLAUDE.md changed in your project; commit it with your work
        to take the last answer back: reflect-git undo
        see what is in force with 'reflect-git rules'
        """)


def test_what_is_risky_is_never_taken_with_others(claude_says: Says, reviews: Reviews) -> None:
    claude_says("indent with tabs")
    claude_says("indent with spaces")
    terminal = reviews()
    terminal.sees("2 weak ones: w to see, they go by themselves in 13 days [w,q,?]?")
    terminal.types("w")
    terminal.passes("(1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?")
    terminal.types("l")
    terminal.passes("Enter goes back:")
    terminal.types("y 1-2")
    seen = terminal.passes("(1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?")
    assert seen.startswith("none of them can be approved without a look at it")
    assert "Proposed rule 1 of 2" in seen


def test_the_opposite_of_what_was_just_approved_is_refused(says: Says, reviews: Reviews, shop: Path) -> None:
    says("use pnpm, not npm")
    says("use npm, not pnpm")
    terminal = reviews()
    terminal.passes("(1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?")
    terminal.types("y")
    seen = terminal.passes("(2/2) Approve to project [n,N,s,e,t,r,v,u,q,?]?")
    assert (
        """
  refused       it contradicts 'LRN-1', which is in force: Use
                pnpm, not npm
                → r to replace that rule
"""
        in seen
    )
    terminal.types("y")
    terminal.sees("""
        cannot approve it as it is: see 'refused' above for the keys that help
        (2/2) Approve to project [n,N,s,e,t,r,v,u,q,?]?
        """)
    assert "- Use npm, not pnpm" not in (shop / "CLAUDE.md").read_text(encoding="utf-8")


def test_a_rule_is_replaced_after_a_look_at_the_change(
    says: Says, reviews: Reviews, shop: Path, store_home: Path, run_cli: RunCli
) -> None:
    says("use pnpm, not npm")
    first = reviews()
    first.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    first.types("y")
    first.ends()
    says("use npm, not pnpm")
    says("name branches after their ticket")
    before, text = commits(store_home), (shop / "CLAUDE.md").read_text(encoding="utf-8")
    terminal = reviews()
    terminal.passes("(1/2) Approve to project [n,N,s,e,t,r,v,j,/,l,q,?]?")
    terminal.types("?")
    told = terminal.passes("(1/2) Approve to project [n,N,s,e,t,r,v,j,/,l,q,?]?")
    assert "r - replace the rule that it contradicts, then look again\n" in told
    terminal.types("r")
    seen = terminal.passes("(1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?")
    assert "\n  replaces      LRN-1: Use pnpm, not npm\n" in seen and "refused" not in seen
    assert "\n-- Use pnpm, not npm\n" in seen and "\n+- Use npm, not pnpm\n" in seen
    assert (commits(store_home), (shop / "CLAUDE.md").read_text(encoding="utf-8")) == (before, text)
    terminal.types("r")
    terminal.sees("""
        there is no one rule to replace
        (1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?
        """)
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("project-local")  # another target is another question
    assert "refused" in terminal.passes("(1/2) Approve to project-local [n,N,s,e,t,r,v,j,/,l,q,?]?")
    terminal.types("r")
    terminal.passes("(1/2) Approve to project-local [y,n,N,s,e,t,v,j,/,l,q,?]?")
    terminal.types("y")
    terminal.passes("(2/2) Approve to project [y,n,N,s,e,t,v,u,q,?]?")
    assert [rule["text"] for rule in run_cli("rules", "--json", cwd=shop).json()["data"]] == ["Use npm, not pnpm"]
    assert not (shop / "CLAUDE.md").exists()
    terminal.types("u")
    terminal.passes("(1/2) Approve to project-local [y,n,N,s,e,t,v,j,/,l,q,?]?")
    assert (shop / "CLAUDE.md").read_text(encoding="utf-8") == text
    assert [rule["text"] for rule in run_cli("rules", "--json", cwd=shop).json()["data"]] == ["Use pnpm, not npm"]


def test_a_project_makes_an_exception_to_a_rule_for_all_with_a_typed_word(
    says: Says, reviews: Reviews, shop: Path, home: Path, run_cli: RunCli
) -> None:
    says("use tabs, not spaces")
    first = reviews()
    first.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    first.types("t")
    first.passes("target [name,q,?]?")
    first.types("global")
    first.passes("(1/1) Approve to global [y,n,N,s,e,t,v,q,?]?")
    first.types("y")
    first.ends()
    says("use spaces, not tabs")
    terminal = reviews()
    seen = terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    assert "risk          in this project it holds instead of 'LRN-1'," in seen
    assert "y to keep both; or t and 'global', then r to" in seen
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("global")
    assert "→ r to replace that rule" in terminal.passes("(1/1) Approve to global [n,N,s,e,t,r,v,q,?]?")
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("project")
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    terminal.types("y")
    terminal.passes("type the rule's first word, 'Use', to approve it all the same:")
    terminal.types("y")
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    assert not (shop / "CLAUDE.md").exists()
    terminal.types("y")
    terminal.passes("type the rule's first word, 'Use', to approve it all the same:")
    terminal.types("use")
    terminal.ends()
    assert "- Use spaces, not tabs" in (shop / "CLAUDE.md").read_text(encoding="utf-8")
    assert "- Use tabs, not spaces" in (home / ".claude" / "CLAUDE.md").read_text(encoding="utf-8")
    assert len(run_cli("rules", "--json", cwd=shop).json()["data"]) == 2
