"""Rare problems of a store are reported like the others, and each hint works."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.store import inbox, policy, remotes
from reflect_git.store.repository import Store
from tests.store.broken_store import (
    capture,
    find_loose_object,
    git,
    list_levels,
    list_signal_ids,
    run_check,
    run_repair,
)


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def run(command: str) -> None:
    subprocess.run(shlex.split(command), check=True, capture_output=True)


def test_a_damaged_branch_of_the_user_can_be_done_without(store: Store) -> None:
    blob = store.git.run("hash-object", "-w", "--stdin", stdin=b"mine\n").out.decode().strip()
    tree = store.git.run("mktree", stdin=f"100644 blob {blob}\tmine\n".encode()).out.decode().strip()
    somebody = ("-c", "user.name=x", "-c", "user.email=x@localhost")
    git(store, "update-ref", "refs/heads/mine", git(store, *somebody, "commit-tree", "-m", "mine", tree))
    find_loose_object(Path(store.git_dir), blob).write_bytes(b"x")
    (found,) = run_check(store, "objects")
    assert (found.level, found.message, found.fixable) == ("error", "the branch 'mine' is damaged", False)
    run(found.hint.removeprefix("if you can do without it: "))
    run_repair(store, "objects")
    assert list_levels(run_check(store, "objects")) == ["ok"]


def test_a_head_elsewhere_is_brought_back(store: Store) -> None:
    git(store, "checkout", "-q", "-b", "mine")
    run(run_check(store, "head")[0].hint.removeprefix("go back with: "))
    assert list_levels(run_check(store, "head")) == ["ok"]


def test_a_lost_main_without_a_reflog_is_not_ours_to_mend(store: Store) -> None:
    tip = git(store, "rev-parse", "main")
    git(store, "update-ref", "-d", "refs/heads/main")
    for name in ("HEAD", "refs/heads/main"):
        Path(store.git_dir, "logs", name).write_bytes(b"")
    (found,) = run_check(store, "branches")
    assert (found.level, found.fixable, "from a backup or another machine" in found.hint) == ("error", False, True)
    git(store, "update-ref", "refs/heads/main", tip)


def test_copies_that_a_new_inbox_lacks_are_named_and_committed(store: Store) -> None:
    kept = capture(store, "never push on fridays")
    Path(store.private_path(inbox.RESCUE_FILE)).touch()
    (found,) = run_check(store, "pending")
    assert (found.level, found.fixable, "the inbox is new" in found.message) == ("note", True, True)
    run_repair(store, "pending")
    assert (list_levels(run_check(store, "pending")), list_signal_ids(store)) == (["ok"], kept)


def test_a_file_that_was_set_aside_long_ago_is_named_without_its_reason(store: Store) -> None:
    Path(store.private_path("quarantine", "SIG-20260211-7k3v9q2m.yaml")).write_text("no record\n")
    assert run_check(store, "quarantine")[0].details[0].endswith(": the reason is not in the log any more")


def test_what_a_sync_left_undone_is_named(store: Store) -> None:
    assert run_check(store, "sync")[0].message == "no remote"
    policy.set_keys(store, remotes.build_config("https://example.com/ada/learnings.git"))
    assert run_check(store, "sync")[0].message == "not yet"
    remotes.update_state(
        store, time="2026-02-11T09:00:00Z", refused=[{"side": "remote", "path": "x.sh", "reason": "mode"}]
    )
    (found,) = run_check(store, "sync")
    assert (found.level, found.message) == ("warning", "refused from the remote: 'x.sh'")
    assert "reflect-git remote --json" in found.hint
    remotes.update_state(store, error="the remote cannot be reached", hint="try again")
    (found,) = run_check(store, "sync")
    assert (found.message, found.hint) == ("the last one failed: the remote cannot be reached", "try again")


def test_a_policy_that_somebody_took_out_of_the_config_is_named(store: Store) -> None:
    by = {"road": "terminal", "name": "", "email": ""}
    policy.set_policies(store, {"reflect.capture": "false"}, by, "2026-02-11T09:00:00Z")  # type: ignore[arg-type]
    store.change_config({"reflect.capture": None})
    (found,) = run_check(store, "policies")
    assert found.message == "reflect.capture is unset, and no decision of this machine says so: false counts"
    assert found.hint == "keep it: reflect-git config --unset reflect.capture"
