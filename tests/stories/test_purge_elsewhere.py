"""Two machines of one person: what is purged on one is also purged on the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests import disk_search
from tests.conftest import RunCli
from tests.faults import git
from tests.stories.terminal import Terminal
from tests.sync.clones import create_bare_repository

TEXT = "Usa siempre const"


class Machine:
    """A separate home: a store, and a Claude Code with a CLAUDE.md."""

    def __init__(self, base: Path, name: str) -> None:
        self.store, self.claude = base / name / "reflections", base / name / "claude"
        self.claude.mkdir(parents=True)
        (self.claude / "CLAUDE.md").write_text("# Mine\n", encoding="utf-8")

    @property
    def env(self) -> Mapping[str, str]:
        return {"REFLECT_GIT_HOME": str(self.store), "CLAUDE_CONFIG_DIR": str(self.claude)}

    @property
    def file(self) -> str:
        return (self.claude / "CLAUDE.md").read_text(encoding="utf-8")


Types = Callable[..., Terminal]


@pytest.fixture
def types(tmp_path: Path) -> Iterator[Types]:
    """Run a command at the terminal of a machine."""
    opened: list[Terminal] = []

    def run(machine: Machine, *words: str) -> Terminal:
        opened.append(Terminal(*words, cwd=tmp_path, env=machine.env))
        return opened[-1]

    yield run
    for terminal in opened:
        terminal.close()


def learn(types: Types, machine: Machine, text: str) -> None:
    signal = types(machine, "capture", "--type", "correction", "--content", text).ends().split()[1]
    types(machine, "approve", signal, "--to", "global", "--text", text).ends()


@pytest.fixture
def pair(tmp_path: Path, types: Types) -> tuple[Machine, Machine, Path]:
    """Create two rules on the laptop; the other machine has applied both, and has not synced since."""
    laptop, desktop, remote = (
        Machine(tmp_path, "laptop"),
        Machine(tmp_path, "desk"),
        create_bare_repository(tmp_path / "remote.git"),
    )
    learn(types, laptop, f"{TEXT} en este proyecto.")
    learn(types, laptop, "Indent with tabs, never with spaces.")
    types(laptop, "--yes", "remote", "set", str(remote)).ends()
    types(desktop, "init").ends()
    joining = types(desktop, "--yes", "remote", "set", str(remote))
    joining.passes("yours? [y/N]:")
    joining.types("y")
    joining.ends()
    meeting = types(laptop, "sync")  # the other machine decided to share, so the laptop asks whose it is
    meeting.passes("yours? [y/N]:")
    meeting.types("y")
    meeting.ends()
    review = types(desktop, "review")
    for _ in range(2):
        review.passes("?]?")
        review.types("y")
    review.ends()
    assert TEXT in laptop.file and TEXT in desktop.file
    return laptop, desktop, remote


def purge(types: Types, machine: Machine) -> None:
    asked = types(machine, "purge", "--match", "siempre const")
    phrase = re.search(r"type '(purge \d+ records)' to continue:", asked.passes("to continue:"))
    assert phrase
    asked.types(phrase[1])
    asked.ends()


def test_it_goes_from_the_store_and_the_file_of_the_other_one(
    pair: tuple[Machine, Machine, Path], types: Types, run_cli: RunCli
) -> None:
    laptop, desktop, remote = pair
    purge(types, laptop)
    types(laptop, "sync").ends()
    asked = types(desktop, "sync")
    told = asked.passes("purge them here too? [y/N]:")
    assert "removes a rule from 'CLAUDE.md': LRN-1: Usa siempre const en este proyecto." in " ".join(told.split())
    asked.types("y")
    assert "purged from this store" in asked.ends()
    assert "the order of earlier ones is unknown" in " ".join(types(desktop, "undo").ends(1).split())
    types(laptop, "sync").ends()
    assert "refused" not in types(desktop, "sync").ends()
    for machine in (laptop, desktop):
        assert TEXT not in machine.file and "Indent with tabs" in machine.file
        assert disk_search.find_texts(machine.store, TEXT) == []
        found = run_cli("audit", "--json", env=machine.env).json()["data"]["findings"]
        assert {(one["code"], one["severity"]) for one in found if one["severity"] != "note"} == set(), found
        assert [one["message"] for one in found if one["code"] == "taken-over" and "purges/0001-" in one["message"]]
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert disk_search.find_texts(remote, TEXT) == []


def test_a_remote_that_goes_away_meanwhile_is_told_of_with_what_was_done(
    pair: tuple[Machine, Machine, Path], types: Types
) -> None:
    laptop, desktop, remote = pair
    purge(types, laptop)
    types(laptop, "sync").ends()
    asked = types(desktop, "sync")
    asked.passes("purge them here too? [y/N]:")
    away = remote.rename(remote.with_suffix(".away"))
    asked.types("y")
    assert "the rules are removed from their files; purge" in " ".join(asked.ends(1).split())
    assert TEXT not in desktop.file
    away.rename(remote)
    again = types(desktop, "sync")
    again.passes("purge them here too? [y/N]:")
    again.types("y")
    assert "purged from this store" in again.ends()
    assert disk_search.find_texts(desktop.store, TEXT) == []


def test_a_new_machine_is_not_asked_about_what_it_never_had(
    tmp_path: Path, types: Types, pair: tuple[Machine, Machine, Path], run_cli: RunCli
) -> None:
    laptop, _, remote = pair
    purge(types, laptop)
    types(laptop, "sync").ends()
    new = Machine(tmp_path, "new")
    learn(types, new, "Always write tests in French.")
    before = git(new.store, "rev-parse", "main").strip()
    joining = types(new, "--yes", "remote", "set", str(remote))
    told = joining.passes("yours? [y/N]:")
    assert "purge them here" not in told
    joining.types("y")
    told += joining.passes("yours? [y/N]:")  # the laptop's, then the other machine's
    joining.types("y")
    ended = " ".join((told + joining.ends()).split())
    assert ended.count("purged records that this store never had; nothing to purge here") == 1
    assert git(new.store, "merge-base", before, "main").strip() == before, "its own history stays"
    assert types(new, "sync").ends().startswith("nothing new")
    assert "Indent with tabs" in run_cli("rules", "--json", "--all", env=new.env).out
    assert disk_search.find_texts(new.store, TEXT) == []
    named = "".join(file.read_text() for file in (new.store / "purges").iterdir())
    kept = (new.store / ".git" / "reflect" / "purged").read_text().split()
    assert kept and all(mark in named for mark in kept), "a copied transcript does not bring it back"


def test_a_machine_without_anybody_there_follows_a_purge_of_what_it_never_had(
    tmp_path: Path, types: Types, pair: tuple[Machine, Machine, Path], run_cli: RunCli
) -> None:
    laptop, _, remote = pair
    new = Machine(tmp_path, "new")
    types(new, "init").ends()
    git(new.store, "remote", "add", "origin", str(remote))
    purge(types, laptop)
    types(laptop, "sync").ends()
    synced = run_cli("sync", env=new.env)
    assert (synced.code, "purged records, last" in synced.err) == (0, False)
    assert "purged records that this store never had" in synced.err
    assert not run_cli("sync", "--json", env=new.env).json()["data"]["pulled"]


def test_it_stays_until_the_person_agrees(pair: tuple[Machine, Machine, Path], types: Types) -> None:
    laptop, desktop, _ = pair
    purge(types, laptop)
    types(laptop, "sync").ends()
    before = desktop.file, git(desktop.store, "for-each-ref")
    asked = types(desktop, "sync")
    asked.passes("purge them here too? [y/N]:")
    asked.types("n")
    assert "nothing is synced until you agree" in " ".join(asked.ends(4).split())
    assert (desktop.file, git(desktop.store, "for-each-ref")) == before
