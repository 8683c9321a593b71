"""A decision in the panel, next to a call of a session that could have made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_git.store.repository import Store
from tests.rules.audit.audited_store import approve, create_audited_store
from tests.rules.audit.test_proofs import Transcript, unproved
from tests.rules.queues import BY, PNPM


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    store = create_audited_store(store_home, home)
    approve(store, PNPM, by={**BY, "road": "panel"})
    return store


COMMANDS = [
    "curl -b reflect-panel=abc -d id=SIG-1 http://127.0.0.1:40123/xyz/approve",
    "cat ~/.claude/reflections/.git/reflect/panel-4711.html",
    "env -i setsid -f reflect-git panel --no-open",
    "tmux new-window 'reflect-git panel'",
    "python3 -c \"import urllib.request as u; u.urlopen('http://localhost:40123/x/open', b'token=1')\"",
    "base64 -d /tmp/x | sh",
    "xdotool key y",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_could_have_used_the_panel(store: Store, home: Path, command: str) -> None:
    Transcript(home, store).bash(command)
    (found,) = unproved(store)
    assert (found.severity, found.needs_decision) == ("decide", True)
    assert "claims the panel" in found.message and "audit --accept" in found.hint


TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("mcp__playwright__browser_click", {"element": "Approve", "ref": "e12"}),
    ("mcp__claude-in-chrome__computer", {"action": "left_click", "coordinate": [1, 2]}),
    ("mcp__chrome-devtools__evaluate_script", {"function": "() => document.forms[0].submit()"}),
]


@pytest.mark.parametrize(("tool", "given"), TOOLS)
def test_a_browser_that_a_model_drives(store: Store, home: Path, tool: str, given: dict[str, Any]) -> None:
    Transcript(home, store).use(tool, given)
    (found,) = unproved(store)
    assert "could have used the panel" in found.message and tool in found.message


HARMLESS = [
    "reflect-git panel --export /tmp/report", "reflect-git panel --help", "npm test", "curl -s http://127.0.0.1:3000/health",
    "reflect-git status",
]  # fmt: skip


@pytest.mark.parametrize("command", HARMLESS)
def test_a_command_that_decides_nothing(store: Store, home: Path, command: str) -> None:
    Transcript(home, store).bash(command)
    assert unproved(store) == []


def test_a_call_long_before(store: Store, home: Path) -> None:
    Transcript(home, store).use(*TOOLS[0], before=4000)
    assert unproved(store) == []


def test_a_panel_says_nothing_about_a_terminal(store_home: Path, home: Path) -> None:
    store = create_audited_store(store_home, home, PNPM)
    Transcript(home, store).bash("curl -d x http://127.0.0.1:40123/xyz/approve")
    assert unproved(store) == []
