"""kill -9, and a failing call, at every side effect of a sync: the next command repairs, the next sync completes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults import FAIL, KILL, FaultRun, SavedStore, check_every_fault, git
from tests.store.store_checks import capture, inbox_ids, require_promises
from tests.sync import operations
from tests.sync.clones import Clone, create_bare_repository, sync_until_stable


class World(SavedStore):
    """A saved machine and remote."""

    def __init__(self, root: Path, remote: Path, shelf: Path) -> None:
        super().__init__(root, shelf)
        self.remote = remote
        shutil.copytree(remote, shelf / "remote")

    def restore(self) -> None:
        super().restore()
        shutil.rmtree(self.remote)
        shutil.copytree(self.remote.parent / "shelf" / "remote", self.remote)


@pytest.fixture
def machines(store_home: Path, tmp_path: Path) -> tuple[Clone, Clone, Path]:
    """Create two machines that each have something the other lacks, with a signal in each inbox."""
    remote = create_bare_repository(tmp_path / "remote.git")
    laptop, desktop = Clone(store_home, str(remote)), Clone(tmp_path / "desk", str(remote))
    sync_until_stable(laptop, desktop)
    capture(laptop.store, "a signal of the laptop")
    for number in range(3):
        laptop.approve(number), desktop.approve(10 + number)
    desktop.sync()
    return laptop, desktop, remote


@pytest.mark.parametrize(
    "mode, first, step",
    [(KILL, 1, 5), (FAIL, 2, 10), *(pytest.param(mode, 1, 1, marks=pytest.mark.slow) for mode in (KILL, FAIL))],
)
def test_a_struck_sync_is_ended_by_the_next(
    machines: tuple[Clone, Clone, Path], tmp_path: Path, mode: str, first: int, step: int
) -> None:
    laptop, desktop, remote = machines
    signals, mine, theirs = inbox_ids(laptop.root), laptop.list_paths(), desktop.list_paths()

    def check(fault_run: FaultRun) -> None:
        require_promises(laptop.root, signals)
        tracked = laptop.list_paths()
        assert mine <= tracked, "something of ours is gone"
        assert set(fault_run.output) <= tracked, "said to have come and is not there"
        laptop.sync()
        assert laptop.list_paths() == mine | theirs
        assert git(remote, "rev-parse", "main").strip() == laptop.tip
        git(remote, "fsck", "--strict")
        require_promises(laptop.root, signals)

    (tmp_path / "shelf").mkdir()
    check_every_fault(
        operations.sync, World(laptop.root, remote, tmp_path / "shelf"), mode, check, first, step
    )  # fmt: skip


@pytest.mark.parametrize("mode, first, step", [(KILL, 1, 4), (FAIL, 2, 5)])
def test_a_struck_move_to_any_commit_is_whole_or_not(
    store_home: Path, tmp_path: Path, mode: str, first: int, step: int
) -> None:
    """A history that lacks some files, as after a purge."""
    clone = Clone(store_home)
    gone = clone.approve(1)
    kept = clone.approve(2)
    git(store_home, "branch", "next", "main~2")
    git(store_home, "switch", "-q", "next")
    clone.commit(kept[0], (b"id: 1\n"))
    git(store_home, "switch", "-q", "main")
    old, new = clone.tip, git(store_home, "rev-parse", "next").strip()

    def check(fault_run: FaultRun) -> None:
        require_promises_but_records(clone)
        assert clone.tip in (old, new)
        if fault_run.output or fault_run.effect is None:
            assert clone.tip == new
        there = (store_home / gone[0]).exists()
        assert there == (clone.tip == old)

    check_every_fault(operations.move_many, SavedStore(store_home, tmp_path), mode, check, first, step)


def require_promises_but_records(clone: Clone) -> None:
    clone.open_store()
    clone.require_sound()
    assert not list((clone.root / ".git/reflect/journal").glob("*.json"))
    assert not list((clone.root / ".git").rglob("*.lock"))
