"""Detectors of working style: failed edits, undone edits, fruitless searches, questions, repeated requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture.mining import FAILURES, Memory, signals_in
from reflect_git.capture.transcript import Reader
from tests.capture.windows import (
    EMPTY_GREP,
    REFUSED,
    Step,
    broke,
    call,
    edited,
    families,
    globbed,
    grepped,
    mined,
    missed,
    ran,
    said,
    typed,
    written,
)  # fmt: skip

RED = "FAILED tests/test_lamp.py::test_dim\n1 failed, 8 passed"

STRUGGLES: dict[str, list[Step]] = {
    "two edits miss": [edited("lamp.py", "x", "y"), missed("lamp.py"), missed("lamp.py")],
    "a look in between": [missed("lamp.py"), call("Read", {"file_path": "lamp.py"}, "1→lamp"), missed("lamp.py")],
    "the same lines again and again": [
        edited("lamp.py", "watts = 1\nvolts = 2", "watts = 10\nvolts = 2"), broke("pytest", RED),
        edited("lamp.py", "watts = 10\nvolts = 2", "watts = 20\nvolts = 2"), broke("pytest", RED),
        edited("lamp.py", "watts = 20\nvolts = 2", "watts = 30\nvolts = 2"),
    ],
}  # fmt: skip

PLANNED: dict[str, list[Step]] = {
    "one edit after the other": [edited("lamp.json", f'"{n}"', f'"{n + 1}"') for n in range(6)],
    "one miss": [missed("lamp.py"), edited("lamp.py"), edited("lamp.py", "c", "d")],
    "misses in two files": [missed("lamp.py"), missed("bulb.py")],
    "a hit between two misses": [missed("lamp.py"), edited("lamp.py"), missed("lamp.py", "q")],
    "red, green, next": [
        edited("lamp.py", "one()", "two()"), broke("pytest", RED), edited("lamp.py", "three()", "four()"),
        ran("pytest", "9 passed"), edited("lamp.py", "five()", "six()"),
    ],
    "one file written three times": [
        call("Write", {"file_path": "a.md", "content": str(n)}, "File created") for n in range(3)
    ],
}  # fmt: skip

LOST: dict[str, list[Step]] = {
    "three in vain": [
        globbed("**/mail/*.html"), globbed("**/mailer/**"), grepped("greeting"), globbed("**/*.mj", "a/b.mj"),
    ],
    "with words in between": [
        said("Let me look for the lamp."), grepped("class Lamp"), said("No results. Let me try a broader search."),
        grepped("Lamp("), said("There is no such class; let me search for the file."), globbed("**/lamp*"),
        globbed("**/light*", "src/light_source.py"),
    ],
    "in the shell": [
        ran("grep -rn LampFactory src", ""), ran("find . -name '*lamp*' | head", ""), broke("rg lamp_factory", ""),
        ran("grep -rln makeLamp .", "./vendor/lamp/make.go"),
    ],
    "a list shows it": [
        *[grepped(f"lamp-{n}") for n in range(3)], ran("ls src/lights", "bulb.py"),
        call("Read", {"file_path": "src/lights/bulb.py"}, "1→bulb"),
    ],
    "a subagent has to go": [
        *[grepped(f"lamp-{n}") for n in range(4)],
        call("Task", {"prompt": "find the lamp"}, REFUSED, True),
    ],
    "the user steps in": [
        *[grepped(f"lamp-{n}") for n in range(3)],
        typed("[Request interrupted by user]"),
    ],
}  # fmt: skip

ABSENT: dict[str, list[Step]] = {
    "two only": [grepped("lampA"), grepped("lampB"), grepped("lampC", "src/c.py:1:lampC")],
    "nothing is left": [
        grepped("oldLamp("), grepped("lampV1"), grepped("LegacyLamp"), said("All references are gone."),
        grepped("newLamp", "src/lamp.py"),
    ],
    "before it is created": [
        globbed("LICENSE"), globbed("LICENSE.md"), globbed("COPYING"),
        call("Write", {"file_path": "LICENSE", "content": "MIT"}, "File created"), globbed("*.md", "README.md"),
    ],
    "what was just removed": [
        edited("a.py", "dim_lamp(1)", "bright(1)"), grepped("dim_lamp"), grepped("dim_lamp("),
        globbed("**/dim_lamp*"), grepped("bright", "a.py"),
    ],
    "renamed by a command": [
        ran("sed -i 's/dim_lamp/bright/' *.py", ""), grepped("dim_lamp"), grepped("dim_lamp("), grepped(" dim_lamp"),
        grepped("bright", "a.py"),
    ],
    "a last check before the commit": [
        grepped("console.log"), grepped("TODO"), grepped("debugger"), grepped("export", "a.ts"),
    ],
    "the same search thrice": [grepped("lamp"), grepped("lamp"), grepped("lamp"), grepped("bulb", "a.py")],
    "never found": [grepped("a1"), grepped("b2"), grepped("c3"), said("I will go on without it.")],
    "another day": [
        grepped("a1"), grepped("b2"), grepped("c3"), typed("now make the bulb green"), grepped("bulb", "a.py"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", STRUGGLES)
def test_a_file_that_fights_back(tmp_path: Path, name: str) -> None:
    assert "edits" in families(tmp_path, STRUGGLES[name])


@pytest.mark.parametrize("name", PLANNED)
def test_planned_edits_are_none(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, PLANNED[name]) == []


@pytest.mark.parametrize("name", LOST)
def test_searches_in_vain(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, LOST[name]) == ["thrash"]


@pytest.mark.parametrize("name", ABSENT)
def test_searches_that_want_to_find_nothing(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, ABSENT[name]) == []


def test_what_was_hard_to_find_is_named(tmp_path: Path) -> None:
    (facts,) = mined(tmp_path, LOST["three in vain"])
    assert facts["content"].endswith("before `a/b.mj` was found")
    assert (facts["type"], facts["confidence"]) == ("project_friction", 1)


@pytest.mark.parametrize(
    "last",
    [
        edited("src/lamp.py", "bright()", "dim()"),
        ran("git checkout -- src/lamp.py", "Updated 1 path"),
        ran("cd src && git restore ./lamp.py", ""),
    ],
)
def test_an_edit_that_the_user_did_not_want_is_taken_back(tmp_path: Path, last: Step) -> None:
    steps = [edited("src/lamp.py", "dim()", "bright()"), typed("leave that as it was please"), last]
    found = [facts for facts in mined(tmp_path, steps) if facts["family"] == "undo"]
    assert [facts["type"] for facts in found] == ["pattern"]
    assert "bright()" in found[0]["content"]


def test_a_trial_of_the_assistant_is_no_undo(tmp_path: Path) -> None:
    steps = [edited("lamp.py", "dim()", "bright()"), broke("pytest", RED), edited("lamp.py", "bright()", "dim()")]
    assert families(tmp_path, steps) == []


def test_restoring_another_file_is_no_undo(tmp_path: Path) -> None:
    steps = [edited("src/lamp.py"), typed("thanks"), ran("git checkout -- src/bulb.py"), ran("git checkout main")]
    assert families(tmp_path, steps) == []


def instructed(text: str) -> Step:
    files = [{"path": "/home/ada/lamp/CLAUDE.md", "type": "Project", "content": text}]
    return {"row": {"type": "attachment", "attachment": {"type": "instructions", "files": files}}}


ASKED: dict[str, list[Step]] = {
    "a folder": [said("I found no migrations. Where do you keep the migrations?"), typed("they live in db/changes")],
    "a host": [said("Which host should the lamp talk to?"), typed("staging runs on lamp-2.example.org")],
}

NOT_ASKED: dict[str, list[Step]] = {
    "no question": [said("I moved the migrations."), typed("they live in db/changes")],
    "a go": [said("Where should it go, shall I use src/a.py?"), typed("yes")],
    "a task": [said("Which file should I look at?"), typed("fix src/lamp.py and add tests")],
    "another question": [said("Where do you keep the lamps?"), typed("what is in src/lamps?")],
    "already written down": [
        instructed("Migrations live in db/changes."), said("Where do you keep the migrations?"),
        typed("they live in db/changes"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_that_holds_is_kept(tmp_path: Path, name: str) -> None:
    (facts,) = mined(tmp_path, ASKED[name])
    assert facts["trust"] == "user_typed"
    assert facts["content"] == ASKED[name][-1]["typed"]


@pytest.mark.parametrize("name", NOT_ASKED)
def test_other_answers_are_not(tmp_path: Path, name: str) -> None:
    assert families(tmp_path, NOT_ASKED[name]) == []


def answered(question: str, answer: str) -> Step:
    given = {"questions": [{"question": question, "options": [{"label": "npm"}, {"label": "pnpm"}]}]}
    return call("AskUserQuestion", given, "answered", details={"answers": {question: answer}})


@pytest.mark.parametrize(
    ("question", "answer", "trust"),
    [
        ("Which package manager does it use?", "pnpm", "assistant"),
        ("Which package manager does it use?", "bun, but only in web/ui", "user_typed"),
        ("How shall I go on?", "look into docs/lamp.md first", "user_typed"),
    ],
)
def test_an_answer_to_a_dialogue_is_kept(tmp_path: Path, question: str, answer: str, trust: str) -> None:
    (facts,) = mined(tmp_path, [answered(question, answer)])
    assert (facts["type"], facts["confidence"], facts["trust"]) == ("discovery", 2, trust)
    assert answer in facts["content"]


@pytest.mark.parametrize(
    "step",
    [
        answered("How shall I go on?", "npm"),
        answered("Learning 2 of 7 [SIG-20260301-abcd1234]\n---\nwhere the lamps are\n---", "add it to docs/a.md"),
        call("AskUserQuestion", {}, "answered", details={"answers": [1]}),
    ],
)
def test_choices_of_the_moment_and_our_own_questions_are_not(tmp_path: Path, step: Step) -> None:
    assert mined(tmp_path, [step]) == []


def repeat(folder: Path, text: str, times: int) -> list[dict[str, Any]]:
    past = Memory()
    return [facts for n in range(times) for facts in mined(folder, [typed(text)], f"s-{n}", past)]


def test_the_third_session_with_one_request_makes_it_a_way_of_working(tmp_path: Path) -> None:
    found = repeat(tmp_path, "bump the version and write the changelog entry", 4)
    assert [facts["family"] for facts in found] == ["again", "again"]
    assert [facts["session_id"] for facts in found] == ["s-2", "s-3"]
    assert found[0]["type"] == "convention"


@pytest.mark.parametrize(
    "text", ["yes", "continue", "commit", "ok go on please", "commit and push it all now", "fix it"]
)
def test_what_is_said_everywhere_is_no_way_of_working(tmp_path: Path, text: str) -> None:
    assert [facts for facts in repeat(tmp_path, text, 5) if facts["family"] == "again"] == []


@pytest.mark.parametrize(
    "text",
    [
        "please fix the failing login test", "write a migration for the users table", "continue with the list view",
        "please have a look at the open ticket", "mach weiter mit der Listenansicht", "一覧画面の作業を続けてください",
    ],
)  # fmt: skip
def test_a_task_that_comes_up_again_is_no_way_of_working(tmp_path: Path, text: str) -> None:
    assert [facts for facts in repeat(tmp_path, text, 5) if facts["family"] == "again"] == []


def test_an_order_that_says_when_it_holds_is_a_way_of_working(tmp_path: Path) -> None:
    found = repeat(tmp_path, "run the linter before you commit anything", 3)
    assert "again" in [facts["family"] for facts in found]


def test_an_order_that_is_plainly_a_rule_is_captured_the_first_time(tmp_path: Path) -> None:
    found = repeat(tmp_path, "vor jedem Push bitte die Tests laufen lassen", 3)
    assert [facts["family"] for facts in found] == ["message"] * 3


def test_one_session_that_repeats_itself_is_no_way_of_working(tmp_path: Path) -> None:
    steps = [typed("bump the version and write the changelog entry")] * 5
    assert "again" not in [facts["family"] for facts in mined(tmp_path, steps, past=Memory())]


def test_a_message_gives_one_signal_at_the_most(tmp_path: Path) -> None:
    past = Memory()
    text = "no, don't use npm here, we always use pnpm"
    for n in range(4):
        found = mined(tmp_path, [said("Where is it? I used npm."), typed(text)], f"s-{n}", past)
        assert [facts["family"] for facts in found] == ["message"]


def test_words_of_a_refusal_are_at_least_of_confidence_two(tmp_path: Path) -> None:
    steps = [
        call("Bash", {"command": "rm -r a"}, f"{REFUSED}To tell you how to proceed, the user said:\nnot this one", True)
    ]
    found = [facts for facts in mined(tmp_path, steps) if facts["family"] == "message"]
    assert all(facts["confidence"] >= 2 for facts in found)
    assert [facts["trust"] for facts in found] == ["user_feedback"]


def test_a_redirection_after_an_interruption_is_heard(tmp_path: Path) -> None:
    steps = [
        ran("npm i"), said("Installing"), typed("[Request interrupted by user]"),
        typed("no, use pnpm instead, we never use npm"),
    ]  # fmt: skip
    (facts,) = mined(tmp_path, steps)
    assert facts["family"] == "message"
    assert facts["confidence"] >= 2


def test_praise_counts_after_work_of_several_steps_only(tmp_path: Path) -> None:
    praise = typed("perfect, exactly right, that is how we want it done")
    found = mined(tmp_path, [said("Hello"), praise])
    assert "pattern" not in [facts["type"] for facts in found]


def test_prompts_of_subagents_are_nobodys_words(tmp_path: Path) -> None:
    steps = [typed("no, always use pnpm, never npm"), *LOST["three in vain"]]
    assert mined(tmp_path, steps, isSidechain=True, agentId="a1") == []


def test_every_signal_of_a_failure_is_known_as_one() -> None:
    assert {"fix", "loop", "repeated-failure"} <= FAILURES


def long_session() -> list[Step]:
    """Return moments of every kind, some of them across the point where a later read begins."""
    steps: list[Step] = []
    for n in range(12):
        steps += [said(f"step {n}"), broke(f"lampctl set {n}", "Error: lamp is unreachable"), said("hm")]
        steps += [broke("make tests", "make: *** No rule to make target 'tests'."), said("so"), ran("make unit", "ok")]
        steps += [
            grepped(f"a{n}"),
            said("Let me search more."),
            grepped(f"b{n}"),
            grepped(f"c{n}"),
            grepped("d", "x.py"),
        ]
        steps += [missed(f"lamp{n % 2}.py"), said("Again."), missed(f"lamp{n % 2}.py")]
    return steps


def test_reading_on_from_a_cursor_gives_what_one_reading_gives(tmp_path: Path) -> None:
    path = written(tmp_path, long_session())
    whole = list(signals_in(Reader(path)))
    assert {facts["family"] for facts in whole} >= {"repeated-failure", "fix", "thrash", "edits"}
    for limit in range(40, 160, 7):
        first = Reader(path, limit=limit)
        seen = list(first)
        counted = seen[-1].index + 1
        found = list(signals_in(seen))
        second = Reader(path, first.cursor, index=first.cursor_index)
        found += [facts for facts in signals_in(second) if (facts["source"]["turn"] or 0) >= counted]
        assert found == whole, limit


def test_empty_answers_of_searches_are_told_from_hits(tmp_path: Path) -> None:
    counted = f"{EMPTY_GREP}\n\nFound 0 total occurrences across 0 files."
    steps = [grepped("a1", counted), grepped("b2", f"{EMPTY_GREP}\n\n[Showing results with pagination = limit: 30]")]
    assert families(tmp_path, [*steps, grepped("c3"), grepped("d4", "Found 2 files\nsrc/d.py")]) == ["thrash"]
