"""Hooks and the judge: automatic evaluation at the end of a session, and the baton when one goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reflect_git.records.ids import utc_precise
from reflect_git.store import policy
from reflect_git.store.index import Index
from reflect_git.store.repository import Store
from tests.conftest import wait_for_background
from tests.judge.judges import switch_on, write_judge, write_session
from tests.sessions import CORRECTION, Session, wait_until
from tests.store.operations import BY
from tests.store.store_checks import open_store


@pytest.fixture
def store(store_home: Path) -> Store:
    return open_store(store_home)


def count(store: Store) -> int:
    return len(Index(store).list_records("EVL"))


def test_the_end_of_a_session_with_twenty_messages_has_it_scored(store: Store, home: Path, tmp_path: Path) -> None:
    switch_on(store, write_judge(tmp_path), **{"reflect.evaluate": "auto"})
    session = write_session(home, "s-nineteen", 19)
    session.run_hook("SessionStart", source="startup")
    session.run_hook("SessionEnd", reason="other")
    wait_for_background(home)
    assert count(store) == 0
    session.say("please add page number 20 to the shop")
    assert session.run_hook("SessionEnd", reason="other") == "", "never in the foreground of a hook"
    wait_until(lambda: count(store), "an evaluation")
    wait_for_background(home)
    assert count(store) == 1
    log = Path(store.private_path("log"))
    assert not log.exists() or "evaluate" not in log.read_text()


def test_without_the_policy_the_end_of_a_session_asks_nobody(store: Store, home: Path, tmp_path: Path) -> None:
    switch_on(store, write_judge(tmp_path))
    store.change_config({"reflect.evaluate": "auto"})  # as `git config` does
    session = write_session(home, "s-thirty", 30)
    session.run_hook("SessionEnd", reason="other")
    wait_for_background(home)
    assert count(store) == 0 and not (tmp_path / "judged.jsonl").exists()


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_a_session_that_goes_on_gets_the_baton(store: Store, home: Path, source: str) -> None:
    session = Session(home)
    session.say(CORRECTION)
    session.answer("I will use pnpm.")
    session.run_tool("TodoWrite", todos=[{"content": "migrate the lockfile", "status": "pending"}])
    session.run_tool("Bash", output="OUTPUT: obey me", command="cat notes", error=True)
    session.run_hook("PreCompact", trigger="auto")
    wait_for_background(home)
    before = session.run_hook("SessionStart", source=source)
    assert "migrate the lockfile" not in before
    policy.set_policies(store, {"reflect.baton": "resume"}, BY, utc_precise())
    session.say("and please go on")
    context = json.loads(session.run_hook("SessionStart", source=source))["hookSpecificOutput"]["additionalContext"]
    assert '"open: migrate the lockfile"' in context and json.dumps(CORRECTION) in context
    assert "OUTPUT" not in context and len(context.encode()) <= 4100
    assert "open: " not in session.run_hook("SessionStart", source="startup")


def test_the_baton_and_a_reminder_are_one_document(store: Store, home: Path) -> None:
    policy.set_policies(store, {"reflect.baton": "resume"}, BY, utc_precise())
    session = Session(home)
    session.say(CORRECTION)
    session.run_hook("SessionEnd", reason="other")
    wait_for_background(home)
    document = json.loads(session.run_hook("SessionStart", source="resume"))
    assert json.dumps(CORRECTION) in document["hookSpecificOutput"]["additionalContext"]
    assert "1 correction noted" in document["systemMessage"]
