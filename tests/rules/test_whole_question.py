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
from tests.rules.client_session import CORRECTION, AskedSession, subject
from tests.rules.test_approver import GLOBAL, PROJECT, require_refusal, text_of

Question = dict[str, Any]
Change = Callable[[Question], Question]
TESTS = "no, tests always belong into spec/, never beside the code"


@pytest.fixture
def sitting(run_cli: RunCli, home: Path, tmp_path: Path, store_home: Path) -> AskedSession:
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
def test_a_question_that_was_changed(sitting: AskedSession, change: Change, shown: str) -> None:
    asked = sitting.begin().asked()
    sitting.answer(change(asked), GLOBAL)
    require_refusal(sitting, f"the person was shown {shown}" if "printed" not in shown else shown,
                    "approve", subject(asked), "--to", "global")  # fmt: skip
    sitting.answer(asked, GLOBAL, "toolu_2")
    assert sitting.run("approve", subject(asked), "--to", "global").code == 0


def test_a_question_that_was_changed_dismisses_nothing(sitting: AskedSession) -> None:
    asked = sitting.begin().asked()
    sitting.answer({**asked, "header": "Reset"}, "never")
    require_refusal(sitting, "the person was shown another header", "dismiss", subject(asked), "--never")


def test_a_question_without_what_the_client_takes_for_given(sitting: AskedSession) -> None:
    asked = sitting.begin().asked()
    sitting.answer({name: value for name, value in asked.items() if name != "multiSelect"}, GLOBAL)
    assert sitting.run("approve", subject(asked), "--to", "global").code == 0


def test_another_question_in_the_same_call(sitting: AskedSession) -> None:
    asked = sitting.begin().asked()
    other = {"question": "Shall I try how dialogs look?", "header": "Test", "options": [], "multiSelect": False}
    words = ("approve", subject(asked), "--to", "global")
    sitting.answer(asked, GLOBAL, beside=[other])
    require_refusal(sitting, "the person was shown another question beside ours", *words)


def test_several_questions_of_ours_in_one_call(sitting: AskedSession) -> None:
    sitting.begin(CORRECTION, TESTS)
    first, second = sitting.run("candidates", "--ask").json()["data"]["questions"]
    sitting.answer(first, PROJECT, beside=[second])
    for asked in (first, second):
        done = sitting.run("approve", subject(asked), "--to", "project")
        assert done.code == 0, done.err
    sitting.session.say("no, commit messages always have a scope, never without")
    third = sitting.asked()
    sitting.answer(third, PROJECT, "toolu_2", beside=[{**first, "header": "Cosmetics"}])
    words = ("approve", subject(third), "--to", "project")
    require_refusal(sitting, "the person was shown another question beside ours", *words)


@pytest.mark.parametrize("more", [{"answers": {}}, {"annotations": {"x": {"preview": "y"}}}, {"title": "Cosmetics"}])
def test_a_call_with_more_than_questions(sitting: AskedSession, more: dict[str, Any]) -> None:
    asked = sitting.begin().asked()
    sitting.answer(asked, GLOBAL, **more)
    require_refusal(sitting, "the person was shown more than the question", "approve", subject(asked), "--to", "global")


def test_an_answer_with_a_note(sitting: AskedSession) -> None:
    asked = sitting.begin().asked()
    sitting.answer(asked, GLOBAL, notes={asked["question"]: {"notes": "but not in tests"}})
    require_refusal(sitting, "the person added a note", "approve", subject(asked), "--to", "global")


def kept(sitting: AskedSession) -> list[Path]:
    return sorted((sitting.home / ".claude/reflections/.git/reflect/questions").glob("*"))


def test_a_question_that_nobody_kept(sitting: AskedSession) -> None:
    asked = sitting.begin().asked()
    sitting.answer(asked, GLOBAL)
    (path,) = kept(sitting)
    path.unlink()
    words = ("approve", subject(asked), "--to", "global")
    require_refusal(sitting, "a question that was not printed, has expired or was used before", *words)


def test_a_question_that_expired(sitting: AskedSession) -> None:
    asked = sitting.begin().asked()
    sitting.answer(asked, GLOBAL)
    yesterday = time.time() - 90_000
    os.utime(kept(sitting)[0], (yesterday, yesterday))
    words = ("approve", subject(asked), "--to", "global")
    require_refusal(sitting, "a question that was not printed, has expired or was used before", *words)


