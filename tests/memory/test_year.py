"""A simulated year, and one month of it: nothing is lost, what was said is found, and the store stays small."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reflect_git.memory import digest_page, digests, search
from reflect_git.platform import yaml_loose
from reflect_git.store.index import Index
from reflect_git.store.reading import reader
from tests import counters
from tests.memory.year import START, Year, start_year
from tests.store.operations import DAY
from tests.store.store_checks import require_promises

MAX_BYTES = 60 << 20
MIN_RATIO = 50.0
MIN_FOUND = 0.9


def run_days(year: Year, days: int, per_day: float, facts: int, pause: range = range(0)) -> None:
    """Work `days` days with `per_day` sessions each, and say `facts` facts. No command is run in the pause."""
    total, planted = round(days * per_day), 0
    first = year.count
    for day in range(days):
        year.now = START + day * DAY + 9 * 3600
        while year.count - first < round((day + 1) * per_day):
            done = (year.count - first + 1) / total
            fact = year.plant(len(year.facts)) if planted < round(done * facts) else None
            planted += fact is not None
            year.run_session(fact)
            year.now += 1800
        year.end_day(has_upkeep=day not in pause)


def list_lost(year: Year) -> list[str]:
    """Return the signals that were stored once and are now neither there, nor in a digest, nor counted in a tally."""
    snapshot = reader.read(year.open())
    cited = digests.list_cited(digests.load_digests(snapshot))
    return sorted(year.seen - {one["id"] for one in snapshot.signals} - cited)


def list_missed(year: Year) -> list[str]:
    """Return the planted facts older than 30 days that a search with at most three words does not find."""
    store = year.open()
    index = Index(store, yaml_loose.parse_edited)
    missed = []
    for fact in year.facts:
        if fact.when <= year.now - 30 * DAY:
            assert len(fact.query.split()) <= 3
            hits = search.search(store, index, fact.query, limit=10)
            wanted = fact.text.casefold().rstrip(".")
            if not any(" ".join(wanted.split()[-5:]) in hit.text.casefold() for hit in hits):
                missed.append(f"{fact.query}: {fact.text}")
    index.close()
    return missed


def measure_month(year: Year, month: str) -> float:
    """Return how many characters of conversation one character of the digest of a month stands for."""
    store = year.open()
    index = Index(store, yaml_loose.parse_edited)
    page = digest_page.load_page(store, index, *digests.get_bounds(month), month)
    index.close()
    return page.ratio


def measure_store(home: Path) -> int:
    return sum(path.lstat().st_size for path in home.rglob("*") if path.is_file())


def test_a_month(home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    year = start_year(home, store_home, monkeypatch, seed=1)
    run_days(year, days=28, per_day=125 / 28, facts=20, pause=range(20, 28))
    year.now += 40 * DAY  # nothing was run
    year.end_day()
    year.now += 8 * DAY
    year.end_day()
    assert list_lost(year) == []
    missed = list_missed(year)
    assert len(missed) <= 2, missed
    assert measure_month(year, "2026-01") >= MIN_RATIO
    assert measure_store(store_home) < MAX_BYTES / 12
    require_promises(store_home)


@pytest.mark.slow
def test_a_year(home: Path, store_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    year = start_year(home, store_home, monkeypatch, seed=2)
    run_days(year, days=364, per_day=1500 / 364, facts=200, pause=range(200, 230))
    year.now += 31 * DAY  # so that every fact is older than 30 days
    year.end_day()
    assert list_lost(year) == []
    missed = list_missed(year)
    found = len(year.facts) - len(missed)
    months = [f"2026-{month:02d}" for month in range(1, 12)]
    ratios = {month: round(measure_month(year, month)) for month in months}
    size = measure_store(store_home)
    for what, number in (("signals", len(year.seen)), ("facts", len(year.facts)), ("facts found", found),
                         ("store in KB", size >> 10), ("lowest ratio of a month", min(ratios.values()))):  # fmt: skip
        counters.count(f"a simulated year: {what}", number)
    assert len(missed) <= (1 - MIN_FOUND) * len(year.facts), missed
    assert min(ratios.values()) >= MIN_RATIO, ratios
    assert size < MAX_BYTES
    require_promises(store_home)
    _require_budget(store_home)


def _require_budget(store_home: Path) -> None:
    """Compare fresh processes with `--version`, the fastest of some runs each; the index is warm."""
    program = Path(sys.executable).parent / "reflect-git"
    floor = _time_fastest(program, "--version")
    for words in (("search", "staging", "database"), ("incidents",), ("digest", "--week", "--last")):
        assert _time_fastest(program, *words) <= 4 * floor, words


def _time_fastest(program: Path, *words: str) -> float:
    times = []
    for _ in range(8):
        begun = time.perf_counter()
        subprocess.run([program, *words], env=os.environ, check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    return min(times)
