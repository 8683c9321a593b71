"""The cost of calls to Claude is recorded before and after each call, with a daily cap."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import service
from reflect_git.errors import ReflectError
from reflect_git.records.ids import utc
from reflect_git.store import policy
from reflect_git.store.local import usage
from reflect_git.store.repository import Store

ME: Any = {"road": "terminal", "name": "Ada", "email": "ada@localhost"}


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def lines(store: Store) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(store.private_path("usage.jsonl")).read_text().splitlines()]


def test_a_call_is_reserved_then_settled_in_one_line(store: Store) -> None:
    line = usage.reserve_cost(store, "word", "haiku", 0.01, 2000)
    assert (line["state"], line["usd"], usage.get_spent_today(store)) == ("reserved", 0.25, 0.25)
    usage.record_cost(store, line, usage.DONE, usd=0.004, tokens=2100, rules=3)
    (kept,) = lines(store)
    assert kept == {**line, "state": "done", "usd": 0.004, "tokens": 2100, "rules": 3}
    assert usage.get_spent_today(store) == 0.004
    assert os.stat(store.private_path("usage.jsonl")).st_mode & 0o777 == 0o600


def test_the_cap_counts_what_a_killed_process_reserved(store: Store) -> None:
    policy.set_policies(store, {usage.CAP_KEY: "0.30"}, ME, utc())
    usage.reserve_cost(store, "word", "haiku", 0.01, 2000)
    assert usage.reserve_cost(store, "word", "haiku", 0.01, 2000)["usd"] == 0.05
    with pytest.raises(ReflectError) as caught:
        usage.reserve_cost(store, "word", "haiku", 0.01, 2000)
    assert caught.value.message == "the daily cap of $0.30 is reached: $0.30 was used today"
    assert caught.value.hint and "reflect-git config reflect.maxUsdPerDay 1.00" in caught.value.hint
    assert len(lines(store)) == 2


def test_a_cap_of_nothing_allows_nothing(store: Store) -> None:
    policy.set_policies(store, {usage.CAP_KEY: "0.00"}, ME, utc())
    with pytest.raises(ReflectError, match=r"the daily cap of \$0.00 is reached"):
        usage.reserve_cost(store, "word", "haiku", 0.0, 1)


def test_a_cap_that_was_raised_by_hand_does_not_count(store: Store) -> None:
    store.change_config({usage.CAP_KEY: "1000"})
    assert usage.get_cap(store) == 2.0


def test_another_day_starts_at_nothing_and_old_lines_go(store: Store) -> None:
    now = time.time()
    old = [{"id": f"USE-{days}", "at": utc(now - days * 86400), "usd": 1.5, "state": "done"} for days in (2, 89, 91)]
    Path(store.private_path("usage.jsonl")).write_text("".join(json.dumps(line) + "\n" for line in old))
    assert usage.get_spent_today(store) == 0
    usage.reserve_cost(store, "word", "haiku", 0.01, 2000)
    assert [line["id"][:6] for line in lines(store)][:2] == ["USE-2", "USE-89"] and len(lines(store)) == 3


def test_damaged_lines_are_skipped(store: Store) -> None:
    path = Path(store.private_path("usage.jsonl"))
    path.write_bytes(b'{"id":1}\n\xff\n[]\n{"id":"a","at":"2026-01-01T00:00:00Z","usd":"x"}\n' + b'{"id":' * 3)
    assert usage.read(store) == []
    assert usage.reserve_cost(store, "word", "haiku", 0.01, 2000)["usd"] == 0.25
