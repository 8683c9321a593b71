"""A rule that holds, in the real client: corrected, approved, broken twice, guarded, denied, obeyed and reverted."""

from __future__ import annotations

from pathlib import Path

from reflect_git.guards import entry
from tests.conftest import RunCli
from tests.e2e.conftest import wait_until_idle
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client
from tests.e2e.test_guards import DENIED, list_results
from tests.stories.terminal import Terminal

CORRECTION = "no, don't use npm here. We always use pnpm in this repo."


def install_programs(client: Client, home: Path) -> Path:
    """Provide npm and pnpm that log their calls; return the log of npm."""
    folder = home / "bin"
    folder.mkdir()
    for name in ("npm", "pnpm"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$*" >> {home}/{name}.log\necho done by {name}\n')
        program.chmod(0o755)
    client.env["PATH"] = f"{folder}:/usr/local/bin:/usr/bin:/bin"
    return home / "npm.log"


def test_from_a_correction_to_a_guard_and_back(
    client: Client, model: Model, home: Path, store_home: Path, project: Path, run_cli: RunCli
) -> None:
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n")
    npm = install_programs(client, home)

    def correct() -> None:
        """Let Claude use npm, and let the person correct it."""
        model.turns = [Turn("", [bash_call("npm i zod")]), Turn("It is added. ONE"), Turn("I take pnpm. TWO")]
        with client.open_screen() as screen:
            screen.say("add zod", "ONE")
            screen.say(CORRECTION, "TWO")
            screen.exit_client()
        wait_until_idle(home)

    def review() -> Terminal:
        (store_home / ".git" / "reflect" / "keys").write_text("2\n")  # the note about changed keys was read
        return Terminal("review", cwd=project)

    correct()
    with review() as terminal:
        assert "don't use npm here" in terminal.passes("?]?").casefold()
        terminal.types("y")
        terminal.ends()
    (rule,) = run_cli("rules", "--json", cwd=project).json()["data"]

    correct()
    correct()
    assert npm.read_text() == "i zod\n" * 3
    with review() as terminal:
        seen = terminal.passes("Guard, reword, retire or leave it [h,a,d,e,x,n,s,v,q,?]?")
        assert "Claude broke this rule in 2 of the last 2 sessions" in seen
        terminal.types("d")
        assert "npm i zod  3×, last today" in terminal.passes("Enter for none, q to cancel:")
        terminal.types("none")
        assert "(deny)" in terminal.ends()
    assert entry.entry_state({"HOME": str(home)}) == entry.PRESENT

    model.turns = [
        Turn("", [bash_call("cd . && npm i zod")]), Turn("", [bash_call("pnpm i zod")]), Turn("It is added. ONE"),
    ]  # fmt: skip
    with client.open_screen() as screen:
        screen.say("add zod", "ONE")
        screen.say("/exit")  # `exit_client` would take the denial on the screen for an error
        screen.expect("client ended with 0")
    wait_until_idle(home)
    denied, done = list_results(model)
    assert DENIED in denied and rule["text"] in denied and "done by pnpm" in done
    assert npm.read_text() == "i zod\n" * 3
    (guard,) = run_cli("guards", "--json", cwd=project).json()["data"]
    assert (guard["learning"], guard["fired"], guard["obeyed"], guard["overridden"]) == (rule["id"], 1, 1, 0)
    assert run_cli("audit", cwd=project).code == 0

    with Terminal("revert", rule["id"], cwd=project) as terminal:
        terminal.ends()
    assert run_cli("guards", "--json", cwd=project).json()["data"] == []
    assert entry.entry_state({"HOME": str(home)}) == entry.MISSING
    assert not list(project.glob("**/CLAUDE.md"))
    model.turns = [Turn("", [bash_call("npm i zod")]), Turn("It is added.")]
    client.run_print("add zod")
    assert npm.read_text() == "i zod\n" * 4
