"""`versions`: each version of a file with its parent, person and reason, and the sessions that loaded it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.history import session_hash
from reflect_git.records.ids import get_signal_id
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.cli.old_store import approve, reword
from tests.conftest import RunCli
from tests.rules import reverts
from tests.rules.project_edits import make_project
from tests.store.store_checks import open_store


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    return open_store(store_home)


def record(store: Store, name: str, versions: dict[str, int], rules: list[str], project: Any, **more: Any) -> None:
    start = f"2026-02-{sum(map(ord, name)) % 28 + 1:02d}T09:00:00Z"
    api.commit_records(store, [{
        "id": get_signal_id(start, f"{name} {more}", "exposure", prefix="EXP"), "version": 1,
        "session": session_hash(name), "project": project, "start": start, "end": start, "turns": 20, "typed": 10,
        "corrections": 1, "failures": {}, "interruptions": 0, "model": "m", "client": "2.1", "attended": True,
        "rules": {"CLAUDE.md": rules}, "hits": {}, "versions": versions, **more,
    }], f"record: {name}", {})  # fmt: skip


@pytest.fixture
def story(store: Store, project: Path) -> list[str]:
    """v1: pnpm; v2: plus ruff; v3: pnpm reworded; v4: pnpm as before."""
    pnpm = approve(store, project, "use pnpm, not npm")
    ruff = approve(store, project, "use ruff, not black")
    reword(store, project, pnpm, "Use pnpm for everything.")
    reverts.revert(store, reader.scan(store).history.decisions[-1]["id"])
    here = reader.scan(store).history.learnings[pnpm]["project"]
    record(store, "first", {"CLAUDE.md": 1}, [pnpm], here)
    record(store, "second", {"CLAUDE.md": 2}, [pnpm, ruff], here)
    record(store, "third", {"CLAUDE.md": 2}, [pnpm, ruff], here, corrections=3)
    record(store, "resumed", {"CLAUDE.md": 1}, [pnpm], here, typed=30, corrections=0)
    record(store, "resumed", {"CLAUDE.md": 2}, [pnpm, ruff], here, typed=20, corrections=0)
    record(store, "without the file", {}, [], here)
    record(store, "another project", {"CLAUDE.md": 2}, [pnpm], {"key": "git.example.org/x", "name": "x"})
    record(store, "another machine", {"CLAUDE.md": 2}, ["LRN-20250101-zzzzzzzz"], here)
    record(store, "a script", {"CLAUDE.md": 2}, [pnpm], here, attended=False)
    record(store, "global", {"global/CLAUDE.md": 2}, [pnpm], here)
    return [pnpm, ruff]


def listed(run_cli: RunCli, project: Path, *words: str) -> dict[int, Any]:
    data = run_cli("versions", "--json", *words, cwd=project).json()["data"]
    return {one["version"]: one for one in data["versions"]}


def test_sessions_count_for_the_version_that_they_loaded(run_cli: RunCli, story: list[str], project: Path) -> None:
    found = listed(run_cli, project)
    assert list(found) == [4, 3, 2, 1]
    assert [(one["sessions"], one["typed"], one["corrections"]) for one in found.values()] == [
        (0, 0, 0), (0, 0, 0), (3, 40, 4), (2, 40, 1),
    ]  # fmt: skip
    assert (found[2]["corrections_per_100"], found[1]["corrections_per_100"]) == (10.0, 2.5)
    assert [(one["parent"], one["same_as"]) for one in found.values()] == [(3, 2), (2, None), (1, None), (None, None)]
    assert found[2]["rules"] == story and found[2]["subject"] == "approve: Use ruff, not black"
    assert [len(one["decisions"]) for one in found.values()] == [1, 1, 1, 1]


def test_the_list_in_words(run_cli: RunCli, story: list[str], project: Path) -> None:
    lines = run_cli("versions", cwd=project).out.splitlines()
    assert lines[0] == "CLAUDE.md: 4 versions"
    assert lines[1].startswith("v4 ") and "no sessions" in lines[1]
    assert lines[2].strip().startswith("from v3, same rules as v2")
    assert "3 sessions, 10.0 corrections per 100" in lines[5] and lines[5].endswith("approve: Use ruff, not black")
    assert lines[8].strip().startswith("first")


def test_one_version(run_cli: RunCli, story: list[str], project: Path) -> None:
    said = run_cli("versions", "show", "v3", cwd=project).out
    assert said.startswith("v3 of CLAUDE.md\n")
    assert f"{story[0]}  Use pnpm for everything.\n" in said and "parent:    v2\n" in said
    data = run_cli("versions", "show", "3", "--json", cwd=project).json()["data"]
    assert data["texts"] == {story[0]: "Use pnpm for everything.", story[1]: "Use ruff, not black"}


def test_the_difference_of_two_versions(run_cli: RunCli, story: list[str], project: Path) -> None:
    text = run_cli("versions", "diff", "v2", "v3", "--json", cwd=project).json()["data"]["diff"]
    changed = [line for line in text.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert [line[:1] for line in changed] == ["-", "+"]
    assert "Use pnpm, not npm" in changed[0] and "Use pnpm for everything." in changed[1]
    assert text in run_cli("versions", "diff", "v3", cwd=project).out, "with its parent"
    assert run_cli("versions", "diff", "v2", "v4", cwd=project).out == "no difference\n"


def test_another_file(run_cli: RunCli, story: list[str], store: Store, project: Path) -> None:
    approve(store, project, "answer in German", "global")
    assert list(listed(run_cli, project, "global")) == [1]
    assert list(listed(run_cli, project, "--target", "global")) == [1]
    assert run_cli("versions", "improvements", cwd=project).err.startswith("error: nothing was ever written there\n")


def test_a_wrong_command_line_is_one_sentence(run_cli: RunCli, story: list[str], project: Path) -> None:
    for words in (("show",), ("show", "v1", "v2"), ("diff",), ("global", "project")):
        done = run_cli("versions", *words, cwd=project)
        assert (done.code, done.err.splitlines()[0]) == (2, "error: no version or file named")
    missing = run_cli("versions", "show", "v9", cwd=project)
    assert (missing.code, missing.err) == (1, "error: there is no version 'v9' of it\nhint: there are v1 to v4\n")


def test_without_a_store_there_are_no_versions(run_cli: RunCli, home: Path) -> None:
    assert run_cli("versions", "--json").json()["data"] == {"target": None, "versions": []}
    assert "no store" in run_cli("versions").err
    assert not (home / ".claude" / "reflections").exists()
