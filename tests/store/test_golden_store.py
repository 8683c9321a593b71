"""A store with a record of each kind and version: every later version of the program reads all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.records import schema, yaml_form
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from reflect_git.store.repository import INBOX, MAIN, Store, get_record_path
from reflect_git.sync import store_paths
from reflect_git.sync.validate import check_contents
from tests.store.store_checks import open_store

GOLDEN = {path.stem: path.read_bytes() for path in (Path(__file__).parents[1] / "golden").glob("*.yaml")}


@pytest.fixture
def store(store_home: Path) -> Store:
    store = open_store(store_home)
    inbox = f"{INBOX}{store.machine}/0001"
    for ref, kinds in ((inbox, ("SIG", "EXP", "DIG")), (MAIN, ("LRN", "DEC", "TLY", "EVL"))):
        stream = [f"commit {ref}\ncommitter a <a@b> 1770000000 +0000\ndata 0\nfrom {ref}^0\n".encode()]
        for identity, data in GOLDEN.items():
            if identity.startswith(kinds):
                stream.append(
                    f"M 100644 inline {get_record_path(identity)}\ndata {len(data)}\n".encode() + data + b"\n"
                )
        store.git.run("fast-import", "--quiet", "--done", stdin=b"".join(stream) + b"done\n")
    store.git.run("reset", "--hard", "--quiet")
    return store


def test_there_is_one_record_of_each_kind_and_version() -> None:
    found = sorted((identity[:3], yaml_form.parse(data)["version"]) for identity, data in GOLDEN.items())
    assert found == [("DEC", 1), ("DIG", 1), ("EVL", 1), ("EXP", 1), ("EXP", 2), ("LRN", 1), ("SIG", 1), ("TLY", 1)]


def test_every_record_of_the_golden_store_is_read(store: Store) -> None:
    snapshot = reader.read(store)
    assert (snapshot.unreadable, snapshot.newer) == ({}, [])
    assert set(snapshot.by_id) == set(GOLDEN)
    for identity, data in GOLDEN.items():
        computed = ("status", "confidence", "related", "promoted_to") if identity.startswith("SIG") else ()
        written, read = yaml_form.parse(data), snapshot.by_id[identity]
        assert {key: read[key] for key in written if key not in computed} == {
            key: value for key, value in written.items() if key not in computed
        }


def test_a_program_without_the_second_version_keeps_it_unread(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two machines may have different versions of the program: the older one accepts and passes on all records."""
    second = next(identity for identity in GOLDEN if "EXP-20260214" in identity)
    path = get_record_path(second)
    index = Index(store)
    assert [one["id"] for one in index.list_records("EXP")] == sorted(one for one in GOLDEN if one[:3] == "EXP")
    index.close()
    monkeypatch.setattr(schema, "_VERSIONS", {})
    assert check_contents([path], [GOLDEN[second]], lambda _: store_paths.RECORD) == [""]
    snapshot = reader.read(store)
    assert snapshot.newer == [second] and set(snapshot.by_id) == GOLDEN.keys() - {second}
