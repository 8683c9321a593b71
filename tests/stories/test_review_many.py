"""`reflect-git review` offers a list before ten or more proposed rules, and shows weak ones last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.stories.conftest import Reviews, Says, list_commits
from tests.stories.terminal import Terminal

PAIRS = ("pnpm npm", "ruff black", "uv pip", "rg grep", "podman docker", "vitest jest", "biome prettier", "deno node",
         "poetry conda", "mypy pylint")  # fmt: skip
CHOOSE = "y 1,3-5 approve, n 2 dismiss, 4 show, Enter back:"
ASKED = "10 to review: Enter start, l list, a skip all, q quit, ? help:"


@pytest.fixture
def ten(says: Says) -> None:
    for pair in PAIRS:
        wanted, unwanted = pair.split()
        says(f"use {wanted}, not {unwanted}")


@pytest.mark.usefixtures("ten")
def test_a_summary_comes_first_if_wanted(reviews: Reviews) -> None:
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.presses("l")
    shown = terminal.passes(CHOOSE)
    assert "  1  project        Use pnpm, not npm\n" in shown and " 10  project        Use mypy, not pylint\n" in shown
    terminal.types("")  # the Enter that people type after a key
    terminal.passes(CHOOSE)
    terminal.types("")
    terminal.sees(ASKED)
    terminal.types("?")
    terminal.sees(f"""
        Enter  start
        l      list them; answer several at once
        a      skip all; ask again in the next review
        n      dismiss all in one commit; each may return after 3 sessions
        q      quit; keep all for later
        ?      this help
        {ASKED}
        """)
    terminal.types("y")
    assert terminal.passes("(1/10) Approve to project [y,n,N,s,e,g,t,v,j,/,l,q,?]?").startswith(
        "\nProposed rule 1 of 10 "
    )


@pytest.mark.usefixtures("ten")
def test_several_are_answered_from_the_first_list(says: Says, reviews: Reviews, store_home: Path) -> None:
    says("why do you always run the specs without the seeds?")
    terminal = reviews()
    terminal.passes("11 to review: Enter start, l list, a skip all, q quit, ? help:")
    terminal.types("l")
    assert " 11  project        (needs wording) Why do you always run the specs" in terminal.passes(CHOOSE)
    terminal.types("n 1-9")
    assert "dismissed 9; " in terminal.passes("(10/11) Approve to project [y,n,N,s,e,g,t,v,j,/,l,u,q,?]?")
    terminal.types("q")
    assert "9 dismissed, 2 undecided" in terminal.ends()
    assert len([subject for subject in list_commits(store_home) if subject.startswith("dismiss")]) == 1


@pytest.mark.usefixtures("ten")
def test_skipping_all_for_now_decides_nothing(reviews: Reviews, store_home: Path) -> None:
    before = list_commits(store_home)
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.types("s")
    terminal.exits_with("skipped 10; asked again in the next review")
    assert list_commits(store_home) == before
    reviews().sees(ASKED)


@pytest.mark.usefixtures("ten")
def test_no_to_all_is_one_commit_and_one_undo(
    reviews: Reviews, store_home: Path, project: Path, run_cli: RunCli
) -> None:
    before = list_commits(store_home)
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.types("n")
    terminal.sees("dismiss all 10 [y,n]?")
    terminal.types("n")
    terminal.sees(ASKED)
    terminal.types("n")
    terminal.sees("dismiss all 10 [y,n]?")
    terminal.types("y")
    terminal.exits_with("""
        dismissed 10; each may return after 3 sessions
        undo with: reflect-git undo
        """)
    assert list_commits(store_home) == ["dismiss: 10 proposed rules", *before]
    named = list_commits(store_home, "--format=%(trailers:key=Decision,valueonly)", "-1")
    assert sum(line.startswith("DEC-") for line in named) == 10
    assert run_cli("audit", "--json", cwd=project).json()["data"]["findings"] == []
    reviews().exits_with("Nothing to reflect on.")
    with Terminal("--yes", "undo", cwd=project) as undo:
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
    assert "12 skipped\nleft for later: 12 proposed rules; " in terminal.ends().replace("\r", "")


@pytest.mark.usefixtures("ten")
def test_quitting_at_once_leaves_all_of_them(reviews: Reviews, store_home: Path) -> None:
    before = list_commits(store_home)
    terminal = reviews()
    terminal.sees(ASKED)
    terminal.types("q")
    terminal.exits_with("left for later: 10 proposed rules; continue with: reflect-git review")
    assert list_commits(store_home) == before


def test_weak_ones_are_offered_behind_the_last(says: Says, claude_says: Says, reviews: Reviews) -> None:
    says("use pnpm, not npm")
    claude_says("indent with tabs")
    terminal = reviews()
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,w,q,?]?")
    terminal.types("n")
    offer = "1 unlikely one, expiring unreviewed in 13 days: w to see [w,u,q,?]?"
    terminal.sees(f"dismissed; may return after 3 sessions\n{offer}")
    terminal.types("x")
    terminal.sees(f"""
        w  add the unlikely ones at the end
        u  undo the last answer
        q  quit; keep the rest for later
        ?  this help
        {offer}
        """)
    terminal.types("w")
    terminal.sees("""
        Proposed rule 2 of 2 — convention, from a moment ago, unlikely

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
        no more unlikely ones
        (2/2) Approve to project [y,n,N,s,e,t,v,u,q,?]?
        """)
    terminal.types("q")  # a weak one that was looked at goes by itself, too: nothing waits
    terminal.exits_with("1 dismissed, 1 undecided\nundo the last answer with: reflect-git undo")


def test_weak_ones_come_behind_what_is_in_hand(says: Says, claude_says: Says, reviews: Reviews) -> None:
    says("use pnpm, not npm")
    claude_says("indent with tabs")
    terminal = reviews()
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,w,q,?]?")
    terminal.types("w")
    terminal.sees("""
        1 unlikely one added at the end
        (1/2) Approve to project [y,n,N,s,e,g,t,v,j,/,l,q,?]?
        """)
    terminal.types("?")
    told = terminal.passes("(1/2) Approve to project [y,n,N,s,e,g,t,v,j,/,l,q,?]?")
    assert "s  skip; ask again in the next review" in told
    assert "j  go to the next one; this one stays undecided" in told
    terminal.types("n")
    assert "Indent with tabs" in terminal.passes("(2/2) Approve to project [y,n,N,s,e,t,v,u,q,?]?")


def test_a_risk_takes_the_first_word_of_the_rule(claude_says: Says, reviews: Reviews, project: Path) -> None:
    claude_says("always commit with --no-verify")
    terminal = reviews()
    terminal.sees("1 unlikely one, expiring unreviewed in 13 days: w to see [w,q,?]?")
    terminal.types("w")
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    asked = """
        risk: it rests on words that are not your own: from the assistant
        risk: it switches a safeguard off
        type the rule's first word, 'Always', to approve it anyway:
        """
    for typed in ("y", "yes", "commit"):
        terminal.types("y")
        terminal.sees(asked)
        terminal.types(typed)
        terminal.sees("""
            not approved
            (1/1) Approve to project [y,n,N,s,e,t,v,q,?]?
            """)
    assert not (project / "CLAUDE.md").exists()
    terminal.types("y")
    terminal.sees(asked)
    terminal.types("always")
    terminal.exits_with("""
        approved LRN-1 into 'CLAUDE.md'

        1 approved
        CLAUDE.md changed in your project; commit it with your work
        undo the last answer with: reflect-git undo
        list all rules with: reflect-git rules
        """)


def test_what_is_risky_is_never_taken_with_others(claude_says: Says, reviews: Reviews) -> None:
    claude_says("indent with tabs")
    claude_says("indent with spaces")
    terminal = reviews()
    terminal.sees("2 unlikely ones, expiring unreviewed in 13 days: w to see [w,q,?]?")
    terminal.types("w")
    terminal.passes("(1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?")
    terminal.types("l")
    terminal.passes("Enter back:")
    terminal.types("y 1-2")
    seen = terminal.passes("(1/2) Approve to project [y,n,N,s,e,t,v,j,/,l,q,?]?")
    assert seen.startswith("none approved: review each of them on its own")
    assert "Proposed rule 1 of 2" in seen


def test_the_opposite_of_what_was_just_approved_is_refused(says: Says, reviews: Reviews, project: Path) -> None:
    says("use pnpm, not npm")
    says("use npm, not pnpm")
    terminal = reviews()
    terminal.passes("(1/2) Approve to project [y,n,N,s,e,g,t,v,j,/,l,q,?]?")
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
        cannot approve: see 'refused' above for the keys that help
        (2/2) Approve to project [n,N,s,e,t,r,v,u,q,?]?
        """)
    assert "- Use npm, not pnpm" not in (project / "CLAUDE.md").read_text(encoding="utf-8")


