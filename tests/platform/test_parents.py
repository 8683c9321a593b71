"""Whether Claude Code is a parent process: real processes, with HOME and the client's variables changed or removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from reflect_git.platform import processes as ancestry
from reflect_git.platform import system
from tests.conftest import REPO

pytestmark = pytest.mark.skipif(not ancestry.can_list_parents(), reason="this system does not show them")

ASK = "from reflect_git.platform import processes; print(processes.has_client_parent())"
# A parent that gives its child another HOME, another store, and nothing else.
PARENT = (
    "import subprocess, sys\n"
    "env = {'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent', 'REFLECT_GIT_HOME': '/nonexistent/store', "
    f"'PYTHONPATH': {str(REPO)!r}}}\n"
    f"subprocess.run([{sys.executable!r}, '-c', {ASK!r}], env=env, check=True)\n"
)
BINARY = os.path.realpath(sys.executable)


def ask(*command: str | Path, cwd: Path | None = None, env: Mapping[str, str] = os.environ) -> bool:
    """Run a parent; return what its child found."""
    surroundings = {**os.environ, **env}
    done = subprocess.run([*map(str, command)], env=surroundings, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() == "True"


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    path = tmp_path / "parent.py"
    path.write_text(PARENT)
    return path


def program(path: Path) -> Path:
    """Copy the interpreter under another name; it finds its library by PYTHONHOME."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(BINARY, path)
    return path


HOME_OF_PYTHON = {"PYTHONHOME": sys.base_prefix}


def test_nobody_above_is_the_client(parent: Path) -> None:
    assert not ask(sys.executable, parent)


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID"])
def test_a_process_that_the_client_marked(parent: Path, mark: str) -> None:
    assert ask(sys.executable, parent, env={mark: "1"})


def test_a_process_called_claude(parent: Path, tmp_path: Path) -> None:
    link = tmp_path / "bin" / "claude"
    link.parent.mkdir()
    link.symlink_to(BINARY)
    assert ask(link, parent, env=HOME_OF_PYTHON)


@pytest.mark.parametrize("name", ["bin/claude", "share/claude/versions/2.1.325"])
def test_the_client_s_binary_started_under_another_name(parent: Path, tmp_path: Path, name: str) -> None:
    link = tmp_path / "assistant"
    link.symlink_to(program(tmp_path / name))
    assert ask(link, parent, env=HOME_OF_PYTHON)


def test_the_client_s_binary_that_an_update_deleted(tmp_path: Path) -> None:
    path = program(tmp_path / "claude/versions/2.1.325")
    assert ask(path, "-c", f"import os, sys; os.unlink({str(path)!r})\n{PARENT}", env=HOME_OF_PYTHON)


def test_a_node_that_runs_the_client(tmp_path: Path) -> None:
    """Through a link, as npm installs it: `node /usr/bin/claude`, which leads to cli.js."""
    script = tmp_path / "lib/node_modules/@anthropic-ai/claude-code/cli.js"
    script.parent.mkdir(parents=True)
    script.write_text(PARENT)
    node = program(tmp_path / "bin/node")
    assert ask(node, script, env=HOME_OF_PYTHON)
    linked = tmp_path / "assistant"
    linked.symlink_to(script)
    assert ask(node, "assistant", cwd=tmp_path, env=HOME_OF_PYTHON)


def test_an_editor_with_the_client_s_files_open(parent: Path, tmp_path: Path) -> None:
    for file in ("claude", "/srv/node_modules/@anthropic-ai/claude-code/cli.js", "/opt/claude/versions/2.1.325"):
        assert not ask(sys.executable, parent, file)
        assert not ask(program(tmp_path / "node"), parent, file, env=HOME_OF_PYTHON)
    assert not ask(sys.executable, parent, cwd=program(tmp_path / "claude" / "tool").parent)


def test_the_client_more_than_twenty_processes_above(parent: Path, tmp_path: Path) -> None:
    ladder = tmp_path / "ladder.sh"
    ladder.write_text(
        f'#!/bin/sh\nif [ "$1" -gt 0 ]; then "$0" $(($1 - 1)); else {sys.executable} {parent}; fi\nexit $?\n'
    )
    ladder.chmod(0o755)
    assert ask("env", "-u", "CLAUDECODE", ladder, "40") is False
    top = tmp_path / "claude"
    top.symlink_to("/bin/sh")
    assert ask(top, "-c", f"env -i {ladder} 40; exit $?")


class Above:
    """Parent processes, the nearest first: name, session in its environment, whether it is the client."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *processes: tuple[str, str, bool]) -> None:
        found = [
            system.Process(name, "/bin/claude" if is_client else "", (), {"CLAUDE_CODE_SESSION_ID": session})
            for name, session, is_client in processes
        ]
        monkeypatch.setattr(system.current, "list_ancestors", lambda: (found, True))
        self.sessions = [env["CLAUDE_CODE_SESSION_ID"] for env in ancestry.iter_client_environments()]


@pytest.mark.parametrize("server", ["tmux: server", "SCREEN", "zellij"])
def test_a_client_in_a_pane_of_a_server_that_another_session_started(
    monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    """A person opened a client there. Its session is the one in which the person answers."""
    rows = ("bash", "second", False), ("claude", "", True), ("bash", "", False), (server, "first", False)
    assert Above(monkeypatch, *rows, ("systemd", "", False)).sessions == ["second"]


def test_a_pane_of_a_server_that_a_session_started_belongs_to_that_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person in such a pane cannot be distinguished from the session's own `tmux new-session`."""
    assert Above(monkeypatch, ("bash", "", False), ("tmux: server", "first", False)).sessions == ["first"]


@pytest.mark.parametrize("above", [("bash", "first", False), ("claude", "", True)])
def test_a_process_of_the_session_that_is_called_like_a_server(
    monkeypatch: pytest.MonkeyPatch, above: tuple[str, str, bool]
) -> None:
    """Such a chain of processes built inside a session cannot select another session."""
    rows = ("bash", "forged", False), ("claude", "", True), ("tmux: server", "other", False), above
    told = Above(monkeypatch, *rows).sessions
    assert told[-1] == ("first" if above[1] else "other") and "other" in told


def test_a_session_inside_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ("bash", "inner", False), ("claude", "first", True), ("bash", "first", False), ("claude", "", True)
    assert Above(monkeypatch, *rows, ("tmux: server", "", False)).sessions[-1] == "first"
