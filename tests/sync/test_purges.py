"""What one machine took out of all history does not come back from another, and nothing else is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.workflow.syncing import Wishes
from tests.faults import git
from tests.scan import places_of
from tests.sync.clones import Clone, bare, settle, take_out
from tests.sync.offers import files_of, learning

SECRET = "the password is swordfish"
BAD = learning(1, f"Remember: {SECRET}.")
[PATH] = files_of(BAD)
AGREED = Wishes(agrees=lambda purges: True, pause=lambda seconds: None)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def pair(tmp_path: Path, remote: Path) -> tuple[Clone, Clone]:
    """Both have the secret, and something else."""
    laptop, desk = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    laptop.add(BAD)
    laptop.approve(2)
    settle(laptop, desk, rounds=2)
    return laptop, desk


def purge(clone: Clone) -> None:
    take_out(clone, [PATH])


def test_the_remote_is_replaced_by_what_has_no_secret(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, _ = pair
    purge(laptop)
    laptop.sync()
    assert git(remote, "rev-parse", "main").strip() == laptop.tip
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert places_of(remote, SECRET) == []


def test_an_old_clone_asks_before_it_takes_anything_out(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desk = pair
    purge(laptop)
    laptop.sync()
    desk.approve(3)
    before = desk.tip, git(remote, "rev-parse", "main")
    report = desk.sync()
    assert [one.machine for one in report.purges] == [laptop.store.machine]
    assert (desk.tip, git(remote, "rev-parse", "main")) == before, "nothing came and nothing went"


def test_its_unpushed_records_survive_and_the_secret_does_not_return(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desk = pair
    mine = desk.approve(3)
    desk.add(learning(9, "Another rule."))
    purge(laptop)
    theirs = laptop.approve(4)
    laptop.sync()
    desk.sync(AGREED)
    settle(laptop, desk, rounds=2)
    for clone in pair:
        assert PATH not in clone.paths() and {*mine, *theirs} <= clone.paths()
        assert places_of(clone.root, SECRET) == []
        clone.require_sound()
    assert laptop.tree == desk.tree
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert places_of(remote, SECRET) == []


def test_what_others_pushed_meanwhile_is_taken_in_first(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desk = pair
    purge(laptop)
    theirs = desk.approve(3)
    desk.sync()
    laptop.sync()
    assert set(theirs) <= laptop.paths() and PATH not in laptop.paths()
    assert places_of(laptop.root, SECRET) == []
    desk.sync(AGREED)
    assert desk.tree == laptop.tree and places_of(desk.root, SECRET) == []


def test_a_host_that_keeps_all_history_is_told_of(tmp_path: Path) -> None:
    remote = bare(tmp_path / "shared.git", "--shared")
    laptop = Clone(tmp_path / "laptop", str(remote))
    laptop.add(BAD)
    laptop.sync()
    purge(laptop)
    with pytest.raises(ReflectError) as stop:
        laptop.sync()
    assert "keeps all history" in stop.value.message and stop.value.hint and "new, empty" in stop.value.hint


def test_purged_bytes_are_refused_whatever_offers_them(pair: tuple[Clone, Clone], tmp_path: Path) -> None:
    """Another remote, whose history is older than the purge."""
    laptop, desk = pair
    old = bare(tmp_path / "old.git")
    desk.connect(str(old))
    desk.sync()
    purge(laptop)
    laptop.connect(str(old))
    laptop.sync()
    assert PATH not in laptop.paths() and places_of(laptop.root, SECRET) == []