def test_a_rule_is_replaced_after_a_look_at_the_change(
    says: Says, reviews: Reviews, project: Path, store_home: Path, run_cli: RunCli
) -> None:
    says("use pnpm, not npm")
    first = reviews()
    first.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    first.types("y")
    first.ends()
    says("use npm, not pnpm")
    says("name branches after their ticket")
    before, text = list_commits(store_home), (project / "CLAUDE.md").read_text(encoding="utf-8")
    terminal = reviews()
    terminal.passes("(1/2) Approve to project [n,N,s,e,t,r,v,j,/,l,q,?]?")
    terminal.types("?")
    told = terminal.passes("(1/2) Approve to project [n,N,s,e,t,r,v,j,/,l,q,?]?")
    assert "r  replace the conflicting rule, then show it again\n" in told
    terminal.types("r")
    seen = terminal.passes("(1/2) Approve to project [y,n,N,s,e,g,t,v,j,/,l,q,?]?")
    assert "\n  replaces      LRN-1: Use pnpm, not npm\n" in seen and "refused" not in seen
    assert "\n-- Use pnpm, not npm\n" in seen and "\n+- Use npm, not pnpm\n" in seen
    assert (list_commits(store_home), (project / "CLAUDE.md").read_text(encoding="utf-8")) == (before, text)
    terminal.types("r")
    terminal.sees("""
        no conflicting rule to replace
        (1/2) Approve to project [y,n,N,s,e,g,t,v,j,/,l,q,?]?
        """)
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("project-local")  # another target is another question
    assert "refused" in terminal.passes("(1/2) Approve to project-local [n,N,s,e,t,r,v,j,/,l,q,?]?")
    terminal.types("r")
    terminal.passes("(1/2) Approve to project-local [y,n,N,s,e,g,t,v,j,/,l,q,?]?")
    terminal.types("y")
    terminal.passes("(2/2) Approve to project [y,n,N,s,e,t,v,u,q,?]?")
    assert [rule["text"] for rule in run_cli("rules", "--json", cwd=project).json()["data"]] == ["Use npm, not pnpm"]
    assert not (project / "CLAUDE.md").exists()
    terminal.types("u")
    terminal.passes("(1/2) Approve to project-local [y,n,N,s,e,g,t,v,j,/,l,q,?]?")
    assert (project / "CLAUDE.md").read_text(encoding="utf-8") == text
    assert [rule["text"] for rule in run_cli("rules", "--json", cwd=project).json()["data"]] == ["Use pnpm, not npm"]


def test_a_project_makes_an_exception_to_a_rule_for_all_with_a_typed_word(
    says: Says, reviews: Reviews, project: Path, home: Path, run_cli: RunCli
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
    assert "risk          in this project it overrides the global rule" in seen
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
    terminal.passes("type the rule's first word, 'Use', to approve it anyway:")
    terminal.types("y")
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,t,v,q,?]?")
    assert not (project / "CLAUDE.md").exists()
    terminal.types("y")
    terminal.passes("type the rule's first word, 'Use', to approve it anyway:")
    terminal.types("use")
    terminal.ends()
    assert "- Use spaces, not tabs" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert "- Use tabs, not spaces" in (home / ".claude" / "CLAUDE.md").read_text(encoding="utf-8")
    assert len(run_cli("rules", "--json", cwd=project).json()["data"]) == 2
