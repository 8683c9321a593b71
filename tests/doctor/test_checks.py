"""Every problem of a store is reported, and repaired if it is ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reflect_git import doctor
from reflect_git.capture import service
from reflect_git.capture.new_signal import build_signal_from_input
from reflect_git.doctor import repairs
from reflect_git.platform import system
from reflect_git.store import inbox, lost_signals, pending
from reflect_git.store.lost_signals import Check, CheckContext, Finding
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import REPO, find_store_problems
from tests.store.broken_store import (
    add_pending_capture,
    capture,
    git,
    list_levels,
    list_signal_ids,
    overwrite_object,
    run_check,
    run_repair,
)

DAY = 86400


@pytest.fixture
def store(store_home: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(system.current, "get_boot_time", lambda: time.time() - 3600)  # whatever this system's uptime is
    return service.open_store(os.environ)


def test_a_new_store_is_well(store: Store) -> None:
    capture(store, "use tabs in makefiles")
    found = {check.name: list_levels(run_check(store, check.name)) for check in doctor.CHECKS}
    assert found == {check.name: ["ok"] for check in doctor.CHECKS}


def test_looking_changes_nothing(store: Store) -> None:
    pending.write_record(store, build_signal_from_input({"content": "waits"}, store.machine, "2026-02-11T09:00:00Z"))
    Path(store.git_dir, "index.lock").touch()
    before = contents(store)
    for check in doctor.CHECKS:
        check.run(CheckContext(store, time.time(), reader.read))
    assert contents(store) == before
    os.unlink(Path(store.git_dir, "index.lock"))


def contents(store: Store) -> dict[str, bytes]:
    """Return every file except the cache and the lock that a check takes for a moment."""
    paths = [
        path for path, _ in repairs.list_all_files(store) if "/reflect/cache/" not in path and os.path.isfile(path)
    ]
    return {path: Path(path).read_bytes() for path in paths if not path.endswith("/reflect/lock")}


def open_to_all(store: Store) -> None:
    os.chmod(store.root, 0o755)
    os.chmod(Path(store.git_dir, "config"), 0o644)


def lose_a_folder(store: Store) -> None:
    os.rmdir(store.private_path("pending"))


def lose_the_exclude(store: Store) -> None:
    Path(store.git_dir, "info", "exclude").write_text("/mine/\n")


def lose_the_hook(store: Store) -> None:
    Path(store.git_dir, "hooks", "pre-push").unlink()


def unarm_the_hook(store: Store) -> None:
    Path(store.git_dir, "hooks", "pre-push").chmod(0o600)


def lose_the_reflog(store: Store) -> None:
    Path(store.git_dir, "logs", "HEAD").unlink()


def switch_gc_on(store: Store) -> None:
    store.change_config({"gc.auto": "1", "core.logAllRefUpdates": None})


def leave_an_old_lock(store: Store) -> None:
    path = Path(store.git_dir, "packed-refs.lock")
    path.touch()
    os.utime(path, (DAY, DAY))


def leave_a_lock_on_the_inbox(store: Store) -> None:
    path = Path(store.git_dir, f"{inbox.get_current_ref(store)}.lock")
    path.touch()
    os.utime(path, (time.time() - 10, time.time() - 10))


def leave_our_index_lock(store: Store) -> None:
    Path(store.private_path("index")).touch()
    os.link(store.private_path("index"), Path(store.git_dir, "index.lock"))


def leave_a_lock_of_a_journal(store: Store) -> None:
    Path(store.private_path("journal", "main-1.json")).write_text(
        json.dumps({"kind": "main", "locks": ["HEAD.lock"], "message": "approve: x\n", "files": {}})
    )
    path = Path(store.git_dir, "HEAD.lock")
    path.touch()
    os.utime(path, (time.time() - 10, time.time() - 10))


def leave_a_journal(store: Store) -> None:
    Path(store.private_path("journal", "config-1.json")).write_text(json.dumps({"kind": "config", "locks": []}))


def clean_the_copies(store: Store) -> None:
    Path(store.path("signals/README.md")).unlink()


def copy_it(store: Store) -> None:
    store.change_config({"reflect.binding": "0123456789abcdef"})


def lose_the_inbox(store: Store) -> None:
    git(store, "update-ref", "-d", inbox.get_current_ref(store))


def lose_main(store: Store) -> None:
    workflow_decision(store)
    git(store, "update-ref", "-d", "refs/heads/main")


def workflow_decision(store: Store) -> None:
    from reflect_git.store import policy

    by = {"road": "terminal", "name": "", "email": ""}
    policy.set_policies(store, {"reflect.ttl": "20"}, by, "2026-02-11T09:00:00Z")  # type: ignore[arg-type]


def lose_the_upkeep(store: Store) -> None:
    store.change_config({"reflect.born": "2020-01-01T00:00:00Z"})


BREAKS: list[tuple[str, Callable[[Store], None], str]] = [
    ("rights", open_to_all, "error"),
    ("files", lose_a_folder, "warning"),
    ("files", lose_the_exclude, "warning"),
    ("files", lose_the_hook, "note"),
    ("files", unarm_the_hook, "note"),
    ("files", lose_the_reflog, "warning"),
    ("settings", switch_gc_on, "warning"),
    ("lock files", leave_an_old_lock, "warning"),
    ("lock files", leave_a_lock_on_the_inbox, "warning"),
    ("lock files", leave_our_index_lock, "warning"),
    ("lock files", leave_a_lock_of_a_journal, "warning"),
    ("interrupted", leave_a_journal, "warning"),
    ("pending", add_pending_capture, "warning"),
    ("pending", clean_the_copies, "note"),
    ("name", copy_it, "warning"),
    ("branches", lose_the_inbox, "error"),
    ("branches", lose_main, "error"),
    ("upkeep", lose_the_upkeep, "note"),
]


@pytest.mark.parametrize(("name", "harm", "level"), BREAKS, ids=[harm.__name__ for _, harm, _ in BREAKS])
def test_what_is_ours_is_named_and_mended(store: Store, name: str, harm: Callable[[Store], None], level: str) -> None:
    kept = capture(store, "never push on fridays")
    harm(store)
    found = run_check(store, name)
    assert (list_levels(found), [finding.fixable for finding in found]) == ([level], [True])
    assert run_repair(store, name)
    if name == "lock files":
        run_repair(store, "interrupted")
    assert list_levels(run_check(store, name)) == ["ok"]
    assert set(kept) <= set(list_signal_ids(store))
    assert find_store_problems(Path(store.root)) == []


def test_a_step_that_a_process_is_at_is_not_interrupted(store: Store) -> None:
    leave_a_journal(store)
    with store.locked(1.0):
        found = run_check(store, "interrupted")
        assert (list_levels(found), [finding.fixable for finding in found]) == (["note"], [False])
    assert list_levels(run_check(store, "interrupted")) == ["warning"]


def test_lines_a_person_added_to_exclude_stay(store: Store) -> None:
    lose_the_exclude(store)
    run_repair(store, "files")
    lines = Path(store.git_dir, "info", "exclude").read_text().splitlines()
    assert lines == ["/mine/", "/signals/", "/learnings/*.md"]


def test_a_changed_hook_is_the_users(store: Store) -> None:
    hook = Path(store.git_dir, "hooks", "pre-push")
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o700)
    assert list_levels(run_check(store, "files")) == ["note"]
    assert not run_check(store, "files")[0].fixable


@pytest.mark.parametrize(("seconds", "level"), [(0, "note"), (600, "decide")])
@pytest.mark.parametrize("name", ["index.lock", "config.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_foreign_lock_is_named_with_its_age_and_never_broken(
    store: Store, name: str, seconds: int, level: str
) -> None:
    path = Path(store.git_dir, name)
    path.touch()
    os.utime(path, (time.time() - seconds, time.time() - seconds))
    found = run_check(store, "lock files")
    assert (list_levels(found), found[0].fixable) == ([level], False)
    assert f"'.git/{name}', {lost_signals.format_age(seconds)} old" in found[0].message
    run_repair(store, "lock files")
    assert path.exists()
    path.unlink()


HOLD = """
import sys, time
sys.path.insert(0, sys.argv[1])
from reflect_git.platform.files import Lock
lock = Lock(sys.argv[2])
assert lock.try_acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(store: Store) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(REPO), store.private_path("lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_the_holder_of_the_lock_is_named(store: Store, holder: subprocess.Popen[str]) -> None:
    assert run_check(store, "lock")[0].message == f"held by process {holder.pid} for 0 s"
    long_after = run_check(store, "lock", time.time() + 3600)
    assert list_levels(long_after) == ["decide"]
    assert f"ps -fp {holder.pid}" in long_after[0].hint


def test_a_lock_of_ours_is_left_alone_while_its_holder_lives(store: Store, holder: subprocess.Popen[str]) -> None:
    leave_a_lock_on_the_inbox(store)
    assert [lock.owner for lock in repairs.list_lock_files(store, time.time())] == [repairs.BUSY]
    assert list_levels(run_check(store, "lock files")) == ["note"]
    Path(store.git_dir, f"{inbox.get_current_ref(store)}.lock").unlink()


def test_damage_that_no_branch_holds_is_swept_out(store: Store) -> None:
    git(store, "hash-object", "-w", "--stdin")  # of no input: the empty blob
    overwrite_object(store, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
    found = run_check(store, "objects")
    assert (list_levels(found), found[0].message) == (["error"], "damaged objects that no branch holds")
    run_repair(store, "objects")
    assert list_levels(run_check(store, "objects")) == ["ok"]


@pytest.mark.dirty_store
def test_a_damaged_main_is_an_error_that_is_not_ours_to_mend(store: Store) -> None:
    overwrite_object(store, "refs/heads/main:README.md")
    found = run_check(store, "objects")
    assert (list_levels(found), found[0].fixable) == (["error"], False)
    assert "main" in found[0].message


@pytest.mark.dirty_store
def test_changes_of_the_user_wait_for_a_decision(store: Store) -> None:
    Path(store.path("README.md")).write_text("mine\n")
    Path(store.path("mine.txt")).write_text("mine\n")
    found = run_check(store, "work tree")
    assert (list_levels(found), found[0].message) == (["decide"], "2 uncommitted changes: 'README.md', 'mine.txt'")


def test_a_head_elsewhere_is_said(store: Store) -> None:
    git(store, "checkout", "-q", "-b", "mine")
    assert "on 'mine', not on main" in run_check(store, "head")[0].message
    git(store, "checkout", "-q", "--detach", "main")
    assert "detached" in run_check(store, "head")[0].message


def test_a_quarantined_file_is_named_with_its_reason(store: Store) -> None:
    Path(store.private_path("pending", "SIG-20260211-7k3v9q2m.yaml")).write_text("no record\n")
    run_repair(store, "pending")
    found = run_check(store, "quarantine")
    assert list_levels(found) == ["decide"]
    assert found[0].details[0].startswith("SIG-20260211-7k3v9q2m.yaml: record ")


@pytest.mark.parametrize(
    ("text", "level", "word"), [("x: [\n", "decide", "cannot be read"), ("newer", "note", "upgrade reflect-git")]
)
def test_records_that_cannot_be_read_are_named(store: Store, text: str, level: str, word: str) -> None:
    golden = (REPO / "tests/golden/LRN-20260212-4c8d2a1f.yaml").read_text(encoding="utf-8")
    path = Path(store.path("learnings/LRN-20260212-4c8d2a1f.yaml"))
    path.parent.mkdir(mode=0o700)
    path.write_text(golden.replace("version: 1\n", "version: 2\n") if text == "newer" else text, encoding="utf-8")
    git(store, "add", "learnings")
    git(store, "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-q", "-m", "by hand")
    found = run_check(store, "records")
    assert (list_levels(found), path.stem in found[0].details[0]) == ([level], True)
    assert word in found[0].message + found[0].hint


def test_both_logs_are_read_and_only_their_last_lines_shown(store: Store) -> None:
    for number in range(7):
        store.log(f"line {number}")
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 5))
    Path(f"{store.root}.log").write_text(f"{later} hook: zzz\n")
    found = run_check(store, "log")
    assert (list_levels(found), found[0].message, len(found[0].details)) == (["note"], "8 lines in the last 7 days", 5)
    assert any("hook: zzz" in line for line in found[0].details)
    assert list_levels(run_check(store, "log", time.time() + 8 * DAY)) == ["ok"]


