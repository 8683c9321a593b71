"""kill -9, and a failing call, at every side effect of every operation: the next command repairs silently."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.faults import FAIL, KILL, FaultRun, Operation, SavedStore, check_every_fault, git
from tests.store import operations
from tests.store.store_checks import (
    capture,
    inbox_ids,
    list_copies,
    main_paths,
    open_store,
    require_promises,
    run_maintenance_after,
)


@pytest.fixture
def prepared(store_home: Path, tmp_path: Path) -> SavedStore:
    """Create a store with three signals and one file of the user's."""
    store = open_store(store_home)
    for number in range(3):
        capture(store, f"signal number {number}", session_id=f"session-{number}")
    return SavedStore(store_home, tmp_path)


# Every third effect in the normal run, starting at a different one for each operation; all of them in the deep run.
OFTEN: list[Operation] = [operations.capture, operations.dismiss]
REST: list[Operation] = [
    operations.record_several, operations.capture_two, operations.promote, operations.prune_objects, operations.switch,
    operations.restore_copies, operations.back_up,
]  # fmt: skip


def strike(prepared: SavedStore, operation: Operation, mode: str, first: int, step: int) -> None:
    before = inbox_ids(prepared.root)

    def check(fault_run: FaultRun) -> None:
        said = {word for word in fault_run.output if word.startswith("SIG-")}
        store = require_promises(prepared.root, before | said)
        decided = [word for word in fault_run.output if word.startswith(("DEC-", "LRN-"))]
        tracked = main_paths(prepared.root)
        assert all(any(word in path for path in tracked) for word in decided), "said to be recorded and is not"
        assert list_copies(prepared.root) == inbox_ids(prepared.root), "a signal has no copy"
        assert fault_run.effect or fault_run.output or operation is operations.prune_objects, (
            "it came through and said nothing"
        )
        capture(store, "and the next one works")

    check_every_fault(operation, prepared, mode, check, first, step)


@pytest.mark.parametrize("operation", OFTEN)
def test_a_kill_at_any_effect_is_repaired(prepared: SavedStore, operation: Operation) -> None:
    strike(prepared, operation, KILL, 1, 1)


@pytest.mark.parametrize("first, operation", list(enumerate([*OFTEN, *REST], start=1)))
def test_a_failing_call_is_repaired(prepared: SavedStore, first: int, operation: Operation) -> None:
    strike(
        prepared, operation, FAIL, 1 if operation is operations.back_up else 1 + first % 4, 4
    )  # a backup has one effect


@pytest.mark.parametrize("first, operation", list(enumerate(REST, start=1)))
def test_a_kill_is_repaired(prepared: SavedStore, first: int, operation: Operation) -> None:
    strike(prepared, operation, KILL, 1 + first % 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [KILL, FAIL])
@pytest.mark.parametrize("operation", [*OFTEN, *REST])
def test_every_effect_of_every_operation(prepared: SavedStore, operation: Operation, mode: str) -> None:
    strike(prepared, operation, mode, 1, 1)


@pytest.mark.parametrize(
    "mode, first, step",
    [(KILL, 2, 6), (FAIL, 1, 8), *(pytest.param(mode, 1, 1, marks=pytest.mark.slow) for mode in (KILL, FAIL))],
)
def test_the_first_capture_of_all_makes_a_whole_store_or_none(
    store_home: Path, tmp_path: Path, mode: str, first: int, step: int
) -> None:
    store_home.parent.mkdir()

    def check(fault_run: FaultRun) -> None:
        if fault_run.output:
            assert (store_home / ".git").exists()
        require_promises(store_home, fault_run.output)
        capture(open_store(store_home), "and the next one works")

    check_every_fault(operations.capture, SavedStore(store_home, tmp_path), mode, check, first, step)


def test_a_killed_creation_leaves_no_litter(store_home: Path, tmp_path: Path) -> None:
    store_home.parent.mkdir()

    def check(fault_run: FaultRun) -> None:
        for path in store_home.parent.glob(".reflections-new-*"):
            os.utime(path, (time.time() - 7200,) * 2)
        run_maintenance_after(open_store(store_home), 1)
        assert [path.name for path in store_home.parent.iterdir() if path.name != "effects"] == ["reflections"]

    check_every_fault(operations.capture, SavedStore(store_home, tmp_path), KILL, check, 9, 12)


def test_a_store_that_moved_keeps_its_signals_under_its_new_name(
    prepared: SavedStore, store_home: Path, tmp_path: Path
) -> None:
    """Killed while it takes the new name: after the next command everything of ours belongs to this machine again."""
    before, old = inbox_ids(store_home), open_store(store_home).machine
    git(store_home, "config", "reflect.binding", "of another place")
    moved = SavedStore(store_home, tmp_path / "moved")

    def check(fault_run: FaultRun) -> None:
        require_promises(store_home, before)
        store = open_store(store_home)
        assert store.machine != old
        refs = git(store_home, "for-each-ref", "--format=%(refname)", "refs/heads/inbox/").split()
        assert all(ref.startswith(f"refs/heads/inbox/{store.machine}/") for ref in refs), refs

    check_every_fault(operations.capture, moved, KILL, check, 1, 3)
