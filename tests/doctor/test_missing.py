"""Somebody deletes the inbox and the copies: `doctor` and `audit` say how many signals are missing.

THREATS: inbox branch and signals/ deleted.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from reflect_git.records.search_text import TextSearch
from reflect_git.store import lost_signals
from reflect_git.store.purge import purge_main
from reflect_git.store.repository import Store
from reflect_git.sync import store_paths
from reflect_git.sync.store_paths import Purge
from tests.conftest import RunCli
from tests.faults import git
from tests.store.store_checks import (
    capture,
    inbox_ids,
    open_recovered_store,
    open_store,
    require_promises,
    run_maintenance_after,
)
from tests.sync.clones import Clone


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def delete_inbox(root: Path) -> None:
    for ref in git(root, "for-each-ref", "--format=%(refname)", "refs/heads/inbox/").split():
        git(root, "update-ref", "-d", ref)


def collect_garbage(root: Path) -> None:
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--prune=now", "-q")


def told(run_cli: RunCli) -> str:
    """Return what doctor says about signals; audit must report the same number."""
    (found,) = [one for one in run_cli("doctor", "--json").json()["data"]["findings"] if one["check"] == "signals"]
    listed = [one for one in run_cli("audit", "--json").json()["data"]["findings"] if one["code"] == "signals-missing"]
    message = str(found["message"])
    counted = [message.partition(",")[0]] if "missing" in message else []
    assert [one["message"].partition(":")[0] for one in listed] == counted
    return message


@pytest.mark.parametrize("is_swept", [False, True], ids=["at once", "after another command"])
def test_what_is_missing_is_counted_and_recovered(
    store: Store, store_home: Path, run_cli: RunCli, is_swept: bool
) -> None:
    said = [capture(store, f"number {number}")["id"] for number in range(5)]
    assert told(run_cli).startswith("every signal")
    delete_inbox(store_home)
    shutil.rmtree(store_home / "signals")
    if is_swept:
        open_recovered_store(store_home)
        capture(store, "one more")
    assert told(run_cli) == "5 signals missing, 5 can be recovered"
    assert run_cli("audit").code == 4
    fixed = run_cli("doctor", "--fix")
    assert "recovered 5 signals" in fixed.out
    assert set(said) <= inbox_ids(store_home) and told(run_cli).startswith("every signal")
    require_promises(store_home, said)


def test_what_a_gc_took_is_counted_all_the_same(store: Store, store_home: Path, run_cli: RunCli) -> None:
    for number in range(3):
        capture(store, f"number {number}")
    delete_inbox(store_home)
    shutil.rmtree(store_home / "signals")
    collect_garbage(store_home)
    kept = capture(open_recovered_store(store_home), "one more")
    assert told(run_cli) == "3 signals missing, 0 can be recovered"
    assert run_cli("doctor", "--fix").code == 4
    assert told(run_cli) == "3 signals missing, 0 can be recovered", "it is not forgotten by asking"
    assert inbox_ids(store_home) == {kept["id"]}


def test_copies_alone_bring_everything_back(store: Store, store_home: Path, run_cli: RunCli) -> None:
    said = capture(store, "it")["id"]
    delete_inbox(store_home)
    collect_garbage(store_home)
    require_promises(store_home, [said])
    assert told(run_cli).startswith("every signal")


def test_one_that_was_taken_out_by_hand_is_missing(store: Store, store_home: Path, run_cli: RunCli) -> None:
    """The branch exists, rewound by one commit."""
    first, second = (capture(store, text)["id"] for text in ("first", "second"))
    (ref,) = git(store_home, "for-each-ref", "--format=%(refname)", "refs/heads/inbox/").split()
    git(store_home, "update-ref", ref, f"{ref}~1")
    shutil.rmtree(store_home / "signals")
    assert told(run_cli) == "1 signal missing, 1 can be recovered"
    run_cli("doctor", "--fix")
    assert inbox_ids(store_home) == {first, second}


def test_what_expired_is_not_missing(store: Store, store_home: Path, run_cli: RunCli) -> None:
    capture(store, "soon forgotten", trust="tool_output", type="failure")
    assert run_maintenance_after(store, 20) == 1
    assert told(run_cli).startswith("every signal")
    assert lost_signals.find_missing(open_store(store_home), time.time()) == []


def test_what_was_purged_is_not_missing(store: Store, store_home: Path, run_cli: RunCli) -> None:
    clone = Clone(store_home)
    signal = capture(clone.store, "a secret")["id"]

    with clone.store.locked(5):
        found = purge_main.preview_purge(clone.store, TextSearch(["a secret"]), [])
        marks = store_paths.build_marks(found.records, found.blobs)
        said = store_paths.emit_purge(Purge(1, "2026-02-12T10:00:00Z", clone.store.machine, tuple(marks)))
        new = {store_paths.build_purge_path(1, "0" * 8): said}
        purge_main.run_purge(clone.store, found, TextSearch(["a secret"]), marks, new, "purge: it")
    assert signal not in inbox_ids(store_home)
    assert told(run_cli).startswith("every signal")
    assert signal not in (store_home / ".git" / "reflect" / "stored").read_text()


def test_upkeep_leaves_the_objects_of_what_is_missing(store: Store, store_home: Path) -> None:
    said = capture(store, "it")["id"]
    delete_inbox(store_home)
    shutil.rmtree(store_home / "signals")
    run_maintenance_after(open_recovered_store(store_home), 2)
    missing = lost_signals.find_missing(store, time.time())
    assert missing == [said] and set(lost_signals.find_recoverable(store, missing)) == {said}


def test_a_store_of_before_begins_with_what_is_there(store: Store, store_home: Path, run_cli: RunCli) -> None:
    said = capture(store, "it")["id"]
    os.unlink(store.private_path("stored"))
    open_recovered_store(store_home)
    assert Path(store.private_path("stored")).read_text() == f"{said}\n"
    assert told(run_cli).startswith("every signal")
