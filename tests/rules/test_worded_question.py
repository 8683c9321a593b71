"""A model words rules: the question shows the wording, the person's own sentence, and what the wording adds."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL_GIT, RunCli
from tests.rules.client_session import CORRECTION, AskedSession, get_subject
from tests.rules.test_approver import GLOBAL, PROJECT, require_refusal, text_of

QUOTE = "no, why do you always run the specs without the seeds?"
WORDING = "Run the seeds before the specs."
ENDING = "no, never use npm in this project until 2037-03-01, always use pnpm"


@pytest.fixture
def asked_session(run_cli: RunCli, home: Path, tmp_path: Path, store_home: Path) -> AskedSession:
    subprocess.run([REAL_GIT, "init", "-q", "-b", "main", str(tmp_path / "shop")], check=True)
    return AskedSession(run_cli, home, tmp_path / "shop")


def printed(asked_session: AskedSession, *words: str) -> dict[str, Any]:
    data: dict[str, Any] = asked_session.run("candidates", "--ask", *words).json()["data"]
    return data


def lines_after(question: dict[str, Any]) -> list[str]:
    """Return the lines below the text, without those that say how often it was seen and what it would have matched."""
    lines = str(question["question"]).rpartition("\n---\n")[2].split("\n")
    assert [line.partition(":")[0] for line in lines].count("About") == 1
    assert [line.partition(":")[0] for line in lines].count("Backtest") == 1
    return [line for line in lines if line.partition(":")[0] not in ("About", "Backtest")]


def test_a_quote_is_not_asked_about_until_it_is_worded(asked_session: AskedSession) -> None:
    asked_session.start(QUOTE, CORRECTION)
    data = printed(asked_session)
    (listed,) = data["needs_wording"]
    assert listed == {"id": listed["id"], "quote": QUOTE, "why": "it is a question"}
    assert [text_of(one) for one in data["questions"]] == ["Never use npm in this project, always use pnpm instead"]
    assert printed(asked_session, "--id", listed["id"]) == {"questions": [], "needs_wording": [listed]}
    told = asked_session.run("candidates", "--for-skill").out
    assert f"   Needs wording: it is a question\n   You said: {QUOTE}\n" in told and f"Text: {QUOTE}" not in told


def test_a_wording_is_shown_with_the_sentence_it_comes_from_and_approved(asked_session: AskedSession) -> None:
    asked_session.start(QUOTE)
    (listed,) = printed(asked_session)["needs_wording"]
    asked = asked_session.get_first_question("--id", listed["id"], "--text", WORDING)
    assert text_of(asked) == WORDING and lines_after(asked) == [f"You said: {QUOTE}"]
    asked_session.answer(asked, PROJECT)
    words = ("approve", listed["id"], "--to", "project")
    assert "it needs wording: as it was said it is a question" in asked_session.run(*words).err
    require_refusal(
        asked_session, "no person has answered for this text", *words, "--text", "Run the seeds after the specs."
    )
    done = asked_session.run(*words, "--text", WORDING)
    assert done.code == 0, done.err
    assert f"- {WORDING}\n" in (asked_session.project / "CLAUDE.md").read_text()


def test_what_a_wording_adds_is_a_risk_that_the_person_must_have_seen(asked_session: AskedSession) -> None:
    identity = get_subject(asked_session.start().get_first_question())
    for text, risk in (
        ("Use pnpm, never npm or yarn.", "Risk: 'yarn' is not in your words"),
        ("Use npm in this project.", "Risk: it may say the opposite of your words"),
        ("Obey.", "Risk: none of its words is yours"),
    ):
        asked = asked_session.get_first_question("--id", identity, "--text", text)
        assert lines_after(asked) == [f"You said: {CORRECTION}", risk]
    text = "Use pnpm, never npm or yarn."
    asked = asked_session.get_first_question("--id", identity, "--text", text)
    words = ("approve", identity, "--to", "global", "--text", text)
    lines = [line for line in asked["question"].split("\n") if "yarn' is" not in line]
    asked_session.answer({**asked, "question": "\n".join(lines)}, GLOBAL)
    require_refusal(asked_session, "the person was not shown 'Risk: 'yarn' is not in your words'", *words)
    asked_session.answer(asked, "Skip", "toolu_2")
    require_refusal(asked_session, "the person answered 'Skip'", *words)
    assert not (asked_session.home / ".claude/CLAUDE.md").exists()


def test_words_of_all_that_are_joined_count(asked_session: AskedSession) -> None:
    asked_session.start(CORRECTION, "no, never use yarn in this project, it breaks the lockfile")
    first, second = (get_subject(one) for one in printed(asked_session)["questions"])
    text = ("--text", "Use pnpm, never npm or yarn.")
    assert "Risk: 'yarn' is not in your words" in lines_after(asked_session.get_first_question("--id", first, *text))
    asked = asked_session.get_first_question("--id", first, *text, "--with", second)
    assert [line.partition(":")[0] for line in lines_after(asked)] == ["You said", "You said"]
    asked_session.answer(asked, PROJECT)
    done = asked_session.run("approve", first, "--to", "project", *text, "--with", second)
    assert done.code == 0, done.err


def test_the_end_date_is_shown_and_approved_with_the_text(asked_session: AskedSession) -> None:
    asked = asked_session.start(ENDING).get_first_question()
    identity, words = get_subject(asked), ("--text", "Use pnpm, never npm.")
    assert lines_after(asked)[0] == "Until: 2037-03-01"
    # A wording that omits the end date does not make the rule permanent.
    worded = asked_session.get_first_question("--id", identity, *words)
    assert lines_after(worded) == ["Until: 2037-03-01", f"You said: {ENDING}"]
    asked_session.answer(worded, PROJECT)
    approve = ("approve", identity, "--to", "project", *words)
    require_refusal(asked_session, "the person was not shown 'Until: 2038-01-01'", *approve, "--until", "2038-01-01")
    later = asked_session.get_first_question("--id", identity, *words, "--until", "2038-01-01")
    asked_session.answer(later, PROJECT, "toolu_2")
    done = asked_session.run(*approve, "--until", "2038-01-01")
    assert done.code == 0, done.err
    (rule,) = asked_session.run("rules", "--json").json()["data"]
    assert rule["until"] == "2038-01-01"
