"""The store is the user's own repository: their git works in it as usual, and nothing of ours is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reflect_git.platform.git import GitError
from reflect_git.store import api
from reflect_git.store.main import main_branch, move_main
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests import counters
from tests.faults import REPO, git
from tests.store.operations import BY
from tests.store.store_checks import capture, list_copies, main_paths, open_store, require_promises, user_commit

NEW = {"machines/m.yaml": b'name: "m"\n'}

# Runs until its stdin closes; prints what was acknowledged or recorded.
CAPTURES = """
import os, sys, time, select
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import service
from tests.store import operations as o
o.print_acknowledged()
store = service.open_store(os.environ)
while not select.select([0], [], [], float(sys.argv[2]))[0]:
    service.capture_signal(store, o.facts("while the user commits"), os.environ)
"""
RECORDS = """
import os, sys, time, select
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import service
from reflect_git.store.main import main_branch
from tests.store import operations as o
store, number = service.open_store(os.environ), 0
while not select.select([0], [], [], float(sys.argv[2]))[0]:
    path = f"machines/m{number}.yaml"
    with store.locked(20):
        main_branch.commit_files(store, {path: f'name: "m{number}"\\n'.encode()}, f"sync: {number}\\n")
    o.print_now(path)
    number += 1
"""


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.com\n")
    return open_store(store_home)


@contextmanager
def at_work(root: Path, script: str, count: int, pause: float) -> Iterator[list[str]]:
    """Run processes that write to the store meanwhile; the list gets their output once they have ended."""
    env = {**os.environ, "REFLECT_GIT_HOME": str(root)}
    command = [sys.executable, "-I", "-S", "-c", script, str(REPO), str(pause)]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True) for _ in range(count)]
    said: list[str] = []
    try:
        yield said
    finally:
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
        for process in running:
            assert process.stdout is not None
            said.extend(process.stdout.read().split())
            process.stdout.close()
            assert process.wait(60) == 0


def commit_forty(root: Path, pause: float = 0.0) -> list[str]:
    """Commit a user's file forty times; return the errors of those that failed."""
    complaints = []
    for number in range(40):
        time.sleep(pause)
        try:
            done = user_commit(root, "notes.md", f"line {number}\n")
        except AssertionError as error:
            complaints.append(str(error))
            continue
        if done.returncode:
            complaints.append(done.stderr)
    return complaints


def test_forty_commits_while_eight_processes_capture(store: Store, store_home: Path) -> None:
    with at_work(store_home, CAPTURES, 8, 0.05) as acknowledged:
        complaints = commit_forty(store_home)
    assert complaints == []
    assert len(acknowledged) > 20
    assert git(store_home, "log", "--format=%an", "main").split().count("Ada") == 40
    require_promises(store_home, acknowledged)


@pytest.mark.parametrize("turn", [0, *(pytest.param(turn, marks=pytest.mark.slow) for turn in range(1, 20))])
def test_commits_while_decisions_are_recorded(store: Store, store_home: Path, turn: int) -> None:
    """A decision waits for a quiet moment of the user's own git (five seconds at most), so that no commit fails."""
    with at_work(store_home, CAPTURES, 8, 0.1) as acknowledged, at_work(store_home, RECORDS, 1, 0.2) as recorded:
        complaints = commit_forty(store_home, pause=0.03)
    assert complaints == []
    assert recorded
    require_promises(store_home, acknowledged)
    _require_ours_on_main(store_home, recorded)
    counters.count("commits of the user's beside hooks and decisions", 40)


def _require_ours_on_main(root: Path, recorded: list[str]) -> None:
    assert set(recorded) <= main_paths(root)
    authors = git(root, "log", "--diff-filter=D", "--format=%an", "main", "--", "machines")
    assert authors == "", "a commit of the user's deleted a record"
    for commit in git(root, "log", "--author=Ada", "--format=%H", "main").split():
        assert git(root, "show", "--name-only", "--format=", commit).split() == ["notes.md"]


def record(store: Store, new: dict[str, bytes] = NEW) -> str:
    with store.locked(5):
        return main_branch.commit_files(store, new, "sync: a machine\n")


