"""The counts that an approval stores, so that later sessions can be compared with them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reflect_git.records.history import session_hash
from reflect_git.records.ids import get_signal_id
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.store import api
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.effect.test_from_store import rules_in
from tests.rules.guard_calls import bash, write_calls
from tests.rules.purges import WORD, purge
from tests.rules.queues import BY, PNPM, capture_signal, get_project_folder, open_queue


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


def test_a_rule_with_a_matcher_counts_the_sessions_with_a_matching_call(store: Store, home: Path) -> None:
    """Its own project only, with a person only, each session once, with the calls of its subagents."""
    here = get_project_folder(os.environ)
    write_calls(home, here, "s-1", [bash("ls"), bash("cd web && npm i zod"), bash("npm i react")], days_ago=9)
    write_calls(home, here, "s-2", [bash("grep 'npm i' README.md"), bash("pnpm add zod")], days_ago=3)
    write_calls(home, here / "web", "s-3", [bash("pnpm add zod")], days_ago=2)
    agent = write_calls(home, here, "agent-1", [bash("env X=1 npm install")], days_ago=2)
    agent.write_text(agent.read_text().replace('"sessionId": "agent-1"', '"sessionId": "s-3"'))
    robot = write_calls(home, here, "s-4", [bash("npm i zod")])
    robot.write_text(robot.read_text().replace('"type": "assistant"', '"entrypoint": "sdk-cli", "type": "assistant"'))
    write_calls(home, home / "mill", "s-5", [bash("npm i zod")])
    Path(home / ".claude/projects/broken.jsonl").write_text('{"half')
    capture_signal(store, PNPM)
    found = approve(store)
    since = json.loads((home / ".claude/projects" / str(here).replace("/", "-").replace(".", "-") / "s-1.jsonl")
                       .read_text().splitlines()[0])["timestamp"]  # fmt: skip
    assert found == {"since": since, "sessions": 3, "events": 2, "by": "hits"}


def test_without_a_matching_call_the_persons_words_are_counted(store: Store, home: Path) -> None:
    write_calls(home, get_project_folder(os.environ), "s-1", [bash("pnpm add zod")])
    capture_signal(store, PNPM)
    assert "by" not in approve(store)


@pytest.mark.parametrize("has_calls", [True, False])
def test_the_baseline_survives_a_purge_of_the_signals_behind_it(
    store: Store, home: Path, run_cli: RunCli, has_calls: bool
) -> None:
    here = get_project_folder(os.environ)
    for number in range(8):
        calls = [bash("npm i zod")] if has_calls and number < 5 else [bash("ls")]
        write_calls(home, here, f"s-{number}", calls)
    for name in ("two", "four"):
        capture_signal(store, PNPM, session_id=name, context=f"{PNPM}, said {WORD}")
    project = reader.read(store).signals[0]["project"]
    record_sessions(store, project, ["one", "two", "three", "four"])
    approve(store)
    before = rules_in(run_cli)
    (counts,) = before.values()
    known = counts["events_before"], counts["sessions_before"], counts["baseline"]
    assert known == ((5, 8, "stored") if has_calls else (2, 4, "stored"))
    purge(store, os.environ)
    assert reader.read(store).signals == []
    assert rules_in(run_cli) == before
