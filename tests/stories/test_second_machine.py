"""Two machines of one person: rules approved on one reach the other, once it is accepted as theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reflect_git.store import machines
from reflect_git.store.reading import reader
from tests.conftest import RunCli
from tests.faults import git
from tests.store.store_checks import open_recovered_store
from tests.stories.terminal import Terminal
from tests.sync.clones import Clone, create_bare_repository

Types = Callable[..., Terminal]


@pytest.fixture
def types(tmp_path: Path) -> Iterator[Types]:
    """Run a command at the terminal of a machine."""
    opened: list[Terminal] = []

    def run(clone: Clone, *words: str) -> Terminal:
        opened.append(Terminal(*words, cwd=tmp_path, env={"REFLECT_GIT_HOME": str(clone.root)}))
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.close()


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Clone, Clone, Path]:
    laptop, desktop = Clone(tmp_path / "laptop"), Clone(tmp_path / "desk")
    laptop.approve(1)
    return laptop, desktop, create_bare_repository(tmp_path / "remote.git")


def test_a_machine_is_accepted_once(pair: tuple[Clone, Clone, Path], types: Types, run_cli: RunCli) -> None:
    laptop, desktop, remote = pair
    first = types(laptop, "remote", "set", str(remote))
    assert "private repository of your own" in first.passes("now and on every sync? [y/N]:")
    first.types("y")
    assert "0 files received, 4 sent" in first.ends()

    second = types(desktop, "remote", "set", str(remote))
    told = second.passes("now and on every sync? [y/N]:")
    assert "send this" not in told, "there is nothing to send yet"
    second.types("y")
    name = laptop.store.machine
    second.passes(f"new machine '{name}', first seen 2026-02-11: yours? [y/N]:")
    second.types("y")
    assert "3 files received" in second.ends()
    store = open_recovered_store(desktop.root)
    decisions = machines.filter_decisions(reader.scan(store).main_records)
    assert set(machines.get_own_machines(store, decisions) or ()) == {name, desktop.store.machine}
    (made,) = [made for made in decisions if made["machine"] == store.machine and made["kind"] == "policy"]
    assert (made["kind"], made["subject"], made["by"]["road"]) == ("policy", "reflect.own", "terminal")
    assert f"machines/{name}.yaml" in desktop.list_paths()
    assert "accept: machine" in git(desktop.root, "log", "--format=%s", "main")
    assert "new machine" not in types(desktop, "sync").ends(), "asked once"
    here = {"REFLECT_GIT_HOME": str(desktop.root)}
    assert "  accepted  machine" in run_cli("log", env=here).out
    on_laptop = run_cli("config", "reflect.ignore", "/clients", env={"REFLECT_GIT_HOME": str(laptop.root)})
    assert on_laptop.code == 0
    meeting = types(laptop, "sync")  # the other machine decided to share, so the laptop asks whose it is
    meeting.passes("yours? [y/N]:")
    meeting.types("y")
    assert "error" not in meeting.ends()
    assert "error" not in types(desktop, "sync").ends()
    assert "reflect.ignore" not in run_cli("audit", env=here).out, "a policy of the laptop is none of the desk"
    assert "reflect.ignore is 1 value" in run_cli("audit", env={"REFLECT_GIT_HOME": str(laptop.root)}).out

    env = {"REFLECT_GIT_HOME": str(desktop.root)}
    assert "Rule number 1." in run_cli("rules", "--all", env=env).out


def test_a_stranger_decides_nothing(pair: tuple[Clone, Clone, Path], types: Types, run_cli: RunCli) -> None:
    laptop, desktop, remote = pair
    for clone in (laptop, desktop):
        done = types(clone, "--yes", "--no-input", "remote", "set", str(remote))
        assert done.ends()
    env = {"REFLECT_GIT_HOME": str(desktop.root)}
    assert "Rule number 1." not in run_cli("rules", "--all", env=env).out, "it is in the store, and in force for nobody"
    assert "learnings/LRN-20260211-00000001.yaml" in desktop.list_paths()
    asked = types(desktop, "sync")
    asked.passes("yours? [y/N]:")
    asked.types("n")
    assert "is not accepted yet" in asked.ends()
    assert "Rule number 1." not in run_cli("rules", "--all", env=env).out


def test_no_is_an_answer(pair: tuple[Clone, Clone, Path], types: Types) -> None:
    laptop, _, remote = pair
    asked = types(laptop, "remote", "set", str(remote))
    asked.passes("[y/N]:")
    asked.types("n")
    assert "nothing was sent" in asked.ends(1)
    assert git(remote, "for-each-ref") == ""


def test_a_review_begins_with_news_of_the_other_machines(pair: tuple[Clone, Clone, Path], types: Types) -> None:
    laptop, desktop, remote = pair
    types(laptop, "--yes", "remote", "set", str(remote)).ends()
    joining = types(desktop, "--yes", "remote", "set", str(remote))
    joining.passes("yours? [y/N]:")  # --yes does not say whom to trust
    joining.types("y")
    joining.ends()
    asked = types(desktop, "config", "sync.auto", "true")
    asked.passes("set reflect.sync.auto to true? [y/N]:")
    asked.types("y")
    asked.ends()
    made = laptop.approve(2)
    meeting = types(laptop, "sync")  # the other machine has decided something by now: to share
    meeting.passes("yours? [y/N]:")
    meeting.types("y")
    meeting.ends()
    assert "Rule number 2." in types(desktop, "--no-input", "review").ends()
    assert set(made) <= desktop.list_paths()
