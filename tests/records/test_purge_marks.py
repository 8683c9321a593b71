"""Removing a purged learning from a file: a decision about it is dropped, a snapshot keeps the rest."""

from __future__ import annotations

import pytest

from reflect_git.records import yaml_form
from reflect_git.records.purge_marks import (
    about_mark,
    file_mark,
    has_entry,
    id_mark,
    is_gone,
    is_of_place,
    left_of,
    place_mark,
)
from tests.sync.offers import decision, mirror

GONE, OTHER = "LRN-20260211-00000001", "LRN-20260211-00000002"
MARKS = frozenset({about_mark(GONE)})


def entry(identity: str, newline: str = "\n") -> str:
    return newline.join((f"<!-- {identity} -->", "", f"- What {identity} says,", "  on two lines.", ""))


def test_a_decision_goes_by_its_subject_alone() -> None:
    about = yaml_form.emit(decision(1, kind="applied", subject=GONE, text="it"))
    other = yaml_form.emit(decision(2, kind="applied", subject=OTHER, text=f'subject: "{GONE}"\nsubject: "{GONE}"'))
    assert left_of(about, MARKS) is None and left_of(other, MARKS) == other
    assert left_of(about, frozenset({id_mark(GONE)})) == about, "a purge of before says nothing of it"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("order", [(GONE, OTHER), (OTHER, GONE), (GONE,), (OTHER,), (GONE, OTHER, GONE)])
def test_a_mirror_loses_the_entries_of_it(order: tuple[str, ...], newline: str) -> None:
    whole = mirror(3, "".join(entry(one, newline) for one in order))
    assert left_of(whole, MARKS) == mirror(3, "".join(entry(one, newline) for one in order if one != GONE))


@pytest.mark.parametrize(
    ("text", "has_it"),
    [
        (f"# Mine\n\n<!-- {GONE} -->\n\n- It.\n", True),
        (f"<!-- reflect-git:begin new command {OTHER}:3fa2 {GONE}:e01b -->\n\n- This.\n- That.\n", True),
        (f"<!-- reflect-git:begin command {OTHER}:3fa2 -->\n\n- This.\n", False),
        (f"A note about {GONE}.\n", False),
    ],
)
def test_an_instruction_file_has_the_entry_under_headings_and_in_a_plain_list(text: str, has_it: bool) -> None:
    assert has_entry(text.encode(), MARKS) == has_it


def test_a_file_of_rules_is_one_learning() -> None:
    gone, other = (mirror(1, f"---\nid: {one}\n---\n\n- It says {GONE}.\n") for one in (GONE, OTHER))
    assert left_of(gone, MARKS) == mirror(1, "") and left_of(other, MARKS) == other


@pytest.mark.parametrize("data", [b"", b"version: 1\n", b"# mine\n\n<!-- LRN-20260211-00000001 -->\n\n- It.\n"])
def test_other_files_stay_as_they_are(data: bytes) -> None:
    assert left_of(data, MARKS) == data


@pytest.mark.parametrize("line", [f"subject: {GONE}", f"subject: '{GONE}'", f'subject:  "{GONE}"\r'])
def test_a_decision_that_a_hand_wrote_otherwise_goes_too(line: str) -> None:
    about = yaml_form.emit(decision(1, kind="applied", subject=GONE, text="it"))
    assert left_of(about.replace(f'subject: "{GONE}"'.encode(), line.encode()), MARKS) is None


RULES = "targets/desk/shop-0a1b2c3d/.claude/rules/reflect/use-it-00000001.md"


@pytest.mark.parametrize(("path", "marks", "goes"), [
    (RULES, {file_mark(GONE)}, True), (RULES, {file_mark(OTHER)}, False), (RULES, {about_mark(GONE)}, False),
    ("targets/desk/global/rules/reflect/00000001.md", {file_mark(GONE)}, True),
    ("targets/desk/global/docs/use-it-00000001.md", {file_mark(GONE)}, False),
    ("notes/rules/reflect/use-it-00000001.md", {file_mark(GONE)}, False),
    ("targets/desk", {file_mark(GONE)}, False),
    (f"learnings/{GONE}.yaml", {id_mark(GONE)}, True), (f"aside/{GONE}/{'0' * 40}.yaml", {id_mark(GONE)}, True),
    (f"learnings/{OTHER}.yaml", {id_mark(GONE)}, False), (f"notes/{GONE}.yaml", {id_mark(GONE)}, False),
])  # fmt: skip
def test_a_file_goes_by_its_name(path: str, marks: set[str], goes: bool) -> None:
    assert is_gone(path, marks) == goes


def test_a_place_is_one_on_every_machine() -> None:
    assert is_of_place(RULES, {place_mark(RULES.replace("desk", "laptop"))})
    assert not is_of_place(RULES.replace("shop", "shed"), {place_mark(RULES)}) and not is_of_place("targets", {""})
