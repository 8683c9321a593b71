"""`reflect-git review`: where it runs, whom it asks, and what happens at the same time."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REAL_GIT, RunCli
from tests.stories.conftest import Reviews, Says, list_commits, make_project
from tests.stories.terminal import Terminal

ASKED = "(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?"


def _configure(home: Path, key: str, value: str) -> None:
    subprocess.run([REAL_GIT, "config", "--file", str(home / ".gitconfig"), key, value], check=True)


def test_there_may_be_nothing(reviews: Reviews) -> None:
    seen = reviews().ends()
    assert "Nothing to reflect on." in seen and "no store at" in seen


def test_without_a_terminal_it_lists_and_says_where_to_answer(
    says: Says, claude_says: Says, run_cli: RunCli, project: Path, store_home: Path
) -> None:
    signal = says("use pnpm, not npm")
    claude_says("indent with tabs")
    for before in ((), ("--no-input",)):
        result = run_cli(*before, "review", cwd=project)
        assert result.code == 0
        assert result.out == f"  1  {signal}  correction → project\n     Use pnpm, not npm\n1 unlikely one\n"
        assert result.err == (
            "no terminal: run 'reflect-git review' in one, or /reflect in Claude Code\n"
            "for scripts: 'reflect-git candidates', 'approve' and 'dismiss'\n"
        )


def test_without_a_terminal_and_without_learnings(run_cli: RunCli, project: Path, store_home: Path) -> None:
    assert run_cli("review", cwd=project).out == "Nothing to reflect on.\n"


def test_what_waits_in_other_projects_is_told_where_nothing_waits(
    says: Says, run_cli: RunCli, reviews: Reviews, tmp_path: Path, project: Path
) -> None:
    says("use pnpm, not npm")
    said = "Nothing to reflect on.\n1 proposed rule in other projects: reflect-git review --all\n"
    assert run_cli("review", cwd=tmp_path).out == said
    status = "no proposed rules, 1 in other projects: reflect-git review --all\n"
    assert status in run_cli("status", cwd=tmp_path).out
    assert "1 proposed rule: reflect-git review\n" in run_cli("status", cwd=project).out
    reviews(cwd=tmp_path).exits_with(said)
    says("run `make check` before a commit")
    assert "2 proposed rules in other projects" in run_cli("review", cwd=tmp_path).out
    says("prices are in cents", cwd=tmp_path)
    told = "1 proposed rule, 2 in other projects: reflect-git review\n"
    assert told in run_cli("status", cwd=tmp_path).out
    assert run_cli("status", "--json", cwd=tmp_path).json()["data"]["waiting_here"] == 1
    assert "other projects" not in run_cli("review", cwd=project).out


def test_in_json_it_is_what_candidates_says(says: Says, run_cli: RunCli, project: Path, store_home: Path) -> None:
    says("use pnpm, not npm")
    assert run_cli("review", "--json", cwd=project).json() == run_cli("candidates", "--json", cwd=project).json()


def test_inside_claude_code_a_terminal_counts_for_nothing(says: Says, reviews: Reviews, project: Path) -> None:
    says("use pnpm, not npm")
    terminal = reviews(CLAUDECODE="1")
    terminal.exits_with(
        """
        error: review needs a person at a terminal
        hint: run 'reflect-git review' in a terminal; with the plugin, type /reflect
        here
        """,
        code=1,
    )


def test_one_key_without_enter(says: Says, reviews: Reviews, home: Path, store_home: Path) -> None:
    says("use pnpm, not npm")
    terminal = reviews()
    terminal.passes(ASKED)
    terminal.presses("v")
    terminal.sees(f"""
          SIG-1  correction, a moment ago, shop
            use pnpm, not npm
          trust         your own words
        {ASKED}
        """)
    terminal.presses("s")
    terminal.exits_with("""
        skipped; asked again in the next review

        1 skipped
        left for later: 1 proposed rule; continue with: reflect-git review
        """)


def test_one_key_of_several_bytes_and_the_end(says: Says, reviews: Reviews, home: Path) -> None:
    says("use pnpm, not npm")
    terminal = reviews()
    terminal.passes(ASKED)
    terminal.writes("\x1b[A")
    assert "y  approve as shown" in terminal.passes(ASKED)
    terminal.sends("D")
    terminal.exits_with("left for later: 1 proposed rule; continue with: reflect-git review")


def test_a_file_that_changed_meanwhile_is_shown_anew(says: Says, reviews: Reviews, project: Path) -> None:
    says("use pnpm, not npm")
    terminal = reviews()
    terminal.passes(ASKED)
    (project / "CLAUDE.md").write_text("# Shop\n", encoding="utf-8")
    terminal.types("y")
    seen = terminal.passes(ASKED)
    told = " ".join(seen.split())
    assert told.startswith("error: '")
    assert "CLAUDE.md' was changed meanwhile hint: look at the change again Proposed rule 1 of 1 " in told
    assert " # Shop\n+\n+<!-- reflect-git:begin convention LRN-" in seen
    terminal.types("y")
    terminal.exits_with("""
        approved LRN-1 into 'CLAUDE.md'

        1 approved
        CLAUDE.md changed in your project; commit it with your work
        undo the last answer with: reflect-git undo
        list all rules with: reflect-git rules
        """)
    assert (
        (project / "CLAUDE.md")
        .read_text(encoding="utf-8")
        .startswith("# Shop\n\n<!-- reflect-git:begin convention LRN-")
    )


def test_an_answer_given_elsewhere_stands(
    says: Says, reviews: Reviews, run_cli: RunCli, project: Path, store_home: Path
) -> None:
    signal = says("use pnpm, not npm")
    terminal = reviews()
    terminal.passes(ASKED)
    assert run_cli("dismiss", signal, cwd=project).code == 0
    terminal.types("y")
    terminal.exits_with("SIG-1 was answered elsewhere in the meantime\n\n")
    assert not (project / "CLAUDE.md").exists()
    assert list_commits(store_home)[0] == f"dismiss: {signal}"


def test_of_another_project_and_of_all(says: Says, reviews: Reviews, tmp_path: Path, project: Path) -> None:
    garden = make_project(tmp_path / "garden")
    says("use pnpm, not npm", cwd=garden)
    reviews().exits_with("Nothing to reflect on.\n1 proposed rule in other projects: reflect-git review --all")
    reviews("--project", str(garden)).passes(ASKED)
    terminal = reviews("--all")
    terminal.sees("""
        Proposed rule 1 of 1 — correction, from a moment ago, in garden

            Use pnpm, not npm

          you said      "use pnpm, not npm"
          confidence    medium (seen in 1 session)
          backtest      no past session to test it on
          refused       you said it in another project, 'garden'
                        → t and 'global'; or quit and run review in that project
        (1/1) Approve to another target [n,N,s,e,t,v,q,?]?
        """)
    terminal.types("y")
    terminal.sees("""
        cannot approve: see 'refused' above for the keys that help
        (1/1) Approve to another target [n,N,s,e,t,v,q,?]?
        """)
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("project")
    terminal.sees("""
        error: you said it in another project, 'garden'
        hint: t and 'global'; or quit and run review in that project
        (1/1) Approve to another target [n,N,s,e,t,v,q,?]?
        """)
    terminal.types("t")
    terminal.passes("target [name,q,?]?")
    terminal.types("global")
    terminal.passes("(1/1) Approve to global [y,n,N,s,e,g,t,v,q,?]?")
    assert not (project / "CLAUDE.md").exists()


def test_outside_any_project_the_way_on_is_named(says: Says, reviews: Reviews, home: Path) -> None:
    says("use pnpm, not npm", cwd=home)
    terminal = reviews(cwd=home)
    terminal.sees("""
        Proposed rule 1 of 1 — correction, from a moment ago

            Use pnpm, not npm

          you said      "use pnpm, not npm"
          confidence    medium (seen in 1 session)
          backtest      no past session to test it on
          refused       'project' needs a project, and this folder is in none
                        → t and 'global'
        (1/1) Approve to another target [n,N,s,e,t,v,q,?]?
        """)


def _past_calls(home: Path, project: Path) -> None:
    folder = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(project))
    folder.mkdir(parents=True)
    lines = []
    for day, command in (("01", "npm install"), ("03", "ls"), ("04", "npm test")):
        call = {"type": "tool_use", "id": f"toolu_{day}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{day}", "content": "ok", "is_error": False}
        for role, block in (("assistant", call), ("user", result)):
            lines.append({
                "type": role, "uuid": f"{role}-{day}", "sessionId": "s1", "isSidechain": False, "cwd": str(project),
                "timestamp": f"2026-02-{day}T10:00:00.000Z", "version": "2.1.325", "entrypoint": "cli",
                "message": {"role": role, "content": [block]},
            })  # fmt: skip
    (folder / "s1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_it_is_tried_on_past_sessions(says: Says, reviews: Reviews, home: Path, project: Path) -> None:
    _past_calls(home, project)
    says("use pnpm, not npm")
    seen = reviews().passes(ASKED)
    assert (
        """
  backtest      2 matches in the last 4 days; last: `npm test` on 2026-02-04
