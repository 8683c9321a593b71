"""The first session says once what will happen; a later one says once a day what is new."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reflect_git.capture import sessions
from tests.conftest import RunCli, wait_for_background
from tests.hooks.test_notice import STRONG, LiveSession

SCREEN = {"CLAUDE_PLUGIN_ROOT": "/opt/plugin", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
PRINT = {"CLAUDE_PLUGIN_ROOT": "/opt/plugin", "CLAUDE_CODE_SESSION_ATTENDED": "0"}


def start(home: Path, env: dict[str, str]) -> str:
    printed = LiveSession(home).run_hook("SessionStart", env, source="startup")
    wait_for_background(home)
    return str(json.loads(printed)["systemMessage"]) if printed else ""


@pytest.mark.parametrize("env", [SCREEN, PRINT])
def test_the_first_session_says_it_once(home: Path, store_home: Path, env: dict[str, str]) -> None:
    assert start(home, env) == sessions.WELCOME
    assert start(home, env) == ""


def test_what_a_print_run_said_is_said_again_on_the_screen(home: Path, store_home: Path) -> None:
    assert start(home, PRINT) == sessions.WELCOME
    assert [start(home, SCREEN), start(home, SCREEN), start(home, PRINT)] == [sessions.WELCOME, "", ""]


def test_people_who_had_sessions_before_are_not_welcomed(home: Path, store_home: Path) -> None:
    start(home, SCREEN)
    for mark in (store_home / ".git/reflect").glob("welcomed-*"):
        mark.unlink()
    LiveSession(home).write_sample_work()
    session = LiveSession(home)
    session.write_sample_work()
    session.run_hook("SessionEnd", SCREEN, reason="other")
    wait_for_background(home)
    assert [start(home, SCREEN), start(home, PRINT)] == ["", ""]


def test_a_reminder_counts_what_is_new_and_comes_once(home: Path, store_home: Path, run_cli: RunCli) -> None:
    start(home, SCREEN)
    session = LiveSession(home, cwd=str(home))
    session.write_sample_work()
    for text in (STRONG, "no, never push to main, always open a pull request"):
        assert session.run_hook("UserPromptSubmit", SCREEN, prompt=text)
        session.say(text)
        session.answer("As you wish.")
    session.run_hook("SessionEnd", SCREEN, reason="other")
    wait_for_background(home)
    later = LiveSession(home, cwd=str(home))
    said = later.run_hook("SessionStart", SCREEN, source="startup")
    assert json.loads(said)["systemMessage"] == "reflect-git: 2 corrections noted; /reflect or 'reflect-git review'"
    (store_home / ".git/reflect/reminded").unlink()  # another day
    for left in (store_home / ".git/reflect/cache").glob(".tmp-reminded-*"):
        left.unlink()
    assert LiveSession(home, cwd=str(home)).run_hook("SessionStart", SCREEN, source="startup") == "", "nothing is new"
    wait_for_background(home)


def test_what_was_answered_in_the_session_is_no_news(home: Path, store_home: Path, run_cli: RunCli) -> None:
    start(home, SCREEN)
    session = LiveSession(home, cwd=str(home))
    session.write_sample_work()
    session.run_hook("UserPromptSubmit", SCREEN, prompt=STRONG)
    wait_for_background(home)
    (waiting,) = run_cli("candidates", "--json").json()["data"]
    assert run_cli("dismiss", waiting["id"], "--never").code == 0
    session.run_hook("SessionEnd", SCREEN, reason="other")
    wait_for_background(home)
    assert start(home, SCREEN) == ""
