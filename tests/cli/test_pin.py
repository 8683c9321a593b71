"""`pin` and `unpin`: for a person at a terminal, for a script, and inside Claude Code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_guard import project, rule, types
from tests.conftest import RunCli
from tests.stories.terminal import Terminal

__all__ = ["project", "rule", "types"]


def test_a_rule_is_pinned_and_shown_as_such_until_the_pin_is_ended(rule: str, project: Path, run_cli: RunCli) -> None:
    assert "would pin" in run_cli("pin", rule, "--dry-run", cwd=project).out
    with Terminal("pin", rule, "--reason", "security", cwd=project) as terminal:
        assert f"pinned {rule}, commit " in terminal.ends()
    (listed,) = run_cli("rules", "--json", cwd=project).json()["data"]
    assert listed["pinned"] is True
    assert "pinned" in run_cli("rules", cwd=project).out
    assert "pinned  Use pnpm, not npm" in run_cli("log", "-n", "1", cwd=project).out
    assert "reason: security" in run_cli("log", "-n", "1", cwd=project).out
    assert "pinned" in run_cli("show", rule, cwd=project).out
    with Terminal("unpin", rule, cwd=project) as terminal:
        assert f"ended the pin of {rule}, commit " in terminal.ends()
    (listed,) = run_cli("rules", "--json", cwd=project).json()["data"]
    assert listed["pinned"] is False
    with Terminal("undo", cwd=project) as terminal:
        assert "the pin of" in terminal.ends()
    (listed,) = run_cli("rules", "--json", cwd=project).json()["data"]
    assert listed["pinned"] is True, "the undo of the unpin"
    assert run_cli("audit", cwd=project).code == 0


@pytest.mark.parametrize("verb", ["pin", "unpin"])
def test_a_model_cannot_pin(verb: str, rule: str, project: Path, run_cli: RunCli) -> None:
    if verb == "unpin":
        with Terminal("pin", rule, cwd=project) as terminal:
            terminal.ends()
    refused = run_cli(verb, rule, cwd=project, env={"CLAUDECODE": "1"})
    assert refused.code and "needs a person" in refused.err
    (listed,) = run_cli("rules", "--json", cwd=project).json()["data"]
    assert listed["pinned"] is (verb == "unpin")


def test_a_person_who_changes_a_file_again_is_told_of_the_cooldown_and_not_refused(
    rule: str, project: Path, run_cli: RunCli
) -> None:
    with Terminal("config", "reflect.autorevert", "apply", cwd=project) as terminal:
        asked = terminal.passes("set reflect.autorevert to apply? [y/N]:")
        assert "reverts rules without asking" in " ".join(asked.split())
        terminal.types("y")
        terminal.ends()
    with Terminal("edit", rule, "--text", "Install with pnpm.", cwd=project) as terminal:
        said = " ".join(terminal.ends().split())
    assert "amended LRN-" in said
    assert "note: cooldown: 'CLAUDE.md' was changed less than 30m ago; automatic changes wait" in said


def test_a_model_cannot_switch_auto_revert_on(project: Path, rule: str, run_cli: RunCli) -> None:
    refused = run_cli("config", "reflect.autorevert", "apply", cwd=project, env={"CLAUDECODE": "1"})
    assert refused.code and "from inside Claude Code" in refused.err
    assert run_cli("config", "reflect.autorevert", cwd=project).out == "propose\n"
    assert run_cli("config", "reflect.cooldown", "fortnight", cwd=project).code == 2
