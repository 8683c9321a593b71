"""Lock files: a dead one of ours is moved away; a living or foreign one is waited for and never broken."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import GitProcess
from reflect_git.records.ids import utc
from reflect_git.records.purge_marks import id_mark
from reflect_git.store import api, maintenance, remotes
from reflect_git.store.main import backups, journal, main_branch, move_main, ref_updates
from reflect_git.store.purge import purge_main, purge_refs
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git, run_operation
from tests.store import operations
from tests.store.broken_store import find_loose_object
from tests.store.operations import BY
from tests.store.store_checks import (
    capture,
    inbox_ids,
    list_copies,
    main_paths,
    open_recovered_store,
    open_store,
    require_promises,
    run_maintenance,
    user_commit,
)

NEW = {"machines/m.yaml": b'name: "m"\n'}


@pytest.fixture
def store(store_home: Path) -> Store:
    store = open_store(store_home)
    capture(store, "the first one")
    return store


def plant_lock(store: Store, name: str, age: float) -> Path:
    path = Path(store.git_dir, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - age,) * 2)
    return path


def record(store: Store, new: dict[str, bytes] = NEW) -> str:
    with store.locked(5):
        return main_branch.commit_files(store, new, "sync: a machine\n")


@pytest.mark.parametrize("age", [3.0, 1e6, -3600.0])
def test_a_dead_lock_on_our_inbox_is_moved_and_the_capture_committed(
    store: Store, store_home: Path, age: float
) -> None:
    """One from an hour in the future is also dead: the clock was set back since."""
    lock = plant_lock(store, f"refs/heads/inbox/{store.machine}/0001.lock", age)
    identity = capture(store, "the second one")["id"]
    assert identity in inbox_ids(store_home)
    assert not lock.exists() and os.listdir(store.private_path("corpses"))


def test_a_young_lock_on_our_inbox_keeps_the_capture_pending(store: Store, store_home: Path) -> None:
    # Slightly in the future: on a busy machine it takes seconds until the capture checks it.
    lock = plant_lock(store, f"refs/heads/inbox/{store.machine}/0001.lock", -journal.STALE_SECONDS + 0.1)
    done = run_operation(operations.capture, store_home)
    assert done.returncode in (0, 3), done.stderr
    (identity,) = done.stdout.split()
    assert lock.exists() and os.listdir(store.private_path("pending")) == [f"{identity}.yaml"]
    os.utime(lock)
    require_promises(store_home, [identity])


def test_a_dead_lock_where_no_inbox_is_yet(store: Store, store_home: Path) -> None:
    """The first git of a machine with a new name was killed."""
    with store.locked(5):
        store.change_config({"reflect.machine": "renamed-abcd"})
    plant_lock(store, "refs/heads/inbox/renamed-abcd/0001.lock", 3)
    identity = capture(open_store(store_home), "the second one")["id"]
    require_promises(store_home, [identity])


def test_a_dead_lock_on_the_config_of_a_store_that_moved(store: Store, store_home: Path, home: Path) -> None:
    """It belongs to somebody else, so the store keeps its old name until it is gone; captures continue."""
    moved = home / ".claude" / "moved"
    os.rename(store_home, moved)
    lock = moved / ".git/config.lock"
    lock.touch()
    os.utime(lock, (time.time() - 60,) * 2)
    first = capture(open_store(moved), "the second one")["id"]
    open_recovered_store(moved)
    assert lock.exists() and open_store(moved).machine == store.machine
    lock.unlink()
    again = open_store(moved)
    assert again.machine != store.machine
    require_promises(moved, [first, capture(again, "the third one")["id"]])


def test_a_foreign_index_lock_is_waited_for_and_named(
    store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main_branch, "WAIT_SECONDS", 0.3)
    lock = plant_lock(store, "index.lock", 120)
    with pytest.raises(ReflectError) as caught:
        record(store)
    assert caught.value.code == "index-locked"
    assert lock.exists(), "it may be a person's editor that is open"
    assert not journal.has_entries(store) and "machines/m.yaml" not in main_paths(store_home)
    assert not (store_home / "machines/m.yaml").exists(), "a decision that failed leaves nothing behind"
    lock.unlink()


def test_a_foreign_index_lock_that_goes_is_waited_for(store: Store, store_home: Path) -> None:
    lock = plant_lock(store, "index.lock", 0)
    child = os.fork()
    if child == 0:
        time.sleep(0.5)
        lock.unlink()
        os._exit(0)
    record(store)
    os.waitpid(child, 0)
    assert "machines/m.yaml" in main_paths(store_home)


@pytest.mark.parametrize("name", ["HEAD.lock", "refs/heads/main.lock"])
def test_a_foreign_lock_on_main_is_never_broken(store: Store, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main_branch, "WAIT_SECONDS", 0.3)
    lock = plant_lock(store, name, 3600)
    with pytest.raises(ReflectError):
        record(store)
    assert lock.exists()
    lock.unlink()


def test_captures_go_on_under_a_foreign_index_lock(store: Store, store_home: Path) -> None:
    lock = plant_lock(store, "index.lock", 120)
    assert capture(store, "the second one")["id"] in inbox_ids(store_home)
    lock.unlink()


def test_captures_are_committed_though_an_interrupted_decision_cannot_be_finished(
    store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git commit -a` holds the index for as long as its editor is open."""
    monkeypatch.setattr(main_branch, "WAIT_SECONDS", 0.2)
    facts = {"message": "sync: a machine\n", "files": {"machines/m.yaml": 'name: "m"\n'}}
    journal.begin(store, "main", (), facts)
    lock = plant_lock(store, "index.lock", 0)
    identity = capture(store, "the second one")["id"]
    open_recovered_store(store_home)
    assert identity in inbox_ids(store_home)
    lock.unlink()
    require_promises(store_home, [identity])
    assert "machines/m.yaml" in main_paths(store_home)


