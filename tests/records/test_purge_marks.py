"""Removing a purged learning from a file: a decision about it is dropped, a snapshot keeps the rest."""

from __future__ import annotations

import pytest

from reflect_git.records import yaml_form
from reflect_git.records.purge_marks import (
    has_purged_entry,
    id_mark,
    is_purged_path,
    is_purged_snapshot_path,
    learning_mark,
    remove_purged_entries,
    rules_file_mark,
    snapshot_path_mark,
)
from tests.sync.sample_records import build_decision, build_snapshot

GONE, OTHER = "LRN-20260211-00000001", "LRN-20260211-00000002"
MARKS = frozenset({learning_mark(GONE)})


def entry(identity: str, newline: str = "\n") -> str:
    return newline.join((f"<!-- {identity} -->", "", f"- What {identity} says,", "  on two lines.", ""))


def test_a_decision_goes_by_its_subject_alone() -> None:
    about = yaml_form.emit(build_decision(1, kind="applied", subject=GONE, text="it"))
    other = yaml_form.emit(
        build_decision(2, kind="applied", subject=OTHER, text=f'subject: "{GONE}"\nsubject: "{GONE}"')
    )
    assert remove_purged_entries(about, MARKS) is None and remove_purged_entries(other, MARKS) == other
    assert remove_purged_entries(about, frozenset({id_mark(GONE)})) == about, "a purge of before says nothing of it"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("order", [(GONE, OTHER), (OTHER, GONE), (GONE,), (OTHER,), (GONE, OTHER, GONE)])
def test_a_mirror_loses_the_entries_of_it(order: tuple[str, ...], newline: str) -> None:
    whole = build_snapshot(3, "".join(entry(one, newline) for one in order))
    assert remove_purged_entries(whole, MARKS) == build_snapshot(
        3, "".join(entry(one, newline) for one in order if one != GONE)
    )


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
    assert has_purged_entry(text.encode(), MARKS) == has_it


def test_a_file_of_rules_is_one_learning() -> None:
    gone, other = (build_snapshot(1, f"---\nid: {one}\n---\n\n- It says {GONE}.\n") for one in (GONE, OTHER))
    assert remove_purged_entries(gone, MARKS) == build_snapshot(1, "") and remove_purged_entries(other, MARKS) == other


@pytest.mark.parametrize("data", [b"", b"version: 1\n", b"# mine\n\n<!-- LRN-20260211-00000001 -->\n\n- It.\n"])
def test_other_files_stay_as_they_are(data: bytes) -> None:
    assert remove_purged_entries(data, MARKS) == data


@pytest.mark.parametrize("line", [f"subject: {GONE}", f"subject: '{GONE}'", f'subject:  "{GONE}"\r'])
def test_a_decision_that_a_hand_wrote_otherwise_goes_too(line: str) -> None:
    about = yaml_form.emit(build_decision(1, kind="applied", subject=GONE, text="it"))
    assert remove_purged_entries(about.replace(f'subject: "{GONE}"'.encode(), line.encode()), MARKS) is None


RULES = "targets/desk/shop-0a1b2c3d/.claude/rules/reflect/use-it-00000001.md"


@pytest.mark.parametrize(
    ("path", "marks", "goes"),
    [
        (RULES, {rules_file_mark(GONE)}, True),
        (RULES, {rules_file_mark(OTHER)}, False),
        (RULES, {learning_mark(GONE)}, False),
        ("targets/desk/global/rules/reflect/00000001.md", {rules_file_mark(GONE)}, True),
        ("targets/desk/global/docs/use-it-00000001.md", {rules_file_mark(GONE)}, False),
        ("notes/rules/reflect/use-it-00000001.md", {rules_file_mark(GONE)}, False),
        ("targets/desk", {rules_file_mark(GONE)}, False),
        (f"learnings/{GONE}.yaml", {id_mark(GONE)}, True),
        (f"aside/{GONE}/{'0' * 40}.yaml", {id_mark(GONE)}, True),
        (f"learnings/{OTHER}.yaml", {id_mark(GONE)}, False),
        (f"notes/{GONE}.yaml", {id_mark(GONE)}, False),
    ],
)
def test_a_file_goes_by_its_name(path: str, marks: set[str], goes: bool) -> None:
    assert is_purged_path(path, marks) == goes


def test_a_place_is_one_on_every_machine() -> None:
    assert is_purged_snapshot_path(RULES, {snapshot_path_mark(RULES.replace("desk", "laptop"))})
    assert not is_purged_snapshot_path(
        RULES.replace("shop", "shed"), {snapshot_path_mark(RULES)}
    ) and not is_purged_snapshot_path("targets", {""})
