"""`reflect-git review`: a person's answers to one proposed rule, and their effects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import RunCli
from tests.stories.conftest import Reviews, Says, list_commits

PNPM = """
Proposed rule 1 of 1 — correction, from a moment ago

    Use pnpm, not npm

  you said      "use pnpm, not npm"
  confidence    medium (seen in 1 session)
  backtest      no past session to test it on
  goes to       CLAUDE.md (project)
  note          about 4 tokens in every session

diff --git a/CLAUDE.md b/CLAUDE.md
new file mode 100644
--- /dev/null
+++ b/CLAUDE.md
@@ -0,0 +1,5 @@
+<!-- reflect-git:begin new convention LRN-1:899c -->
+
+- Use pnpm, not npm
+
+<!-- reflect-git:end -->
(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?
"""


def test_yes_changes_the_file_in_one_commit(says: Says, reviews: Reviews, project: Path, store_home: Path) -> None:
    says("use pnpm, not npm")
    terminal = reviews()
    terminal.sees(PNPM)
    shown = terminal.ids["LRN-1"]
    assert not (project / "CLAUDE.md").exists()
    terminal.types("y")
    terminal.exits_with("""
        approved LRN-1 into 'CLAUDE.md'

        1 approved
        CLAUDE.md changed in your project; commit it with your work
        undo the last answer with: reflect-git undo
        list all rules with: reflect-git rules
        """)
    assert terminal.ids["LRN-1"] == shown
    assert "- Use pnpm, not npm\n" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert terminal.ids["LRN-1"] in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert list_commits(store_home)[0] == "approve: Use pnpm, not npm"
    assert "Approved-By: terminal" in list_commits(store_home, "--format=%b", "-1")
    reviews().exits_with("Nothing to reflect on.")


def test_who_has_no_name_is_told_once(says: Says, reviews: Reviews, home: Path) -> None:
    (home / ".gitconfig").write_text("", encoding="utf-8")
    says("use pnpm, not npm")
    says("use uv, not pip")
    terminal = reviews()
    terminal.passes("(1/2) Approve to project [y,n,N,s,e,g,t,v,j,/,l,q,?]?")
    terminal.types("y")
    told = terminal.passes("(2/2) Approve to project [y,n,N,s,e,g,t,v,u,q,?]?")
    assert "hint: git does not know your name, so history says that 'somebody' decided\n" in told
    assert "hint: tell it: git config --global user.name 'Your Name'\n" in told
    terminal.types("y")
    terminal.exits_with("""
        approved LRN-1 into 'CLAUDE.md'

        2 approved
        CLAUDE.md changed in your project; commit it with your work
        undo the last answer with: reflect-git undo
        list all rules with: reflect-git rules
        """)


def test_not_now_comes_again_and_decides_nothing(says: Says, reviews: Reviews, project: Path, store_home: Path) -> None:
    says("use pnpm, not npm")
    before = list_commits(store_home)
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("s")
    terminal.exits_with("""
        skipped; asked again in the next review

        1 skipped
        left for later: 1 proposed rule; continue with: reflect-git review
        """)
    assert (list_commits(store_home), (project / "CLAUDE.md").exists()) == (before, False)
    reviews().sees(PNPM)


def test_no_is_a_commit_without_the_words(says: Says, reviews: Reviews, store_home: Path) -> None:
    signal = says("use pnpm, not npm")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("n")
    terminal.exits_with("""
        dismissed; may return after 3 sessions

        1 dismissed
        undo the last answer with: reflect-git undo
        """)
    assert list_commits(store_home)[0] == f"dismiss: {signal}"
    reviews().exits_with("Nothing to reflect on.")


def test_never_is_not_asked_again(says: Says, reviews: Reviews, run_cli: RunCli) -> None:
    signal = says("use pnpm, not npm")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("N")
    terminal.exits_with("""
        dismissed for good

        1 dismissed for good
        undo the last answer with: reflect-git undo
        """)
    (decision,) = run_cli("show", signal, "--json").json()["data"]["decisions"]
    assert (decision["kind"], decision["by"]["road"]) == ("never", "terminal")


def test_another_target_is_shown_before_it_is_answered(says: Says, reviews: Reviews, project: Path, home: Path) -> None:
    says("use pnpm, not npm")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("t")
    terminal.sees("""
          project        CLAUDE.md of this project
          project-local  CLAUDE.local.md: this project, for you alone
          global         ~/.claude/CLAUDE.md: all projects
          rules[:topic]  a file of its own in .claude/rules/reflect
          global-rules   the same in ~/.claude/rules/reflect
          improvements   .claude/improvements.md; Claude Code does not read it
          agents         AGENTS.md of this project
          agent:NAME     a file in .claude/agents
          dir:PATH       CLAUDE.md in a folder of this project
        target [name,q,?]?
        """)
    terminal.types("moon")
    terminal.sees("""
        error: 'moon' is not a target
        hint: one of project, project-local, global, rules[:topic], global-rules,
        improvements, agents, agent:NAME, dir:PATH
        target [name,q,?]?
        """)
    terminal.types("?")
    terminal.sees("""
        project        for everyone in this project, once you commit the file
        project-local  only for you in this project; keep the file out of git
        global         only for you, in all projects
        rules[:topic]  like project, in a file named after the topic or the rule
        global-rules   like global, in a separate file
        improvements   a to-do for people, not for Claude Code
        agents         like project, also for other agents
        agent:NAME     only for this subagent of Claude Code, as in agent:reviewer
        dir:PATH       only when Claude Code works in that folder, as in
                       dir:packages/web
        q              keep the target (so does Enter)
        target [name,q,?]?
        """)
    terminal.types("")
    terminal.sees("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("q")
    terminal.sees("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("moon")
    terminal.passes("target [name,q,?]?")
    terminal.types("global")
    terminal.sees(
        PNPM.replace("CLAUDE.md", "~/.claude/CLAUDE.md")
        .replace("(project)", "(global)")
        .replace("to project [", "to global [")
    )
    terminal.types("y")
    terminal.exits_with("""
        approved LRN-1 into '~/.claude/CLAUDE.md'

        1 approved
        undo the last answer with: reflect-git undo
        list all rules with: reflect-git rules
        """)
    assert "Use pnpm, not npm" in (home / ".claude" / "CLAUDE.md").read_text(encoding="utf-8")
    assert not (project / "CLAUDE.md").exists()


def test_an_edited_text_is_shown_again_and_then_approved(
    says: Says, reviews: Reviews, project: Path, editor: Callable[[str], Path]
) -> None:
    says("use pnpm, not npm")
    shown = editor("# a line of advice\nUse pnpm for everything.\n")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("e")
    edited = PNPM.replace("    Use pnpm, not npm", "    Use pnpm for everything.")
    edited = edited.replace("- Use pnpm, not npm", "- Use pnpm for everything.").replace("899c", "dc5b")
    edited = edited.replace("e,g,t", "e,t")  # it names no command to guard
    edited = edited.replace("  backtest      no past session to test it on\n", "")  # there was no such pattern to try
    terminal.sees(edited.replace("about 4 tokens", "about 6 tokens"))
    terminal.types("y")
    terminal.exits_with("""
        approved LRN-1 into 'CLAUDE.md'

        1 approved
        CLAUDE.md changed in your project; commit it with your work
        undo the last answer with: reflect-git undo
        list all rules with: reflect-git rules
        """)
    assert "- Use pnpm for everything.\n" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert shown.read_text(encoding="utf-8") == (
        "Use pnpm, not npm\n\n"
        "# Lines starting with '#' are ignored. Leave it empty to change nothing.\n"
        "# Claude follows one to three short sentences best.\n#\n"
        "# You said: use pnpm, not npm\n"
    )


def test_an_emptied_text_changes_nothing(
    says: Says, reviews: Reviews, store_home: Path, editor: Callable[[str], Path]
) -> None:
    says("use pnpm, not npm")
    editor("# nothing but comments\n\n")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("e")
    terminal.sees("""
        nothing was changed
        (1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?
        """)
    terminal.types("q")
    terminal.exits_with("left for later: 1 proposed rule; continue with: reflect-git review")
    assert not list((store_home / ".git" / "reflect").glob("edit-*"))


def test_an_editor_that_fails_changes_nothing(says: Says, reviews: Reviews) -> None:
    says("use pnpm, not npm")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("e")
    terminal.sees("""
        error: the editor 'false' exited with 1
        hint: nothing was changed
        (1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?
        """)


def test_a_text_edited_to_hold_a_secret_is_refused_with_the_way_out(
    says: Says, reviews: Reviews, project: Path, editor: Callable[[str], Path]
) -> None:
    says("use pnpm, not npm")
    editor("Log in with ghp_x7Kq92LmZpR4vT8wYbN3cD6fGhJ1sA5eQuXo\n")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("e")
    terminal.sees("""
        Proposed rule 1 of 1 — correction, from a moment ago

            Log in with ghp_x7Kq92LmZpR4vT8wYbN3cD6fGhJ1sA5eQuXo

          you said      "use pnpm, not npm"
          confidence    medium (seen in 1 session)
          goes to       CLAUDE.md (project)
          refused       the text holds a known kind of secret
                        → e to take it out
          note          about 13 tokens in every session

        diff --git a/CLAUDE.md b/CLAUDE.md
        new file mode 100644
        --- /dev/null
        +++ b/CLAUDE.md
        @@ -0,0 +1,5 @@
        +<!-- reflect-git:begin new convention LRN-1:b76b -->
        +
        +- Log in with ghp_x7Kq92LmZpR4vT8wYbN3cD6fGhJ1sA5eQuXo
        +
        +<!-- reflect-git:end -->
        (1/1) Approve to project [n,N,s,e,t,v,q,?]?
        """)
    terminal.types("y")
    terminal.sees("""
        cannot approve: see 'refused' above for the keys that help
        (1/1) Approve to project [n,N,s,e,t,v,q,?]?
        """)
    assert not (project / "CLAUDE.md").exists()


def test_an_improvement_is_edited_field_by_field(
    says: Says, reviews: Reviews, project: Path, editor: Callable[[str], Path]
) -> None:
    says("use pnpm, not npm")
    shown = editor("Title: One package manager\nImpact: High\nDetails: two lock files\nSuggested action: drop one\n")
    terminal = reviews()
    terminal.sees(PNPM)
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("improvements")
    # Claude Code does not read that file, so no session pays for it.
    assert "tokens" not in terminal.passes("Approve to improvements [y,n,N,s,e,t,v,q,?]?")
    terminal.types("e")
    terminal.passes("Approve to improvements [y,n,N,s,e,t,v,q,?]?")
    terminal.types("y")
    terminal.exits_with("""
        approved LRN-1 into '.claude/improvements.md'

        1 approved
        .claude/improvements.md changed in your project; commit it with your work
        undo the last answer with: reflect-git undo
        list all rules with: reflect-git rules
        """)
    assert shown.read_text(encoding="utf-8").startswith(
        "Title: Use pnpm, not npm\nImpact: Low\nDetails: \nSuggested action: \n"
    )
    entry = (project / ".claude" / "improvements.md").read_text(encoding="utf-8")
    assert "] One package manager\n" in entry
    assert "- **Impact**: High\n- **Details**: two lock files\n- **Suggested action**: drop one\n" in entry