def test_a_commit_on_the_inbox_branch_deletes_no_capture(store: Store, store_home: Path) -> None:
    """Its index does not know the captures of hooks: they wait until the user is back on another branch."""
    first = capture(store, "use tabs")["id"]
    git(store_home, "checkout", "-q", f"inbox/{store.machine}/0001")
    second = capture(store, "use spaces")["id"]
    assert git(store_home, "status", "--porcelain") == ""
    assert user_commit(store_home, "notes.md", "mine\n").returncode == 0
    assert {signal["id"] for signal in reader.read(store).signals} == {first, second}
    git(store_home, "checkout", "-q", "main")
    require_promises(store_home, [first, second])


def test_looking_at_the_inbox_and_back_brings_the_copies_back(store: Store, store_home: Path) -> None:
    identity = capture(store, "use tabs")["id"]
    git(store_home, "checkout", "-q", f"inbox/{store.machine}/0001")
    second = capture(store, "use spaces")["id"]
    git(store_home, "checkout", "-q", "-f", "main")
    require_promises(store_home, [identity, second])
    assert list_copies(store_home) == {identity, second}


@pytest.mark.parametrize("flags", ["-fdx", "-fdX", "-ffdx"])
def test_git_clean_loses_nothing(store: Store, store_home: Path, flags: str) -> None:
    identity = capture(store, "use tabs")["id"]
    git(store_home, "clean", "-q", flags)
    require_promises(store_home, [identity])
    assert list_copies(store_home) == {identity}


@pytest.mark.parametrize("flag", ["-u", "-a"])
def test_git_stash_loses_nothing(store: Store, store_home: Path, flag: str) -> None:
    identity = capture(store, "use tabs")["id"]
    (store_home / "mine.md").write_text("mine\n")
    git(store_home, "stash", flag, "-q")
    second = capture(store, "use spaces")["id"]
    record(store)
    require_promises(store_home, [identity, second])
    assert list_copies(store_home) == {identity, second}
    git(store_home, "stash", "pop", "-q", check=flag == "-u")
    assert (store_home / "mine.md").read_text() == "mine\n"
    os.unlink(store_home / "mine.md")


def test_rm_of_all_copies_loses_nothing(store: Store, store_home: Path) -> None:
    import shutil

    identity = capture(store, "use tabs")["id"]
    shutil.rmtree(store_home / "signals")
    require_promises(store_home, [identity])
    assert list_copies(store_home) == {identity}


def test_a_detached_head_keeps_its_place(store: Store, store_home: Path) -> None:
    user_commit(store_home, "mine.md", "one\n")
    git(store_home, "checkout", "-q", "--detach")
    head = git(store_home, "rev-parse", "HEAD")
    record(store)
    assert git(store_home, "rev-parse", "HEAD") == head
    assert "machines/m.yaml" in main_paths(store_home)
    assert not (store_home / "machines").exists() and git(store_home, "status", "--porcelain") == ""
    git(store_home, "checkout", "-q", "main")
    assert (store_home / "machines/m.yaml").read_bytes() == NEW["machines/m.yaml"]


def test_on_another_branch_only_the_ref_moves(store: Store, store_home: Path) -> None:
    git(store_home, "checkout", "-q", "-b", "mine")
    (store_home / "staged.md").write_text("staged\n")
    git(store_home, "add", "staged.md")
    record(store)
    assert git(store_home, "status", "--porcelain") == "A  staged.md\n"
    assert not (store_home / "machines").exists() and "machines/m.yaml" in main_paths(store_home)
    git(store_home, "rm", "-qf", "staged.md")
    git(store_home, "checkout", "-q", "main")


def test_decisions_are_read_wherever_head_is(store: Store, store_home: Path) -> None:
    identity = capture(store, "use tabs")["id"]
    git(store_home, "checkout", "-q", "--detach")
    api.update(store, reader.read(store), identity, {"status": "dismissed"}, BY, "2026-02-11T09:30:00Z")
    assert reader.read(store).by_id[identity]["status"] == "dismissed"
    git(store_home, "checkout", "-q", "main")


