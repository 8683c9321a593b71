"""A purge replaces no more of the remote's history than has the purged text, so that no machine is stopped by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.records.purge_marks import id_mark
from reflect_git.sync import store_paths
from reflect_git.sync.store_paths import Purge
from tests.disk_search import find_texts
from tests.faults import git
from tests.sync.clones import Clone, purge_record
from tests.sync.hostile_remote import FILE, commit_to_remote
from tests.sync.sample_records import build_learning
from tests.sync.test_purges import SECRET, purge_really


@pytest.fixture
def pair(tmp_path: Path, remote: Path) -> tuple[Clone, Clone]:
    """Create two machines that share a rule."""
    laptop, desktop = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    laptop.approve(1)
    laptop.sync()
    desktop.sync()
    return laptop, desktop


def purge_approved(clone: Clone, paths: list[str]) -> None:
    purge_record(clone, next(path for path in paths if path.startswith("learnings/")))


def test_a_purge_of_what_was_never_sent_keeps_what_others_pushed(pair: tuple[Clone, Clone], remote: Path) -> None:
    laptop, desktop = pair
    never_sent = laptop.approve(2)
    desktop.approve(3)
    desktop.sync()
    pushed = desktop.tip
    purge_approved(laptop, never_sent)
    laptop.sync()
    assert pushed in git(remote, "rev-list", "main").split()
    assert not desktop.sync().purges and desktop.tree == laptop.tree


def test_a_purge_of_what_was_never_sent_keeps_history_beside_a_file_of_the_user(
    pair: tuple[Clone, Clone], remote: Path
) -> None:
    """A store with such a file has other commits than the remote."""
    laptop, desktop = pair
    laptop.commit("notes.txt", b"milk\n")
    laptop.approve(2)
    laptop.sync()
    desktop.sync()
    pushed = git(remote, "rev-parse", "main").strip()
    purge_approved(laptop, laptop.approve(3))
    laptop.sync()
    assert pushed in git(remote, "rev-list", "main").split()
    desktop.sync()


def test_a_machine_that_has_not_fetched_it_before_the_purge_is_not_stopped(
    pair: tuple[Clone, Clone], remote: Path
) -> None:
    laptop, desktop = pair
    laptop.commit("notes.txt", b"milk\n")
    laptop.approve(2)
    laptop.sync()
    desktop.sync()
    sent = laptop.approve(3)
    laptop.sync()
    purge_approved(laptop, sent)
    laptop.sync()
    assert not set(sent) & set(git(remote, "log", "main", "--format=", "--name-only").split())
    desktop.sync()
    desktop.approve(4)
    desktop.sync()
    laptop.sync()
    assert desktop.list_paths() | {"notes.txt"} == laptop.list_paths()


def test_a_message_written_by_hand_with_the_secret_does_not_come_back(pair: tuple[Clone, Clone], remote: Path) -> None:
    """The marks of a purge name records and files, not messages."""
    laptop, desktop = pair
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    git(laptop.root, *who, "commit", "-q", "--allow-empty", "-m", SECRET)
    laptop.add_records(build_learning(5, SECRET))
    laptop.sync()
    purge_really(laptop, [SECRET], ids=())
    laptop.sync()
    git(remote, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")
    assert find_texts(remote, SECRET) == [] and find_texts(laptop.root, SECRET) == []
    assert not desktop.sync().purges and desktop.tree == laptop.tree


@pytest.mark.parametrize("has_purged", [False, True])
def test_a_main_rewritten_under_the_pretext_of_a_purge_is_refused(
    pair: tuple[Clone, Clone], remote: Path, has_purged: bool
) -> None:
    """A purge that removes nothing here explains no missing commits, also if this machine purged something unsent."""
    laptop, _ = pair
    laptop.approve(2)
    laptop.sync()
    was = laptop.tip
    git(remote, "update-ref", "refs/heads/main", f"{was}~1")
    purge = store_paths.emit_purge(Purge(1, "2026-02-12T10:00:00Z", "desk-k3f9", (id_mark("LRN-20260212-00000009"),)))
    commit_to_remote(remote, {store_paths.build_purge_path(1, "7k3v9q2m"): (FILE, purge)})
    if has_purged:
        purge_approved(laptop, laptop.approve(3))
    before = laptop.tip
    with pytest.raises(ReflectError, match="was rewritten"):
        laptop.sync()
    assert laptop.tip == before
