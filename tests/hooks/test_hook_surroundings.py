"""A hook runs in a project that may be hostile, and with any Python and signals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_git.store.reading import reader
from tests.conftest import REAL_GIT, REPO
from tests.disk_search import find_texts
from tests.store.store_checks import inbox_ids, open_store

HOOK = [sys.executable, "-I", "-S", str(REPO / "hooks" / "hook.py")]


def event(project: Path, **more: object) -> bytes:
    facts = {
        "hook_event_name": "PostToolUseFailure", "session_id": "5f0c9a52-7d0e-4c7e-9a53-0d3a5c1f2b10",
        "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": f"toolu_{os.urandom(6).hex()}",
        "error": "Exit code 2", "is_interrupt": False, "cwd": str(project),
    }  # fmt: skip
    return json.dumps({**facts, **more}).encode()


def fire(project: Path, env: dict[str, str] | None = None, **more: object) -> None:
    surroundings = {**os.environ, "CLAUDE_PROJECT_DIR": str(project), **(env or {})}
    fed = event(project, **more)
    done = subprocess.run(HOOK, input=fed, env=surroundings, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    subprocess.run([REAL_GIT, "init", "-q", "-b", "main", str(folder)], check=True)
    return folder


def _git(project: Path, *words: str) -> str:
    return subprocess.run([REAL_GIT, "-C", str(project), *words], check=True, capture_output=True, text=True).stdout


def test_a_project_that_fetches_what_it_lacks_runs_nothing(project: Path, store_home: Path, tmp_path: Path) -> None:
    """A partial clone whose remote is a command: searching for its first commit would run it."""
    trap = tmp_path / "trapped"
    for key, value in (
        ("remote.evil.url", f"ext::sh -c touch% {trap}"), ("remote.evil.promisor", "true"),
        ("remote.other.url", "https://example.com/a.git"), ("protocol.ext.allow", "always"),
        ("extensions.partialClone", "evil"), ("core.repositoryFormatVersion", "1"),
    ):  # fmt: skip
        _git(project, "config", key, value)
    (project / ".git/refs/heads/main").write_text("1" * 40 + "\n")
    fire(project)
    assert not trap.exists()
    assert len(inbox_ids(store_home)) == 1


def test_a_git_in_the_project_itself_is_not_run(project: Path, store_home: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trapped"
    (project / "git").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (project / "git").chmod(0o755)
    fire(project, {"PATH": f"{project}{os.pathsep}{os.environ['PATH']}"})
    assert not trap.exists()
    assert len(inbox_ids(store_home)) == 1


def test_an_ignored_folder_inside_the_project_is_ignored(project: Path, store_home: Path) -> None:
    open_store(store_home)
    inner = project / "inner"
    inner.mkdir()
    (inner / ".reflectignore").touch()
    fire(project, cwd=str(inner))
    assert inbox_ids(store_home) == set()
    fire(project)
    assert len(inbox_ids(store_home)) == 1


@pytest.mark.parametrize("is_repository", [False, True])
def test_a_session_in_the_home_folder_is_of_no_project(home: Path, store_home: Path, is_repository: bool) -> None:
    """Like a capture or a review there, even if the person has the dotfiles in git."""
    if is_repository:
        subprocess.run([REAL_GIT, "init", "-q", str(home)], check=True)
        subprocess.run([REAL_GIT, "-C", str(home), "remote", "add", "origin", "git@example.org:ada/dots"], check=True)
    fire(home)
    store = open_store(store_home)
    assert [one["project"] for one in reader.read(store).signals] == [None]
    store.change_config({"reflect.ignore": "example.org/ada/dots"})
    fire(home)
    assert len(inbox_ids(store_home)) == (1 if is_repository else 2), "what is to be left alone is told by its address"


@pytest.mark.parametrize("cwd", ["/no\0where", "/lone\ud800surrogate", "", "relative"])
def test_an_odd_folder_is_no_reason_to_lose_a_capture(store_home: Path, cwd: str) -> None:
    surroundings = {name: value for name, value in os.environ.items() if name != "CLAUDE_PROJECT_DIR"}
    fed = event(Path("/"), cwd=cwd)
    done = subprocess.run(HOOK, input=fed, env=surroundings, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(inbox_ids(store_home)) == 1


def test_a_parent_that_ignores_its_children_changes_nothing(project: Path, store_home: Path) -> None:
    script = (
        "import signal, os, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = [sys.executable, "-c", script, *HOOK]
    done = subprocess.run(command, input=event(project), capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(inbox_ids(store_home)) == 1


def test_a_half_made_checkout_is_not_the_session_s_trouble(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "reflect_git").mkdir()
    (tmp_path / "reflect_git" / "hook.py").write_text("import nothing_like_this\n")
    shutil.copy(REPO / "hooks" / "hook.py", tmp_path / "hooks" / "hook.py")
    command = [sys.executable, "-I", "-S", str(tmp_path / "hooks" / "hook.py")]
    done = subprocess.run(command, input=b"{}", capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_secret_in_a_session_id_is_replaced(project: Path, store_home: Path) -> None:
    secret = "sk-ant-" + "api03-" + os.urandom(24).hex()
    fire(project, session_id=secret)
    command = [REAL_GIT, "-C", str(store_home), "log", "-p", "--all"]
    listing = subprocess.run(command, capture_output=True, check=True, text=True)
    assert secret not in listing.stdout and len(inbox_ids(store_home)) == 1


def test_a_secret_in_the_name_of_a_folder_a_branch_or_a_file_is_replaced(tmp_path: Path, store_home: Path) -> None:
    secret = "ghp_" + "x7Kq92LmZpR4vT8wYbN3cD6fGhJ1sA5eQuXo"
    project = tmp_path / secret
    subprocess.run([REAL_GIT, "init", "-q", "-b", f"try-{secret}", str(project)], check=True)
    fire(project, tool_name="Edit", tool_input={"file_path": f"{project}/{secret}.py"}, error=f"no {secret}.py there")
    assert len(inbox_ids(store_home)) == 1
    assert find_texts(store_home, secret) == []
