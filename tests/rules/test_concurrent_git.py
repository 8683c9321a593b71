"""The person's own git works in the store while decisions are written: gc with immediate pruning, commits in a loop.

THREATS: `git gc --prune=now` in a loop during 60 approvals.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform.git import GitError
from reflect_git.store.main import backups, main_branch, ref_updates
from reflect_git.store.repository import Store, StoreBusy
from tests.conftest import REAL_GIT
from tests.faults import git
from tests.rules.queues import capture_signal
from tests.rules.reverts import approve, list_rules_in_force, read_claude_md, revert
from tests.store.store_checks import LOCK_TIMEOUT_OPTIONS, capture, inbox_ids, require_promises
from tests.stories.terminal import Terminal
from tests.sync.clones import Clone, create_bare_repository, purge_record, sync_until_stable

GC = ["gc --prune=now -q"]
PRUNE = ["prune --expire=now", "repack -a -d -q", "prune-packed -q"]
EXPIRE = ["reflog expire --expire=now --all", "gc --prune=now -q"]
FULL = [pytest.param(60, marks=pytest.mark.slow)]


@contextmanager
def looping(root: Path, commands: list[str], pause: float = 0.0) -> Iterator[list[str]]:
    """Run git commands in the store in a loop; yield the errors of those that failed."""
    stop = threading.Event()
    said: list[str] = []

    def run() -> None:
        while not stop.is_set():
            for command in commands:
                words = [REAL_GIT, "-C", str(root), *LOCK_TIMEOUT_OPTIONS, *command.split()]
                done = subprocess.run(
                    words, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
                )
                if done.returncode:
                    said.append(f"{command}: {done.stderr}")
            time.sleep(pause)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield said
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("commands", [GC, PRUNE, EXPIRE], ids=["gc", "prune", "expire"])
@pytest.mark.parametrize("count", [6, *FULL])
def test_approvals_while_gc_prunes_everything(store: Store, store_home: Path, commands: list[str], count: int) -> None:
    before, done = [], []
    with looping(store_home, commands):
        for number in range(count):
            before.append(read_claude_md())
            done.append(approve(store, f"always use tool{number}, never use other{number}"))
    assert {one.learning for one in done} == set(list_rules_in_force(store)) and len(done) == count
    kept = [backups.read_contents(store, one.backup)[0][1] or b"" for one in done]
    assert kept == before, "each backup has the bytes of its moment"
    assert store.git.refs("refs/reflect/") == {}
    require_promises(store_home)


@pytest.mark.parametrize("count", [3, *FULL])
def test_decisions_that_are_taken_back_while_gc_prunes(store: Store, store_home: Path, count: int) -> None:
    with looping(store_home, EXPIRE):
        for number in range(count):
            before = read_claude_md()
            done = approve(store, f"always use tool{number}, never use other{number}")
            revert(store, done.learning)
            assert read_claude_md() == before
    require_promises(store_home)


@pytest.mark.parametrize("count", [20, *FULL])
def test_captures_while_gc_prunes(store: Store, store_home: Path, count: int) -> None:
    with looping(store_home, EXPIRE):
        said = [capture(store, f"number {number}")["id"] for number in range(count)]
    require_promises(store_home, said)
    assert inbox_ids(store_home) >= set(said)


@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_machines_that_sync_while_gc_prunes(store_home: Path, tmp_path: Path, count: int) -> None:
    url = str(create_bare_repository(tmp_path / "remote.git"))
    laptop, desktop = Clone(store_home, url), Clone(tmp_path / "desk", url)
    with looping(laptop.root, GC), looping(desktop.root, PRUNE):
        for number in range(count):
            paths = [*laptop.approve(2 * number), *desktop.approve(2 * number + 1)]
            sync_until_stable(laptop, desktop, rounds=2)
            assert set(paths) <= laptop.list_paths() & desktop.list_paths()
    for clone in (laptop, desktop):
        clone.open_store()
        clone.require_sound()
        assert not list((clone.root / ".git" / "objects" / "pack").glob("*.keep"))
    assert laptop.tree == desktop.tree


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_purges_while_gc_prunes(store_home: Path, count: int) -> None:
    clone = Clone(store_home)
    kept = clone.approve(1000)
    with looping(store_home, EXPIRE):
        for number in range(count):
            purge_record(clone, clone.dismiss(number)[0])
    assert set(kept) <= clone.list_paths() and clone.store.git.refs("refs/reflect/") == {}
    clone.require_sound()


def test_a_commit_that_a_gc_took_is_made_again(store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ref that holds it is also gone: somebody deleted every ref that is not a branch."""
    real = main_branch._prepare_index
    struck: list[str] = []

    def fault_run(*args: Any) -> Any:
        seen = real(*args)
        if not struck:
            struck.append(git(store_home, "update-ref", "-d", ref_updates.NEXT_REF))
            git(store_home, "reflog", "expire", "--expire=now", "--all")
            git(store_home, "gc", "--prune=now", "-q")
        return seen

    monkeypatch.setattr(main_branch, "_prepare_index", fault_run)
    began = time.monotonic()
    done = approve(store, "use pnpm, not npm")
    assert struck and list_rules_in_force(store) == [done.learning] and time.monotonic() - began < 8
    require_promises(store_home)