def test_little_room_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs(store.root)

    class Disk:
        f_frsize, f_files, f_favail = 1, real.f_files, real.f_favail
        f_bavail = f_flag = 0

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    assert list_levels(run_check(store, "disk")) == ["error"]
    Disk.f_bavail = 100 << 20
    assert list_levels(run_check(store, "disk")) == ["warning"]
    Disk.f_bavail, Disk.f_files, Disk.f_favail = 1 << 40, 1000, 0
    (full,) = run_check(store, "disk")
    assert (full.level, full.message) == ("error", "no room: not one more file can be made, with 1 048 576 MiB free")
    Disk.f_files = 0  # of a file system that does not count them
    assert list_levels(run_check(store, "disk")) == ["ok"]
    Disk.f_flag = os.ST_RDONLY
    assert "read-only" in run_check(store, "disk")[0].message


def test_a_clock_that_went_back_is_said(store: Store) -> None:
    capture(store, "one")
    Path(store.private_path("upkeep.json")).write_text(json.dumps({"last": time.time()}))
    found = run_check(store, "clock", time.time() - 3 * DAY - 60)
    assert list_levels(found) == ["warning", "note", "note"]
    assert "newest commit is 3 days in the future" in found[0].message


def test_a_policy_that_nobody_decided_is_named(store: Store) -> None:
    store.change_config({"reflect.approval": "unattended", "reflect.capture": "false"})
    found = run_check(store, "policies")
    assert list_levels(found) == ["decide", "warning"]
    assert "reflect-git config reflect.approval unattended" in found[0].hint
    assert "reflect-git config --unset reflect.approval" in found[0].hint


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_an_error(store: Store) -> None:
    os.chown(store.path("README.md"), 12345, -1)
    found = run_check(store, "store")
    os.chown(store.path("README.md"), 0, -1)
    assert (list_levels(found), "README.md" in found[0].message) == (["error"], True)


def test_a_link_in_the_store_is_named(store: Store, tmp_path: Path) -> None:
    link = Path(store.private_path("link"))
    link.symlink_to(tmp_path)
    assert list_levels(run_check(store, "rights")) == ["decide"]
    assert "link" in run_check(store, "rights")[0].message
    os.chmod(store.root, 0o755)
    assert list_levels(run_check(store, "rights")) == ["error", "decide"]


def test_a_check_that_cannot_be_made_says_why(store: Store) -> None:
    def fail(_: CheckContext) -> list[Finding]:
        raise OSError(5, "input/output error")

    found = Check("disk", fail).run(CheckContext(store, 0.0, reader.read))
    assert (list_levels(found), "input/output error" in found[0].message) == (["error"], True)


@pytest.mark.parametrize(
    ("seconds", "said"), [(-5, "0 s"), (59, "59 s"), (119, "119 s"), (180, "3 min"), (7300, "2 h"), (9 * DAY, "9 days")]
)
def test_ages_are_short(seconds: int, said: str) -> None:
    assert lost_signals.format_age(seconds) == said