def test_our_own_index_lock_of_a_killed_process_is_removed(store: Store, store_home: Path) -> None:
    facts = {"message": "sync: a machine\n", "files": {"machines/m.yaml": 'name: "m"\n'}}
    journal.begin(store, "main", (), facts)
    Path(store.private_path("index")).write_bytes(b"")
    os.link(store.private_path("index"), os.path.join(store.git_dir, "index.lock"))
    require_promises(store_home)
    assert "machines/m.yaml" in main_paths(store_home)


def test_locks_of_a_killed_update_ref_with_a_standing_journal_are_buried(store: Store, store_home: Path) -> None:
    facts = {"message": "sync: a machine\n", "files": {"machines/m.yaml": 'name: "m"\n'}}
    journal.begin(store, "main", (), facts)
    Path(store.private_path("moving")).write_text("1" * 40)
    plant_lock(store, "HEAD.lock", 3)
    plant_lock(store, "refs/heads/main.lock", 3).write_text("1" * 40 + "\n")
    require_promises(store_home)
    assert "machines/m.yaml" in main_paths(store_home)


@pytest.mark.parametrize("kind", ["main", "move"])
@pytest.mark.parametrize("names", [("refs/heads/main.lock", "HEAD.lock"), ("refs/heads/main.lock",), ("HEAD.lock",)])
def test_empty_locks_of_a_killed_update_ref_are_buried(
    store: Store, store_home: Path, names: tuple[str, ...], kind: str
) -> None:
    """Killed between creating a lock and writing into it; later attempts fail and drop what was to be written."""
    tip = git(store_home, "rev-parse", "main").strip()
    made: dict[str, object] = {"message": "sync: a machine\n", "files": {"machines/m.yaml": 'name: "m"\n'}}
    moved: dict[str, object] = {"old": tip, "new": tip, "subject": "sync: nothing"}
    journal.begin(store, kind, (), made if kind == "main" else moved)
    for name in names:
        plant_lock(store, name, 0)
    require_promises(store_home)
    assert kind == "move" or "machines/m.yaml" in main_paths(store_home)
    assert {path.rpartition("-")[0] for path in os.listdir(store.private_path("corpses"))} == {
        name.replace("/", "_") for name in names
    }


