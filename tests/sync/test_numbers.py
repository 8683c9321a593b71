"""Numbers of rules that several machines approved before they synced."""

from __future__ import annotations

from pathlib import Path

from reflect_git.records.ids import utc_precise
from reflect_git.records.rule_numbers import number_rules
from reflect_git.store import api
from reflect_git.store.machines import accept_machines
from reflect_git.store.reading import reader
from tests.rules.queues import BY
from tests.store.store_checks import capture
from tests.sync.clones import Clone, create_bare_repository, sync_until_stable


def approve(clone: Clone, text: str, second: int) -> None:
    store = clone.open_store()
    signal = capture(store, text)
    now = f"2026-02-11T10:00:{second:02d}.000Z"
    api.promote(store, reader.read(store), signal["id"], {"kind": "project", "path": "CLAUDE.md"}, text, BY, now)


def get_numbers(clone: Clone) -> dict[str, str]:
    history = reader.scan(clone.open_store()).history
    return {history.learnings[rule]["text"]: number for rule, number in number_rules(history).items()}


def test_machines_that_number_at_the_same_time_end_with_the_same_numbers(tmp_path: Path) -> None:
    remote = create_bare_repository(tmp_path / "remote.git")
    laptop, desk, tower = (Clone(tmp_path / name, str(remote)) for name in ("laptop", "desk", "tower"))
    approve(laptop, "Use uv.", 1)
    sync_until_stable(laptop, desk, tower)
    names = [one.store.machine for one in (laptop, desk, tower)]
    for clone in (laptop, desk, tower):
        accept_machines(clone.open_store(), [name for name in names if name != clone.store.machine], BY, utc_precise())
    approve(laptop, "Use rg.", 3)
    approve(desk, "Use fd.", 2)
    approve(desk, "Use jq.", 5)
    approve(tower, "Use bat.", 4)
    assert [sorted(get_numbers(one).values())[-1] for one in (laptop, desk, tower)] == [
        "PROJ-002", "PROJ-003", "PROJ-002"
    ]  # fmt: skip
    sync_until_stable(tower, desk, laptop)
    expected = {
        "Use uv.": "PROJ-001", "Use fd.": "PROJ-002", "Use rg.": "PROJ-002b", "Use bat.": "PROJ-002c",
        "Use jq.": "PROJ-003",
    }  # fmt: skip
    assert get_numbers(laptop) == get_numbers(desk) == get_numbers(tower) == expected
    approve(tower, "Use delta.", 7)
    sync_until_stable(laptop, desk, tower)
    assert get_numbers(laptop) == get_numbers(desk) == {**expected, "Use delta.": "PROJ-004"}
    for clone in (laptop, desk, tower):
        clone.require_sound()