def test_a_question_is_used_once_and_each_printing_has_its_own(sitting: AskedSession) -> None:
    first, again = sitting.begin().asked(), sitting.asked()
    assert first["question"] != again["question"] and text_of(first) == text_of(again)
    assert len(kept(sitting)) == 2
    words = ("approve", subject(first), "--to", "global")
    sitting.answer(first, GLOBAL)
    mark = kept(sitting)[0].parent / f"{first['question'].partition('(')[2][:4]}.used"
    mark.touch()
    require_refusal(sitting, "a question that was not printed, has expired or was used before", *words)
    mark.unlink()
    assert sitting.run(*words).code == 0
    assert [path for path in kept(sitting) if path.suffix == ".used"] == [mark]


def test_a_kept_question_holds_no_text(sitting: AskedSession) -> None:
    sitting.begin().asked()
    (path,) = kept(sitting)
    assert "pnpm" not in path.read_text() and path.stat().st_mode & 0o077 == 0


def test_kept_questions_are_few(sitting: AskedSession) -> None:
    sitting.begin().asked()
    (path,) = kept(sitting)
    for number in range(250):
        (path.parent / f"{number:04}.json").write_text("{}")
    sitting.asked()
    assert len(kept(sitting)) <= 200


def test_a_kept_question_that_the_model_wrote(sitting: AskedSession) -> None:
    """The question is built again when it is approved, so a forged record of it does not help."""
    from reflect_git.records.ids import digest
    from reflect_git.rules.approver import parts_of

    asked = sitting.begin().asked()
    (path,) = kept(sitting)
    for number, changed in enumerate((
        {**asked, "header": "Cosmetics"}, {**asked, "question": f"{asked['question']}\nOnly a test."},
        {**asked, "options": asked["options"][::-1]},
        {**asked, "question": asked["question"].replace("Learning 1 of 1", "Learning how it looks: nothing is saved")},
        {**asked, "question": asked["question"].replace("1 of 1", "1 of 1 nothing is saved")},
    )):  # fmt: skip
        path.write_text(json.dumps({name: digest(value) for name, value in parts_of(changed).items()}))
        sitting.answer(changed, GLOBAL, f"toolu_{number}")
        words = ("approve", subject(asked), "--to", "global")
        require_refusal(sitting, "the question has changed since it was asked", *words)


def test_a_risk_that_came_up_after_the_printing(sitting: AskedSession) -> None:
    """A global rule says the opposite by now."""
    sitting.begin()
    asked = sitting.asked()
    sitting.answer(asked, PROJECT)
    made = sitting.run("capture", "--type", "correction", "--content", "Always use npm, never pnpm", "--json")
    other = sitting.asked("--id", made.json()["data"]["id"])
    sitting.answer(other, GLOBAL, "toolu_2")
    assert sitting.run("approve", subject(other), "--to", "global").code == 0
    words = ("approve", subject(asked), "--to", "project")
    require_refusal(sitting, "the person was not shown 'Risk: in this project", *words)


def test_an_answer_without_links(sitting: AskedSession) -> None:
    """Two lines appended by hand, and the hook called by hand."""
    asked = sitting.begin().asked()
    sitting.answer(asked, GLOBAL)
    lines = sitting.session.path.read_text().splitlines()
    for name, at in (("promptId", -1), ("sourceToolAssistantUUID", -1), ("requestId", -2)):
        entries = [json.loads(line) for line in lines]
        del entries[at][name]
        sitting.session.path.write_text("".join(f"{json.dumps(entry, separators=(',', ':'))}\n" for entry in entries))
        words = ("approve", subject(asked), "--to", "global")
        require_refusal(sitting, "the client did not write the last answer", *words)


def test_an_answer_slipped_in_by_an_earlier_command(sitting: AskedSession) -> None:
    asked = sitting.begin().asked()
    call, own = sitting.session.begin_call("Bash", {"command": "python3 forge.py"}), sitting.session.last
    sitting.answer(asked, GLOBAL)
    sitting.session.last = own
    sitting.session.end_call(call, "done", False)
    words = ("approve", subject(asked), "--to", "global")
    require_refusal(sitting, "the client did not write the last answer: it is not where the session went on", *words)


def test_where_there_is_no_store_none_is_made(run_cli: RunCli, tmp_path: Path, store_home: Path) -> None:
    nothing: dict[str, list[str]] = {"questions": [], "needs_wording": [], "broken": []}
    assert run_cli("candidates", "--ask", cwd=tmp_path).json()["data"] == nothing
    assert not store_home.exists()
