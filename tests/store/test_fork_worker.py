"""Half of the work on another core: the same result, even if the other half fails."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.store.store_checks import capture, open_store


@pytest.fixture
def store(store_home: Path) -> Store:
    store = open_store(store_home)
    for number in range(7):
        capture(store, f"number {number} has “signs” – and \\ more", meta={"durable": bool(number % 2)})
    return store


def without_cache(store: Store) -> Any:
    for name in os.listdir(store.private_path("cache")):
        if name.endswith("-rows"):
            os.unlink(store.private_path("cache", name))
    found = reader.read(store)
    return found.signals, found.columns, found.unreadable


def test_what_is_made_beside_comes_whole() -> None:
    made = reader.run_in_fork(lambda: b"x" * 3_000_000 + str(os.getpid()).encode())()
    assert made is not None
    assert made[:3_000_000] == b"x" * 3_000_000
    assert made[3_000_000:] != str(os.getpid()).encode()


def test_what_fails_beside_is_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> bytes:
        raise KeyboardInterrupt

    sys.stdout.write("once")
    assert reader.run_in_fork(fail)() is None
    assert capfd.readouterr().out == "once"


@pytest.mark.parametrize("fails", [False, True])
def test_in_halves_everything_is_read_as_in_one(store: Store, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    in_one = without_cache(store)
    halves: list[int] = []

    def counted(work: Any) -> Any:
        halves.append(1)
        return (lambda: None) if fails else beside_once(work)

    beside_once = reader.run_in_fork
    monkeypatch.setattr(reader, "run_in_fork", counted)
    monkeypatch.setattr(reader, "has_second_core", lambda: True)
    monkeypatch.setattr(reader, "_MIN_PARALLEL", 2)
    assert without_cache(store) == in_one
    assert len(in_one[0]) == 7
    assert halves
