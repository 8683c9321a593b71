"""Looking up a few ids gives the same as a full read, whichever way they are found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git.store import api
from reflect_git.store.reading import lookup, reader
from reflect_git.store.reading.lookup import RecordLookup
from reflect_git.store.repository import Store
from tests.store.store_checks import capture, open_store

BY: Any = {"road": "terminal", "name": "Ada", "email": ""}
TARGET: Any = {"kind": "project", "path": "CLAUDE.md"}


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def _approve(store: Store, words: str) -> Any:
    signal = capture(store, words)
    return api.promote(store, reader.read(store), signal["id"], TARGET, words, BY, "2026-02-11T12:00:00.000Z")


@pytest.fixture(params=[1, 10_000], ids=["from lines on disk", "from the other cache"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(lookup, "_MIN_CACHED_RECORDS", request.param)
    return int(request.param)


def test_it_finds_what_speaks_of_an_id(store: Store, way: int) -> None:
    one, other = _approve(store, "use pnpm"), _approve(store, "use ruff")
    for _ in range(2):  # the second time from the file that the first one wrote
        asked = RecordLookup(store)
        assert asked.find_mentions(one["id"]) == {
            one["id"]: one, one["decision"]: reader.read(store).by_id[one["decision"]],
        }  # fmt: skip
        assert set(asked.find_mentions(one["decision"], other["id"])) == {
            one["id"], one["decision"], other["id"], other["decision"],
        }  # fmt: skip
        assert asked.find_mentions("LRN-20260211-00000000") == asked.find_mentions() == {}
    assert os.path.exists(store.private_path("cache", "main-lines")) is (way == 1)


def test_what_was_decided_since_is_found_too(store: Store, way: int) -> None:
    one = _approve(store, "use pnpm")
    RecordLookup(store)
    made = api.build_decision(store, "amended", one["id"], BY, "2026-02-12T12:00:00.000Z", text="use pnpm, please")
    api.commit_records(store, [made], "amend: use pnpm, please", {})
    asked = RecordLookup(store)
    assert set(asked.find_mentions(one["id"])) == {one["id"], one["decision"], made["id"]}
    assert asked.has_id(one["id"]) and asked.has_id(made["id"])


def test_signals_and_what_says_the_same(store: Store, way: int) -> None:
    first, second = capture(store, "use pnpm", session_id="s-1"), capture(store, "use pnpm", session_id="s-2")
    other = capture(store, "use ruff", session_id="s-2")
    asked = RecordLookup(store)
    found = asked.get_signals([first["id"], "SIG-20200101-00000000"])
    assert [(one["id"], one["content"], one["session_id"]) for one in found] == [(first["id"], "use pnpm", "s-1")]
    assert {one for one, *_ in asked.find_by_keys({first["key"]})} == {first["id"], second["id"]}
    assert asked.list_ids() == sorted(one["id"] for one in (first, second, other))
    assert [asked.has_id(one) for one in (*asked.list_ids(), "LRN-20260101-00000000")] == [True, True, True, False]
    assert asked.get_signals([]) == asked.find_by_keys(set()) == []


def test_a_cache_of_something_else_is_not_believed(store: Store, way: int) -> None:
    one = _approve(store, "use pnpm")
    RecordLookup(store)
    for junk in (b"", b"reflect-git lines 1 " + b"0" * 40 + b"\n{}\n", b"\xff" * 100):
        Path(store.private_path("cache", "main-lines")).write_bytes(junk)
        assert set(RecordLookup(store).find_mentions(one["id"])) == {one["id"], one["decision"]}
