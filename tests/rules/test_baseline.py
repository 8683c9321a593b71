"""The counts that an approval stores, so that later sessions can be compared with them."""

from __future__ import annotations

import os
from typing import Any

import pytest

from reflect_git.records.history import session_hash
from reflect_git.records.ids import get_signal_id
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules.queues import BY, PNPM, capture_signal, open_queue


def record_sessions(store: Store, project: Any, names: list[str]) -> None:
    made = []
    for number, name in enumerate(names):
        start = f"2026-02-{number + 1:02d}T09:00:00Z"
        made.append({
            "id": get_signal_id(start, name, "exposure", prefix="EXP"), "version": 1, "session": session_hash(name),
            "project": project, "start": start, "end": start, "turns": 2, "typed": 1, "corrections": 0,
            "failures": {}, "interruptions": 0, "model": None, "client": None, "attended": True, "rules": {},
            "hits": {},
        })  # fmt: skip
    api.commit_records(store, made, f"record: {len(made)} sessions", {})


def approve(store: Store) -> dict[str, Any]:
    here = open_queue(store, os.environ)
    write_approval(here, plan_approval(here, Request(here.candidates.strong[0], to="project")), BY)
    (made,) = (one for one in reader.scan(store).history.decisions if one["kind"] == "approved")
    return dict(made["meta"]["baseline"])


@pytest.mark.parametrize("is_here", [True, False])
def test_an_approval_stores_the_sessions_before_it(store: Store, is_here: bool) -> None:
    capture_signal(store, PNPM, session_id="two")
    capture_signal(store, PNPM, session_id="four")
    project = reader.read(store).signals[0]["project"]
    record_sessions(store, project if is_here else {"key": "git.example.org/other", "name": "other"}, ["one", "six"])
    record_sessions(store, project, ["two", "three", "four"])
    started, sessions = "2026-02-01T09:00:00Z", 5 if is_here else 3
    assert approve(store) == {"since": started, "sessions": sessions, "events": 2}


def test_without_recorded_sessions_the_counts_are_zero(store: Store) -> None:
    capture_signal(store, PNPM)
    assert approve(store) == {"since": None, "sessions": 0, "events": 0}
