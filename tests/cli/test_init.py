"""`init` creates the store once, and prints where it is."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.conftest import RunCli


def test_init_makes_the_store_and_tells_where(run_cli: RunCli, store_home: Path) -> None:
    result = run_cli("init")
    assert result.code == 0
    assert f"created a store at '{store_home}'" in result.out
    assert "this machine is called '" in result.out
    assert "hint: no hooks installed; run 'reflect-git enable' or install the plugin" in result.err
    assert stat.S_IMODE(store_home.stat().st_mode) == 0o700


def test_init_again_changes_nothing(run_cli: RunCli, store_home: Path) -> None:
    first, second = run_cli("init", "--json").json()["data"], run_cli("init", "--json").json()["data"]
    assert first == {"store": str(store_home), "machine": first["machine"], "created": True}
    assert second == {**first, "created": False}
    assert f"the store is at '{store_home}'" in run_cli("init").out


def test_with_hooks_it_names_another_next_step(run_cli: RunCli, home: Path, store_home: Path) -> None:
    run_cli("enable")
    assert run_cli("init").err == ""
    assert "reflect-git capture" in run_cli("--store", str(home / "other"), "init").err


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_dry_run_makes_nothing(run_cli: RunCli, store_home: Path, form: tuple[str, ...]) -> None:
    result = run_cli("init", "--dry-run", *form)
    assert result.code == 0
    assert str(store_home) in result.out
    assert not store_home.parent.exists()


def test_dry_run_of_an_existing_store_says_that_it_is_there(run_cli: RunCli, store_home: Path) -> None:
    run_cli("init")
    assert f"the store is at '{store_home}'" in run_cli("init", "--dry-run").out


def test_the_next_steps_can_be_silenced(run_cli: RunCli, home: Path, store_home: Path) -> None:
    (home / ".gitconfig").write_text('[reflect "hint"]\n\tinit = false\n')
    assert run_cli("init").err == ""


def test_a_store_that_is_a_link_is_refused(run_cli: RunCli, home: Path) -> None:
    (home / "real").mkdir()
    (home / "link").symlink_to(home / "real")
    result = run_cli("--store", str(home / "link"), "init", "--json")
    assert (result.code, result.json()["error"]["code"]) == (1, "store-symlink")
