"""A project called shop, somebody who works in it, and what they said to Claude."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import REAL_GIT, RunCli
from tests.stories.terminal import Terminal

Says = Callable[..., str]
Reviews = Callable[..., Terminal]


@pytest.fixture(autouse=True)
def git_user(home: Path) -> None:
    """Configure git with the name of the person who works here."""
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n", encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "shop")


def make_project(folder: Path) -> Path:
    folder.mkdir()
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def says(project: Path) -> Says:
    """Capture what the person types at a terminal; return the id of the signal."""

    def say(text: str, *options: str, kind: str = "correction", cwd: Path = project) -> str:
        arguments = ("capture", "--type", kind, "--content", text, *options)
        with Terminal(*arguments, cwd=cwd) as terminal:
            return terminal.ends().split()[1]

    return say


@pytest.fixture
def claude_says(run_cli: RunCli, project: Path) -> Says:
    """Capture what Claude notes by itself: not the person's words, and weak."""

    def say(text: str, *options: str, kind: str = "convention") -> str:
        made = run_cli("capture", "--type", kind, "--content", text, *options, "--json", cwd=project)
        return str(made.json()["data"]["id"])

    return say


@pytest.fixture
def reviews(project: Path, store_home: Path) -> Iterator[Reviews]:
    """Run `reflect-git review` as a person who has already seen the note about changed keys."""
    open_terminals: list[Terminal] = []

    def review(*options: str, cwd: Path = project, before: tuple[str, ...] = (), **env: str) -> Terminal:
        private = store_home / ".git" / "reflect"
        if private.is_dir():
            (private / "keys").write_text("2\n", encoding="ascii")
        terminal = Terminal(*before, "review", *options, cwd=cwd, env=env)
        open_terminals.append(terminal)
        return terminal

    yield review
    for terminal in open_terminals:
        terminal.close()


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Provide an editor that writes this text by itself; return the file where it stores what it was shown."""

    def install(text: str) -> Path:
        shown, program = tmp_path / "shown", tmp_path / "typist"
        (tmp_path / "typed").write_text(text, encoding="utf-8")
        program.write_text(f"#!/bin/sh\ncp \"$1\" '{shown}'\ncat '{tmp_path}/typed' > \"$1\"\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("GIT_EDITOR", str(program))
        return shown

    return install


def list_commits(store: Path, *options: str) -> list[str]:
    """Return the subjects on main, newest first."""
    command = [REAL_GIT, "-C", str(store), "log", "--format=%s", *options, "main"]
    env = {"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout.splitlines()
