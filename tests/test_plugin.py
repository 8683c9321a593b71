"""The plugin as Claude Code reads it: manifests, hooks, skills, and what it puts on a user's PATH."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reflect_git import __version__
from tests.conftest import REPO
from tests.shells import list_shells

EVENTS = {
    "SessionStart": ["SessionStart", "compact"], "PostToolUse": ["PostToolUse"],
    "PostToolUseFailure": ["PostToolUseFailure"], "StopFailure": ["StopFailure"], "PreCompact": ["PreCompact"],
    "SessionEnd": ["SessionEnd"], "UserPromptSubmit": ["UserPromptSubmit"],
}  # fmt: skip
SKILLS = sorted((REPO / "skills").glob("*/SKILL.md"))


def _load(*parts: str) -> dict[str, Any]:
    return dict(json.loads(REPO.joinpath(*parts).read_bytes()))


def _groups() -> list[tuple[str, dict[str, Any]]]:
    return [(event, group) for event, groups in _load("hooks", "hooks.json")["hooks"].items() for group in groups]


def test_the_manifests_name_one_plugin_of_this_version() -> None:
    plugin, market = _load(".claude-plugin", "plugin.json"), _load(".claude-plugin", "marketplace.json")
    assert (plugin["name"], plugin["version"]) == ("reflect-git", __version__)
    (listed,) = market["plugins"]
    assert (listed["name"], listed["description"]) == (plugin["name"], plugin["description"])
    assert (REPO / listed["source"]).resolve() == REPO


def test_each_event_calls_the_launcher_with_its_word() -> None:
    words: dict[str, list[str]] = {}
    for event, group in _groups():
        (handler,) = group["hooks"]
        found = re.fullmatch(
            r'/bin/sh "\$CLAUDE_PLUGIN_ROOT/hooks/launch\.sh" (\w+) 2>/dev/null \|\| :', handler["command"]
        )
        assert found, handler["command"]
        assert handler["type"] == "command" and 0 < handler["timeout"] <= 10
        assert "async" not in handler  # it would be killed with the client, before it stored anything
        words.setdefault(event, []).append(found[1])
    assert words == EVENTS


def test_a_start_of_each_kind_has_one_word_and_only_questions_are_listened_to() -> None:
    matchers = [(event, group.get("matcher")) for event, group in _groups()]
    assert [matcher for event, matcher in matchers if event == "SessionStart"] == ["startup|resume|clear", "compact"]
    assert [matcher for event, matcher in matchers if event == "PostToolUse"] == ["AskUserQuestion"]
    assert {matcher for event, matcher in matchers if event not in ("SessionStart", "PostToolUse")} == {None}


@pytest.mark.parametrize("root", ["/nowhere", ""])
@pytest.mark.parametrize("shell", list_shells())
def test_a_plugin_that_is_gone_disturbs_nobody(shell: list[str], root: str, tmp_path: Path) -> None:
    for _, group in _groups():
        command = [*shell, "-c", group["hooks"][0]["command"]]
        env = {"PATH": os.environ["PATH"], "CLAUDE_PLUGIN_ROOT": root}
        done = subprocess.run(command, input=b"{}", env=env, cwd=tmp_path, capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_nothing_but_the_program_goes_on_the_path_of_a_user() -> None:
    assert os.listdir(REPO / "bin") == ["reflect-git"]
    assert os.access(REPO / "bin" / "reflect-git", os.X_OK)


@pytest.mark.parametrize("path", [REPO / "bin" / "reflect-git", *sorted((REPO / "hooks").glob("*.sh"))], ids=str)
@pytest.mark.parametrize("shell", list_shells())
def test_the_scripts_are_plain_sh(path: Path, shell: list[str]) -> None:
    done = subprocess.run([*shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_has_its_bare_name_and_never_hands_arguments_to_a_shell(path: Path) -> None:
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines() if ": " in line)
    assert fields["name"] == path.parent.name
    assert fields["description"]
    dynamic = re.findall(r"!`[^`]*`", body) + re.findall(r"```!.*?```", body, re.DOTALL)
    assert not [command for command in dynamic if "$ARGUMENTS" in command or re.search(r"\$\d", command)]


def test_the_toggle_is_the_user_s_alone_and_may_run_four_verbs() -> None:
    text = (REPO / "skills" / "reflect-toggle" / "SKILL.md").read_text(encoding="utf-8")
    assert "\ndisable-model-invocation: true\n" in text
    (allowed,) = re.findall(r"^allowed-tools: (.*)$", text, re.MULTILINE)
    assert allowed.split(", ") == [f"Bash(reflect-git {verb}*)" for verb in ("enable", "disable", "pause", "status")]


def test_the_mod_is_small_and_has_no_digits_as_keys() -> None:
    """On an empty prompt the client presses a digit at once, so "2 files" would press something."""
    (name,) = _load("hooks", "hooks.json")["modules"]
    text = (REPO / "hooks" / name).read_text(encoding="utf-8")
    assert text.count("\n") <= 200
    assert set(re.findall(r"hotkey: '(.)'", text)) == {"k", "x"}
    assert not re.search(r"\$\.(fs|store|settings|model|session\.append)\b", text), "Python is the one writer"