@pytest.mark.parametrize("kind", ["main", "move"])
def test_locks_of_a_killed_update_of_the_ref_that_keeps_a_commit_are_buried(
    store: Store, store_home: Path, kind: str
) -> None:
    """Deleting a ref also locks packed-refs."""
    git(store_home, "update-ref", ref_updates.NEXT_REF, "main")
    if kind == "main":
        facts: dict[str, object] = {"message": "sync: a machine\n", "files": {"machines/m.yaml": 'name: "m"\n'}}
        journal.begin(store, kind, ref_updates.NEXT_REF_LOCKS, facts)
    else:
        tip = git(store_home, "rev-parse", "main").strip()
        journal.begin(store, kind, ref_updates.NEXT_REF_LOCKS, {"old": tip, "new": tip, "subject": "sync: nothing"})
    for name in ref_updates.NEXT_REF_LOCKS:
        plant_lock(store, name, 0)
    require_promises(store_home)
    assert kind != "main" or "machines/m.yaml" in main_paths(store_home)
    record(store)
    assert ref_updates.NEXT_REF not in git(store_home, "for-each-ref")


class Killed(BaseException):
    """Ends a step as SIGKILL does: nothing of ours runs after it."""


NOW = 1_790_000_000.0
BACKUP_REF = "refs/heads/backup/20260921T141320Z-LRN-20260921-aaaaaaaa"
TIP = "refs/reflect/next"


def back_up(store: Store) -> None:
    backups.create(store, "LRN-20260921-aaaaaaaa", [("/nowhere/CLAUDE.md", b"mine")], NOW)


def drop_old_backups(store: Store) -> None:
    backups.prune(store, NOW + 1e9)


def hold_main(store: Store) -> None:
    ref_updates.protect_commit(store, str(store.git.resolve("main")))


def track_main(store: Store) -> None:
    remotes.update_tracking_ref(store, str(store.git.resolve("main")), lambda: None)


def restart_inbox(store: Store) -> None:
    purge_refs.clean_store(store, [id_mark(one) for one in inbox_ids(Path(store.root))])


STEPS: dict[str, tuple[Callable[[Store], None], tuple[str, ...], str]] = {
    "a backup": (back_up, (f"{BACKUP_REF}.lock",), "fast-import"),
    "an old backup that goes": (drop_old_backups, (f"{BACKUP_REF}.lock", "packed-refs.lock"), "update-ref"),
    "a commit that is kept": (hold_main, (f"{TIP}.lock",), "update-ref"),
    "a commit that is not kept any more": (
        ref_updates.delete_next_ref,
        (f"{TIP}.lock", "packed-refs.lock"),
        "update-ref",
    ),
    "what the remote has": (track_main, (f"{remotes.TRACKING_REF}.lock",), "update-ref"),
    "what the remote had": (remotes.delete_state, (f"{remotes.TRACKING_REF}.lock",), "update-ref"),
    "reflogs": (purge_refs._expire_reflogs, ("HEAD.lock", "logs/refs/heads/main.lock"), "reflog"),
    "an inbox without what was purged": (restart_inbox, ("refs/heads/inbox/{machine}/0002.lock",), "fast-import"),
}


