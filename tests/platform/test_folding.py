"""On most Macs a file system ignores case and the form of accents: one file has many names, and one project too."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.platform import system
from reflect_git.platform.git import find_git
from reflect_git.platform.project import identify_project
from reflect_git.rules import revert
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.store.repository import Store
from tests.faults import git
from tests.platform.folding import FoldingMac
from tests.rules.queues import BY, PNPM, capture_signal, open_queue
from tests.store.store_checks import open_store

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD"))


@pytest.fixture(autouse=True)
def mac(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> FoldingMac:
    found = FoldingMac([str(tmp_path), str(home)], monkeypatch)
    monkeypatch.setattr(system, "current", found)
    return found


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    """A project in `Shop`, with a `Claude.md`. The tests type `shop`."""
    (home / "Shop").mkdir()
    git(home / "Shop", "init", "-q", "-b", "main")
    (home / "Shop" / "Claude.md").write_bytes(b"# Shop\n\nOur own text.\n")
    return open_store(store_home)


def test_the_simulated_file_system(tmp_path: Path) -> None:
    (tmp_path / "Shop").mkdir()
    with open(tmp_path / "SHOP" / f"{COMPOSED}.md", "w") as file:
        file.write("here")
    assert (tmp_path / "shop" / f"{DECOMPOSED.upper()}.MD").read_text() == "here"
    assert os.listdir(tmp_path / "sHOP") == [f"{COMPOSED}.md"], "the name is kept as it was first given"
    os.rename(tmp_path / "shop", tmp_path / "Other")
    assert os.path.isdir(tmp_path / "other") and not os.path.exists(tmp_path / "shop")


@pytest.mark.parametrize(("real", "typed"), [("Shop", "shop"), (DECOMPOSED, COMPOSED), (COMPOSED, DECOMPOSED)])
def test_a_project_has_one_key_however_it_is_typed(tmp_path: Path, real: str, typed: str) -> None:
    git_program = find_git(os.environ["PATH"])
    (tmp_path / real / "src").mkdir(parents=True)
    assert identify_project(git_program, str(tmp_path / typed))["key"] == f"path:{tmp_path / real}"
    git(tmp_path / real, "init", "-q")
    for folder in (typed, f"{typed}/SRC"):
        found = identify_project(git_program, str(tmp_path / folder))
        assert found == {"key": f"path:{tmp_path / real}", "name": real}


@pytest.mark.parametrize(("real", "typed"), [("Secret", "secret"), (DECOMPOSED, COMPOSED)])
def test_an_ignored_folder_is_ignored_however_it_is_typed(store: Store, tmp_path: Path, real: str, typed: str) -> None:
    """The client reports the folder as the file system names it, and a person typed another name."""
    (tmp_path / real / "deep").mkdir(parents=True)
    store.git.run("config", "--add", "reflect.ignore", str(tmp_path / typed))
    store.reload()
    for folder in (real, typed, f"{real}/deep", f"{typed.upper()}/DEEP"):
        assert service.is_ignored(store, str(tmp_path / folder)), folder
    assert not service.is_ignored(store, str(tmp_path / f"{real}2"))


def test_a_file_in_another_case_gets_the_rule_and_keeps_its_name(store: Store, home: Path) -> None:
    capture_signal(store, PNPM)
    before = (home / "Shop" / "Claude.md").read_bytes()
    here = open_queue(store, os.environ)
    done = write_approval(here, plan_approval(here, Request(here.candidates.strong[0], to="project")), BY)
    assert [name for name in os.listdir(home / "Shop") if name.endswith("md")] == ["Claude.md"]
    assert done.learning.encode() in (home / "Shop" / "Claude.md").read_bytes()
    revert.revert_approval(open_queue(store, os.environ), done.learning, BY)
    assert [name for name in os.listdir(home / "Shop") if name.endswith("md")] == ["Claude.md"]
    assert (home / "Shop" / "Claude.md").read_bytes() == before


def test_a_folder_of_a_project_is_one_target_however_it_is_typed(store: Store, home: Path) -> None:
    (home / "Shop" / "Packages" / "Web").mkdir(parents=True)
    capture_signal(store, PNPM)
    here = open_queue(store, os.environ)
    for typed in ("packages/web", "PACKAGES/Web", "Packages/Web", "Packages//Web/"):
        made = plan_approval(here, Request(here.candidates.strong[0], to=f"dir:{typed}"))
        assert made.learning["target"]["path"] == "Packages/Web/CLAUDE.md", typed
