"""A damaged inbox is rebuilt from everything readable, and a kill in the middle loses nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.platform import faults
from reflect_git.store import inbox, pending
from reflect_git.store.repository import Store
from tests.conftest import find_store_problems
from tests.store.broken_store import (  # fmt: skip
    add_pending_capture,
    capture,
    delete_object,
    empty_object,
    git,
    list_inbox_ids,
    list_levels,
    overwrite_object,
    run_check,
    run_repair,
)


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def ruin_ref(store: Store) -> None:
    Path(store.git_dir, inbox.get_current_ref(store)).write_text("garbage\n")


@pytest.mark.parametrize("copies", ["with copies", "without copies"])
@pytest.mark.parametrize("what", ["tip", "tree", "blob", "parent"])
@pytest.mark.parametrize("harm", [delete_object, empty_object, overwrite_object])
def test_a_damaged_inbox_is_built_anew_from_all_that_is_readable(
    store: Store, harm: Callable[[Store, str], None], what: str, copies: str
) -> None:
    first, second, third = capture(store, "one", "two", "three")
    ref = inbox.get_current_ref(store)
    path = next(path for path in store.git.tree(ref, "signals") if first in path)
    lost = {first} if what == "blob" else set()
    if copies == "without copies":
        for copy in Path(store.path("signals")).rglob("SIG-*.yaml"):
            copy.unlink()
    else:
        lost = set()
    harm(store, {"tip": ref, "tree": f"{ref}^{{tree}}", "blob": f"{ref}:{path}", "parent": f"{ref}^"}[what])
    found = run_check(store, "objects")
    assert (list_levels(found), found[0].fixable) == (["error"], True)
    run_repair(store, "objects")
    assert list_levels(run_check(store, "objects")) == ["ok"]
    assert list_inbox_ids(store) == sorted({first, second, third} - lost)
    assert inbox.get_current_ref(store).endswith("/0002")
    assert list_levels(run_check(store, "branches")) == ["ok"]
    assert capture(store, "four")[0] in list_inbox_ids(store)


@pytest.mark.parametrize("copies", ["with copies", "without copies"])
def test_a_damaged_pack_is_taken_apart(store: Store, copies: str) -> None:
    kept = capture(store, *(f"rule number {number}" for number in range(20)))
    git(store, "repack", "-a", "-d", "-q", "-f", "--depth=0", "--window=0")
    git(store, "commit-graph", "write", "--reachable")
    pack = next(Path(store.git_dir, "objects", "pack").glob("*.pack"))
    path = next(path for path in store.git.tree(inbox.get_current_ref(store), "signals") if kept[7] in path)
    blob = git(store, "rev-parse", f"{inbox.get_current_ref(store)}:{path}")
    rows = [line.split() for line in git(store, "verify-pack", "-v", str(pack.with_suffix(".idx"))).splitlines()]
    at = next(int(row[4]) + int(row[3]) // 2 for row in rows if row[0] == blob)
    pack.chmod(0o600)
    data = bytearray(pack.read_bytes())
    data[at : at + 4] = bytes(4)
    pack.write_bytes(data)
    if copies == "without copies":
        for copy in Path(store.path("signals")).rglob("SIG-*.yaml"):
            copy.unlink()
    assert "error" in list_levels(run_check(store, "objects"))
    run_repair(store, "objects")
    assert list_levels(run_check(store, "objects")) == ["ok"]
    lost = {kept[7]} if copies == "without copies" else set()
    assert set(list_inbox_ids(store)) | lost == set(kept)


def test_a_ref_that_is_no_ref_is_moved_out_of_the_way(store: Store) -> None:
    kept = capture(store, "one", "two")
    ruin_ref(store)
    assert list_levels(run_check(store, "objects")) == ["error"]
    run_repair(store, "objects")
    assert list_levels(run_check(store, "objects")) == ["ok"]
    assert list_inbox_ids(store) == sorted(kept)


def test_a_rebuild_keeps_what_is_pending(store: Store) -> None:
    kept = capture(store, "one")
    add_pending_capture(store)
    waiting = Path(pending.list_pending(store)[0]).stem
    delete_object(store, inbox.get_current_ref(store))
    run_repair(store, "objects")
    assert list_inbox_ids(store) == sorted([*kept, waiting])


def killed_at(store: Store, number: int) -> bool:
    """Repair in a child that dies at its n-th side effect; return False if it finished."""
    child = os.fork()
    if child == 0:
        faults.arm(f"kill:{number}", store.root, os.path.dirname(store.root))
        run_repair(store, "objects")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_rebuild_that_is_killed_loses_nothing(store: Store, tmp_path: Path, step: int) -> None:
    kept = capture(store, "one", "two", "three")
    for copy in list(Path(store.path("signals")).rglob("SIG-*.yaml"))[:2]:
        copy.unlink()
    delete_object(store, inbox.get_current_ref(store))
    shutil.copytree(store.root, tmp_path / "damaged", symlinks=True)
    number = step
    while killed_at(store, number):
        for name in ("lock files", "objects", "branches", "interrupted", "pending"):
            if any(finding.fixable for finding in run_check(store, name)):
                run_repair(store, name)
        assert list_inbox_ids(store) == sorted(kept), number
        assert find_store_problems(Path(store.root)) == [], number
        shutil.rmtree(store.root)
        shutil.copytree(tmp_path / "damaged", store.root, symlinks=True)
        number += step
    assert number > 3 * step
    assert list_inbox_ids(store) == sorted(kept)
