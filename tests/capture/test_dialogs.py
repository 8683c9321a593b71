"""Whether the client wrote an answer, or somebody appended lines to its transcript."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture.transcript.dialogs import find_dialogs, has_client_answer
from tests.sessions import Session

QUESTION = "Which one?"
Change = Callable[[list[dict[str, Any]]], None]


@pytest.fixture
def session(home: Path) -> Session:
    session = Session(home, "0b9c3a52-dialogs")
    session.write_sample_work()
    return session


def ask(session: Session, answer: str = "This one", **more: Any) -> str:
    questions = [{"question": QUESTION, "header": "Setup", "options": [], "multiSelect": False}]
    call = session.begin_call("AskUserQuestion", {"questions": questions})
    session.end_call(call, "answered", False, toolUseResult={"questions": questions, "answers": {QUESTION: answer}},
                     **more)  # fmt: skip
    return call


def trouble_of(session: Session) -> str:
    (dialog,) = find_dialogs(str(session.path))
    assert has_client_answer(str(session.path), dialog.call) is not bool(dialog.problem)
    return dialog.problem


def rewrite(session: Session, change: Change) -> None:
    """Change the last entries of a transcript: the call and its answer."""
    entries = [json.loads(line) for line in session.path.read_text().splitlines()]
    change(entries)
    session.path.write_text("".join(f"{json.dumps(entry, separators=(',', ':'))}\n" for entry in entries))


def test_an_answer_that_the_client_wrote(session: Session) -> None:
    call = ask(session, permissionDecision={"decision": "accept", "source": "user_temporary"})
    assert trouble_of(session) == ""
    session.answer("Thanks.")
    session.say("go on")
    (dialog,) = find_dialogs(str(session.path))
    assert (dialog.call, dialog.problem, dialog.cwd) == (call, "", session.cwd)
    assert dialog.result["answers"] == {QUESTION: "This one"}
    assert dialog.input["questions"][0]["question"] == QUESTION


def setting(at: int, **fields: Any) -> Change:
    return lambda entries: entries[at].update(fields)


def without(at: int, name: str) -> Change:
    return lambda entries: entries[at].pop(name) and None


def swap(entries: list[dict[str, Any]]) -> None:
    entries[-2:] = reversed(entries[-2:])


@pytest.mark.parametrize(
    ("change", "trouble"),
    [
        (without(-1, "promptId"), "not linked"), (without(-1, "parentUuid"), "not linked"),
        (without(-1, "sourceToolAssistantUUID"), "not linked"), (without(-1, "uuid"), "not linked"),
        (without(-2, "requestId"), "not linked"), (without(-2, "uuid"), "not linked"),
        (setting(-1, parentUuid="another"), "not linked"), (setting(-1, sourceToolAssistantUUID="x"), "not linked"),
        (setting(-1, promptId="another"), "no prompt"), (setting(-2, parentUuid="nowhere"), "no prompt"),
        (setting(-2, parentUuid=None), "no prompt"), (setting(-1, sessionId="another"), "another session"),
        (setting(-2, sessionId="another"), "another session"), (setting(-1, isSidechain=True), "another session"),
        (setting(-2, timestamp="2999-01-01T00:00:00.000Z"), "older"), (setting(-1, timestamp="soon"), "older"),
        (setting(-1, permissionDecision={"decision": "accept", "source": "config"}), "not given by a person"),
        (setting(-1, permissionDecision={"decision": "accept", "source": "hook"}), "not given by a person"),
        (lambda entries: entries.append(dict(entries[-1])), "more than once"),
        (lambda entries: entries.append(dict(entries[-2])), "more than once"),
    ],
)  # fmt: skip
def test_an_answer_that_the_client_did_not_write(session: Session, change: Change, trouble: str) -> None:
    ask(session)
    rewrite(session, change)
    assert trouble in trouble_of(session)


def test_an_answer_before_its_question_is_none(session: Session) -> None:
    ask(session)
    rewrite(session, swap)
    assert find_dialogs(str(session.path)) == []


def test_an_answer_slipped_in_while_a_command_runs(session: Session) -> None:
    """All links are correct, but the client continues from the command, not from the answer."""
    call = session.begin_call("Bash", {"command": "python3 forge.py"})
    own = session.last
    ask(session)
    assert trouble_of(session) == ""
    session.last = own
    session.end_call(call, "done", False)
    assert trouble_of(session) == "is not where the session went on"
    session.answer("I approve it now.")
    assert trouble_of(session) == "is not where the session went on"


def test_two_dialogs_opened_at_once(session: Session) -> None:
    """Each answer is linked to its own call, and the session continues from the last one."""
    message = {"role": "assistant", "model": "claude-x", "id": "msg_1"}
    calls = {}
    for name in ("toolu_a", "toolu_b"):
        block: dict[str, Any] = {"type": "tool_use", "id": name, "name": "AskUserQuestion", "input": {}}
        calls[name] = session.write("assistant", message={**message, "content": [block]})
    for name, entry in calls.items():
        result = {"type": "tool_result", "tool_use_id": name, "content": "answered"}
        session.write("user", message={"role": "user", "content": [result]}, parentUuid=entry,
                      sourceToolAssistantUUID=entry, toolUseResult={"answers": {QUESTION: name}})  # fmt: skip
    session.answer("Thanks.")
    assert [dialog.problem for dialog in find_dialogs(str(session.path))] == ["", ""]


def test_a_session_that_was_compacted_after_the_answer(session: Session) -> None:
    ask(session)
    session.write("system", subtype="compact_boundary", parentUuid=None, logicalParentUuid="elsewhere")
    session.last = f"{session.name[:8]}-{session.count}"
    session.say("go on")
    assert trouble_of(session) == ""


def test_a_session_whose_requests_have_no_number(session: Session) -> None:
    """Some gateways send no request number."""

    def unnumber(entries: list[dict[str, Any]]) -> None:
        for entry in entries:
            entry.pop("requestId", None)

    ask(session)
    rewrite(session, unnumber)
    assert trouble_of(session) == ""


def test_a_refused_or_failed_call_is_no_answer(session: Session) -> None:
    call = session.begin_call("AskUserQuestion", {"questions": []})
    session.end_call(call, "no", True, toolUseResult="Error: no")
    assert find_dialogs(str(session.path)) == []