@pytest.mark.parametrize("name", STEPS)
def test_locks_of_a_git_that_was_killed_while_it_wrote_any_ref_are_moved_away(
    store: Store, store_home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole process group is killed: git with its locks created, and the program with it."""
    step, locks, command = STEPS[name]
    locks = tuple(lock.format(machine=store.machine) for lock in locks)
    if step is drop_old_backups:
        back_up(store)
        monkeypatch.setattr(backups, "KEEP_NEWEST", 0)
    if step not in (back_up, restart_inbox):
        track_main(store)
    for method in (store.git.run, store.git.start):

        def kill(*words: str, method: Callable[..., Any] = method, **more: Any) -> Any:
            if words[0] == command:
                for lock in locks:
                    plant_lock(store, lock, 0)
                raise Killed
            return method(*words, **more)

        monkeypatch.setattr(store.git, method.__name__, kill)
    with pytest.raises(Killed), store.locked(5):
        step(store)
    require_promises(store_home)
    with open_store(store_home).locked(5):
        step(open_store(store_home))
    require_promises(store_home)


@pytest.mark.parametrize("step", [back_up, hold_main, ref_updates.delete_next_ref, restart_inbox])
def test_a_dead_lock_of_ours_that_no_journal_names_stops_no_step(
    store: Store, store_home: Path, step: Callable[[Store], None]
) -> None:
    """A power cut lost the journal, which is not synced, and left the lock."""
    if step is ref_updates.delete_next_ref:
        hold_main(store)
    (first, *_), *_ = (locks for one, locks, _ in STEPS.values() if one is step)
    lock = plant_lock(store, first.format(machine=store.machine), 60)
    with store.locked(5):
        step(store)
    assert not lock.exists()
    require_promises(store_home)


def test_every_step_that_moves_main_names_the_locks_of_the_ref_that_keeps_its_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[tuple[str, ...]] = []
    begin = journal.begin

    def noted(store: Store, kind: str, locks: Sequence[str], facts: Mapping[str, Any], sync: bool = True) -> str:
        if kind == "main":
            named.append(tuple(locks))
        return begin(store, kind, locks, facts, sync)

    monkeypatch.setattr(journal, "begin", noted)
    record(store)
    assert named and all(set(ref_updates.NEXT_REF_LOCKS) <= set(locks) for locks in named)
    assert set(ref_updates.NEXT_REF_LOCKS) <= set(move_main._LOCKS) & set(purge_main._LOCKS)


def test_a_lock_on_head_of_a_living_transaction_stays(store: Store, store_home: Path) -> None:
    """The lock of HEAD is empty while the transaction is prepared; main's has what will be written."""
    journal.begin(store, "main", (), {"message": "sync: a machine\n", "files": {"machines/m.yaml": 'name: "m"\n'}})
    head, main = plant_lock(store, "HEAD.lock", 60), plant_lock(store, "refs/heads/main.lock", 60)
    main.write_text("2" * 40 + "\n")
    open_recovered_store(store_home)
    assert head.exists() and main.exists()
    head.unlink()
    main.unlink()
    require_promises(store_home)


def test_a_foreign_lock_on_main_is_not_broken_by_a_standing_journal(store: Store, store_home: Path) -> None:
    """The user's transaction is alive; ours died while it waited for it."""
    facts = {"message": "sync: a machine\n", "files": {"machines/m.yaml": 'name: "m"\n'}}
    journal.begin(store, "main", (), facts)
    Path(store.private_path("moving")).write_text("1" * 40)
    lock = plant_lock(store, "refs/heads/main.lock", 60)
    lock.write_text("2" * 40 + "\n")
    open_recovered_store(store_home)
    assert lock.exists()
    lock.unlink()
    require_promises(store_home)
    assert "machines/m.yaml" in main_paths(store_home)


def test_a_git_that_is_killed_alone_in_its_transaction_leaves_no_lock(
    store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The out-of-memory killer ends git between `prepare` and `commit`; we survive."""
    children: list[GitProcess] = []
    start, link = store.git.start, files.link

    def started(*arguments: str, **more: Any) -> GitProcess:
        children.append(start(*arguments, **more))
        return children[-1]

    def kill_then_link(old: str, new: str) -> None:
        monkeypatch.undo()
        os.kill(children[-1].pid, signal.SIGKILL)
        link(old, new)

    monkeypatch.setattr(store.git, "start", started)
    monkeypatch.setattr(files, "link", kill_then_link)
    try:
        record(store)
    except ReflectError:
        pass
    open_recovered_store(store_home)
    done = user_commit(store_home, "mine.md", "mine\n")
    assert done.returncode == 0, done.stderr
    record(open_store(store_home))


def test_a_call_that_fails_in_the_transaction_does_not_lock_the_next(
    store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process, two tries: a full disk must not leave a git child with main locked."""

    def full(old: str, new: str) -> None:
        raise OSError(28, "no space left on device", new)

    with monkeypatch.context() as patch:
        patch.setattr(files, "link", full)
        with pytest.raises(OSError, match="no space"):
            record(store)
    monkeypatch.setattr(main_branch, "WAIT_SECONDS", 1.0)
    record(store)
    assert "machines/m.yaml" in main_paths(store_home)


def test_a_lock_that_upkeep_left_is_removed(store: Store, store_home: Path) -> None:
    begun = journal.begin(store, "upkeep", ("packed-refs.lock",), {})
    os.utime(begun, (time.time() - 60,) * 2)
    plant_lock(store, "packed-refs.lock", 3)
    with store.locked(1):
        assert main_branch.lock_index(store)
    require_promises(store_home)
    assert user_commit(store_home, "mine.md", "mine\n").returncode == 0


def test_upkeep_leaves_the_store_alone_while_the_user_holds_the_index(store: Store, store_home: Path) -> None:
    lock = plant_lock(store, "index.lock", 0)
    git(store_home, "hash-object", "-w", "--stdin", stdin="an object of a commit that is being made")
    with store.locked(1):
        maintenance.remove_unreachable(store)
    assert lock.exists()
    assert git(store_home, "count-objects").split()[0] != "0"
    lock.unlink()


def test_an_unknown_or_broken_journal_stops_nothing(store: Store, store_home: Path) -> None:
    for name, text in (("x-1", "{"), ("x-2", "[1]"), ("x-3", '{"kind": "from the future"}'), ("x-4", "null")):
        Path(store.private_path("journal", f"{name}.json")).write_text(text)
    identity = capture(store, "the second one")["id"]
    again = open_recovered_store(store_home)
    assert identity in inbox_ids(store_home)
    api.update(again, reader.read(again), identity, {"status": "dismissed"}, BY, utc())


def test_a_lock_that_a_stranger_made_a_folder_is_not_a_traceback(store: Store) -> None:
    os.mkdir(os.path.join(store.git_dir, f"refs/heads/inbox/{store.machine}/0001.lock"))
    try:
        capture(store, "the second one")
    except (ReflectError, OSError):
        pass


def test_burying_waits_no_longer_than_told(store: Store) -> None:
    lock = plant_lock(store, f"refs/heads/inbox/{store.machine}/0001.lock", 0)
    started = time.monotonic()
    assert not journal.move_stale_lock(store, f"refs/heads/inbox/{store.machine}/0001.lock", time.monotonic() + 0.2)
    assert time.monotonic() - started < 20
    lock.unlink()
    assert not journal.move_stale_lock(store, f"refs/heads/inbox/{store.machine}/0001.lock", time.monotonic() + 5)


def break_ref(root: Path, machine: str) -> None:
    (root / f".git/refs/heads/inbox/{machine}/0001").write_bytes(b"")


def break_commit(root: Path, machine: str) -> None:
    tip = git(root, "rev-parse", f"inbox/{machine}/0001").strip()
    find_loose_object(root / ".git", tip).write_bytes(b"")


def break_tree(root: Path, machine: str) -> None:
    tree = git(root, "rev-parse", f"inbox/{machine}/0001^{{tree}}").strip()
    find_loose_object(root / ".git", tree).unlink()


def break_blob(root: Path, machine: str) -> None:
    line = git(root, "ls-tree", "-r", f"inbox/{machine}/0001", "signals/2026/").splitlines()[-1]
    blob = line.split()[2]
    find_loose_object(root / ".git", blob).write_bytes(b"")


@pytest.mark.parametrize("breaking", [break_ref, break_commit, break_tree])
def test_a_power_cut_that_took_unsynced_objects_loses_no_capture(store: Store, store_home: Path, breaking: Any) -> None:
    """git's files were not synced; the plain copies were, so everything acknowledged comes back from them."""
    before = inbox_ids(store_home)
    identity = capture(store, "the second one")["id"]
    breaking(store_home, store.machine)
    again = open_recovered_store(store_home)
    try:
        before.add(capture(again, "the third one")["id"])
    except (ReflectError, OSError):
        pass
    require_promises(store_home, before | {identity})


def test_a_blob_that_a_power_cut_took_comes_back_with_the_upkeep_of_the_day(store: Store, store_home: Path) -> None:
    """No command reads every object; until then everything else works and the copy stays."""
    before = inbox_ids(store_home)
    break_blob(store_home, store.machine)
    again = open_recovered_store(store_home)
    second = capture(again, "the second one")["id"]
    assert list_copies(store_home) == before | {second}
    assert second in {found["id"] for found in reader.read(again).signals}
    run_maintenance(again, time.time())
    require_promises(store_home, before | {second})
