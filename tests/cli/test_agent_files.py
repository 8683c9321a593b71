"""`--to agent:NAME`: a rule in the file of one agent, and a guard that looks at that agent's calls only."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.guards.table import get_script_path
from tests.conftest import REAL_GIT, RunCli
from tests.stories.terminal import Terminal

Approves = Callable[..., str]
PLAIN = b"---\nname: reviewer\ndescription: Reviews changes\n---\n\nYou review changes.\n"
FILES = {
    "plain": PLAIN,
    "no last newline": PLAIN.rstrip(b"\n"),
    "crlf": PLAIN.replace(b"\n", b"\r\n"),
    "no body": b"---\nname: reviewer\ndescription: Reviews changes\n---\n",
    "byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "open fence": PLAIN + b"\n```sh\nnpm i\n",
    "heading": PLAIN + b"\n## Tools\n\n* rg\n* fd\n",
}


@pytest.fixture
def project(tmp_path: Path, store_home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def reviewer(project: Path) -> Path:
    path = project / ".claude" / "agents" / "reviewer.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(PLAIN)
    return path


@pytest.fixture
def approves(project: Path) -> Approves:
    """Capture and approve a rule at a terminal; return its id."""

    def approve(text: str, to: str) -> str:
        with Terminal("capture", "--type", "correction", "--content", text, cwd=project) as terminal:
            signal = terminal.ends().split()[1]
        with Terminal("approve", signal, "--to", to, cwd=project) as terminal:
            said = terminal.ends()
        return said[said.index("approved LRN-") :].split()[1]

    return approve


@pytest.mark.parametrize("name", FILES)
def test_a_revert_gives_back_the_bytes_of_the_file(
    name: str, reviewer: Path, project: Path, approves: Approves, run_cli: RunCli
) -> None:
    reviewer.write_bytes(FILES[name])
    first, second = approves("use rg, not grep", "agent:reviewer"), approves("name the file first", "agent:reviewer")
    written = reviewer.read_bytes()
    assert b"- Use rg, not grep" in written and FILES[name].rstrip(b"\r\n").split(b"\n")[0] == written.split(b"\n")[0]
    found = run_cli("rules", "--json", cwd=project).json()["data"]
    assert [one["target"] for one in found] == [{"kind": "agent", "path": ".claude/agents/reviewer.md"}] * 2
    assert run_cli("audit", "--json", cwd=project).json()["data"]["ok"]
    for rule in (first, second):
        with Terminal("revert", rule, cwd=project) as terminal:
            terminal.ends()
    assert reviewer.read_bytes() == FILES[name]


@pytest.mark.parametrize("content", [None, b"", b"You review changes.\n"])
def test_a_file_that_is_no_agent_is_refused(
    content: bytes | None, reviewer: Path, project: Path, run_cli: RunCli
) -> None:
    reviewer.unlink()
    if content is not None:
        reviewer.write_bytes(content)
    with Terminal("capture", "--type", "correction", "--content", "use rg, not grep", cwd=project) as terminal:
        signal = terminal.ends().split()[1]
    done = run_cli("approve", signal, "--to", "agent:reviewer", "--dry-run", cwd=project)
    assert done.code == 1
    assert ("there is no agent 'reviewer'" if content is None else "is not an agent's file") in done.err
    assert "/agents" in done.err
    assert (reviewer.read_bytes() if reviewer.exists() else None) == content


@pytest.mark.parametrize("name", ["../../etc/x", "a/b", "", ".hidden", "a b", "x" * 65, "-x"])
def test_hostile_names_are_refused(name: str, project: Path, approves: Approves, run_cli: RunCli) -> None:
    with Terminal("capture", "--type", "correction", "--content", "use rg, not grep", cwd=project) as terminal:
        signal = terminal.ends().split()[1]
    done = run_cli("approve", signal, "--to", f"agent:{name}", "--dry-run", cwd=project)
    assert (done.code, done.out) == (2, "")


def test_a_rule_of_one_agent_does_not_stop_the_same_rule_for_all(
    reviewer: Path, project: Path, approves: Approves, run_cli: RunCli
) -> None:
    approves("use rg, not grep", "agent:reviewer")
    approves("use rg, not grep", "project")
    assert "Use rg, not grep" in (project / "CLAUDE.md").read_text()
    with Terminal("capture", "--type", "correction", "--content", "use rg, not grep!", cwd=project) as terminal:
        signal = terminal.ends().split()[1]
    refused = run_cli("approve", signal, "--to", "agent:reviewer", "--json", "--dry-run", cwd=project)
    assert refused.out.count("already says it") == 2, "what everybody has, the agent has as well"


def test_its_guard_looks_at_the_calls_of_that_agent(
    reviewer: Path, project: Path, store_home: Path, approves: Approves
) -> None:
    rule = approves("use pnpm, not npm", "agent:reviewer")
    with Terminal("guard", rule, "--mode", "deny", cwd=project) as terminal:
        terminal.ends()

    def is_denied(agent: str | None) -> bool:
        event = {
            "hook_event_name": "PreToolUse", "session_id": "s-1", "cwd": str(project), "tool_name": "Bash",
            "tool_input": {"command": "npm i"}, "transcript_path": "",
            **({"agent_id": "a1", "agent_type": agent} if agent else {}),
        }  # fmt: skip
        script = get_script_path(str(store_home / ".git"))
        done = subprocess.run([script], input=json.dumps(event), capture_output=True, text=True, check=True)
        return "deny" in done.stdout

    assert [is_denied(agent) for agent in (None, "explorer", "reviewer")] == [False, False, True]
