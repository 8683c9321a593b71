"""`rules --at`: the rules in force at a time, and what changed since."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.ids import local_day, utc
from reflect_git.store.repository import Store
from tests.cli.old_store import approve, replace_varying_parts, reword
from tests.conftest import RunCli
from tests.rules.project_edits import make_project
from tests.store.store_checks import open_store


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    """v1: pnpm; v2: plus ruff; v3: pnpm reworded; v4: ruff replaced by uv. And one global rule."""
    store = open_store(store_home)
    pnpm = approve(store, project, "use pnpm, not npm")
    ruff = approve(store, project, "use ruff, not black")
    reword(store, project, pnpm, "Use pnpm for everything.")
    approve(store, project, "use uv and ruff, not black", supersedes=(ruff,))
    approve(store, project, "answer in German", "global")
    return store


def texts(run_cli: RunCli, project: Path, *options: str) -> list[str]:
    return [rule["text"] for rule in run_cli("rules", "--json", *options, cwd=project).json()["data"]]


def test_versions_of_the_projects_file(run_cli: RunCli, store: Store, project: Path) -> None:
    assert texts(run_cli, project, "--at", "v1") == ["Use pnpm, not npm"]
    assert texts(run_cli, project, "--at", "v2") == ["Use pnpm, not npm", "Use ruff, not black"]
    assert texts(run_cli, project, "--at", "v3") == ["Use pnpm for everything.", "Use ruff, not black"]
    assert texts(run_cli, project, "--at", "v4") == ["Use pnpm for everything.", "Use uv and ruff, not black"]
    assert texts(run_cli, project, "--at", "v1", "--global") == ["Answer in German"]
    assert texts(run_cli, project, "--at", "v2", "--grep", "black") == ["Use ruff, not black"]
    missing = run_cli("rules", "--at", "v5", cwd=project)
    assert (missing.code, missing.err) == (1, "error: there is no version 'v5' of it\nhint: there are v1 to v4\n")


def test_outside_a_project_a_version_is_that_of_the_global_file(run_cli: RunCli, store: Store, home: Path) -> None:
    assert texts(run_cli, home, "--at", "v1") == ["Answer in German"]


def test_another_file_is_named(run_cli: RunCli, store: Store, project: Path) -> None:
    approve(store, project, "write tests first", "project-local")
    assert texts(run_cli, project, "--at", "v1", "--target", "CLAUDE.local.md") == ["Write tests first"]
    assert texts(run_cli, project, "--target", "CLAUDE.local.md") == ["Write tests first"]
    nothing = run_cli("rules", "--at", "v1", "--target", "AGENTS.md", cwd=project)
    assert nothing.err.startswith("error: nothing was ever written there\n")


def test_what_changed_since_a_version(run_cli: RunCli, store: Store, project: Path) -> None:
    told = replace_varying_parts(run_cli("rules", "--at", "v2", "--diff", cwd=project).out, store)
    assert (
        told
        == """\
since v2 of CLAUDE.md, WHEN: 1 added, 1 reworded, 1 taken back

LRN-1  reworded
  - Use pnpm, not npm
  + Use pnpm for everything.

LRN-2  taken back
  - → CLAUDE.md
  - Use ruff, not black

LRN-3  added
  + → CLAUDE.md
  + Use uv and ruff, not black
"""
    )
    data = run_cli("rules", "--at", "v2", "--diff", "--json", cwd=project).json()["data"]
    sides = [(one["change"], one["then"] and one["then"]["text"], one["now"] and one["now"]["text"]) for one in data]
    assert sides == [
        ("reworded", "Use pnpm, not npm", "Use pnpm for everything."),
        ("taken back", "Use ruff, not black", None),
        ("added", None, "Use uv and ruff, not black"),
    ]
    assert replace_varying_parts(run_cli("rules", "--at", "v4", "--diff", cwd=project).out, store).endswith(
        ": nothing changed\n"
    )


def test_at_a_time(run_cli: RunCli, store: Store, project: Path) -> None:
    now = texts(run_cli, project)
    assert len(now) == 3
    assert texts(run_cli, project, "--at", local_day(time.time())) == now, "a day lasts until its end"
    for before in ("yesterday", "2 weeks ago", "1d", "2020-01-01", "2020-01-01T00:00:00Z"):
        assert texts(run_cli, project, "--at", before) == []
    assert run_cli("rules", "--at", "1d", cwd=project).err == "no rules were in force then\n"
    assert "3 added" in run_cli("rules", "--at", "1d", "--diff", cwd=project).out


def test_at_a_moment_between_two_decisions(run_cli: RunCli, store: Store, project: Path) -> None:
    rule: dict[str, Any] = run_cli("rules", "--json", "--grep", "pnpm", cwd=project).json()["data"][0]
    time.sleep(1.1)
    between = utc(time.time() - 0.05)
    time.sleep(1.0)
    reword(store, project, rule["id"], "Use pnpm, always.")
    assert texts(run_cli, project, "--at", between, "--grep", "pnpm") == ["Use pnpm for everything."]
    assert texts(run_cli, project, "--grep", "pnpm") == ["Use pnpm, always."]


def test_what_makes_no_sense(run_cli: RunCli, store: Store, project: Path) -> None:
    assert run_cli("rules", "--diff", cwd=project).err.startswith("error: --diff needs --at\n")
    once = run_cli("rules", "--at", "once", cwd=project).err
    assert once.startswith("error: 'once' is not a time\n")
    assert once.endswith(" for a time ago, or '2 weeks ago', or v7 for a version of the file\n")
