"""Key `c` in `reflect-git review` with the real client in print mode and a scripted model."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO, RunCli
from tests.e2e.conftest import Signals
from tests.e2e.model import Call, Model, Turn
from tests.e2e.session import Client
from tests.stories.terminal import Terminal

QUOTE = "why do you always run the specs without the seeds?"
WORDING = "Run the specs with the seeds."
MARKER = "Speak like a pirate."
RULES = (REPO / "templates/wording/rules.md").read_text(encoding="utf-8")


def answers(*rules: dict[str, Any]) -> Turn:
    return Turn("", [Call("StructuredOutput", {"rules": list(rules)})])


@pytest.fixture
def env(plain_client: Client, home: Path, tmp_path: Path, store_home: Path) -> dict[str, str]:
    """Provide a logged-in person with hooks and a CLAUDE.md, who said one thing in the project."""
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n", encoding="utf-8")
    hook = {"hooks": [{"type": "command", "command": f"touch {home}/hook-ran"}]}
    events = {event: [hook] for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")}
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude/settings.json").write_text(json.dumps({"hooks": events}), encoding="utf-8")
    (home / ".claude/CLAUDE.md").write_text(f"{MARKER}\n", encoding="utf-8")
    program = tmp_path / "claude"
    command = shlex.join([*plain_client.model.door.prefix, str(plain_client.binary)])
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    made = {**plain_client.build_env(), "REFLECT_GIT_CLAUDE": str(program), "TERM": "dumb"}
    content = ("capture", "--type", "correction", "--content", QUOTE)
    with Terminal(*content, cwd=plain_client.project, env=made) as terminal:
        terminal.ends()
    return made


def test_the_real_client_words_a_rule_and_nothing_else_of_the_person_goes_along(
    plain_client: Client, model: Model, env: dict[str, str], home: Path, run_cli: RunCli, signals: Signals
) -> None:
    run_cli("enable")
    before = [signal["id"] for signal in signals()]
    model.turns = [answers({"n": 1, "rule": WORDING})]
    with Terminal("review", cwd=plain_client.project, env=env) as terminal:
        assert "Claude can word 1 of these" in terminal.passes("[n]o")
        terminal.presses("o")
        seen = terminal.passes("?]?")
        assert f"    {WORDING}\n    (worded by Claude)\n" in seen and "risk" not in seen
        terminal.presses("y")
        assert "approved LRN-" in terminal.ends()
    assert f"- {WORDING}\n" in (plain_client.project / "CLAUDE.md").read_text()
    (request,) = model.requests
    told = request.text()
    assert RULES in told and QUOTE in told and MARKER not in told
    assert "haiku" in request.body["model"]
    assert "Bash" not in {tool["name"] for tool in request.body["tools"]}
    # Neither other hooks nor our own saw the call, and the client stored no transcript of it.
    assert not (home / "hook-ran").exists() and plain_client.transcripts() == []
    assert [signal["id"] for signal in signals()] == before
    (line,) = (home / ".claude/reflections/.git/reflect/usage.jsonl").read_text().splitlines()
    used = json.loads(line)
    assert (used["state"], used["tokens"], used["usd"] > 0) == ("done", 1010, True)
    assert used["answered_by"].startswith("claude-haiku")


def test_hooks_and_memory_are_there_for_an_ordinary_run(
    plain_client: Client, model: Model, env: dict[str, str], home: Path
) -> None:
    """Shows that the previous test would notice hooks and memory if they were active."""
    model.turns = [Turn("hello")]
    plain_client.run_print("hello")
    assert (home / "hook-ran").exists() and MARKER in model.list_requests()[0].text()


def test_a_wording_that_adds_something_is_refused_by_the_person(
    plain_client: Client, model: Model, env: dict[str, str], run_cli: RunCli
) -> None:
    model.turns = [answers({"n": 1, "rule": "Run the specs with the seeds in Docker."})]
    with Terminal("review", cwd=plain_client.project, env=env) as terminal:
        terminal.passes("[n]o")
        terminal.presses("o")
        assert "  risk          'Docker' is not in your words\n" in terminal.passes("?]?")
        terminal.presses("y")
        terminal.passes("type the rule's first word, 'Run', to approve it anyway:")
        terminal.types("n")
        assert "not approved" in terminal.passes("?]?")
        terminal.presses("q")
        terminal.ends()
    assert not (plain_client.project / "CLAUDE.md").exists()
    assert len(run_cli("candidates", "--json", cwd=plain_client.project).json()["data"]) == 1


@pytest.mark.parametrize(
    ("turns", "lost", "sentence"),
    [
        ([], "ANTHROPIC_API_KEY", "error: Claude Code is not logged in"),
        ([Turn(error=500)], "", "error: Claude worded nothing: API Error: 500"),
        (
            [Turn("I would rather talk.")],
            "",
            "error: Claude did not answer in the form that was asked for",
        ),
    ],
)
def test_what_goes_wrong_is_one_sentence(
    plain_client: Client, model: Model, env: dict[str, str], turns: list[Turn], lost: str, sentence: str
) -> None:
    model.turns = list(turns)
    with Terminal("review", cwd=plain_client.project, env={**env, **({lost: ""} if lost else {})}) as terminal:
        terminal.passes("[n]o")
        terminal.presses("o")
        seen = terminal.passes("?]?")
        assert sentence in seen and "\nhint: " in seen and "(needs wording)" in seen
        terminal.presses("q")
        terminal.ends()
