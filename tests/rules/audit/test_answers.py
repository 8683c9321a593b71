"""An approval inside Claude Code rests on a person's answer, which counts once and is in the transcript."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reflect_git.rules import client_questions
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.rules.audit.audited_store import TABS, create_audited_store, run_audit
from tests.rules.queues import BY, PNPM, capture_signal, open_queue
from tests.sessions import Session

if TYPE_CHECKING:
    from reflect_git.records.schema import DecisionAuthor

ASKED: DecisionAuthor = {**BY, "road": "ask-user-question"}
LABEL = "Add to project CLAUDE.md"


@pytest.fixture
def store(store_home: Path, home: Path) -> Store:
    return create_audited_store(store_home, home)


@pytest.fixture
def session(home: Path) -> Session:
    session = Session(home, "0b9c3a52-answers")
    session.say("review what you learned")
    return session


def answer(store: Store, session: Session, words: str, basis: Mapping[str, str] | None, label: str = LABEL) -> str:
    """Ask the person, answer, and approve; the transcript has it unless `label` is empty."""
    signal = capture_signal(store, words, session_id=session.name)
    queue = open_queue(store, {**os.environ, "CLAUDE_CODE_SESSION_ID": session.name})
    candidate = queue.candidates.find_candidate(signal)
    assert candidate is not None
    if label:
        question: dict[str, Any] = client_questions.store_candidate_question(queue, candidate, 1, 1)
        answered = {"questions": [question], "answers": {question["question"]: label}}
        call = session.begin_call("AskUserQuestion", {"questions": [question]})
        session.end_call(call, "answered", False, toolUseResult=answered)
        basis = {"session": session.name, "call": call} if basis is None else basis
    proposal = plan_approval(queue, Request(candidate, to="project"))
    return write_approval(queue, proposal, ASKED, basis).learning


def found(store: Store) -> list[str]:
    return [one.code for one in run_audit(store).findings]


def test_an_answer_that_the_transcript_tells(store: Store, session: Session) -> None:
    answer(store, session, PNPM, None)
    answer(store, session, TABS, None)
    assert found(store) == []


def test_an_answer_that_the_client_did_not_write(store: Store, session: Session) -> None:
    """Inserted into the transcript while a command ran, with all links correct."""
    call = session.begin_call("Bash", {"command": "python3 forge.py"})
    own = session.last
    answer(store, session, PNPM, None)
    session.last = own
    session.end_call(call, "done", False)
    (one,) = run_audit(store).findings
    assert (one.code, "the client did not write that answer" in one.message) == ("answer-unfounded", True)


def test_an_answer_that_was_replayed(store: Store, session: Session) -> None:
    """For another text, by the same call: the person was not asked about that."""
    answer(store, session, PNPM, None)
    call = f"toolu_{session.name[:8]}_0"
    answer(store, session, TABS, {"session": session.name, "call": call}, label="")
    assert found(store) == ["answer-unfounded"]
    session.path.unlink()
    again = "no, never use npm in this project: use pnpm"
    basis = {"session": session.name, "call": call}
    learning = answer(store, session, again.replace("pnpm", "yarn"), basis, label="")
    assert learning
    assert found(store) == ["transcript-gone"]


def test_an_answer_that_was_used_twice_for_one_text(store: Store, session: Session) -> None:
    from reflect_git.records.ids import utc_precise
    from reflect_git.store import api

    answer(store, session, PNPM, None)
    (first,) = reader.read(store).history.decisions
    again = api.build_decision(
        store, "amended", first["subject"], ASKED, utc_precise(), text=first["text"], target=first["target"],
        meta=dict(first["meta"]),
    )  # fmt: skip
    trailers = {"Learning-Id": [first["subject"]], "Session": [session.name], "Target": ["CLAUDE.md"],
                "Approved-By": ["ask-user-question"]}  # fmt: skip
    api.commit_records(store, [again], "amend: again", trailers)
    assert found(store) == ["answer-replayed"]
    session.path.unlink()
    assert found(store) == ["answer-replayed", "transcript-gone"]


def test_more_answers_than_a_dialogue_has_questions(store: Store, session: Session) -> None:
    pairs = (("pnpm", "npm"), ("tabs", "spaces"), ("ruff", "black"), ("podman", "docker"), ("zsh", "bash"))
    words = [f"no, always use {one}, never {other}" for one, other in pairs]
    basis = {"session": session.name, "call": "toolu_1"}
    for said in words:
        answer(store, session, said, basis, label="")
    session.path.unlink(missing_ok=True)
    assert found(store) == ["answer-replayed", "transcript-gone"]


def test_an_answer_that_means_something_else(store: Store, session: Session) -> None:
    answer(store, session, PNPM, None, label="Skip")
    (one,) = run_audit(store).findings
    assert (one.code, "answered 'Skip'" in one.message) == ("answer-unfounded", True)


def test_no_answer_at_all(store: Store, session: Session) -> None:
    session.say("hello")
    answer(store, session, PNPM, {}, label="")
    assert "answer-missing" in found(store)


def test_an_answer_of_another_session_than_the_commit_says(store: Store, session: Session) -> None:
    answer(store, session, PNPM, {"session": "another", "call": "toolu_1"}, label="")
    assert "trailer-forged" in found(store)


@pytest.mark.parametrize(
    "command",
    [
        "python3 -I -S /opt/reflect-git/hooks/hook.py PostToolUse < /tmp/event.json",
        "sh /opt/reflect-git/hooks/launch.sh PostToolUse < /tmp/event.json",
        "cat /tmp/entry.json >> ~/.claude/projects/-srv-shop/0b9c3a52-answers.jsonl",
        "python3 -c \"open('/home/me/.claude/projects/x.jsonl', 'a').write('{}')\"",
    ],
)
def test_an_answer_near_which_the_hook_was_called_by_hand(store: Store, session: Session, command: str) -> None:
    answer(store, session, PNPM, None)
    other = Session(Path(os.environ["HOME"]), "another-session")
    decided = reader.read(store).history.decisions[-1]["timestamp"]
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls ~/.claude/projects"}}
    other.write("assistant", message={"role": "assistant", "content": [call]}, timestamp=decided)
    assert found(store) == []
    call = {**call, "id": "toolu_2", "input": {"command": command}}
    other.write("assistant", message={"role": "assistant", "content": [call]}, timestamp=decided)
    assert found(store) == ["unproved"]