"""
        in seen
    )


@pytest.mark.parametrize(
    ("text", "is_tested"),
    [
        ("Always use pnpm, never npm. It is faster.", True),
        ("Use yarn instead of npm", True),
        ("Use pnpm, not yarn", False),
        ("Use pnpm, not npm. Use ruff, not black.", True),
        ("Keep functions short", False),
    ],
)
def test_an_edited_text_keeps_the_backtest_where_it_means_the_same_calls(
    says: Says, reviews: Reviews, home: Path, project: Path, editor: Callable[[str], Path], text: str, is_tested: bool
) -> None:
    _past_calls(home, project)
    says("use pnpm, not npm")
    editor(f"{text}\n")
    terminal = reviews()
    terminal.passes(ASKED)
    terminal.types("e")
    assert ("2 matches in the last 4 days" in terminal.passes("t,v,q,?]?")) == is_tested


def test_in_colour(says: Says, reviews: Reviews) -> None:
    says("use pnpm, not npm")
    seen = reviews(before=("--color", "always")).passes("[y,n,N,s,e,g,t,v,q,?]? \x1b[0m")
    assert "\x1b[1mProposed rule 1 of 1 — correction, " in seen
    assert "\x1b[32m+- Use pnpm, not npm\x1b[0m" in seen
    assert "\x1b[34m\x1b[1m(1/1) Approve to project [" in seen


def test_the_filter_of_git_add_p_shows_the_change(says: Says, reviews: Reviews, home: Path) -> None:
    _configure(home, "interactive.diffFilter", "sed s/^/\\|/")
    says("use pnpm, not npm")
    seen = reviews(before=("--color", "always")).passes("[y,n,N,s,e,g,t,v,q,?]? \x1b[0m")
    assert "\n|+- Use pnpm, not npm\n" in seen


def test_a_long_text_is_shown_whole_within_the_terminal(says: Says, reviews: Reviews) -> None:
    says("always explain what you did in words that a person who never saw the code understands, " + "瞭解" * 60)
    seen = reviews().passes("[y,n,N,s,e,t,v,q,?]?")
    head, _, _ = seen.partition("diff --git")
    wide = [line for line in head.split("\n") if sum(2 if ord(c) > 0x2E80 else 1 for c in line) > 80]
    assert (wide, head.count("瞭"), head.count("解")) == ([], 120, 120)


def test_the_rule_of_one_project_is_approved_in_a_second_and_for_all(
    says: Says, reviews: Reviews, tmp_path: Path, project: Path, home: Path
) -> None:
    """A rule of the shop applies in the shop; that the garden wants the same is only noted."""
    says("use pnpm, not npm")
    first = reviews()
    first.passes(ASKED)
    first.types("y")
    first.ends()
    garden, barn = make_project(tmp_path / "garden"), make_project(tmp_path / "barn")
    for other_project, to, note in (
        (garden, "project", "note          the same rule is in force in 'shop' since "),
        (barn, "global", "note          the same rule is in force in 'garden' since "),
    ):
        says("use pnpm, not npm", cwd=other_project)
        terminal = reviews(cwd=other_project)
        seen = terminal.passes(ASKED)
        assert note in seen and "→ t and 'global' to use it in all projects" in seen and "refused" not in seen
        if to == "global":
            terminal.types("t")
            terminal.passes("target [name,q,?]?")
            terminal.types("global")
            seen = " ".join(terminal.passes("(1/1) Approve to global [y,n,N,s,e,g,t,v,q,?]?").split())
            assert "in 'garden' since " in seen and "'shop' since " in seen and "→ t" not in seen
        terminal.types("y")
        terminal.ends()
    assert "- Use pnpm, not npm" in (garden / "CLAUDE.md").read_text(encoding="utf-8")
    assert "- Use pnpm, not npm" in (home / ".claude" / "CLAUDE.md").read_text(encoding="utf-8")
    attic = make_project(tmp_path / "attic")
    says("use pnpm, not npm", cwd=attic)
    seen = reviews(cwd=attic).passes("Guard, reword, retire or leave it [h,a,d,e,x,n,s,v,q,?]?")
    assert "Broken rule 1 of 1" in seen and "Proposed rule" not in seen


@pytest.mark.parametrize("answer", ["n", "N", "revert"])
def test_a_no_in_one_project_says_nothing_of_another_and_status_counts_what_review_asks(
    says: Says, reviews: Reviews, run_cli: RunCli, tmp_path: Path, project: Path, answer: str
) -> None:
    says("use pnpm, not npm")
    terminal = reviews()
    terminal.passes(ASKED)
    terminal.types("y" if answer == "revert" else answer)
    terminal.ends()
    if answer == "revert":
        with Terminal("revert", "last", cwd=project) as reverting:
            reverting.ends()
    says("no, use pnpm, not npm")
    garden = make_project(tmp_path / "garden")
    told = run_cli("status", cwd=project).out
    assert (
        "waiting       no proposed rules\n" in told and "Nothing to reflect on." in run_cli("review", cwd=project).out
    )
    says("use pnpm, not npm", cwd=garden)
    seen = reviews(cwd=garden).passes(ASKED)
    assert "you said no" not in seen
    assert "1 proposed rule: reflect-git review\n" in run_cli("status", cwd=garden).out
    assert run_cli("status", "--format", "statusline", cwd=garden).out == "✎ 1\n"
    assert "no proposed rules, 1 in other projects: reflect-git review --all\n" in run_cli("status", cwd=project).out
    assert "1 proposed rule in other projects" in run_cli("review", cwd=project).out
    rule = run_cli("log", "--json", cwd=project).json()["data"][-1]["learning"]
    assert not rule or "said again    1 time" in run_cli("show", rule, cwd=project).out
