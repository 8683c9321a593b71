"""The log is loaded in blocks, without a visible difference."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git.history import log_entries, log_query
from reflect_git.history.log_entries import LogFilter
from reflect_git.history.log_query import LogQuery
from reflect_git.platform.git import GitError, GitMissing
from reflect_git.store import inbox
from reflect_git.store.repository import Store
from tests.cli.old_store import approve, dismiss_signal
from tests.rules.project_edits import make_project
from tests.store.broken_store import find_loose_object
from tests.store.store_checks import open_store


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    store, shop = open_store(store_home), make_project(home / "shop")
    approve(store, shop, "use pnpm, not npm")
    for words in ("tests live beside the code", "use tabs, not spaces", "answer in German"):
        dismiss_signal(store, shop, words)
    return store


def told(store: Store, wanted: LogFilter, limit: int | None = None) -> list[dict[str, Any]]:
    asked = LogQuery(store, inboxes=wanted.captures)
    return [entry.as_json() for entry in log_entries.list_entries(store, asked, wanted, limit)]


@pytest.mark.parametrize(("first", "later"), [(1, 1), (2, 1), (1, 3), (4, 9)])
def test_blocks_change_nothing(store: Store, monkeypatch: pytest.MonkeyPatch, first: int, later: int) -> None:
    whole = told(store, LogFilter(captures=True))
    monkeypatch.setattr(log_entries, "_FIRST_BLOCK_SIZE", first)
    monkeypatch.setattr(log_entries, "_BLOCK_SIZE", later)
    assert told(store, LogFilter(captures=True)) == whole
    assert told(store, LogFilter(captures=True), 3) == whole[:3]
    assert [entry["by"] for entry in told(store, LogFilter())] == ["Ada"] * 4


@pytest.mark.parametrize("at_first", [1, 2, 3, 4, 5])
def test_the_rest_is_asked_for_when_it_is_wanted(store: Store, monkeypatch: pytest.MonkeyPatch, at_first: int) -> None:
    whole = told(store, LogFilter(captures=True))
    monkeypatch.setattr(log_query, "FIRST_COMMITS", at_first)
    assert told(store, LogFilter(captures=True)) == whole
    assert told(store, LogFilter(), 1) == [entry for entry in whole if entry["type"] == "dismissed"][:1]


def test_what_is_decided_meanwhile_has_nothing_told_twice(
    store: Store, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_query, "FIRST_COMMITS", 2)
    before = told(store, LogFilter())
    found = log_entries.list_entries(store, LogQuery(store), LogFilter())
    first = next(found).as_json()
    dismiss_signal(store, home / "shop", "use spaces, not tabs")
    assert [first, *(entry.as_json() for entry in found)] == before


def test_an_inbox_that_begins_anew_meanwhile_hides_no_decision(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_query, "FIRST_COMMITS", 2)
    before = told(store, LogFilter(captures=True))
    found = log_entries.list_entries(store, LogQuery(store, inboxes=True), LogFilter(captures=True))
    first = next(found).as_json()
    ref = inbox.get_current_ref(store)
    tip = store.git.resolve(ref)
    store.git.run("update-ref", "-d", ref)
    assert [first, *(entry.as_json() for entry in found)] == before
    store.git.run("update-ref", ref, str(tip))


def test_a_log_that_nobody_reads_is_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise GitMissing("git was not found")

    monkeypatch.setattr(log_query, "ObjectReader", refuse)
    before = os.listdir("/dev/fd")
    with pytest.raises(GitMissing):
        LogQuery(store)
    assert os.listdir("/dev/fd") == before


@pytest.mark.dirty_store
def test_a_history_that_cannot_be_read_is_said_to_be_so(store: Store) -> None:
    newest = store.git.resolve("refs/heads/main~1")
    assert newest is not None
    find_loose_object(Path(store.git_dir), newest).unlink()
    with pytest.raises(GitError, match="git log failed"):
        told(store, LogFilter())
