"""A sync reports what was done, whichever of its two halves ended first or was repeated."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.store.main import move_main
from reflect_git.sync.exchange import SyncReport
from reflect_git.sync.fetched import Incoming
from tests.faults import git
from tests.sync.clones import Clone, sync_until_stable


@pytest.fixture
def pair(tmp_path: Path, remote: Path) -> tuple[Clone, Clone]:
    laptop, desktop = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    sync_until_stable(laptop, desktop)
    return laptop, desktop


def tree_of(remote: Path) -> set[str]:
    return set(git(remote, "ls-tree", "-r", "--name-only", "main").splitlines())


def disturbed(
    desktop: Clone, monkeypatch: pytest.MonkeyPatch, before: Any = lambda: None, times: int = 1
) -> SyncReport:
    """Run a sync whose first attempts to move main fail, because the user's git commits meanwhile."""
    left, real = list(range(times)), move_main.move

    def late(*given: Any, **named: Any) -> None:
        if left:
            before()
            desktop.commit(f"notes-{left.pop()}.txt", b"by hand")
        real(*given, **named)

    monkeypatch.setattr(move_main, "move", late)
    report = desktop.sync()
    monkeypatch.undo()
    return report


def test_what_went_before_the_landing_failed_is_told(
    pair: tuple[Clone, Clone], remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remote has accepted it: the report must say so once, neither twice nor not at all."""
    laptop, desktop = pair
    theirs, mine = laptop.approve(1), desktop.approve(2)
    laptop.sync()

    def until_taken() -> None:
        while git(remote, "rev-parse", "main").strip() == laptop.tip:
            time.sleep(0.01)

    before = tree_of(remote)
    report = disturbed(desktop, monkeypatch, until_taken)
    assert report.tries == 2 and set(report.pulled) == set(theirs)
    assert set(mine) <= set(report.pushed) == tree_of(remote) - before
    assert len(report.pushed) == len(set(report.pushed))


@pytest.mark.parametrize("times", [1, 3])
def test_what_did_not_go_before_the_landing_failed_is_told_once(
    pair: tuple[Clone, Clone], remote: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    laptop, desktop = pair
    theirs, mine = laptop.approve(1), desktop.approve(2)
    laptop.sync()
    before, real, begun = tree_of(remote), Incoming.start_push, []

    def never(self: Incoming, *given: Any) -> None:
        begun.append(given)
        if len(begun) > times:
            real(self, *given)

    monkeypatch.setattr(Incoming, "start_push", never)
    report = disturbed(desktop, monkeypatch, times=times)
    assert report.tries == times + 1 and sorted(report.pulled) == sorted(theirs)
    assert set(mine) <= set(report.pushed) and sorted(report.pushed) == sorted(tree_of(remote) - before)


def test_what_the_remote_lost_is_counted_once_though_another_machine_was_faster(
    pair: tuple[Clone, Clone], tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, desktop = pair
    lost = laptop.approve(1)
    sync_until_stable(laptop, desktop)
    work = tmp_path / "by-hand"
    git(tmp_path, "clone", "-q", str(remote), str(work))
    git(work, "rm", "-q", *lost)
    git(work, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "tidy")
    git(work, "push", "-q", "origin", "HEAD:main")
    mine, real = desktop.approve(2), Incoming.start_push

    def late(self: Incoming, *given: Any) -> None:
        monkeypatch.setattr(Incoming, "start_push", real)
        (work / "notes.txt").write_text("another one")
        git(work, "add", "notes.txt")
        git(work, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "more")
        git(work, "push", "-q", "origin", "HEAD:main")
        real(self, *given)

    monkeypatch.setattr(Incoming, "start_push", late)
    report = desktop.sync()
    assert report.tries == 2 and sorted(report.lost) == sorted(lost)
    assert {*mine, *lost} <= set(report.pushed) <= tree_of(remote)
