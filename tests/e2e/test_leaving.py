"""Uninstall: what the client's own uninstall leaves, and whether reflect-git reports it correctly."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from tests.conftest import REPO, RunCli
from tests.e2e.conftest import Signals, list_failures, wait_until_idle
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client
from tests.faults import git


def ours(home: Path) -> set[str]:
    """Return files in the home that are named after us or mention us, except the store and transcripts."""
    said = (".claude/reflections/", ".claude/projects/", ".claude/backups/")
    files = {str(path.relative_to(home)): path for path in home.rglob("*") if path.is_file()}
    files = {name: path for name, path in files.items() if not name.startswith(said)}
    return {name for name, path in files.items() if "reflect" in name or b"reflect-git" in path.read_bytes()}


def test_nothing_is_left_but_the_store(
    plain_client: Client, model: Model, run_cli: RunCli, signals: Signals, home: Path, store_home: Path
) -> None:
    plain_client.run("plugin", "marketplace", "add", str(REPO))
    plain_client.run("plugin", "install", "reflect-git@reflect-git")
    model.turns = [Turn("I try.", [bash_call("ls /nowhere")]), Turn("It failed. ONE")]
    plain_client.run_print("try it")
    assert len(list_failures(signals())) == 1
    assert "installed by the plugin, last run " in run_cli("doctor").out

    plugin, market, copy, *_ = run_cli("uninstall", "--json").json()["data"]["left"]
    plain_client.run(*shlex.split(plugin)[1:])
    wait_until_idle(home)
    assert "not installed" in run_cli("doctor").out
    assert run_cli("uninstall", "--json").json()["data"]["left"][0] == market
    plain_client.run(*shlex.split(market)[1:])
    (kept,) = home.glob(".claude/plugins/cache/reflect-git/reflect-git/*")
    whole = kept.parent.parent  # of a marketplace that has nothing else
    assert str(kept) in run_cli("doctor").out and shlex.split(copy, comments=True) == ["rm", "-r", str(whole)]
    shutil.rmtree(whole)
    assert "kept copies" not in run_cli("doctor").out
    assert ours(home) <= {".claude.json"}, "the client counts there which plugins it had"
    assert len(list_failures(signals())) == 1, "what was captured stays"

    assert run_cli("uninstall", "--erase", "--yes").code == 0
    assert not store_home.exists()


def test_a_plugin_of_one_project_is_told_and_goes(
    plain_client: Client, run_cli: RunCli, home: Path, project: Path
) -> None:
    plain_client.run("plugin", "marketplace", "add", str(REPO))
    plain_client.run("plugin", "install", "--scope", "project", "reflect-git@reflect-git")
    assert run_cli("init").code == 0
    assert f"installed by the plugin, only in '{project}'" in run_cli("doctor").out
    plugin, *_ = run_cli("uninstall", "--json").json()["data"]["left"]
    inside, _, command = plugin.partition(" && ")
    assert shlex.split(inside) == ["cd", str(project)]
    plain_client.run(*shlex.split(command)[1:])
    assert "not installed" in run_cli("doctor").out


def test_a_clone_that_moved_is_told_and_found_again(
    plain_client: Client, model: Model, run_cli: RunCli, signals: Signals, tmp_path: Path
) -> None:
    clone, moved = tmp_path / "clone", tmp_path / "moved"
    git(REPO, "clone", "-q", str(REPO), str(clone))
    plain_client.run("plugin", "marketplace", "add", str(clone))
    plain_client.run("plugin", "install", "reflect-git@reflect-git")
    assert run_cli("init").code == 0
    clone.rename(moved)
    told = run_cli("doctor").out
    assert f"the plugin is missing from '{clone}'" in told
    assert "claude plugin marketplace add DIR" in told
    plain_client.run("plugin", "marketplace", "add", str(moved))
    model.turns = [Turn("I try.", [bash_call("ls /nowhere")]), Turn("It failed. ONE")]
    plain_client.run_print("try it")
    assert len(list_failures(signals())) == 1
    assert "installed by the plugin, last run " in run_cli("doctor").out
