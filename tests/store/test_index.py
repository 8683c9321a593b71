"""The index: whatever is in its place, and whoever dies or writes meanwhile, it answers with what the store has."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.platform import faults, yaml_loose
from reflect_git.records import yaml_form
from reflect_git.records.ids import utc
from reflect_git.store import api, index, pending, recover
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests import disk_search
from tests.faults import FAIL, KILL, SavedStore, inject_faults
from tests.store import operations
from tests.store.operations import BY
from tests.store.store_checks import capture, open_store, run_maintenance_after

OTHER_SCHEMA = "CREATE TABLE records (number INTEGER); CREATE TABLE tips (source TEXT)"


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def count_kinds(found: Index) -> dict[str, int]:
    return dict(found.query("SELECT kind, count(*) FROM records GROUP BY kind"))


def require_complete(store: Store) -> Index:
    """Require that the index has exactly what a full read of the store has."""
    found, read = Index(store, yaml_loose.parse_edited), reader.read(store, yaml_loose.parse_edited)
    assert found.list_ids() == sorted(read.by_id)
    for record_id, record in read.by_id.items():
        if record_id.startswith("SIG-"):
            computed: dict[str, Any] = {"status": "captured", "related": [], "promoted_to": None}
            stored = found.get_record(record_id)
            assert stored == {**record, **computed, "confidence": stored and stored["confidence"]}
        else:
            assert found.get_record(record_id) == record
    assert found.query("INSERT INTO texts(texts) VALUES ('integrity-check')") == []
    return found


def approve(store: Store, words: str) -> Any:
    signal = capture(store, words)
    target: Any = {"kind": "project", "path": "CLAUDE.md"}
    return api.promote(store, reader.read(store), signal["id"], target, words, BY, utc())


def test_rows_and_lookups(store: Store) -> None:
    rule = approve(store, "use pnpm, not npm")
    signal = capture(store, "the build fails on Tuesdays", type="failure", tags=["Bash"])
    found = require_complete(store)
    assert count_kinds(found) == {"SIG": 2, "LRN": 1, "DEC": 1}
    assert [one["id"] for one in found.list_records("SIG", type="failure")] == [signal["id"]]
    assert found.list_records("SIG", since="2999") == found.list_records("EXP") == []
    assert [one["kind"] for one in found.list_records("DEC", subject=rule["id"])] == ["approved"]
    assert set(found.find_mentions(rule["id"])) == {rule["id"], rule["decision"]}
    assert [one for one, *_ in found.find_by_keys([signal["key"]])] == [signal["id"]]
    assert [one["id"] for one in found.get_signals([signal["id"], "SIG-20260101-00000000"])] == [signal["id"]]
    assert found.get_record("SIG-20260101-00000000") is None
    with pytest.raises(ValueError, match="unknown column"):
        found.list_records("SIG", colour="red")


def test_search_finds_stems_phrases_and_other_fields(store: Store) -> None:
    rule = approve(store, "always run the formatter before committing")
    signal = capture(store, "the build fails", context="Straße nach Köln is closed", type="failure")
    found = Index(store)
    assert {one.id for one in found.search("commit formatters")} >= {rule["id"]}
    assert [one.id for one in found.search("koln")] == [signal["id"]]
    assert "[Köln]" in found.search("koln")[0].snippet
    assert (
        found.search('"build formatter"') == found.search("zebra") == found.search("") == found.search('" * ( OR') == []
    )
    assert {one.kind for one in found.search("formatter OR build", kinds=("SIG",))} == {"SIG"}
    assert len(found.search("formatter OR build", limit=1)) == 1
    for hostile in ("NEAR(a b)", "text:x", "a AND", "'; DROP TABLE records; --", "-x", "a*", "^a", '"'):
        found.search(hostile)


def test_refresh_adds_what_is_new_and_pending(store: Store) -> None:
    first = capture(store, "one")
    found = require_complete(store)
    second = capture(store, "two")
    with store.locked(1):
        third = operations.facts("three")
        from reflect_git.capture import service

        waiting, _ = service.capture_signal(open_store(Path(store.root)), third, os.environ)
        again = require_complete(store)
        assert set(again.list_ids()) == {first["id"], second["id"], waiting["id"]}
        assert again.query("SELECT id FROM records WHERE source = 'pending'") == [(waiting["id"],)]
    recover.recover_store(store)
    again = require_complete(store)
    assert again.query("SELECT id FROM records WHERE source = 'pending'") == []
    assert [one.id for one in again.search("three")] == [waiting["id"]]
    assert found.warning == again.warning == ""


@pytest.mark.parametrize("text", ["\ud800 half", "nul \0 inside", "𝒰", "\u2028", "x" * 4000])
def test_any_text_fits(store: Store, text: str) -> None:
    signal = capture(store, "words", context=text, tags=[text[:100]], session_id=text[:100])
    found = Index(store)
    assert found.warning == "" and found.get_record(signal["id"]) == signal


def _as_bytes(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _as_other_database(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.executescript(OTHER_SCHEMA)
    db.close()


def _with_foreign_trigger(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TRIGGER foreign_one AFTER INSERT ON tips BEGIN DELETE FROM records; END")
    db.close()


def _with_pages_swapped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 8192):
        data[start : start + 100] = os.urandom(100)
    path.write_bytes(data)


def _as_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _as_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _as_link(path: Path) -> None:
    other = path.parent.parent.parent.parent.parent / "precious"
    other.write_text("not ours")
    path.unlink()
    path.symlink_to(other)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "empty": _as_bytes(b""),
    "text": _as_bytes(b"hello\n" * 2000),
    "cut": lambda path: os.truncate(path, 5000),
    "other database": _as_other_database,
    "foreign trigger": _with_foreign_trigger,
    "random pages": _with_pages_swapped,
    "directory": _as_directory,
    "fifo": _as_fifo,
    "link": _as_link,
    "foreign journal": lambda path: Path(f"{path}-journal").write_bytes(
        b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 600
    ),
    "journal is a directory": lambda path: Path(f"{path}-journal").mkdir(),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_anything_else_in_its_place_is_replaced(store: Store, name: str) -> None:
    approve(store, "use pnpm, not npm")
    path = Path(require_complete(store)._path)
    if name == "other database":
        path.unlink()
    DAMAGE[name](path)
    found = require_complete(store)
    assert count_kinds(found) == {"SIG": 1, "LRN": 1, "DEC": 1}
    assert found.warning == "" and stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    other = path.parent.parent.parent.parent.parent / "precious"
    assert not other.exists() or other.read_text() == "not ours"


def test_a_full_folder_in_its_place_is_kept_and_named(store: Store) -> None:
    capture(store, "use pnpm")
    path = Path(index.get_path(store))
    path.mkdir()
    (path / "keep").write_text("mine")
    found = require_complete(store)
    assert count_kinds(found) == {"SIG": 1} and str(path) in found.warning
    assert (path / "keep").read_text() == "mine"


def test_a_damaged_page_found_by_a_query_is_repaired(store: Store) -> None:
    capture(store, "use pnpm")
    found = Index(store)
    _with_pages_swapped(Path(found._path))
    assert found.query("SELECT count(*), max(text) FROM records") == [(1, "use pnpm")]


def test_a_full_disk_is_bypassed(store: Store, store_home: Path) -> None:
    capture(store, "use pnpm")
    faults.arm("fail:1", str(store_home), str(store_home.parent))
    try:
        assert count_kinds(Index(store)) == {"SIG": 1}
    finally:
        faults.arm("fail:0", str(store_home), str(store_home.parent))
    assert require_complete(store).warning == ""


def test_a_disk_that_fills_up_meanwhile_is_bypassed(store: Store) -> None:
    for number in range(60):
        capture(store, f"signal {number} " + "x" * 1000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        found = Index(store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert count_kinds(found) == {"SIG": 60} and found.warning
    assert require_complete(store).warning == ""


def test_a_folder_that_cannot_be_written_is_bypassed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    capture(store, "use pnpm")
    connect = index._connect

    def read_only(path: str) -> sqlite3.Connection:
        return connect(path if path == ":memory:" else "/dev/null/index.sqlite")

    monkeypatch.setattr(index, "_connect", read_only)
    found = Index(store)
    assert count_kinds(found) == {"SIG": 1} and "cannot use" in found.warning


def read_index(store: Store, env: object) -> None:
    operations.print_now(str(len(Index(store).list_ids())))


@pytest.mark.parametrize("mode", [KILL, FAIL])
def test_a_killed_refresh_leaves_a_usable_index(store: Store, store_home: Path, tmp_path: Path, mode: str) -> None:
    approve(store, "use pnpm, not npm")
    Index(store).close()
    capture(store, "one more")
    runs = list(inject_faults(read_index, SavedStore(store_home, tmp_path), mode))
    assert len(runs) > 2
    for run in runs:
        if run.effect and mode == KILL:
            assert run.code == -9, run
        elif not run.effect or "git" not in run.effect:  # nothing can be read without git
            assert run.output == ("4",), run
    require_complete(open_store(store_home))


def test_two_at_once(store: Store, store_home: Path) -> None:
    for number in range(30):
        capture(store, f"signal {number}")
    counts: list[int] = []

    def read() -> None:
        counts.append(len(Index(open_store(store_home)).list_ids()))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [30] * 4


def test_an_open_index_notices_that_it_was_deleted(store: Store) -> None:
    capture(store, "use pnpm")
    found = Index(store)
    index.delete(store)
    second = capture(store, "use ruff")
    other = Index(store)
    assert second["id"] in found.list_ids() and found.list_ids() == other.list_ids()


def test_no_byte_stays_after_expiry(store: Store, store_home: Path) -> None:
    capture(store, "the zebra prefers tabs", trust="tool_output", type="failure")
    young = capture(store, "the lion prefers spaces", confidence=2)
    assert Index(store).search("zebra") != []
    assert disk_search.find_texts(store_home, "zebra")
    assert run_maintenance_after(store, 15) == 1
    assert disk_search.find_texts(store_home, "zebra") == []
    assert require_complete(store).list_ids() >= [young["id"]]


def test_no_byte_stays_after_another_machines_signals_expired(store: Store, store_home: Path) -> None:
    """Its branch came with a sync; the next one brings a branch without them."""
    from tests.store.test_reading import plant

    other = yaml_form.emit(
        {**capture(store, "kept"), "content": "the zebra prefers tabs", "id": "SIG-20260211-7k3v9q2m"}
    )
    ref = "refs/heads/inbox/other-abcd/0001"
    plant(store_home, ref, {"signals/2026/02/11/7k/SIG-20260211-7k3v9q2m.yaml": other})
    path = Path(Index(store)._path)
    assert b"zebra" in path.read_bytes()
    store.git.run("update-ref", "-d", ref)
    assert Index(store).search("zebra") == []
    assert b"zebra" not in path.read_bytes() and not Path(f"{path}-journal").exists()


def test_a_file_that_only_a_person_can_have_written(store: Store, store_home: Path) -> None:
    from tests.store.test_reading import DECISION, decision, plant

    edited = yaml_form.emit(decision()).replace(b'kind: "dismissed"', b"kind: never   # said Ada")
    plant(store_home, "refs/heads/main", {DECISION: edited})
    assert Index(store).query("SELECT path FROM unreadable") == [(DECISION,)]
    assert [one["kind"] for one in Index(store, yaml_loose.parse_edited).list_records("DEC")] == ["never"]
    assert Index(store).query("SELECT path FROM unreadable") == []


def test_progress_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_BATCH", 2)
    for number in range(5):
        capture(store, f"signal {number}")
    told: list[tuple[int, int]] = []
    Index(store, show_progress=lambda done, total: told.append((done, total)))
    assert told == [(2, 5), (4, 5), (5, 5)]
    assert pending.list_pending(store) == []
