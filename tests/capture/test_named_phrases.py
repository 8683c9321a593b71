"""Every phrase that the capture table names is noticed in a message that people would type."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_git.capture.score import ScoreResult, score_message
from tests.capture.transcript_steps import Step, assistant_text, bash_call, edit_call, mine_steps, user_text

CORRECTIONS = {
    "no,": "no, the totals are in cents", "nope": "nope, the worker reads the queue twice a minute",
    "wrong": "that's wrong, the lamp is in the hall", "incorrect": "incorrect, the key is the account number",
    "that's not right": "that's not right, invoices have no author", "not quite": "not quite, the date comes first",
    "actually": "actually the report is sent on Mondays", "instead": "take the list view instead",
    "rather": "I'd rather have one file per lamp", "should be": "the limit should be 20 lamps",
    "supposed to be": "this is supposed to be sorted by name", "meant to": "that job is meant to run at night",
    "I meant": "I meant the second lamp", "use X not Y": "use httpx not requests",
    "don't use": "don't use the global logger", "stop using": "stop using moment", "switch to": "switch to ruff",
    "prefer X over": "prefer composition over inheritance", "we don't do that": "we don't do that here",
    "that's outdated": "that's outdated, the lamps moved to v2",
    "that changed": "that changed, we have two regions now",
    "not anymore": "not anymore, we dropped Python 3.8", "deprecated": "that endpoint is deprecated",
}  # fmt: skip
CONVENTIONS = {
    "always use": "always use the shared client", "never use": "never use floats for money",
    "we prefer": "we prefer small pull requests", "our convention": "our convention is one class per file",
    "our standard": "our standard is four spaces", "the convention is": "the convention is plural table names",
    "the pattern is": "the pattern is one handler per route",
    "in this project": "in this project tests sit next to code",
    "in this repo": "in this repo the docs are in English", "in this codebase": "in this codebase errors are values",
    "around here": "around here we squash before a merge", "on this team": "on this team reviews come first",
    "naming convention": "the naming convention for branches is type/short-title",
    "file structure": "the file structure is one folder per feature",
    "folder structure": "our folder structure follows the domain", "we put X in Y": "we put fixtures in tests/data",
    "X goes in Y": "shared code goes in lib/common", "we keep X in": "we keep migrations in db/changes",
    "we follow": "we follow the Google style guide", "we stick to": "we stick to the standard library",
    "house rule": "house rule: no pushes on Fridays", "code style": "code style is enforced by ruff",
    "our approach": "our approach is to mock nothing",
}  # fmt: skip
PRAISE = [
    "perfect", "exactly", "exactly right", "that's it", "nailed it", "spot on", "love it", "great", "nice",
    "looks good", "that works", "that's correct", "yes that's right", "good approach", "awesome", "brilliant",
    "excellent", "well done", "much better",
]  # fmt: skip
WORK = [bash_call("cat lamp.py"), edit_call("lamp.py"), bash_call("pytest")]


def verdict(text: str) -> ScoreResult:
    return score_message(
        text, "prompt", {"first": False, "steps": 3, "assistant": "I changed the handler and ran the tests."}
    )


def test_the_tables_are_complete() -> None:
    assert (len(CORRECTIONS), len(CONVENTIONS), len(PRAISE)) == (23, 23, 19)


@pytest.mark.parametrize("phrase", [*CORRECTIONS, *CONVENTIONS])
def test_a_correction_or_convention_is_captured(phrase: str) -> None:
    assert verdict({**CORRECTIONS, **CONVENTIONS}[phrase]).is_signal


@pytest.mark.parametrize("phrase", PRAISE)
@pytest.mark.parametrize("ending", ["", "!"])
def test_praise_after_several_steps_is_captured_with_what_was_praised(tmp_path: Path, phrase: str, ending: str) -> None:
    done = "Done.\n\nI moved the lamp settings into one file. Anything else?"
    (facts,) = mine_steps(
        tmp_path, [user_text("tidy up the lamps"), *WORK, assistant_text(done), user_text(phrase + ending)]
    )
    assert (facts["type"], facts["confidence"], facts["trust"]) == ("pattern", 1, "assistant")
    assert facts["content"] == "I moved the lamp settings into one file."
    assert facts["context"] == phrase + ending


@pytest.mark.parametrize("phrase", PRAISE)
def test_praise_after_one_step_says_nothing(tmp_path: Path, phrase: str) -> None:
    assert (
        mine_steps(
            tmp_path, [user_text("tidy up the lamps"), WORK[0], assistant_text("I read the file."), user_text(phrase)]
        )
        == []
    )


@pytest.mark.parametrize(
    "text",
    [
        "perfect, that's how I like it: tests first and one commit each",
        "great job, keep doing that: a failing test before each fix",
        "perfekt, genau so will ich das: erst der Test, dann der Fix",
    ],
)  # fmt: skip
def test_praise_that_says_what_is_liked_lasts(tmp_path: Path, text: str) -> None:
    steps: list[Step] = [
        user_text("tidy up the lamps"),
        *WORK,
        assistant_text("I moved the lamp settings."),
        user_text(text),
    ]
    (facts,) = mine_steps(tmp_path, steps)
    assert (facts["type"], facts["confidence"], facts["trust"]) == ("pattern", 2, "user_typed")
    assert facts["meta"]["durable"] and facts["content"] == text
