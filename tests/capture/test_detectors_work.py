"""Detectors of working style: failed edits, undone edits, fruitless searches, questions, repeated requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture.detection import FAILURE_FAMILIES, InMemoryRequestCounter, find_signals
from reflect_git.capture.transcript import TranscriptReader
from tests.capture.transcript_steps import (
    EMPTY_GREP,
    REFUSED,
    Step,
    assistant_text,
    bash_call,
    build_call,
    edit_call,
    failed_bash_call,
    failed_edit_call,
    find_failures,
    glob_call,
    grep_call,
    mine_steps,
    user_text,
    write_transcript,
)  # fmt: skip

RED = "FAILED tests/test_lamp.py::test_dim\n1 failed, 8 passed"

STRUGGLES: dict[str, list[Step]] = {
    "two edits miss": [edit_call("lamp.py", "x", "y"), failed_edit_call("lamp.py"), failed_edit_call("lamp.py")],
    "a look in between": [
        failed_edit_call("lamp.py"),
        build_call("Read", {"file_path": "lamp.py"}, "1→lamp"),
        failed_edit_call("lamp.py"),
    ],
    "the same lines again and again": [
        edit_call("lamp.py", "watts = 1\nvolts = 2", "watts = 10\nvolts = 2"),
        failed_bash_call("pytest", RED),
        edit_call("lamp.py", "watts = 10\nvolts = 2", "watts = 20\nvolts = 2"),
        failed_bash_call("pytest", RED),
        edit_call("lamp.py", "watts = 20\nvolts = 2", "watts = 30\nvolts = 2"),
    ],
}

PLANNED: dict[str, list[Step]] = {
    "one edit after the other": [edit_call("lamp.json", f'"{n}"', f'"{n + 1}"') for n in range(6)],
    "one miss": [failed_edit_call("lamp.py"), edit_call("lamp.py"), edit_call("lamp.py", "c", "d")],
    "misses in two files": [failed_edit_call("lamp.py"), failed_edit_call("bulb.py")],
    "a hit between two misses": [failed_edit_call("lamp.py"), edit_call("lamp.py"), failed_edit_call("lamp.py", "q")],
    "red, green, next": [
        edit_call("lamp.py", "one()", "two()"),
        failed_bash_call("pytest", RED),
        edit_call("lamp.py", "three()", "four()"),
        bash_call("pytest", "9 passed"),
        edit_call("lamp.py", "five()", "six()"),
    ],
    "one file written three times": [
        build_call("Write", {"file_path": "a.md", "content": str(n)}, "File created") for n in range(3)
    ],
}

LOST: dict[str, list[Step]] = {
    "three in vain": [
        glob_call("**/mail/*.html"),
        glob_call("**/mailer/**"),
        grep_call("greeting"),
        glob_call("**/*.mj", "a/b.mj"),
    ],
    "with words in between": [
        assistant_text("Let me look for the lamp."),
        grep_call("class Lamp"),
        assistant_text("No results. Let me try a broader search."),
        grep_call("Lamp("),
        assistant_text("There is no such class; let me search for the file."),
        glob_call("**/lamp*"),
        glob_call("**/light*", "src/light_source.py"),
    ],
    "in the shell": [
        bash_call("grep -rn LampFactory src", ""),
        bash_call("find . -name '*lamp*' | head", ""),
        failed_bash_call("rg lamp_factory", ""),
        bash_call("grep -rln makeLamp .", "./vendor/lamp/make.go"),
    ],
    "a list shows it": [
        *[grep_call(f"lamp-{n}") for n in range(3)],
        bash_call("ls src/lights", "bulb.py"),
        build_call("Read", {"file_path": "src/lights/bulb.py"}, "1→bulb"),
    ],
    "a subagent has to go": [
        *[grep_call(f"lamp-{n}") for n in range(4)],
        build_call("Task", {"prompt": "find the lamp"}, REFUSED, True),
    ],
    "the user steps in": [
        *[grep_call(f"lamp-{n}") for n in range(3)],
        user_text("[Request interrupted by user]"),
    ],
}

ABSENT: dict[str, list[Step]] = {
    "two only": [grep_call("lampA"), grep_call("lampB"), grep_call("lampC", "src/c.py:1:lampC")],
    "nothing is left": [
        grep_call("oldLamp("),
        grep_call("lampV1"),
        grep_call("LegacyLamp"),
        assistant_text("All references are gone."),
        grep_call("newLamp", "src/lamp.py"),
    ],
    "before it is created": [
        glob_call("LICENSE"),
        glob_call("LICENSE.md"),
        glob_call("COPYING"),
        build_call("Write", {"file_path": "LICENSE", "content": "MIT"}, "File created"),
        glob_call("*.md", "README.md"),
    ],
    "what was just removed": [
        edit_call("a.py", "dim_lamp(1)", "bright(1)"),
        grep_call("dim_lamp"),
        grep_call("dim_lamp("),
        glob_call("**/dim_lamp*"),
        grep_call("bright", "a.py"),
    ],
    "renamed by a command": [
        bash_call("sed -i 's/dim_lamp/bright/' *.py", ""),
        grep_call("dim_lamp"),
        grep_call("dim_lamp("),
        grep_call(" dim_lamp"),
        grep_call("bright", "a.py"),
    ],
    "a last check before the commit": [
        grep_call("console.log"),
        grep_call("TODO"),
        grep_call("debugger"),
        grep_call("export", "a.ts"),
    ],
    "the same search thrice": [grep_call("lamp"), grep_call("lamp"), grep_call("lamp"), grep_call("bulb", "a.py")],
    "never found": [grep_call("a1"), grep_call("b2"), grep_call("c3"), assistant_text("I will go on without it.")],
    "another day": [
        grep_call("a1"),
        grep_call("b2"),
        grep_call("c3"),
        user_text("now make the bulb green"),
        grep_call("bulb", "a.py"),
    ],
}


@pytest.mark.parametrize("name", STRUGGLES)
def test_a_file_that_fights_back(tmp_path: Path, name: str) -> None:
    assert "edits" in find_failures(tmp_path, STRUGGLES[name])


@pytest.mark.parametrize("name", PLANNED)
def test_planned_edits_are_none(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, PLANNED[name]) == []


@pytest.mark.parametrize("name", LOST)
def test_searches_in_vain(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, LOST[name]) == ["thrash"]


@pytest.mark.parametrize("name", ABSENT)
def test_searches_that_want_to_find_nothing(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, ABSENT[name]) == []


def test_what_was_hard_to_find_is_named(tmp_path: Path) -> None:
    (facts,) = mine_steps(tmp_path, LOST["three in vain"])
    assert facts["content"].endswith("before `a/b.mj` was found")
    assert (facts["type"], facts["confidence"]) == ("project_friction", 1)


@pytest.mark.parametrize(
    "last",
    [
        edit_call("src/lamp.py", "bright()", "dim()"),
        bash_call("git checkout -- src/lamp.py", "Updated 1 path"),
        bash_call("cd src && git restore ./lamp.py", ""),
    ],
)
def test_an_edit_that_the_user_did_not_want_is_taken_back(tmp_path: Path, last: Step) -> None:
    steps = [edit_call("src/lamp.py", "dim()", "bright()"), user_text("leave that as it was please"), last]
    found = [facts for facts in mine_steps(tmp_path, steps) if facts["family"] == "undo"]
    assert [facts["type"] for facts in found] == ["pattern"]
    assert "bright()" in found[0]["content"]


def test_a_trial_of_the_assistant_is_no_undo(tmp_path: Path) -> None:
    steps = [
        edit_call("lamp.py", "dim()", "bright()"),
        failed_bash_call("pytest", RED),
        edit_call("lamp.py", "bright()", "dim()"),
    ]
    assert find_failures(tmp_path, steps) == []


def test_restoring_another_file_is_no_undo(tmp_path: Path) -> None:
    steps = [
        edit_call("src/lamp.py"),
        user_text("thanks"),
        bash_call("git checkout -- src/bulb.py"),
        bash_call("git checkout main"),
    ]
    assert find_failures(tmp_path, steps) == []


def instructed(text: str) -> Step:
    files = [{"path": "/home/ada/lamp/CLAUDE.md", "type": "Project", "content": text}]
    return {"row": {"type": "attachment", "attachment": {"type": "instructions", "files": files}}}


ASKED: dict[str, list[Step]] = {
    "a folder": [
        assistant_text("I found no migrations. Where do you keep the migrations?"),
        user_text("they live in db/changes"),
    ],
    "a host": [assistant_text("Which host should the lamp talk to?"), user_text("staging runs on lamp-2.example.org")],
}

NOT_ASKED: dict[str, list[Step]] = {
    "no question": [assistant_text("I moved the migrations."), user_text("they live in db/changes")],
    "a go": [assistant_text("Where should it go, shall I use src/a.py?"), user_text("yes")],
    "a task": [assistant_text("Which file should I look at?"), user_text("fix src/lamp.py and add tests")],
    "another question": [assistant_text("Where do you keep the lamps?"), user_text("what is in src/lamps?")],
    "already written down": [
        instructed("Migrations live in db/changes."), assistant_text("Where do you keep the migrations?"),
        user_text("they live in db/changes"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_that_holds_is_kept(tmp_path: Path, name: str) -> None:
    (facts,) = mine_steps(tmp_path, ASKED[name])
    assert facts["trust"] == "user_typed"
    assert facts["content"] == ASKED[name][-1]["typed"]


@pytest.mark.parametrize("name", NOT_ASKED)
def test_other_answers_are_not(tmp_path: Path, name: str) -> None:
    assert find_failures(tmp_path, NOT_ASKED[name]) == []


def answered(question: str, answer: str) -> Step:
    given = {"questions": [{"question": question, "options": [{"label": "npm"}, {"label": "pnpm"}]}]}
    return build_call("AskUserQuestion", given, "answered", details={"answers": {question: answer}})


@pytest.mark.parametrize(
    ("question", "answer", "trust"),
    [
        ("Which package manager does it use?", "pnpm", "assistant"),
        ("Which package manager does it use?", "bun, but only in web/ui", "user_typed"),
        ("How shall I go on?", "look into docs/lamp.md first", "user_typed"),
    ],
)
def test_an_answer_to_a_dialogue_is_kept(tmp_path: Path, question: str, answer: str, trust: str) -> None:
    (facts,) = mine_steps(tmp_path, [answered(question, answer)])
    assert (facts["type"], facts["confidence"], facts["trust"]) == ("discovery", 2, trust)
    assert answer in facts["content"]


@pytest.mark.parametrize(
    "step",
    [
        answered("How shall I go on?", "npm"),
        answered("Learning 2 of 7 [SIG-20260301-abcd1234]\n---\nwhere the lamps are\n---", "add it to docs/a.md"),
        build_call("AskUserQuestion", {}, "answered", details={"answers": [1]}),
    ],
)
def test_choices_of_the_moment_and_our_own_questions_are_not(tmp_path: Path, step: Step) -> None:
    assert mine_steps(tmp_path, [step]) == []


def repeat(folder: Path, text: str, times: int) -> list[dict[str, Any]]:
    past = InMemoryRequestCounter()
    return [facts for n in range(times) for facts in mine_steps(folder, [user_text(text)], f"s-{n}", past)]


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
    steps = [user_text("bump the version and write the changelog entry")] * 5
    assert "again" not in [facts["family"] for facts in mine_steps(tmp_path, steps, past=InMemoryRequestCounter())]


def test_a_message_gives_one_signal_at_the_most(tmp_path: Path) -> None:
    past = InMemoryRequestCounter()
    text = "no, don't use npm here, we always use pnpm"
    for n in range(4):
        found = mine_steps(tmp_path, [assistant_text("Where is it? I used npm."), user_text(text)], f"s-{n}", past)
        assert [facts["family"] for facts in found] == ["message"]


def test_words_of_a_refusal_are_at_least_of_confidence_two(tmp_path: Path) -> None:
    steps = [
        build_call(
            "Bash", {"command": "rm -r a"}, f"{REFUSED}To tell you how to proceed, the user said:\nnot this one", True
        )
    ]
    found = [facts for facts in mine_steps(tmp_path, steps) if facts["family"] == "message"]
    assert all(facts["confidence"] >= 2 for facts in found)
    assert [facts["trust"] for facts in found] == ["user_feedback"]


def test_a_redirection_after_an_interruption_is_heard(tmp_path: Path) -> None:
    steps = [
        bash_call("npm i"), assistant_text("Installing"), user_text("[Request interrupted by user]"),
        user_text("no, use pnpm instead, we never use npm"),
    ]  # fmt: skip
    (facts,) = mine_steps(tmp_path, steps)
    assert facts["family"] == "message"
    assert facts["confidence"] >= 2


def test_praise_counts_after_work_of_several_steps_only(tmp_path: Path) -> None:
    praise = user_text("perfect, exactly right, that is how we want it done")
    found = mine_steps(tmp_path, [assistant_text("Hello"), praise])
    assert "pattern" not in [facts["type"] for facts in found]


def test_prompts_of_subagents_are_nobodys_words(tmp_path: Path) -> None:
    steps = [user_text("no, always use pnpm, never npm"), *LOST["three in vain"]]
    assert mine_steps(tmp_path, steps, isSidechain=True, agentId="a1") == []


def test_every_signal_of_a_failure_is_known_as_one() -> None:
    assert {"fix", "loop", "repeated-failure"} <= FAILURE_FAMILIES


def long_session() -> list[Step]:
    """Return moments of every kind, some of them across the point where a later read begins."""
    steps: list[Step] = []
    for n in range(12):
        steps += [
            assistant_text(f"step {n}"),
            failed_bash_call(f"lampctl set {n}", "Error: lamp is unreachable"),
            assistant_text("hm"),
        ]
        steps += [
            failed_bash_call("make tests", "make: *** No rule to make target 'tests'."),
            assistant_text("so"),
            bash_call("make unit", "ok"),
        ]
        steps += [
            grep_call(f"a{n}"),
            assistant_text("Let me search more."),
            grep_call(f"b{n}"),
            grep_call(f"c{n}"),
            grep_call("d", "x.py"),
        ]
        steps += [failed_edit_call(f"lamp{n % 2}.py"), assistant_text("Again."), failed_edit_call(f"lamp{n % 2}.py")]
    return steps


def test_reading_on_from_a_cursor_gives_what_one_reading_gives(tmp_path: Path) -> None:
    path = write_transcript(tmp_path, long_session())
    whole = list(find_signals(TranscriptReader(path)))
    assert {facts["family"] for facts in whole} >= {"repeated-failure", "fix", "thrash", "edits"}
    for limit in range(40, 160, 7):
        first = TranscriptReader(path, limit=limit)
        seen = list(first)
        counted = seen[-1].index + 1
        found = list(find_signals(seen))
        second = TranscriptReader(path, first.cursor, index=first.cursor_index)
        found += [facts for facts in find_signals(second) if (facts["source"]["turn"] or 0) >= counted]
        assert found == whole, limit


def test_empty_answers_of_searches_are_told_from_hits(tmp_path: Path) -> None:
    counted = f"{EMPTY_GREP}\n\nFound 0 total occurrences across 0 files."
    steps = [
        grep_call("a1", counted),
        grep_call("b2", f"{EMPTY_GREP}\n\n[Showing results with pagination = limit: 30]"),
    ]
    assert find_failures(tmp_path, [*steps, grep_call("c3"), grep_call("d4", "Found 2 files\nsrc/d.py")]) == ["thrash"]
