"""Signals expire: completely, never too early, and never because of a wrong clock."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.ids import utc
from reflect_git.store import api, copies, inbox, maintenance, pending, recover
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests import disk_search
from tests.faults import KILL, FaultRun, SavedStore, check_every_fault, git
from tests.store import operations
from tests.store.operations import BY, DAY
from tests.store.store_checks import (
    capture,
    inbox_ids,
    main_paths,
    open_recovered_store,
    open_store,
    require_promises,
    run_maintenance,
    run_maintenance_after,
)
from tests.store.store_checks import list_copies as copied

SECRET = "the zebra prefers tabs"


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def weak(store: Store, content: str, **more: Any) -> str:
    """Capture a weak signal."""
    return capture(store, content, trust="tool_output", type="failure", **more)["id"]


def test_nothing_goes_before_its_time(store: Store, store_home: Path) -> None:
    identity = weak(store, SECRET)
    assert run_maintenance_after(store, 13) == 0
    assert inbox_ids(store_home) == {identity}


def test_what_is_expired_is_nowhere_in_the_store(store: Store, store_home: Path) -> None:
    weak(store, SECRET, context="said by the zebra itself", tags=["zebratag"])
    young = capture(store, "the lion prefers spaces", confidence=2)["id"]
    assert disk_search.find_texts(store_home, SECRET), "the scanner finds what is there"
    assert run_maintenance_after(store, 15) == 1
    assert disk_search.find_texts(store_home, "zebra") == []
    assert inbox_ids(store_home) == copied(store_home) == {young}


def test_what_is_expired_is_not_in_the_cache_either(store: Store, store_home: Path) -> None:
    for number in range(70):  # enough for the cache to be written
        pending.write_record(store, {**_signal(store), "id": f"SIG-20260211-000000{number:02d}"})
    recover.recover_store(store)
    reader.read(store)
    assert any("cache" in place for place in disk_search.find_texts(store_home, SECRET))
    assert run_maintenance_after(store, 15) == 70
    assert disk_search.find_texts(store_home, SECRET) == []


def test_who_looked_before_an_expiry_reads_what_is_left(store: Store, store_home: Path) -> None:
    """A review stays open for long, and loads signals when it first needs them."""
    weak(store, SECRET)
    young = capture(store, "the lion prefers spaces", confidence=2)["id"]
    looked = reader.scan(store)
    assert run_maintenance_after(open_store(store_home), 15) == 1
    assert [signal["id"] for signal in looked.get_signals(looked.rows)] == [young]


def _signal(store: Store) -> dict[str, Any]:
    from reflect_git.capture.new_signal import build_signal_from_input

    facts = {"type": "failure", "trust": "tool_output", "content": SECRET}
    return dict(build_signal_from_input(facts, store.machine, utc()))


def test_a_pack_that_a_killed_writer_kept_does_not_keep_the_text(store: Store, store_home: Path) -> None:
    weak(store, SECRET)
    git(store_home, "repack", "-adq")
    (pack,) = (store_home / ".git/objects/pack").glob("*.pack")
    pack.with_suffix(".keep").write_text("fast-import")
    assert run_maintenance_after(store, 15) == 1
    assert disk_search.find_texts(store_home, SECRET) == []


def test_a_pack_that_a_killed_fetch_kept_does_not_keep_the_text(store: Store, store_home: Path) -> None:
    """`git fetch` marks a pack with its process; a purge that was killed in its fetch left such a mark."""
    ended = subprocess.Popen(["true"])  # not waited for: a zombie, as in a container where nobody reaps
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    host = os.uname().nodename
    weak(store, SECRET)
    git(store_home, "repack", "-adq")
    (pack,) = (store_home / ".git/objects/pack").glob("*.pack")
    pack.with_suffix(".keep").write_text(f"fetch-pack {ended.pid} on {host}\n")
    for name, mark in {
        "live": f"fetch-pack {os.getpid()} on {host}", "elsewhere": f"receive-pack {ended.pid} on another-{host}",
        "mine": "do not repack",
    }.items():  # fmt: skip
        pack.with_name(f"pack-{name}.keep").write_text(f"{mark}\n")
    assert run_maintenance_after(store, 15) == 1
    assert disk_search.find_texts(store_home, SECRET) == []
    assert {one.stem for one in pack.parent.glob("*.keep")} == {"pack-live", "pack-elsewhere", "pack-mine"}
    ended.wait()


def test_temporary_files_of_killed_writers_go_too(store: Store, store_home: Path) -> None:
    weak(store, SECRET)
    left = [store_home / ".git/objects/pack/tmp_pack_x1", store_home / ".git/reflect/pending/.tmp-1-0a"]
    left.append(store_home / ".git/reflect/cache/.tmp-1-0b")
    for path in left:
        path.write_text(SECRET)
        os.utime(path, (time.time() - 7200,) * 2)
    assert run_maintenance_after(store, 15) == 1
    assert disk_search.find_texts(store_home, SECRET) == []


def test_a_dismissed_signal_leaves_no_text_on_main(store: Store, store_home: Path) -> None:
    identity = capture(store, SECRET)["id"]
    api.update(store, reader.read(store), identity, {"status": "dismissed"}, BY, utc())
    assert run_maintenance_after(store, 15) == 1
    assert disk_search.find_texts(store_home, SECRET) == []


def test_a_tally_says_that_and_not_what(store: Store, store_home: Path) -> None:
    weak(store, SECRET, project={"key": "example.com/app", "name": "app"})
    run_maintenance_after(store, 15)
    (path,) = [path for path in main_paths(store_home) if path.startswith("tally/")]
    assert "zebra" not in git(store_home, "show", f"main:{path}")
    assert [line[1:3] for line in reader.read(store).history.tally_lines] == [["failure", "example.com/app"]]


def test_what_expired_still_counts_as_a_session(store: Store) -> None:
    weak(store, SECRET, session_id="one")
    run_maintenance_after(store, 15)
    weak(store, SECRET, session_id="two")
    assert [signal["confidence"] for signal in reader.read(store).signals] == [2]


def test_promoted_signals_stay(store: Store, store_home: Path) -> None:
    identity = capture(store, SECRET)["id"]
    api.promote(store, reader.read(store), identity, {"kind": "global", "path": "~/CLAUDE.md"}, "Tabs.", BY, utc())
    assert run_maintenance_after(store, 4000) == 0
    assert inbox_ids(store_home) == {identity}


def test_the_users_own_words_wait_to_be_shown_once(store: Store) -> None:
    identity = capture(store, SECRET, confidence=2)["id"]
    assert run_maintenance_after(store, 89) == 0
    Path(store.private_path("shown")).write_text(f"{identity}\n")
    assert run_maintenance_after(store, 89) == 1


def test_but_not_longer_than_ninety_days(store: Store) -> None:
    capture(store, SECRET, confidence=2)
    assert run_maintenance_after(store, 91) == 1


@pytest.mark.parametrize("ttl, gone", [("3", 1), ("30", 0), ("never", 0), ("0", 1), ("-5", 0)])
def test_reflect_ttl(store: Store, ttl: str, gone: int) -> None:
    """An invalid number means the default of 14 days; less than a day means a day."""
    weak(store, SECRET)
    with store.locked(5):
        store.change_config({"reflect.ttl": ttl})
    assert run_maintenance_after(store, 5) == gone


@pytest.mark.parametrize("moment", [4_300_000_000.0, 4_300_000_000.0 + 40 * DAY, 0.0, 1.0e9])
def test_nothing_goes_because_of_a_clock(store: Store, store_home: Path, moment: float) -> None:
    """2106, a later year, 1970, 2001: seen once, and then the right time again."""
    identity = weak(store, SECRET)
    run_maintenance(store, time.time())
    for now in (moment, time.time(), time.time() + DAY, time.time() + 2 * DAY):
        assert run_maintenance(store, now) == 0
    assert inbox_ids(store_home) == {identity}


def test_a_future_clock_that_stays_for_days_takes_nothing(store: Store, store_home: Path) -> None:
    identity = weak(store, SECRET)
    run_maintenance(store, time.time())
    assert [run_maintenance(store, 4_300_000_000.0 + day * DAY) for day in range(3)] == [0, 0, 0]
    assert inbox_ids(store_home) == {identity}


def test_a_capture_under_a_clock_of_1970_lives_as_long_as_any_other(store: Store, store_home: Path) -> None:
    with store.locked(5):
        store.change_config({"reflect.born": "2020-01-01T00:00:00Z"})
    record = {**_signal(store), "stored": "1970-01-01T00:00:09Z", "timestamp": "1970-01-01T00:00:09Z"}
    api.append(store, {**record, "id": "SIG-19700101-00000001"})
    run_maintenance(store, time.time())
    assert run_maintenance(store, time.time() + DAY) == 0
    assert inbox_ids(store_home) == {"SIG-19700101-00000001"}


def test_generations_count_up_and_reading_goes_on(store: Store, store_home: Path) -> None:
    for number in range(3):
        weak(store, f"{SECRET} {number}")
        kept = capture(store, f"kept {number}", confidence=3)["id"]
        assert run_maintenance_after(store, 15) == 1
        assert inbox.list_generations(store) == [f"refs/heads/inbox/{store.machine}/{number + 2:04d}"]
        assert kept in {signal["id"] for signal in reader.read(store).signals}
    assert len(reader.read(store).signals) == 3
    require_promises(store_home)


def test_a_branch_of_the_users_beside_our_generations_is_nobody(store: Store, store_home: Path) -> None:
    first = weak(store, SECRET)
    git(store_home, "branch", f"inbox/{store.machine}/0001-mine", f"inbox/{store.machine}/0001")
    os.unlink(store.private_path("cache", "inbox"))
    weak(store, "another one")
    assert run_maintenance_after(store, 15) >= 1
    assert first not in git(store_home, "ls-tree", "-r", "--name-only", f"inbox/{store.machine}/0002")


def test_ten_thousand_generations(store: Store, store_home: Path) -> None:
    git(store_home, "branch", "-m", f"inbox/{store.machine}/0001", f"inbox/{store.machine}/9999")
    Path(store.private_path("cache", "inbox")).unlink(missing_ok=True)
    weak(store, SECRET)
    assert run_maintenance_after(store, 15) == 1
    Path(store.private_path("cache", "inbox")).unlink(missing_ok=True)
    assert inbox.get_current_ref(store).endswith("/10000")


def test_copies_that_the_inbox_lost_come_back(store: Store, store_home: Path) -> None:
    identity = capture(store, "worth keeping")["id"]
    git(store_home, "update-ref", "-d", f"refs/heads/inbox/{store.machine}/0001")
    run_maintenance_after(store, 1)
    require_promises(store_home, [identity])


def test_a_copy_that_is_also_pending_is_rescued_once(store: Store, store_home: Path) -> None:
    identity = capture(store, "worth keeping")["id"]
    (copy,) = (store_home / "signals").rglob(f"{identity}.yaml")
    git(store_home, "update-ref", "-d", f"refs/heads/inbox/{store.machine}/0001")
    os.link(copy, store.private_path("pending", f"{identity}.yaml"))
    with store.locked(5):
        copies.move_lost_to_pending(store)
    require_promises(store_home, [identity])
    assert copied(store_home) == {identity}


def test_upkeep_is_due_once_a_day_and_after_a_jump_back(store: Store) -> None:
    now = time.time()
    assert maintenance.is_due(store, now)
    run_maintenance(store, now)
    assert not maintenance.is_due(store, now + 0.9 * DAY)
    assert maintenance.is_due(store, now + DAY)
    assert maintenance.is_due(store, now - DAY)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"last": "x"}', '{"last": null}', "{"])
def test_a_damaged_note_of_the_last_upkeep_takes_nothing(store: Store, text: str) -> None:
    weak(store, SECRET)
    Path(store.private_path("upkeep.json")).write_text(text)
    assert maintenance.is_due(store, time.time())
    assert run_maintenance(store, 4_300_000_000.0) == 0


@pytest.mark.parametrize("first, step", [(2, 8), pytest.param(1, 1, marks=pytest.mark.slow)])
def test_a_kill_during_expiry_ends_in_one_of_two_states(
    store: Store, store_home: Path, tmp_path: Path, first: int, step: int
) -> None:
    """Everything or nothing is gone after the next command; after the next day's maintenance no text is left."""
    weak(store, SECRET)
    kept = capture(store, "the lion stays", confidence=3)["id"]
    Path(store.private_path("upkeep.json")).write_text(f'{{"last": {time.time() + 19 * DAY}}}')

    def check(fault_run: FaultRun) -> None:
        again = require_promises(store_home, [kept])
        assert copied(store_home) == inbox_ids(store_home)
        run_maintenance_after(again, 21)
        assert inbox_ids(store_home) == copied(store_home) == {kept}
        assert disk_search.find_texts(store_home, SECRET) == []
        lines = reader.read(open_recovered_store(store_home)).history.tally_lines
        assert len(lines) == 1, "a signal went and was counted more or less than once"

    check_every_fault(operations.expire, SavedStore(store_home, tmp_path), KILL, check, first, step)
