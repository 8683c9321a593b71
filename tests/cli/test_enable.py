"""`enable` ends what `disable` began, and nothing that a person wrote for more than one project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import RunCli


@pytest.fixture
def store(run_cli: RunCli, store_home: Path) -> Path:
    assert run_cli("init").code == 0
    return store_home


def _commits(store: Path) -> int:
    done = subprocess.run(["git", "-C", str(store), "rev-list", "--count", "main"], capture_output=True, check=True)
    return int(done.stdout)


def test_capture_is_on_from_the_start(run_cli: RunCli, store: Path) -> None:
    before = _commits(store)
    result = run_cli("enable")
    assert (result.code, result.out, result.err) == (0, "capture is already on\n", "")
    assert _commits(store) == before


def test_it_ends_a_disable_with_one_commit(run_cli: RunCli, store: Path) -> None:
    run_cli("disable")
    before = _commits(store)
    result = run_cli("enable")
    assert (result.out, "undo with: reflect-git disable\n" in result.err) == ("capture is on\n", True)
    assert run_cli("enable").out == "capture is already on\n"
    assert _commits(store) == before + 1
    assert run_cli("status", "--json").json()["data"]["capture"] == "on"


def test_it_ends_a_pause_without_a_commit(run_cli: RunCli, store: Path) -> None:
    run_cli("disable", "--for", "2h")
    before = _commits(store)
    assert run_cli("enable").out == "capture is on\n"
    assert _commits(store) == before
    assert run_cli("status", "--json").json()["data"]["capture"] == "on"


def test_it_takes_a_project_back(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    other, here = tmp_path / "other", tmp_path / "here"
    for folder in (other, here):
        folder.mkdir()
        run_cli("disable", "--project", str(folder))
    assert run_cli("enable", "--project", "--dry-run", cwd=here).out == f"capture would be on in '{here}'\n"
    assert run_cli("enable", "--project", cwd=here).out == f"capture is on in '{here}'\n"
    assert run_cli("enable", "--project", cwd=here).out == f"capture is already on in '{here}'\n"
    assert run_cli("config", "ignore").out == f"{other}\n"


def test_a_reflectignore_is_named_and_left(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    (tmp_path / ".reflectignore").touch()
    result = run_cli("enable", "--project", str(tmp_path))
    assert (result.code, "has a .reflectignore" in result.err) == (1, True)
    assert (tmp_path / ".reflectignore").exists()


def test_a_wider_glob_is_named_and_left(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    run_cli("config", "ignore", f"{tmp_path}/*")
    (tmp_path / "inner").mkdir()
    result = run_cli("enable", "--project", str(tmp_path / "inner"))
    assert (result.code, f"is ignored by '{tmp_path}/*'" in result.err) == (1, True)
    assert run_cli("config", "ignore").out == f"{tmp_path}/*\n"


def test_a_dry_run_changes_nothing_and_makes_no_store(run_cli: RunCli, store_home: Path) -> None:
    assert run_cli("enable", "--dry-run").out == "capture is already on\n"
    assert not store_home.exists()
