"""kill -9, and a failing call, at every side effect of every operation: the next command repairs silently."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.faults import FAIL, KILL, Operation, Prepared, Strike, git, strike_everywhere
from tests.store import operations
from tests.store.probe import capture, copies, days_later, inbox_ids, main_paths, opened, require_promises


@pytest.fixture
def prepared(store_home: Path, tmp_path: Path) -> Prepared:
    """Create a store with three signals and one file of the user's."""
    store = opened(store_home)
    for number in range(3):
        capture(store, f"signal number {number}", session_id=f"session-{number}")
    return Prepared(store_home, tmp_path)


# Every third effect in the normal run, starting at a different one for each operation; all of them in the deep run.
OFTEN: list[Operation] = [operations.capture, operations.dismiss]
REST: list[Operation] = [
    operations.record_several, operations.capture_two, operations.promote, operations.free, operations.switch,
    operations.restore_copies, operations.back_up,
]  # fmt: skip


def strike(prepared: Prepared, operation: Operation, mode: str, first: int, step: int) -> None:
    before = inbox_ids(prepared.root)

    def check(strike: Strike) -> None:
        said = {word for word in strike.said if word.startswith("SIG-")}
        store = require_promises(prepared.root, before | said)
        decided = [word for word in strike.said if word.startswith(("DEC-", "LRN-"))]
        tracked = main_paths(prepared.root)
        assert all(any(word in path for path in tracked) for word in decided), "said to be recorded and is not"
        assert copies(prepared.root) == inbox_ids(prepared.root), "a signal has no copy"
        assert strike.effect or strike.said or operation is operations.free, "it came through and said nothing"
        capture(store, "and the next one works")

    strike_everywhere(operation, prepared, mode, check, first, step)


@pytest.mark.parametrize("operation", OFTEN)
def test_a_kill_at_any_effect_is_repaired(prepared: Prepared, operation: Operation) -> None:
    strike(prepared, operation, KILL, 1, 1)


@pytest.mark.parametrize("first, operation", list(enumerate([*OFTEN, *REST], start=1)))
def test_a_failing_call_is_repaired(prepared: Prepared, first: int, operation: Operation) -> None:
    strike(
        prepared, operation, FAIL, 1 if operation is operations.back_up else 1 + first % 4, 4
    )  # a backup has one effect


@pytest.mark.parametrize("first, operation", list(enumerate(REST, start=1)))
def test_a_kill_is_repaired(prepared: Prepared, first: int, operation: Operation) -> None:
    strike(prepared, operation, KILL, 1 + first % 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [KILL, FAIL])
@pytest.mark.parametrize("operation", [*OFTEN, *REST])
def test_every_effect_of_every_operation(prepared: Prepared, operation: Operation, mode: str) -> None:
    strike(prepared, operation, mode, 1, 1)


@pytest.mark.parametrize(
    "mode, first, step",
    [(KILL, 2, 6), (FAIL, 1, 8), *(pytest.param(mode, 1, 1, marks=pytest.mark.slow) for mode in (KILL, FAIL))],
)
def test_the_first_capture_of_all_makes_a_whole_store_or_none(
    store_home: Path, tmp_path: Path, mode: str, first: int, step: int
) -> None:
    store_home.parent.mkdir()

    def check(strike: Strike) -> None:
        if strike.said:
            assert (store_home / ".git").exists()
        require_promises(store_home, strike.said)
        capture(opened(store_home), "and the next one works")

    strike_everywhere(operations.capture, Prepared(store_home, tmp_path), mode, check, first, step)


def test_a_killed_creation_leaves_no_litter(store_home: Path, tmp_path: Path) -> None:
    store_home.parent.mkdir()

    def check(strike: Strike) -> None:
        for path in store_home.parent.glob(".reflections-new-*"):
            os.utime(path, (time.time() - 7200,) * 2)
        days_later(opened(store_home), 1)
        assert [path.name for path in store_home.parent.iterdir() if path.name != "effects"] == ["reflections"]

    strike_everywhere(operations.capture, Prepared(store_home, tmp_path), KILL, check, 9, 12)


def test_a_store_that_moved_keeps_its_signals_under_its_new_name(
    prepared: Prepared, store_home: Path, tmp_path: Path
) -> None:
    """Killed while it takes the new name: after the next command everything of ours belongs to this machine again."""
    before, old = inbox_ids(store_home), opened(store_home).machine
    git(store_home, "config", "reflect.binding", "of another place")
    moved = Prepared(store_home, tmp_path / "moved")

    def check(strike: Strike) -> None:
        require_promises(store_home, before)
        store = opened(store_home)
        assert store.machine != old
        refs = git(store_home, "for-each-ref", "--format=%(refname)", "refs/heads/inbox/").split()
        assert all(ref.startswith(f"refs/heads/inbox/{store.machine}/") for ref in refs), refs

    strike_everywhere(operations.capture, moved, KILL, check, 1, 3)