def test_what_the_user_staged_stays_staged_and_nothing_else_is(store: Store, store_home: Path) -> None:
    user_commit(store_home, "kept.md", "kept\n")
    user_commit(store_home, "edited.md", "old\n")
    (store_home / "staged.md").write_text("staged\n")
    (store_home / "untracked.md").write_text("untracked\n")
    (store_home / "edited.md").write_text("new\n")
    git(store_home, "add", "staged.md")
    git(store_home, "rm", "-q", "--cached", "kept.md")
    git(store_home, "add", "-N", "untracked.md")
    before = git(store_home, "status", "--porcelain")
    record(store)
    assert git(store_home, "status", "--porcelain") == before
    assert (store_home / "machines/m.yaml").exists()
    git(store_home, "reset", "-q", "--hard")
    for name in ("untracked.md", "kept.md"):
        if (store_home / name).exists() and name not in main_paths(store_home):
            os.unlink(store_home / name)


@pytest.mark.dirty_store
def test_a_tracked_file_that_the_user_edited_by_hand_stays_as_it_is(store: Store, store_home: Path) -> None:
    record(store)
    path = store_home / "machines/m.yaml"
    path.write_text("mine now\n")
    record(store, {"machines/m.yaml": b'name: "newer"\n'})
    assert path.read_text() == "mine now\n"
    assert git(store_home, "show", "main:machines/m.yaml") == 'name: "newer"\n'
    assert git(store_home, "status", "--porcelain") == " M machines/m.yaml\n"


@pytest.mark.dirty_store
def test_an_untracked_file_in_our_place_is_not_overwritten(store: Store, store_home: Path) -> None:
    (store_home / "machines").mkdir()
    (store_home / "machines/m.yaml").write_text("mine\n")
    record(store)
    assert (store_home / "machines/m.yaml").read_text() == "mine\n"


def test_a_merge_under_way_is_not_disturbed(store: Store, store_home: Path) -> None:
    """Unmerged entries in the user's index: ours are added beside them or the decision waits, but theirs stay."""
    user_commit(store_home, "both.md", "base\n")
    git(store_home, "checkout", "-q", "-b", "side")
    user_commit(store_home, "both.md", "side\n")
    git(store_home, "checkout", "-q", "main")
    user_commit(store_home, "both.md", "main\n")
    git(store_home, "merge", "-q", "side", check=False)
    assert "UU both.md" in git(store_home, "status", "--porcelain")
    record(store)
    assert "UU both.md" in git(store_home, "status", "--porcelain")
    assert "machines/m.yaml" in main_paths(store_home)
    (store_home / "both.md").write_text("both\n")
    git(store_home, "add", "both.md")
    git(store_home, "commit", "-qm", "merged")
    assert {"machines/m.yaml", "both.md"} <= main_paths(store_home)


@pytest.mark.parametrize("setting", [
    "core.splitIndex=true", "index.version=4", "core.untrackedCache=true", "feature.manyFiles=true",
])  # fmt: skip
def test_any_kind_of_index_that_the_users_git_writes(store: Store, store_home: Path, home: Path, setting: str) -> None:
    with open(home / ".gitconfig", "a") as file:
        section, _, rest = setting.partition(".")
        file.write(f"[{section}]\n\t{rest.replace('=', ' = ')}\n")
    user_commit(store_home, "mine.md", "one\n")
    record(store)
    done = user_commit(store_home, "mine.md", "two\n")
    assert done.returncode == 0, done.stderr
    record(store, {"machines/n.yaml": b'name: "n"\n'})
    assert {"machines/m.yaml", "machines/n.yaml", "mine.md"} <= main_paths(store_home)
    assert git(store_home, "status", "--porcelain") == ""


def test_an_index_that_is_not_there_is_made(store: Store, store_home: Path) -> None:
    os.unlink(store_home / ".git/index")
    record(store)
    assert git(store_home, "status", "--porcelain") == ""


def move_to_new(store: Store) -> None:
    with store.locked(5):
        old, _ = main_branch.get_main_state(store)
        move_main.move(store, old, main_branch.create_commit(store, old, NEW, "sync: a machine\n"), "sync: a machine")


def test_git_killed_over_the_index_leaves_what_the_user_staged(store: Store, store_home: Path, home: Path) -> None:
    (store_home / "staged.md").write_text("staged\n")
    git(store_home, "add", "staged.md")
    real, killed = store.git.program, home / "killed"
    (home / "git").write_text(
        f"#!/bin/sh\ncase \" $* \" in *' update-index '*) [ -e {killed} ] || {{ : >{killed}; kill -9 $$; }};; esac\n"
        f'exec {real} "$@"\n'
    )
    (home / "git").chmod(0o755)
    store.git.program = str(home / "git")
    with pytest.raises(GitError):
        move_to_new(store)
    assert git(store_home, "status", "--porcelain") == "A  staged.md\n"
    move_to_new(store)
    assert killed.exists() and "machines/m.yaml" in main_paths(store_home)
    assert git(store_home, "status", "--porcelain") == "A  staged.md\n"
    git(store_home, "rm", "-qf", "staged.md")