COMMIT = ["-c user.name=Ada -c user.email=ada@example.com commit -q --allow-empty -m mine"]


@pytest.mark.parametrize("count", [1, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("branch", ["main", "mine"])
def test_approvals_while_the_user_commits_in_a_loop(store: Store, store_home: Path, branch: str, count: int) -> None:
    """Each completes within ten seconds or says what it waits for; the user's commits stay."""
    if branch != "main":
        git(store_home, "switch", "-q", "-c", branch)
    done = []
    with looping(store_home, COMMIT) as said:
        for number in range(count):
            waits: list[str] = []
            store.on_wait = waits.append
            began = time.monotonic()
            done.append(approve(store, f"always use tool{number}, never use other{number}"))
            assert waits or time.monotonic() - began < 10
    assert len(said) <= (count if branch == "main" else 0), "a commit fails only where main moves under it"
    git(store_home, "switch", "-q", "main")
    assert {one.learning for one in done} == set(list_rules_in_force(store)) and len(done) == count
    require_promises(store_home)


def test_a_person_is_told_what_is_waited_for(store: Store, store_home: Path, home: Path) -> None:
    signal = capture_signal(store, "use pnpm, not npm")
    with looping(store_home, COMMIT), Terminal("dismiss", signal, cwd=home / "shop") as terminal:
        told = terminal.ends()
    assert f"waiting for your git, which is writing to '{store_home}'" in " ".join(told.split())
    assert told.count("waiting for") == 1


def test_who_gives_up_says_why(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_branch, "WAIT_SECONDS", 0.3)
    monkeypatch.setattr(main_branch, "advance_main", lambda *_: False)
    before = read_claude_md()
    with pytest.raises(ReflectError, match=r"your git kept writing to '.*' for 0 s; nothing was changed") as stop:
        approve(store, "use pnpm, not npm")
    assert (stop.value.code, stop.value.hint) == ("git-busy", "run it again when that has ended")
    assert read_claude_md() == before and store.git.refs("refs/reflect/") == {}
    lock = Path(store.git_dir, "index.lock")
    lock.touch()
    with pytest.raises(ReflectError, match="another git process holds the store's index"):
        approve(store, "use uv, not pip")
    lock.unlink()


def test_who_waits_for_another_process_of_ours_is_told(store: Store) -> None:
    other, said = Store(store.root), list[str]()
    other.on_wait = said.append
    with store.locked(1.0), pytest.raises(StoreBusy), other.locked(1.2):
        pass
    assert said == ["waiting for another reflect-git process, which is writing to the store"]


def test_a_fast_import_that_fails_leaves_other_packs_kept(store: Store) -> None:
    """Such a pack has objects from a remote that main does not hold yet."""
    kept = Path(store.git_dir, "objects", "pack", "pack-0000000000000000000000000000000000000000.keep")
    ref_updates.keep_pack(store, kept.stem)
    failing = kept.with_name("pack-1111111111111111111111111111111111111111.keep")
    failing.write_text("fast-import\n")
    with pytest.raises(GitError):
        ref_updates.fast_import(store, ref_updates.NEXT_REF, [b"no such command\n"])
    assert kept.exists() and not failing.exists()
    ref_updates.remove_keep_marks(store)
    assert not kept.exists()
