"""The mod of the plugin asks what to show; `doctor` says whether it does; a hook has waiting answers applied."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.store.local import mod_state
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.sessions import CORRECTION, Session, wait_until


@pytest.fixture
def session(home: Path) -> Session:
    session = Session(home)
    session.write_sample_work()
    return session


def ask(session: Session, **more: Any) -> dict[str, Any]:
    return dict(json.loads(session.run_hook("Band", **more)))


def find_doctor_line(run_cli: RunCli) -> tuple[str, str]:
    found = run_cli("doctor", "--json").json()["data"]
    (line,) = [one for one in found["findings"] if one["check"] == "mod"]
    return str(line["level"]), str(line["message"])


def set_back(store: Path, event: str, seconds: float) -> None:
    for path in (store / ".git/reflect/mod").glob(f"*.{event}"):
        os.utime(path, (time.time() - seconds,) * 2)


def test_the_last_noted_sentence_and_the_count(session: Session, store_home: Path, run_cli: RunCli) -> None:
    session.run_hook("SessionStart", source="startup")
    assert ask(session) == {"noted": "", "count": 0}
    session.run_hook("UserPromptSubmit", prompt=CORRECTION, permission_mode="default")
    assert ask(session) == {"noted": CORRECTION, "count": 1}
    other = Session(session.path.parents[3])
    assert ask(other)["noted"] == "", "of another session"
    (waiting,) = run_cli("candidates", "--json", "--all").json()["data"]
    assert run_cli("dismiss", waiting["id"]).code == 0
    assert ask(session) == {"noted": "", "count": 0}


def test_switched_off(session: Session, store_home: Path, run_cli: RunCli) -> None:
    assert run_cli("init").code == 0
    assert run_cli("config", "reflect.mod", "off").code == 0
    assert ask(session) == {"off": True}
    assert find_doctor_line(run_cli) == ("ok", "switched off (reflect.mod)")


def test_switched_off_for_one_session(session: Session, store_home: Path) -> None:
    assert ask(session, env={"REFLECT_GIT_OFF": "1"}) == {"off": True}
    assert not store_home.exists()


def test_an_error_of_the_mod_is_stored_without_secrets(session: Session, store_home: Path, run_cli: RunCli) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    plugin = {"CLAUDE_PLUGIN_ROOT": "/nowhere", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
    session.run_hook("SessionStart", source="startup", env=plugin)
    ask(session, error=f"cannot read {'x ' * 80}{secret}")
    (mark,) = (store_home / ".git/reflect/mod").glob("*.failed")
    assert "ghp_" not in mark.read_text() and mark.read_text().startswith("cannot read")
    assert "ghp_" not in find_doctor_line(run_cli)[1]


def test_doctor_says_whether_the_mod_works(session: Session, store_home: Path, run_cli: RunCli) -> None:
    plugin = {"CLAUDE_PLUGIN_ROOT": "/nowhere", "CLAUDE_CODE_SESSION_ATTENDED": "1"}
    session.run_hook("SessionStart", source="startup", env=plugin)
    assert find_doctor_line(run_cli)[0] == "ok", "it may still come"
    set_back(store_home, "started", 60)
    level, message = find_doctor_line(run_cli)
    assert (level, message.partition(",")[0]) == ("note", "not loaded in the last session")
    ask(session)
    assert find_doctor_line(run_cli) == ("ok", "answered in the last session with the plugin")
    session.run_hook("UserPromptSubmit", prompt=CORRECTION, env=plugin)
    set_back(store_home, "seen", 60)
    set_back(store_home, "prompted", 30)
    assert find_doctor_line(run_cli)[1].startswith("stopped in the last session")
    ask(session)
    assert find_doctor_line(run_cli)[0] == "ok"
    ask(session, error="heard is not defined")
    level, message = find_doctor_line(run_cli)
    assert level == "warning" and message.endswith("heard is not defined")


def test_old_marks_are_deleted(session: Session, store_home: Path) -> None:
    session.run_hook("SessionStart", source="startup")
    store = Store(str(store_home), os.environ)
    for number in range(80):
        mod_state.mark(store, f"session {number}", mod_state.SEEN)
    mod_state.delete_old_marks(store, time.time())
    assert len(list((store_home / ".git/reflect/mod").iterdir())) == 60
    mod_state.delete_old_marks(store, time.time() + 31 * 86400)
    assert list((store_home / ".git/reflect/mod").iterdir()) == []


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_a_hook_has_a_waiting_answer_applied(event: str, session: Session, store_home: Path, tmp_path: Path) -> None:
    session.run_hook("SessionStart", source="startup")
    answers = store_home / ".git/reflect/answers"
    answers.mkdir(exist_ok=True)
    program, called = tmp_path / "plugin" / "bin" / "reflect-git", tmp_path / "called"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$@" >{called}.new && mv {called}.new {called}\n')
    program.chmod(0o755)
    more = {"SessionStart": {"source": "startup"}, "SessionEnd": {"reason": "other"}}.get(event, {"prompt": "go on"})
    session.run_hook(event, env={"CLAUDE_PLUGIN_ROOT": str(tmp_path / "plugin")}, **more)
    assert not called.exists()
    (answers / "keep-0123456789abcdef0123.json").write_text("{}")
    session.run_hook(event, env={"CLAUDE_PLUGIN_ROOT": str(tmp_path / "plugin")}, **more)
    wait_until(called.exists, "the program was started")
    assert called.read_text() == "keep --wait 2\n"