def test_an_index_that_a_power_cut_took_is_made_anew(store: Store, store_home: Path) -> None:
    with store.locked(5):
        old, _ = main_branch.get_main_state(store)
        new = main_branch.create_commit(store, old, NEW, "sync: a machine\n")
        changed = store.git.diff_entries(old, new)
        (store_home / ".git/index").write_bytes(b"\0" * 100)
        move_main.move(store, old, new, "sync: a machine", changed)
    assert "machines/m.yaml" in main_paths(store_home)
    assert git(store_home, "status", "--porcelain") == ""


def test_packed_refs_and_packed_objects_are_fine(store: Store, store_home: Path) -> None:
    identity = capture(store, "use tabs")["id"]
    git(store_home, "pack-refs", "--all", "--prune")
    git(store_home, "gc", "-q", "--prune=now")
    second = capture(store, "use spaces")["id"]
    record(store)
    require_promises(store_home, [identity, second])


def test_reset_hard_to_an_older_main_is_the_users_right(store: Store, store_home: Path) -> None:
    before = git(store_home, "rev-parse", "main").strip()
    record(store)
    git(store_home, "reset", "-q", "--hard", before)
    assert "machines/m.yaml" not in main_paths(store_home)
    record(store, {"machines/n.yaml": b'name: "n"\n'})
    assert git(store_home, "status", "--porcelain") == ""


def test_the_store_can_be_cloned_and_the_clone_is_not_a_store(store: Store, store_home: Path, home: Path) -> None:
    from reflect_git.errors import ReflectError

    git(store_home, "clone", "-q", str(store_home), str(home / "clone"))
    with pytest.raises(ReflectError) as caught:
        open_store(home / "clone")
    assert caught.value.code == "store-foreign"


def test_a_copied_store_takes_a_new_name_and_keeps_what_it_has(store: Store, store_home: Path, home: Path) -> None:
    import shutil

    identity = capture(store, "use tabs")["id"]
    shutil.copytree(store_home, home / "copy")
    copy = open_store(home / "copy")
    second = capture(copy, "use spaces")["id"]
    assert copy.machine != store.machine
    assert open_store(home / "copy").machine == copy.machine, "once, not at every start"
    assert {signal["id"] for signal in reader.read(copy).signals} == {identity, second}
    third = capture(store, "use both")["id"]
    require_promises(store_home, [identity, third])
    require_promises(home / "copy", [identity, second])


def test_pushing_by_accident_leaves_backups_and_inboxes_at_home(store: Store, store_home: Path, home: Path) -> None:
    capture(store, "use tabs")
    git(home, "init", "-q", "--bare", "remote.git")
    git(store_home, "remote", "add", "origin", str(home / "remote.git"))
    git(store_home, "push", "-q", "--all", "origin", check=False)
    assert git(home / "remote.git", "for-each-ref") == ""
    git(store_home, "push", "-q", "origin", "main")
    assert git(home / "remote.git", "for-each-ref", "--format=%(refname)") == "refs/heads/main\n"


@pytest.mark.parametrize("is_packed", [False, True])
def test_main_that_is_another_name_is_no_commit_however_long_the_name(store: Store, is_packed: bool) -> None:
    """`git symbolic-ref refs/heads/main`: the file has forty characters, just like a commit id."""
    other = "of-twenty-four-character"
    git(Path(store.root), "branch", other, "main")
    if is_packed:
        git(Path(store.root), "pack-refs", "--all")
    tip = git(Path(store.root), "rev-parse", "main").strip()
    git(Path(store.root), "symbolic-ref", "refs/heads/main", f"refs/heads/{other}")
    assert len(f"ref: refs/heads/{other}") == 40
    assert main_branch.get_tip(store) == tip
    git(Path(store.root), "symbolic-ref", "--delete", "refs/heads/main")
    git(Path(store.root), "update-ref", "refs/heads/main", tip)
