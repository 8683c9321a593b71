"""Past sessions for backtests: newest first, a few calls at first, more on later requests."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reflect_git.records.history import session_hash
from reflect_git.rules import project_files, queue
from reflect_git.rules.project_files import Place
from reflect_git.rules.queue import PastCalls, list_session_starts
from tests.sessions import Session


@pytest.fixture
def place(home: Path) -> Place:
    return Place("/srv/shop", str(home / ".claude"), str(home), None)


def worked(home: Path, place: Place, name: str, *commands: str, age: int = 0) -> None:
    session = Session(home, name)
    for command in commands:
        session.run_tool("Bash", command=command, description="x" * 100)
    moment = session.path.stat().st_mtime - age
    os.utime(session.path, (moment, moment))
    assert session.path.parent == Path(project_files.memory_dir(place)).parent


def commands_of(past: PastCalls) -> list[str]:
    return [given["command"] for _, _, given in past.read_calls()]


def test_a_glance_reads_the_newest_session_and_the_next_look_goes_on(
    home: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(home, place, "old", "npm test", age=3600)
    worked(home, place, "new", "npm install", "ls")
    monkeypatch.setattr(queue, "_FIRST_READ_SECONDS", 0.0)
    monkeypatch.setattr(queue, "_MIN_CALLS", 4)  # the two of the newest, its end, and one of the other
    past = PastCalls(place, os.environ)
    assert (commands_of(past), past.is_read) == (["npm install", "ls"], False)
    assert (commands_of(past), past.is_read) == (["npm install", "ls", "npm test"], True)


def test_a_session_counts_when_it_is_read_to_its_end(home: Path, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    worked(home, place, "new", "npm install", "ls")
    monkeypatch.setattr(queue, "_FIRST_READ_SECONDS", 0.0)
    monkeypatch.setattr(queue, "_MIN_CALLS", 2)
    past = PastCalls(place, os.environ)
    assert (past.read_calls(), past.is_read) == ([], False)
    assert commands_of(past) == ["npm install", "ls"]


def test_of_a_call_only_what_matchers_look_at_is_kept(home: Path, place: Place) -> None:
    worked(home, place, "new", "npm install")
    assert [given for _, _, given in PastCalls(place, os.environ).read_calls()] == [{"command": "npm install"}]


def test_what_is_older_than_sixty_days_is_past_caring(home: Path, place: Place) -> None:
    worked(home, place, "old", "npm test", age=61 * 86400)
    past = PastCalls(place, os.environ)
    assert (past.read_calls(), past.is_read) == ([], True)


def test_a_session_began_when_its_figures_say_or_when_something_was_first_said_in_it() -> None:
    columns = {
        "session_id": ["a", "a", "b", ""],
        "timestamp": ["2026-02-01T11:00:00Z", "2026-02-01T10:00:00Z", "2026-02-02T10:00:00Z", "2026-02-09T10:00:00Z"],
    }
    figures = {"b": "2026-02-02T09:00:00Z", "c": "2026-02-03T10:00:00Z"}
    others = {f"EXP-{name}": {"session": session_hash(name), "start": start} for name, start in figures.items()}
    scan: Any = SimpleNamespace(columns=columns, other_records={"DEC-1": {}, **others})
    assert list_session_starts(scan) == ["2026-02-01T10:00:00Z", "2026-02-02T09:00:00Z", "2026-02-03T10:00:00Z"]
