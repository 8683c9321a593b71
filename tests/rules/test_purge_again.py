"""Purged text appears again, in a copy of the transcript or in an open process: it does not come back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reflect_git import purge
from reflect_git.capture.new_signal import build_signal_from_input
from reflect_git.errors import ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.store import append, inbox, pending
from reflect_git.store.purge import purge_marks, purge_refs
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests import disk_search
from tests.conftest import REPO, RunCli
from tests.rules.purges import WORD
from tests.rules.queues import BY
from tests.sessions import Session, load_signals
from tests.store.operations import facts
from tests.store.store_checks import capture, open_recovered_store, open_store, require_promises

SECRET = f"no, never deploy to {WORD}, always deploy to the new host instead"
OTHER = "no, never use npm in this project, always use pnpm instead"
ENTRY = {"hook": "PreCompact", "entry": "4be0c1a2-0000-4000-8000-000000000001"}


def take_out(root: Path, pattern: str = WORD) -> None:
    store = open_recovered_store(root)
    proposal = purge.plan_purge(store, os.environ, reader.read, purge.select_by_pattern(pattern), str(root.parent))
    purge.run_purge(store, os.environ, reader.read, proposal, BY, str(root.parent))


def moment(store: Store, content: str = SECRET, number: int = 1) -> Mapping[str, Any]:
    source = {**ENTRY, "entry": f"{ENTRY['entry'][:-4]}{number:04d}"}
    timestamp = "2026-02-11T10:00:00Z"
    return build_signal_from_input(
        {**facts(content), "source": source, "timestamp": timestamp}, store.machine, utc_precise()
    )


@pytest.fixture
def store(store_home: Path) -> Store:
    """Create a store in which one signal was purged."""
    store = open_store(store_home)
    append.append_new(store, [moment(store)], wait=5)
    take_out(store_home)
    assert load_signals(store_home) == []
    return open_recovered_store(store_home)


def test_a_copy_of_the_transcript_does_not_bring_it_back(run_cli: RunCli, home: Path, store_home: Path) -> None:
    session = Session(home)
    for text in (SECRET, OTHER):
        session.write_sample_work()
        session.say(text)
        session.answer("Understood.")
    run_cli("import", "transcripts")
    assert len(load_signals(store_home)) == 2
    take_out(store_home)
    (kept,) = load_signals(store_home)
    fork = session.path.with_name("6f1c2e1e-0000-4000-8000-00000000000f.jsonl")
    shutil.copyfile(session.path, fork)
    assert run_cli("import", "transcripts").out == "nothing new in 2 transcripts\n"
    shutil.rmtree(store_home / ".git" / "reflect" / "cursors")
    assert run_cli("import", "transcripts").out == "nothing new in 2 transcripts\n"
    assert load_signals(store_home) == [kept]
    assert disk_search.find_texts(store_home, WORD) == []
    require_promises(store_home)


def test_who_asked_before_the_purge_and_writes_after_it_does_not_bring_it_back(store: Store, store_home: Path) -> None:
    pending.write_records(store, [moment(store), moment(store, "always use tabs", number=2)])
    open_recovered_store(store_home)
    assert [signal["content"] for signal in load_signals(store_home)] == ["always use tabs"]
    assert disk_search.find_texts(store_home, WORD) == []
    require_promises(store_home)


def test_a_heap_of_them_is_in_nobodys_way(store: Store, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "MAX_COMMIT_RECORDS", 1)
    others = (moment(store, "always use tabs", number) for number in range(2, 100))
    kept = next(one for one in others if one["id"] > moment(store)["id"])
    pending.write_records(store, [moment(store), kept])
    with store.locked(5):
        inbox.commit_all(store)
    assert pending.list_pending(store) == [] and [signal["id"] for signal in load_signals(store_home)] == [kept["id"]]


def test_a_capture_during_the_purge_does_not_bring_it_back(store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(store_home)
    first = moment(store)
    append.append(store, first, wait=5)
    acknowledge = pending.write_record

    def slowly(store: Store, record: Mapping[str, Any]) -> bytes:
        take_out(store_home)
        return acknowledge(store, record)

    monkeypatch.setattr(pending, "write_record", slowly)
    assert append.append(store, first, wait=5) is None
    assert pending.list_pending(store) == [] and load_signals(store_home) == []
    require_promises(store_home)


def test_mining_takes_it_for_known_and_everything_else_as_ever(store: Store, store_home: Path) -> None:
    new = moment(store, "always use tabs", number=2)
    assert append.append_new(store, [moment(store), new], wait=5) == [new["id"]]
    assert append.append_new(store, [moment(store), new], wait=5) == []
    assert [signal["id"] for signal in load_signals(store_home)] == [new["id"]]


def test_who_stores_it_by_hand_is_told(store: Store) -> None:
    with pytest.raises(ReflectError, match=r"the moment of SIG-20260211-\w{8} was purged"):
        append.append(store, moment(store), wait=5)
    assert pending.list_pending(store) == []


def test_a_hook_does_not_bring_it_back(home: Path, store_home: Path) -> None:
    open_store(store_home)
    session = Session(home)
    failed: dict[str, Any] = {
        "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": f"deploy {WORD}"},
        "error": f"Exit code 1\n{WORD} is not a host", "is_interrupt": False,
    }  # fmt: skip
    session.run_hook("PostToolUseFailure", **failed)
    (gone,) = load_signals(store_home)
    take_out(store_home)
    session.run_hook("PostToolUseFailure", **failed)
    assert load_signals(store_home) == [] and pending.list_pending(open_recovered_store(store_home)) == []
    assert disk_search.find_texts(store_home, WORD) == []
    session.run_hook("PostToolUseFailure", **{**failed, "tool_use_id": "toolu_2"})
    (new,) = load_signals(store_home)
    assert new["id"] != gone["id"], "another failure is another moment"


def test_a_script_does_not_bring_it_back(store: Store, store_home: Path) -> None:
    entry = '{"type": "correction", "content": "x", "timestamp": "2026-02-11T10:00:00Z", "source": {"entry": "%s"}}'
    command = [sys.executable, "-I", "-S", str(REPO / "hooks" / "store.py"), "append", entry % ENTRY["entry"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and '"code":"purged"' in done.stdout
    assert load_signals(store_home) == []


def test_what_an_older_version_purged_is_written_down_by_the_next_command(store: Store, store_home: Path) -> None:
    path = Path(store.private_path(purge_marks.FILE))
    before = path.read_bytes()
    path.unlink()
    open_recovered_store(store_home)
    assert path.read_bytes() == before and path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    with store.locked(5):
        purge_refs.clean_store(store, ["0" * 32])
    assert path.read_text().splitlines() == ["0" * 32, *before.decode().splitlines()], "with what main has"


def test_a_store_without_a_purge_has_no_such_file(store_home: Path) -> None:
    store = open_store(store_home)
    append.append(store, moment(store), wait=5)
    assert not os.path.lexists(open_recovered_store(store_home).private_path(purge_marks.FILE))


def test_a_pattern_that_finds_a_mark_leaves_it(store: Store, store_home: Path) -> None:
    path = Path(store.private_path(purge_marks.FILE))
    with path.open("a") as file:
        file.write("deadbeef" * 4 + "\n")
    capture(store, "the token is deadbeefdeadbeef")
    take_out(store_home, "deadbeefdeadbeef")
    assert "deadbeef" * 4 in path.read_text().splitlines()
    assert purge_marks.find_purged(store, [str(moment(store)["id"])])
