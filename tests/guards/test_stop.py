"""A guard for the end of a turn: Claude is sent back once if files were edited and no required command ran after."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.guards import entry, form, stop
from reflect_git.guards.match import Call, find_match
from reflect_git.guards.stop import iter_turns
from reflect_git.guards.table import Guard
from reflect_git.platform import claude_settings
from reflect_git.store.local import firings
from tests.guards.guarded_store import build_event, make_guard, make_store, read_firings, send, send_stop
from tests.sessions import Session

RUFF = "Run ruff before you say you are done."
MATCHER = form.build_matcher(required=["ruff check"])
REASON = f"Rule LRN-20261104-3k7v9q2m: {RUFF}\nRun first: ruff check"


def make_stop_guard(mode: str = "deny", matcher: Any = MATCHER, **more: Any) -> Guard:
    return make_guard(RUFF, mode, matcher=matcher, instead="", **more)


@pytest.fixture
def session(home: Path, store_home: Path, tmp_path: Path) -> Session:
    """Provide a session that was asked for something, in a project."""
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    made = Session(home, cwd=str(project))
    made.say("fix the discount")
    return made


def edit(session: Session, name: str = "src/cart.py", **more: Any) -> None:
    session.run_tool("Edit", file_path=os.path.join(session.cwd, name), old_string="a", new_string="b", **more)


def test_a_command_that_ran_after_all_was_obeyed(session: Session) -> None:
    store = make_store([make_stop_guard()])
    edit(session)
    assert send_stop(session)["decision"] == "block"
    session.run_tool("Bash", command="ruff check src")
    assert send_stop(session, stop_hook_active=True) == {}
    (line,) = read_firings(store, session.name)
    assert firings.count_outcomes([line], {}) == {line["learning"]: [1, 1, 0]}


def test_sends_claude_back_once_with_the_rule(session: Session) -> None:
    store = make_store([make_stop_guard()])
    edit(session)
    answer = send_stop(session)
    assert answer["decision"] == "block" and answer["reason"].endswith(REASON)
    (line,) = read_firings(store, session.name)
    assert (line["tool"], line["outcome"], line["call"]) == ("Stop", "denied", session.prompt)
    assert line["matched"].endswith("src/cart.py")
    assert send_stop(session, stop_hook_active=True) == {}
    assert [one["outcome"] for one in read_firings(store, session.name)] == ["denied", "ignored"]
    assert firings.count_outcomes(read_firings(store, session.name), {}) == {line["learning"]: [1, 0, 0]}
    assert send_stop(session) == {}  # a second Stop of the same turn
    session.say("and the tax")
    assert send_stop(session) == {}  # nothing was edited
    edit(session)
    assert send_stop(session)["decision"] == "block"  # another turn


@pytest.mark.parametrize("command", ["ruff check", "cd web && uv run ruff check --fix .", "bash -c 'ruff check src'"])
def test_the_turn_ends_if_the_command_ran_after_the_last_edit(session: Session, command: str) -> None:
    make_store([make_stop_guard()])
    edit(session)
    session.run_tool("Bash", command=command, output="Exit code 1", error=True)  # it ran, and found something
    assert send_stop(session) == {}
    edit(session)
    assert send_stop(session)["decision"] == "block"


def test_what_did_not_run_does_not_count(session: Session) -> None:
    make_store([make_stop_guard()])
    edit(session, output="<tool_use_error>String to replace not found", error=True)
    assert send_stop(session) == {}
    edit(session)
    session.run_tool("Bash", command="ruff format src; echo 'ruff check'")
    session.reject_tool("not now", command="ruff check")
    session.run_tool("Bash", command="ruff check", output="<tool_use_error>InputValidationError", error=True)
    assert send_stop(session)["decision"] == "block"


def test_what_a_subagent_did_is_not_known(session: Session) -> None:
    make_store([make_stop_guard()])
    edit(session)
    session.run_tool("Agent", prompt="run the checks")
    assert send_stop(session) == {}


@pytest.mark.parametrize("name", ["/tmp/notes.md", "../other/a.py", "docs/guide.md", "src/gen/a.py"])
def test_files_that_do_not_count(session: Session, name: str) -> None:
    matcher = form.add_exceptions(form.build_matcher(paths=["*.py"], required=["ruff check"]), ["src/gen/**"])
    make_store([make_stop_guard(matcher=matcher)])
    edit(session, os.path.normpath(os.path.join(session.cwd, name)))
    assert send_stop(session) == {}


@pytest.mark.parametrize(
    "harm", ["missing", "outside", "no prompt", "another prompt", "text", "nobody", "off", "watch"]
)
def test_otherwise_the_turn_ends(session: Session, home: Path, tmp_path: Path, harm: str) -> None:
    store = make_store([make_stop_guard("watch" if harm == "watch" else "deny")])
    edit(session)
    env: dict[str, str] = {}
    event: dict[str, Any] = {}
    if harm == "missing":
        event = {"transcript_path": str(session.path.with_name("none.jsonl"))}
    elif harm == "outside":
        copy = tmp_path / "copy.jsonl"
        copy.write_bytes(session.path.read_bytes())
        event = {"transcript_path": str(copy)}
    elif harm.endswith("prompt"):
        event = {"prompt_id": None if harm == "no prompt" else "9f"}
    elif harm == "text":
        session.path.write_bytes(b"\xff\x00[[[" + session.path.read_bytes().replace(b"\n", b" "))
    elif harm == "nobody":
        env = {"CLAUDE_CODE_SESSION_ATTENDED": "0"}
    elif harm == "off":
        env = {"REFLECT_GIT_OFF": "1"}
    assert send_stop(session, env, **event) == {}
    assert [one["outcome"] for one in read_firings(store, session.name)] == (["watched"] if harm == "watch" else [])


def test_only_in_the_project_of_the_rule(session: Session) -> None:
    make_store([make_stop_guard(project="example.com/pat/other")])
    edit(session)
    assert send_stop(session) == {}
    make_store([make_stop_guard(project=f"path:{session.cwd}")])
    assert send_stop(session)["decision"] == "block"


def test_a_long_turn_is_read_from_its_end(session: Session) -> None:
    make_store([make_stop_guard()])
    edit(session)
    for _ in range(9):
        session.run_tool("Read", output="x" * (1 << 20), file_path="/srv/big.txt")
    assert send_stop(session) == {}  # the edit is too far back
    edit(session)
    assert send_stop(session)["decision"] == "block"


def test_calls_are_not_checked_and_ends_of_turns_not_by_other_guards(session: Session) -> None:
    make_store([make_stop_guard(), make_guard(learning="LRN-20261104-00000001")])
    written = {"file_path": f"{session.cwd}/a.json", "content": '{"hook_event_name":"Stop"} ruff check'}
    assert send(build_event("Write", session.cwd, **written)) == {}
    assert send(build_event(command="npm ci"))["permissionDecision"] == "deny"
    session.run_tool("Bash", command="npm ci")
    assert send_stop(session) == {}


STEPS = st.lists(st.sampled_from(["edit", "failed edit", "outside", "run", "refused run", "other", "prompt"]))


@given(steps=STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_last_edit_decides(session: Session, steps: list[str]) -> None:
    session.path.unlink(missing_ok=True)
    session.say("go on")
    expected = False
    for step in steps:
        if step == "prompt":
            session.say("go on")
        elif "edit" in step or step == "outside":
            name = "/srv/elsewhere.py" if step == "outside" else "a.py"
            edit(session, name, error=step == "failed edit")
        elif step == "refused run":
            session.reject_tool("no", command="ruff check")
        else:
            session.run_tool("Bash", command="ruff check ." if step == "run" else "ruff format")
        expected = {"edit": True, "run": False, "prompt": False}.get(step, expected)
    entries = [json.loads(line) for line in session.path.read_text().splitlines()]
    *_, last = iter_turns(entries)
    assert bool(last.find_unmet(MATCHER, session.cwd)) == expected


def test_the_matcher_of_the_options() -> None:
    assert MATCHER == {"any": [{"paths": ["**"], "access": "write"}], "requires": [{"run": "ruff check"}]}
    assert form.find_problem(MATCHER) == ""
    assert form.describe_matcher(MATCHER) == "ending a turn without `ruff check` after writing **"
    assert find_match(MATCHER, Call("Write", {"file_path": "a.py", "content": "x"})) == ""
    call = Call("Edit", {"file_path": "/srv/shop/a.py"}, "/srv/shop", "/srv/shop")
    made = form.except_call(MATCHER, call)
    assert made == {**MATCHER, "except": [{"paths": ["a.py"]}]}
    with pytest.raises(ReflectError):
        form.build_matcher(match=["npm"], required=["ruff check"])
    listed: tuple[Any, ...] = ([], ["ruff"], [{"paths": ["x"]}], [{}], {}, None)
    for broken in listed:
        assert form.find_problem({**MATCHER, "requires": broken})
    assert form.find_problem({"any": [{"run": "npm"}], "requires": [{"run": "ruff"}]})


def test_the_entry_is_there_while_such_a_guard_exists(store_home: Path, home: Path) -> None:
    settings_file = home / ".claude" / "settings.json"
    before = b'{"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n'
    settings_file.parent.mkdir()
    settings_file.write_bytes(before)

    def list_events() -> list[str]:
        return [event for event, _ in claude_settings.list_guard_entries(settings_file.read_bytes())]

    for guards, events in (
        ([make_guard()], ["PreToolUse"]), ([make_guard(), make_stop_guard()], ["PreToolUse", "Stop"]),
        ([make_stop_guard()], ["Stop"]), ([make_stop_guard(), make_guard()], ["PreToolUse", "Stop"]),
        ([make_guard()], ["PreToolUse"]),
    ):  # fmt: skip
        make_store(guards)
        entry.install_entry(os.environ)
        assert list_events() == events
        assert entry.entry_state(os.environ) == entry.PRESENT
    make_store([make_guard(), make_stop_guard()])
    assert entry.entry_state(os.environ) == entry.MISSING
    assert entry.remove_entry(os.environ)
    assert settings_file.read_bytes() == before


def test_a_transcript_that_comes_late_is_waited_for_and_one_that_does_not_come_lets_the_turn_end() -> None:
    asked = {"type": "user", "promptId": "p1", "message": {"content": "go"}}
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}}
    event = {"prompt_id": "p1", "last_assistant_message": "Done."}
    states: list[list[dict[str, Any]]] = [[asked], [asked], [asked, said]]
    turn = stop._find_turn(event, lambda: states.pop(0))
    assert turn is not None and turn.text == "Done." and states == []
    assert stop._find_turn(event, lambda: [asked]) is None
