"""Gathered candidates are cached until something they depend on changes, and gathered again then."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.candidates import gather
from reflect_git.candidates.candidate import LIST_NAMES
from reflect_git.rules.dismiss import dismiss, mark_seen
from reflect_git.rules.queue import Queue
from reflect_git.store import expiry
from reflect_git.store.repository import Store
from tests.disk_search import find_texts
from tests.faults import git
from tests.rules.queues import BY, capture_signal, get_project_folder, open_queue
from tests.store.store_checks import open_store, run_maintenance_after


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    project = home / "shop"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "CLAUDE.md").write_text("# Shop\n\n- Keep modules small.\n", encoding="utf-8")
    store = open_store(store_home)
    capture_signal(store, "use pnpm here, not npm")
    capture_signal(store, "use npm here, not pnpm", session_id="s-2")
    capture_signal(store, "format the sources with black before a commit", session_id="s-3")
    capture_signal(store, "the importer reads at night", confidence=1, trust="assistant", type="convention")
    return store


def told(queue: Queue) -> Any:
    return {name: [each.as_json() for each in getattr(queue.candidates, name)] for name in LIST_NAMES}


@pytest.fixture
def gatherings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets one entry each time candidates are gathered."""
    found: list[str] = []
    real = gather.gather_candidates

    def counted(*args: Any, **wishes: Any) -> Any:
        found.append(wishes["now"])
        return real(*args, **wishes)

    monkeypatch.setattr(gather, "gather_candidates", counted)
    return found


def test_it_is_the_same_whether_it_was_kept_or_not(store: Store, gatherings: list[str]) -> None:
    first = open_queue(store, os.environ)
    whole = told(first)
    assert [len(whole[name]) for name in LIST_NAMES] == [3, 0, 1, 0, 0]
    assert whole["strong"][0]["conflicts_with"]
    first.write_cache()
    assert told(open_queue(store, os.environ)) == whole
    assert len(gatherings) == 1


def test_what_nobody_looked_at_is_gathered_when_somebody_does(store: Store, gatherings: list[str]) -> None:
    first = open_queue(store, os.environ)
    assert first.candidates.strong[0].text == "Use pnpm here, not npm"
    first.write_cache()
    again = open_queue(store, os.environ)
    assert (again.candidates.strong[0].text, len(again.candidates.weak)) == ("Use pnpm here, not npm", 1)
    assert len(gatherings) == 1
    assert told(again) == told(first)
    assert len(gatherings) == 2
    again.write_cache()
    assert told(open_queue(store, os.environ)) == told(first)
    assert len(gatherings) == 2


def test_any_signal_of_a_group_names_it_also_where_it_was_kept(store: Store) -> None:
    signal = capture_signal(store, "don't use npm, use pnpm here", session_id="s-4")
    open_queue(store, os.environ).write_cache()
    assert open_queue(store, os.environ).find_candidate(signal).sessions == 2


def _say_more(store: Store) -> None:
    capture_signal(store, "keep the changelog in order")


def _write_a_rule(store: Store) -> None:
    (get_project_folder(os.environ) / "CLAUDE.md").write_text("- Use pnpm here, not npm.\n", encoding="utf-8")


def _write_as_many_letters_at_the_same_time(store: Store) -> None:
    path = get_project_folder(os.environ) / "CLAUDE.md"
    before = path.stat()
    path.write_text("- Use pnpm here, not npm.", encoding="utf-8")
    path.write_bytes(path.read_bytes().ljust(before.st_size, b"\n"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _say_no(store: Store) -> None:
    dismiss(store, open_queue(store, os.environ).candidates.strong[0], BY)


def _say_not_now(store: Store) -> None:
    mark_seen(store, [open_queue(store, os.environ).candidates.strong[0]])


@pytest.mark.parametrize(
    "change", [_say_more, _write_a_rule, _write_as_many_letters_at_the_same_time, _say_no, _say_not_now]
)
def test_it_is_gathered_anew_when_something_has_changed(store: Store, change: Callable[[Store], None]) -> None:
    first = open_queue(store, os.environ)
    before = told(first)
    first.write_cache()
    change(store)
    after = told(open_queue(store, os.environ))
    assert after != before
    for name in os.listdir(store.private_path("cache")):
        if name.startswith(expiry.CANDIDATE_CACHE_PREFIX):
            os.unlink(store.private_path("cache", name))
    assert told(open_queue(store, os.environ)) == after


def test_on_another_day_it_is_gathered_anew(
    store: Store, gatherings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_queue(store, os.environ).write_cache()
    monkeypatch.setattr("reflect_git.rules.queue.utc", lambda: "2031-02-11T09:30:00Z")
    assert len(open_queue(store, os.environ).candidates.strong) == 3
    assert len(gatherings) == 2


@pytest.mark.parametrize("damage", [b"", b"no seal", b"\xff\xfe\n{", None])
def test_a_damaged_one_is_no_reason(store: Store, damage: bytes | None) -> None:
    first = open_queue(store, os.environ)
    whole = told(first)
    first.write_cache()
    (kept,) = Path(store.private_path("cache")).glob(f"{expiry.CANDIDATE_CACHE_PREFIX}*")
    kept.write_bytes(kept.read_bytes()[:-40] if damage is None else damage)
    assert told(open_queue(store, os.environ)) == whole


def test_it_goes_with_what_it_says(store_home: Path, home: Path) -> None:
    (home / "shop").mkdir()
    git(home / "shop", "init", "-q")
    store = open_store(store_home)
    capture_signal(store, "the zebra prefers tabs", confidence=1, trust="assistant")
    first = open_queue(store, os.environ)
    assert told(first)["weak"]
    first.write_cache()
    assert any(expiry.CANDIDATE_CACHE_PREFIX in place for place in find_texts(store_home, "zebra"))
    assert run_maintenance_after(store, 15) == 1
    assert find_texts(store_home, "zebra") == []
