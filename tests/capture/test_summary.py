"""The summary of a session: what it was about, and the most telling sentences, within a share of what was said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reflect_git.capture import summary
from reflect_git.capture.transcript import TranscriptReader
from tests.sessions import Session

WEAK = [f"The {name} is kept in the {name} module, next to its helpers." for name in "cart list page form menu".split()]


def summarise(session: Session) -> dict[str, Any]:
    facts = summary.build_facts(TranscriptReader(str(session.path)), ())
    assert facts is not None
    return dict(facts)


def test_a_follow_up_does_not_change_what_a_session_is_about(home: Path) -> None:
    session = Session(home)
    for said in (
        "please add a date picker to the checkout page", "run the tests again", "can you explain why that is slow?",
        "show me the diff", "commit it with a short message",
    ):  # fmt: skip
        session.say(said)
        session.answer("Done.")
    assert summarise(session)["content"] == "please add a date picker to the checkout page"
    session.say("now update the client of the payment provider")
    session.answer("Updated.")
    assert "payment provider" in summarise(session)["content"]


def test_the_most_telling_lessons_stay(home: Path) -> None:
    session = Session(home)
    session.say("please find out why the login fails, the session cookie must be Lax")
    session.run_tool("Bash", command="pnpm test")
    for number, text in enumerate(WEAK):
        told = "It turns out that the login fails because of the Turkish locale." if number == 2 else ""
        session.answer(f"{text} {told}")
    lessons = summarise(session)["meta"]["lessons"]
    assert "It turns out that the login fails because of the Turkish locale." in lessons
    assert any("must be Lax" in text for text in lessons)
    assert sum(map(len, lessons)) <= summary._MIN_LESSON_CHARS


def test_a_long_session_has_room_for_more_lessons(home: Path) -> None:
    session = Session(home)
    session.say("please move the importer to the queue")
    session.run_tool("Bash", command="pnpm test")
    talk = "I looked at one file after the other. " * 200
    for number in range(8):
        session.answer(f"{talk} The bug was in parser {number}, on line {number}.")
    meta = summarise(session)["meta"]
    assert len(meta["lessons"]) == 8 and sum(map(len, meta["lessons"])) <= meta["chars"] // summary._LESSON_SHARE
