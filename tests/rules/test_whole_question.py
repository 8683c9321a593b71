"""Every byte of a question counts: the person saw what the program printed, or the answer does not count."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL_GIT, RunCli
from tests.rules.client_session import CORRECTION, AskedSession, get_subject
from tests.rules.test_approver import GLOBAL, PROJECT, require_refusal, text_of

Question = dict[str, Any]
Change = Callable[[Question], Question]
TESTS = "no, tests always belong into spec/, never beside the code"


@pytest.fixture
def asked_session(run_cli: RunCli, home: Path, tmp_path: Path, store_home: Path) -> AskedSession:
    subprocess.run([REAL_GIT, "init", "-q", "-b", "main", str(tmp_path / "shop")], check=True)
    return AskedSession(run_cli, home, tmp_path / "shop")


def with_lines(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda asked: {**asked, "question": "\n".join(change(asked["question"].split("\n")))}


def with_head(head: str) -> Change:
    """Replace the first line, keeping the id that the hook looks for."""
    return with_lines(lambda lines: [head.replace("ID", lines[0].rpartition("[")[2][:-1]), *lines[1:]])


def with_options(change: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> Change:
    return lambda asked: {**asked, "options": change(asked["options"])}


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (lambda asked: {**asked, "header": "Cosmetics"}, "another header"),
        (lambda asked: {**asked, "header": "learning"}, "another header"),
        (with_head("Learning how this dialog looks: nothing is saved [ID]"), "another first line"),
        (with_head("Learning 1 of 1 [ID]"), "another first line"),
        (with_head("Learning 1 of 1 (zzzz) [ID]"), "was not printed"),
        (with_head("Learning 1 of 1 (../x) [ID]"), "another first line"),
        (with_lines(lambda lines: [lines[0].replace("1 of 1", "1 of 9"), *lines[1:]]), "another first line"),
        (with_lines(lambda lines: [*lines, "Any answer only closes this dialog."]), "other lines after the text"),
        (with_lines(lambda lines: [*lines, ""]), "other lines after the text"),
        (with_lines(lambda lines: [*lines[:-1], "You said: please do"]), "other lines after the text"),
        (with_lines(lambda lines: lines[:-1]), "other lines after the text"),
        (with_options(lambda options: options[::-1]), "other options"),
        (with_options(lambda options: [{**one, "preview": "nothing is saved"} for one in options]), "other options"),
        (with_options(lambda options: [*options, {"label": "Later", "description": "later"}]), "other options"),
        (with_options(lambda options: [{**one, "label": one["label"].replace("A", "\u0410")} for one in options]),
         "other options"),
        (lambda asked: {**asked, "header": f"{asked['header']}\u00a0"}, "another header"),
        (lambda asked: {**asked, "multiSelect": True}, "more than the question"),
        (lambda asked: {**asked, "preview": "nothing is saved"}, "more than the question"),
    ],
)  # fmt: skip
def test_a_question_that_was_changed(asked_session: AskedSession, change: Change, shown: str) -> None:
    asked = asked_session.start().get_first_question()
    asked_session.answer(change(asked), GLOBAL)
    require_refusal(asked_session, f"the person was shown {shown}" if "printed" not in shown else shown,
                    "approve", get_subject(asked), "--to", "global")  # fmt: skip
    asked_session.answer(asked, GLOBAL, "toolu_2")
    assert asked_session.run("approve", get_subject(asked), "--to", "global").code == 0


def test_a_question_that_was_changed_dismisses_nothing(asked_session: AskedSession) -> None:
    asked = asked_session.start().get_first_question()
    asked_session.answer({**asked, "header": "Reset"}, "never")
    require_refusal(asked_session, "the person was shown another header", "dismiss", get_subject(asked), "--never")


def test_a_question_without_what_the_client_takes_for_given(asked_session: AskedSession) -> None:
    asked = asked_session.start().get_first_question()
    asked_session.answer({name: value for name, value in asked.items() if name != "multiSelect"}, GLOBAL)
    assert asked_session.run("approve", get_subject(asked), "--to", "global").code == 0


def test_another_question_in_the_same_call(asked_session: AskedSession) -> None:
    asked = asked_session.start().get_first_question()
    other = {"question": "Shall I try how dialogs look?", "header": "Test", "options": [], "multiSelect": False}
    words = ("approve", get_subject(asked), "--to", "global")
    asked_session.answer(asked, GLOBAL, beside=[other])
    require_refusal(asked_session, "the person was shown another question beside ours", *words)


def test_several_questions_of_ours_in_one_call(asked_session: AskedSession) -> None:
    asked_session.start(CORRECTION, TESTS)
    first, second = asked_session.run("candidates", "--ask").json()["data"]["questions"]
    asked_session.answer(first, PROJECT, beside=[second])
    for asked in (first, second):
        done = asked_session.run("approve", get_subject(asked), "--to", "project")
        assert done.code == 0, done.err
    asked_session.session.say("no, commit messages always have a scope, never without")
    third = asked_session.get_first_question()
    asked_session.answer(third, PROJECT, "toolu_2", beside=[{**first, "header": "Cosmetics"}])
    words = ("approve", get_subject(third), "--to", "project")
    require_refusal(asked_session, "the person was shown another question beside ours", *words)


@pytest.mark.parametrize("more", [{"answers": {}}, {"annotations": {"x": {"preview": "y"}}}, {"title": "Cosmetics"}])
def test_a_call_with_more_than_questions(asked_session: AskedSession, more: dict[str, Any]) -> None:
    asked = asked_session.start().get_first_question()
    asked_session.answer(asked, GLOBAL, **more)
    require_refusal(
        asked_session, "the person was shown more than the question", "approve", get_subject(asked), "--to", "global"
    )


def test_an_answer_with_a_note(asked_session: AskedSession) -> None:
    asked = asked_session.start().get_first_question()
    asked_session.answer(asked, GLOBAL, notes={asked["question"]: {"notes": "but not in tests"}})
    require_refusal(asked_session, "the person added a note", "approve", get_subject(asked), "--to", "global")


def kept(asked_session: AskedSession) -> list[Path]:
    return sorted((asked_session.home / ".claude/reflections/.git/reflect/questions").glob("*"))


def test_a_question_that_nobody_kept(asked_session: AskedSession) -> None:
    asked = asked_session.start().get_first_question()
    asked_session.answer(asked, GLOBAL)
    (path,) = kept(asked_session)
    path.unlink()
    words = ("approve", get_subject(asked), "--to", "global")
    require_refusal(asked_session, "a question that was not printed, has expired or was used before", *words)


def test_a_question_that_expired(asked_session: AskedSession) -> None:
    asked = asked_session.start().get_first_question()
    asked_session.answer(asked, GLOBAL)
    yesterday = time.time() - 90_000
    os.utime(kept(asked_session)[0], (yesterday, yesterday))
    words = ("approve", get_subject(asked), "--to", "global")
    require_refusal(asked_session, "a question that was not printed, has expired or was used before", *words)


def test_a_question_is_used_once_and_each_printing_has_its_own(asked_session: AskedSession) -> None:
    first, again = asked_session.start().get_first_question(), asked_session.get_first_question()
    assert first["question"] != again["question"] and text_of(first) == text_of(again)
    assert len(kept(asked_session)) == 2
    words = ("approve", get_subject(first), "--to", "global")
    asked_session.answer(first, GLOBAL)
    mark = kept(asked_session)[0].parent / f"{first['question'].partition('(')[2][:4]}.used"
    mark.touch()
    require_refusal(asked_session, "a question that was not printed, has expired or was used before", *words)
    mark.unlink()
    assert asked_session.run(*words).code == 0
    assert [path for path in kept(asked_session) if path.suffix == ".used"] == [mark]


def test_a_kept_question_holds_no_text(asked_session: AskedSession) -> None:
    asked_session.start().get_first_question()
    (path,) = kept(asked_session)
    assert "pnpm" not in path.read_text() and path.stat().st_mode & 0o077 == 0


def test_kept_questions_are_few(asked_session: AskedSession) -> None:
    asked_session.start().get_first_question()
    (path,) = kept(asked_session)
    for number in range(250):
        (path.parent / f"{number:04}.json").write_text("{}")
    asked_session.get_first_question()
    assert len(kept(asked_session)) <= 200


def test_a_kept_question_that_the_model_wrote(asked_session: AskedSession) -> None:
    """The question is built again when it is approved, so a forged record of it does not help."""
    from reflect_git.records.ids import digest
    from reflect_git.rules.approver import split_question

    asked = asked_session.start().get_first_question()
    (path,) = kept(asked_session)
    for number, changed in enumerate((
        {**asked, "header": "Cosmetics"}, {**asked, "question": f"{asked['question']}\nOnly a test."},
        {**asked, "options": asked["options"][::-1]},
        {**asked, "question": asked["question"].replace("Learning 1 of 1", "Learning how it looks: nothing is saved")},
        {**asked, "question": asked["question"].replace("1 of 1", "1 of 1 nothing is saved")},
    )):  # fmt: skip
        path.write_text(json.dumps({name: digest(value) for name, value in split_question(changed).items()}))
        asked_session.answer(changed, GLOBAL, f"toolu_{number}")
        words = ("approve", get_subject(asked), "--to", "global")
        require_refusal(asked_session, "the question has changed since it was asked", *words)


def test_a_risk_that_came_up_after_the_printing(asked_session: AskedSession) -> None:
    """A global rule says the opposite by now."""
    asked_session.start()
    asked = asked_session.get_first_question()
    asked_session.answer(asked, PROJECT)
    made = asked_session.run("capture", "--type", "correction", "--content", "Always use npm, never pnpm", "--json")
    other = asked_session.get_first_question("--id", made.json()["data"]["id"])
    asked_session.answer(other, GLOBAL, "toolu_2")
    assert asked_session.run("approve", get_subject(other), "--to", "global").code == 0
    words = ("approve", get_subject(asked), "--to", "project")
    require_refusal(asked_session, "the person was not shown 'Risk: in this project", *words)


def test_an_answer_without_links(asked_session: AskedSession) -> None:
    """Two lines appended by hand, and the hook called by hand."""
    asked = asked_session.start().get_first_question()
    asked_session.answer(asked, GLOBAL)
    lines = asked_session.session.path.read_text().splitlines()
    for name, at in (("promptId", -1), ("sourceToolAssistantUUID", -1), ("requestId", -2)):
        entries = [json.loads(line) for line in lines]
        del entries[at][name]
        asked_session.session.path.write_text(
            "".join(f"{json.dumps(entry, separators=(',', ':'))}\n" for entry in entries)
        )
        words = ("approve", get_subject(asked), "--to", "global")
        require_refusal(asked_session, "the client did not write the last answer", *words)


def test_an_answer_slipped_in_by_an_earlier_command(asked_session: AskedSession) -> None:
    asked = asked_session.start().get_first_question()
    call, own = asked_session.session.begin_call("Bash", {"command": "python3 forge.py"}), asked_session.session.last
    asked_session.answer(asked, GLOBAL)
    asked_session.session.last = own
    asked_session.session.end_call(call, "done", False)
    words = ("approve", get_subject(asked), "--to", "global")
    require_refusal(
        asked_session, "the client did not write the last answer: it is not where the session went on", *words
    )


def test_where_there_is_no_store_none_is_made(run_cli: RunCli, tmp_path: Path, store_home: Path) -> None:
    nothing: dict[str, list[str]] = {"questions": [], "needs_wording": [], "broken": []}
    assert run_cli("candidates", "--ask", cwd=tmp_path).json()["data"] == nothing
    assert not store_home.exists()
