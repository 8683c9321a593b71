"""A rule that Claude keeps breaking is guarded, stops a call, is counted, and goes with its guard."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from reflect_git.guards.table import read_table
from tests.conftest import RunCli
from tests.rules.guard_calls import bash, write_calls
from tests.stories.conftest import Reviews, Says, list_commits
from tests.stories.terminal import Terminal

PNPM = "use pnpm, not npm"
WRONG = "numbers of wrong matches, Enter for none, q to cancel:"


def call_tool(store_home: Path, project: Path, command: str) -> str:
    """Pass a Bash call to the script that Claude Code runs before it; return the answer."""
    event = {
        "hook_event_name": "PreToolUse", "session_id": "s-3", "cwd": str(project), "tool_name": "Bash",
        "tool_input": {"command": command}, "permission_mode": "default", "transcript_path": "",
    }  # fmt: skip
    script = store_home / ".git" / "reflect" / "guard"
    done = subprocess.run([str(script)], input=json.dumps(event), capture_output=True, text=True, check=True)
    return done.stdout


def test_from_a_correction_to_a_guard_and_back(
    says: Says, reviews: Reviews, project: Path, home: Path, store_home: Path, run_cli: RunCli
) -> None:
    says(PNPM, "--session", "s-1")
    first = reviews()
    first.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    first.types("y")
    first.ends()
    rule = first.ids["LRN-1"]

    for session in ("s-2", "s-4"):  # Claude broke it twice
        says(PNPM, "--session", session)
    write_calls(home, project, "s-2", [bash("npm i zod")], days_ago=0)
    terminal = reviews()
    assert "Claude broke this rule in 2 of the last" in terminal.passes(
        "(1/1) Guard, reword, retire or leave it [h,a,d,e,x,n,s,v,q,?]?"
    )
    terminal.types("d")
    terminal.sees(f"""
          mode          deny: the call does not run; Claude gets the rule and what to
                        use instead
          will sync     `npm`; instead: pnpm
        1 call in 1 day, in 1 of 1 session; last: `npm i zod` today
          1  npm i zod  1×, last today
        {WRONG}
        """)
    terminal.types("none")  # Enter right after a key would count as part of that key
    terminal.exits_with("""
        guarded LRN-1 (deny)

        1 guarded
        undo the last answer with: reflect-git undo
        """)
    assert list_commits(store_home)[0] == "guard: Use pnpm, not npm"
    table = read_table(str(store_home / ".git"))
    assert [(row.learning, row.mode, row.instead) for row in table] == [(rule, "deny", "pnpm")]
    reviews().exits_with("All learnings already captured.")  # what was said before the guard no longer counts

    for command, is_denied in (("cd src && npm i left-pad", True), ("grep 'npm i' README.md", False)):
        answer = call_tool(store_home, project, command)
        assert ('"permissionDecision":"deny"' in answer.replace(" ", "")) is is_denied
        assert ("pnpm" in answer) is is_denied
    (row,) = run_cli("guards", "--json", cwd=project).json()["data"]
    assert (row["fired"], row["obeyed"], row["overridden"]) == (1, 1, 0)
    assert "fired 1, obeyed 1, last " in run_cli("show", rule, cwd=project).out

    with Terminal("revert", rule, cwd=project) as revert:
        revert.ends()
    assert run_cli("guards", "--json", cwd=project).json()["data"] == []
    assert run_cli("rules", "--json", cwd=project).json()["data"] == []
    assert not read_table(str(store_home / ".git"))
    assert not (project / "CLAUDE.md").exists()


def test_approve_and_guard_in_one_step(
    says: Says, reviews: Reviews, project: Path, home: Path, store_home: Path, run_cli: RunCli
) -> None:
    says(PNPM)
    write_calls(home, project, "s-1", [bash("npm i zod"), bash("npm publish")], days_ago=0)
    terminal = reviews()
    assert "2 matches in the last day" in terminal.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    terminal.types("g")
    terminal.passes("Guard it: watch, hint, ask or deny; Enter: hint [w,h,a,d,q,?]?")
    terminal.types("q")
    terminal.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    assert run_cli("rules", "--json", cwd=project).json()["data"] == []
    terminal.types("g")
    terminal.passes("Guard it: watch, hint, ask or deny; Enter: hint [w,h,a,d,q,?]?")
    terminal.types("h")
    assert "2 calls in 1 day" in terminal.passes(WRONG)
    terminal.types("none")
    said = terminal.ends()
    assert "approved LRN-" in said and "(hint)" in said
    assert list_commits(store_home)[:2] == ["guard: Use pnpm, not npm", "approve: Use pnpm, not npm"]
    (told,) = run_cli("guards", "--json", cwd=project).json()["data"]
    assert (told["mode"], told["state"]) == ("hint", "in force")
