"""The counts that an approval stores, so that later sessions can be compared with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.history import session_hash
from reflect_git.records.ids import moment_id
from reflect_git.rules.approve import Request, carry_out, propose
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules.queues import BY, PNPM, project_of, say, sit


def record_sessions(store: Store, project: Any, names: list[str]) -> None:
    made = []
    for number, name in enumerate(names):
        start = f"2026-02-{number + 1:02d}T09:00:00Z"
        made.append({
            "id": moment_id(start, name, "exposure", prefix="EXP"), "version": 1, "session": session_hash(name),
            "project": project, "start": start, "end": start, "turns": 2, "typed": 1, "corrections": 0,
            "failures": {}, "interruptions": 0, "model": None, "client": None, "attended": True, "rules": {},
            "hits": {},
        })  # fmt: skip
    api.record(store, made, f"record: {len(made)} sessions", {})


def approve(store: Store) -> dict[str, Any]:
    here = sit(store, os.environ)
    carry_out(here, propose(here, Request(here.gathered.strong[0], to="project")), BY)
    (made,) = (one for one in reader.scan(store).history.decisions if one["kind"] == "approved")
    return dict(made["meta"]["baseline"])


@pytest.mark.parametrize("is_here", [True, False])
def test_an_approval_stores_the_sessions_before_it(shelf: Store, shop: Path, is_here: bool) -> None:
    assert shop == project_of(os.environ)
    say(shelf, PNPM, session_id="two")
    say(shelf, PNPM, session_id="four")
    project = reader.read(shelf).signals[0]["project"]
    record_sessions(shelf, project if is_here else {"key": "git.example.org/other", "name": "other"}, ["one", "six"])
    record_sessions(shelf, project, ["two", "three", "four"])
    started, sessions = "2026-02-01T09:00:00Z", 5 if is_here else 3
    assert approve(shelf) == {"since": started, "sessions": sessions, "events": 2}


def test_without_recorded_sessions_the_counts_are_zero(shelf: Store) -> None:
    say(shelf, PNPM)
    assert approve(shelf) == {"since": None, "sessions": 0, "events": 0}
