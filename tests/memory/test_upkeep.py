"""Upkeep: killed wherever it may be, the next run ends in the state of a run that was never killed."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.memory.upkeep import Upkeep, describe_last_run
from reflect_git.platform import faults
from reflect_git.records.ids import get_signal_id, utc
from reflect_git.store import append, index, maintenance, policy
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import SavedStore
from tests.store.operations import DAY
from tests.store.store_checks import capture, open_store, require_promises

STEPS = [
    "recover", "mine sessions", "deduplicate", "week digests", "month digests", "expire", "index", "prune and repack",
    "fitness row", "report",
]  # fmt: skip
NOW = 1771372800.0  # 2026-02-18
MONDAY = 1768176000.0  # 2026-01-12


@pytest.fixture
def store(store_home: Path) -> Store:
    """Create six weeks of signals, some of them twice, that a single run has to digest, merge and expire."""
    store = open_store(store_home)
    policy.set_keys(store, {"reflect.born": utc(MONDAY - 30 * DAY)})
    store = open_store(store_home)
    base = dict(capture(store, "a remark of today"))
    records = []
    for day in range(37):
        for twin in (0, 1) if day % 5 == 0 else (0,):
            when = MONDAY + day * DAY + twin
            records.append({
                **base, "id": get_signal_id(utc(when), f"{day}-{twin}", "test"), "timestamp": utc(when),
                "stored": f"{utc(when)[:-1]}.000Z", "content": f"fact {day % 9}", "key": f"k{day % 9}",
                "type": "gotcha", "session_id": f"session-{day}", "trust": "assistant", "confidence": 1,
            })  # fmt: skip
    append.append_new(store, records)
    maintenance.save_state(store, last=NOW - 8 * DAY)
    return store


def describe(store: Store) -> dict[str, Any]:
    """Return everything that has to be equal afterwards: the records, and what upkeep left."""
    found = reader.read(store)
    listed = {
        one: {name: value for name, value in record.items() if name != "timestamp"} if one[:3] == "DIG" else record
        for one, record in found.by_id.items()
    }
    tallies = sorted(str(line) for one in found.history.tallies for line in one["lines"])
    state = {name: maintenance.load_state(store).get(name) for name in ("last", "ended", "fitness")}
    with_texts = {one: record for one, record in listed.items() if not one.startswith("TLY")}
    return {"records": with_texts, "tallies": tallies, **state}


def test_the_ten_steps_and_their_counts(store: Store) -> None:
    done = {result.name: result.done for result in Upkeep(store, store.env, NOW).run()}
    assert list(done) == STEPS
    assert done["deduplicate"] == 8 and done["week digests"] == 5 and done["expire"] > 20 and done["index"] > 20
    assert describe_last_run(store)["ended"] == "ok" and maintenance.get_last_run(store) == NOW
    again = {result.name: result.done for result in Upkeep(store, store.env, NOW).run()}
    assert [again[name] for name in STEPS[:6]] == [0] * 6, "nothing is left to do"


@pytest.mark.parametrize("number", range(1, len(STEPS) + 1), ids=STEPS)
def test_a_run_killed_at_a_step_is_completed_by_the_next(
    store: Store, store_home: Path, tmp_path: Path, number: int
) -> None:
    saved = SavedStore(store_home, tmp_path)
    Upkeep(store, store.env, NOW).run()
    wanted = describe(open_store(store_home))
    saved.restore()
    child = os.fork()
    if not child:
        killed = open_store(store_home)
        Upkeep(killed, killed.env, NOW).run(lambda name, at, total: os.kill(os.getpid(), 9) if at == number else None)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    again = open_store(store_home)
    assert describe_last_run(again)["ended"] == "interrupted"
    Upkeep(again, again.env, NOW).run()
    assert describe(open_store(store_home)) == wanted
    require_promises(store_home)


@pytest.mark.parametrize("number", (3, 11, 19, 27, 35, 43, 51, 60, 70, 80, 95, 110))
def test_a_run_killed_within_a_step_is_completed_by_the_next(
    store: Store, store_home: Path, tmp_path: Path, number: int
) -> None:  # fmt: skip
    saved = SavedStore(store_home, tmp_path)
    Upkeep(store, store.env, NOW).run()
    wanted = describe(open_store(store_home))
    saved.restore()
    child = os.fork()
    if not child:
        killed = open_store(store_home)
        seen = [0]

        def count(*_: object) -> None:
            seen[0] += 1
            if seen[0] == number:
                os.kill(os.getpid(), 9)

        faults.point = count  # type: ignore[assignment]
        Upkeep(killed, killed.env, NOW).run()
        os._exit(0)
    assert os.waitpid(child, 0)[1] in (signal.SIGKILL, 0), "a run with fewer side effects ended"
    again = open_store(store_home)
    Upkeep(again, again.env, NOW).run()
    assert describe(open_store(store_home)) == wanted
    require_promises(store_home)


def test_a_step_that_fails_is_named_and_the_run_is_due_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ReflectError("no space left on device")

    monkeypatch.setattr(Upkeep, "_index", fail)
    with pytest.raises(ReflectError, match="no space"):
        Upkeep(store, store.env, NOW).run()
    found = describe_last_run(store)
    assert (found["ended"], found["step"], found["why"]) == ("failed", "index", "no space left on device")
    assert not maintenance.is_due(store, NOW + 60), "not at once, at every command"
    assert maintenance.is_due(store, NOW + 7200)


def test_second_captures_of_one_moment_go_and_stay_counted(store: Store) -> None:
    before = len(reader.read(store).signals)
    run = Upkeep(store, store.env, MONDAY + 36 * DAY)
    assert run._deduplicate()[0] == 8
    after = reader.read(store)
    assert len(after.signals) == before - 8 and len(after.history.tally_lines) == 8
    assert run._deduplicate()[0] == 0


def test_the_index_is_ready_afterwards(store: Store) -> None:
    Upkeep(store, store.env, NOW).run()
    assert os.path.exists(index.get_path(store)) and Index(store).search("remark") != []


def test_the_command(store: Store, run_cli: RunCli, store_home: Path) -> None:
    done = run_cli("upkeep")
    assert [line.partition("  ")[0] for line in done.out.splitlines()] == STEPS
    data = json.loads(run_cli("upkeep", "--json").out)["data"]
    assert data["due"] and [step["name"] for step in data["steps"]] == STEPS
    assert json.loads(run_cli("upkeep", "--if-due", "--json").out)["data"] == {"due": False, "steps": []}
    assert run_cli("upkeep", "--if-due").err.startswith("not due")
    assert time.time() - maintenance.get_last_run(open_store(store_home)) < 600
    require_promises(store_home)
