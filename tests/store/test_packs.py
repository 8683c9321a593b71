"""Each capture has its own pack until a session ends or begins: fast to write, and never too many."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.store import inbox, maintenance
from reflect_git.store.repository import Store
from tests.store.store_checks import capture, inbox_ids, open_store


@pytest.fixture
def busy(store_home: Path) -> Store:
    """Create a store with a capture in each of nine packs."""
    for number in range(9):
        capture(open_store(store_home), f"number {number}")
    return open_store(store_home)


def test_many_packs_become_one_and_hold_all_that_they_held(busy: Store, store_home: Path) -> None:
    known = inbox_ids(store_home)
    assert len(known) == 9 and inbox.count_packs(busy) >= 9
    maintenance.combine_packs(busy)
    assert inbox.count_packs(busy) == 1
    assert inbox_ids(store_home) == known


def test_packs_stay_while_somebody_writes(busy: Store, store_home: Path) -> None:
    before = inbox.count_packs(busy)
    with open_store(store_home).locked(0.0):
        maintenance.combine_packs(busy)
    assert inbox.count_packs(busy) == before


def test_with_many_packs_a_capture_makes_none(busy: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MAX_PACKS", 9)
    before = inbox.count_packs(busy)
    identity = capture(busy, "one more")["id"]
    assert inbox.count_packs(busy) == before
    assert identity in inbox_ids(store_home)


def test_a_pack_without_an_index_goes_when_nobody_writes_it_any_more(busy: Store, store_home: Path) -> None:
    """As a kill leaves it between two renames. Some versions of git would drop it in a repack, others never."""
    known, folder = inbox_ids(store_home), store_home / ".git" / "objects" / "pack"
    old, young, kept = (folder / f"pack-{digit * 40}" for digit in "123")
    for name in (f"{old}.pack", f"{old}.rev", f"{kept}.pack", f"{kept}.keep"):
        Path(name).write_bytes(b"half\n")
        os.utime(name, (1, 1))
    Path(f"{young}.pack").write_bytes(b"half\n")
    with busy.locked(5):
        maintenance.remove_partial_packs(busy)
    left = {path.name for path in folder.glob("*") if path.name[:9] in ("pack-1111", "pack-2222", "pack-3333")}
    assert left == {f"{young.name}.pack", f"{kept.name}.pack", f"{kept.name}.keep"} and inbox_ids(store_home) == known
    for name in left:
        (folder / name).unlink()
