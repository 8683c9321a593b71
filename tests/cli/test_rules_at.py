"""`rules --at`: the rules in force at a time, and what changed since."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.ids import local_day, utc
from reflect_git.store.repository import Store
from tests.cli.old_store import approve, plain, reword
from tests.conftest import RunCli
from tests.rules.project_edits import make_project
from tests.store.probe import opened


@pytest.fixture
def shop(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, shop: Path) -> Store:
    """v1: pnpm; v2: plus ruff; v3: pnpm reworded; v4: ruff replaced by uv. And one global rule."""
    store = opened(store_home)
    pnpm = approve(store, shop, "use pnpm, not npm")
    ruff = approve(store, shop, "use ruff, not black")
    reword(store, shop, pnpm, "Use pnpm for everything.")
    approve(store, shop, "use uv and ruff, not black", supersedes=(ruff,))
    approve(store, shop, "answer in German", "global")
    return store


def texts(run_cli: RunCli, shop: Path, *options: str) -> list[str]:
    return [rule["text"] for rule in run_cli("rules", "--json", *options, cwd=shop).json()["data"]]


def test_versions_of_the_projects_file(run_cli: RunCli, store: Store, shop: Path) -> None:
    assert texts(run_cli, shop, "--at", "v1") == ["Use pnpm, not npm"]
    assert texts(run_cli, shop, "--at", "v2") == ["Use pnpm, not npm", "Use ruff, not black"]
    assert texts(run_cli, shop, "--at", "v3") == ["Use pnpm for everything.", "Use ruff, not black"]
    assert texts(run_cli, shop, "--at", "v4") == ["Use pnpm for everything.", "Use uv and ruff, not black"]
    assert texts(run_cli, shop, "--at", "v1", "--global") == ["Answer in German"]
    assert texts(run_cli, shop, "--at", "v2", "--grep", "black") == ["Use ruff, not black"]
    missing = run_cli("rules", "--at", "v5", cwd=shop)
    assert (missing.code, missing.err) == (1, "error: there is no version 'v5' of it\nhint: there are v1 to v4\n")


def test_outside_a_project_a_version_is_that_of_the_global_file(run_cli: RunCli, store: Store, home: Path) -> None:
    assert texts(run_cli, home, "--at", "v1") == ["Answer in German"]


def test_another_file_is_named(run_cli: RunCli, store: Store, shop: Path) -> None:
    approve(store, shop, "write tests first", "project-local")
    assert texts(run_cli, shop, "--at", "v1", "--target", "CLAUDE.local.md") == ["Write tests first"]
    assert texts(run_cli, shop, "--target", "CLAUDE.local.md") == ["Write tests first"]
    nothing = run_cli("rules", "--at", "v1", "--target", "AGENTS.md", cwd=shop)
    assert nothing.err.startswith("error: nothing was ever written there\n")


def test_what_changed_since_a_version(run_cli: RunCli, store: Store, shop: Path) -> None:
    told = plain(run_cli("rules", "--at", "v2", "--diff", cwd=shop).out, store)
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
    data = run_cli("rules", "--at", "v2", "--diff", "--json", cwd=shop).json()["data"]
    sides = [(one["change"], one["then"] and one["then"]["text"], one["now"] and one["now"]["text"]) for one in data]
    assert sides == [
        ("reworded", "Use pnpm, not npm", "Use pnpm for everything."),
        ("taken back", "Use ruff, not black", None),
        ("added", None, "Use uv and ruff, not black"),
    ]
    assert plain(run_cli("rules", "--at", "v4", "--diff", cwd=shop).out, store).endswith(": nothing changed\n")


def test_at_a_time(run_cli: RunCli, store: Store, shop: Path) -> None:
    now = texts(run_cli, shop)
    assert len(now) == 3
    assert texts(run_cli, shop, "--at", local_day(time.time())) == now, "a day lasts until its end"
    for before in ("yesterday", "2 weeks ago", "1d", "2020-01-01", "2020-01-01T00:00:00Z"):
        assert texts(run_cli, shop, "--at", before) == []
    assert run_cli("rules", "--at", "1d", cwd=shop).err == "no rules were in force then\n"
    assert "3 added" in run_cli("rules", "--at", "1d", "--diff", cwd=shop).out


def test_at_a_moment_between_two_decisions(run_cli: RunCli, store: Store, shop: Path) -> None:
    rule: dict[str, Any] = run_cli("rules", "--json", "--grep", "pnpm", cwd=shop).json()["data"][0]
    time.sleep(1.1)
    between = utc(time.time() - 0.05)
    time.sleep(1.0)
    reword(store, shop, rule["id"], "Use pnpm, always.")
    assert texts(run_cli, shop, "--at", between, "--grep", "pnpm") == ["Use pnpm for everything."]
    assert texts(run_cli, shop, "--grep", "pnpm") == ["Use pnpm, always."]


def test_what_makes_no_sense(run_cli: RunCli, store: Store, shop: Path) -> None:
    assert run_cli("rules", "--diff", cwd=shop).err.startswith("error: --diff needs --at\n")
    once = run_cli("rules", "--at", "once", cwd=shop).err
    assert once.startswith("error: 'once' is not a time\n")
    assert once.endswith(" for a time ago, or '2 weeks ago', or v7 for a version of the file\n")
