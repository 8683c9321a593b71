"""A purge reaches digests: what they cite and quote of it is gone, and everything else in them stays."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git import purge
from reflect_git.records.ids import random_id, utc_precise
from reflect_git.records.search_text import PURGED, TextSearch
from reflect_git.store import append
from reflect_git.store.purge import purge_refs
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from reflect_git.sync import store_paths
from tests import disk_search
from tests.rules.purges import WORD
from tests.rules.queues import BY, get_project_folder
from tests.store.store_checks import capture, open_recovered_store, open_store, require_promises

EXPIRED, OTHER = "SIG-20260101-0a1b2c3d", "SIG-20260102-1a2b3c4d"


@pytest.fixture
def store(store_home: Path) -> Store:
    """Create a signal, and a digest that cites it together with two that expired."""
    store = open_store(store_home)
    kept = capture(store, f"the old host is called {WORD}, and its name is much too long to quote in full")["id"]
    lines = [
        {"section": "learned", "text": "the tests need a database", "ids": [OTHER], "key": "b", "trust": "assistant"},
        {"section": "noticed", "text": "an extract of it", "ids": [kept, OTHER], "key": "", "trust": "assistant"},
        {"section": "broken", "text": "the cellar is locked", "ids": [EXPIRED], "key": "d", "trust": "tool_output"},
    ]  # fmt: skip
    add_digest(store, lines)
    return store


def add_digest(store: Store, lines: list[dict[str, Any]]) -> str:
    made = {
        "id": random_id("DIG", "2026-02-18"), "version": 1, "timestamp": utc_precise(), "period": "2026-W01",
        "project": None, "lines": lines, "figures": {"sessions": 2}, "from": [one for x in lines for one in x["ids"]],
        "meta": {},
    }  # fmt: skip
    append.append_new(store, [made])
    return str(made["id"])


def load_digest(store: Store) -> dict[str, Any]:
    (found,) = [one for one in reader.read(store).other_records.values() if one["id"].startswith("DIG-")]
    return dict(found)


def get_kept(store: Store) -> str:
    return str(load_digest(store)["lines"][1]["ids"][0])


def take_out(store: Store, request: purge.PurgeRequest) -> Store:
    store = open_recovered_store(Path(store.root))
    folder = str(get_project_folder(os.environ))
    plan = purge.plan_purge(store, os.environ, reader.read, request, folder)
    purge.run_purge(store, os.environ, reader.read, plan, BY, folder)
    return store


def test_purging_an_id_removes_it_from_every_digest(store: Store, store_home: Path) -> None:
    kept = get_kept(store)
    before = load_digest(store)
    after = load_digest(take_out(store, purge.select_by_id(reader.read(store), kept)))
    assert [line["ids"] for line in after["lines"]] == [[OTHER], [OTHER], [EXPIRED]]
    assert [line["text"] for line in after["lines"]] == ["the tests need a database", PURGED, "the cellar is locked"]
    assert after["from"] == [OTHER, OTHER, EXPIRED] and after["id"] == before["id"]
    assert disk_search.find_texts(store_home, "an extract of it") == []
    assert disk_search.find_texts(store_home / "signals", kept) == []
    require_promises(store_home)


def test_an_expired_signal_can_be_purged_by_the_id_in_a_digest(store: Store, store_home: Path) -> None:
    after = load_digest(take_out(store, purge.select_by_id(reader.read(store), "0a1b2c3d")))
    assert [line["section"] for line in after["lines"]] == ["learned", "noticed"]
    assert disk_search.find_texts(store_home, "the cellar is locked") == []


def test_a_text_that_only_a_digest_still_has_is_purged(store: Store, store_home: Path) -> None:
    kept = get_kept(store)
    after = load_digest(take_out(store, purge.select_by_pattern("cellar")))
    assert [line["text"] for line in after["lines"]][2] == f"the {PURGED} is locked"
    assert after["lines"][1]["ids"] == [kept, OTHER] and disk_search.find_texts(store_home, "cellar") == []


def test_a_digest_of_nothing_but_purged_records_is_gone(store_home: Path) -> None:
    store = open_store(store_home)
    capture(store, "an ordinary remark")
    line = {"section": "learned", "text": "secret", "ids": [EXPIRED], "key": "", "trust": "assistant"}
    add_digest(store, [line])
    store = take_out(store, purge.select_by_id(reader.read(store), EXPIRED))
    assert not [one for one in reader.read(store).other_records if one.startswith("DIG-")]


def test_a_purge_on_another_machine_reaches_the_digests_here(store: Store, store_home: Path) -> None:
    """The other machine knows neither the digest nor its text: only the mark of the id comes here."""
    kept = get_kept(store)
    marks = store_paths.build_marks([kept], [])
    assert purge_refs.has_purged_content(store, marks)
    with store.locked(5):
        purge_refs.clean_store(store, marks)
    assert load_digest(store)["lines"][1] == {
        "section": "noticed", "text": PURGED, "ids": [OTHER], "key": "", "trust": "assistant",
    }  # fmt: skip
    assert disk_search.find_texts(store_home, "an extract of it") == []


def test_a_pending_digest_that_quotes_it_is_dropped(store: Store, store_home: Path) -> None:
    kept = get_kept(store)
    line = {"section": "learned", "text": "another extract", "ids": [kept], "key": "", "trust": "assistant"}
    with store.locked(5):
        late = add_digest(store, [line])  # not committed: the lock is ours
        assert (store_home / ".git/reflect/pending" / f"{late}.yaml").exists()
        purge_refs.clean_store(store, store_paths.build_marks([kept], []), TextSearch([]))
    assert disk_search.find_texts(store_home, "another extract") == []
