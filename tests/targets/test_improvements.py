"""Improvements: written in their form, moved between sections, removed byte for byte."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.targets import improvements
from reflect_git.targets.improvements import Improvement
from reflect_git.targets.markdown import parse_pieces
from reflect_git.targets.safe_text import RewordedError
from tests.targets import samples

ITEM = Improvement(
    id="LRN-20260211-aaaaaaaa",
    date="2026-02-11",
    title="Say how to start the database",
    category="Documentation",
    impact="High",
    details="Nothing says how the test database is started.",
    action="Add a section to the README.",
    confidence="High (asked in 2 sessions)",
)
WRITTEN = b"""<!-- reflect-git:new -->

# Project Improvements

Proposed by `/reflect` \xe2\x80\x94 review and apply at your pace.

## Pending

<!-- LRN-20260211-aaaaaaaa -->

### [2026-02-11] Say how to start the database

- **Category**: Documentation
- **Impact**: High
- **Details**: Nothing says how the test database is started.
- **Suggested action**: Add a section to the README.
- **Confidence**: High (asked in 2 sessions)

## Applied

## Deferred
"""
FORM = WRITTEN[WRITTEN.index(b"# Project") : WRITTEN.index(b"<!-- LRN")] + b"## Applied\n\n## Deferred\n"


def item(number: int) -> Improvement:
    return ITEM._replace(id=f"LRN-202602{number:02d}-aaaaaaaa", title=f"Title {number}")


def test_a_new_file_has_the_whole_form() -> None:
    assert improvements.add(None, ITEM) == WRITTEN
    assert improvements.remove(WRITTEN, ITEM) is None


@pytest.mark.parametrize(
    "base",
    [
        b"", b"text", b"text\n",
        FORM, FORM.rstrip(), FORM.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + FORM, b"## Pending",
        b"# X\n\n",
        b"## Pending\n\n### mine\n\n- words\n\nmore\n## Applied\n",
    ],
    ids=repr,
)  # fmt: skip
def test_add_then_remove_gives_the_same_bytes(base: bytes) -> None:
    data = improvements.add(base, ITEM)
    assert [(found.id, found.section) for found in improvements.find_proposals(data)] == [(ITEM.id, "Pending")]
    assert improvements.remove(data, ITEM) == base


@settings(max_examples=300)
@given(samples.instruction_files(), st.integers(1, 4), st.integers(0, 99))
def test_any_order_of_removals_gives_the_base(base: bytes, count: int, seed: int) -> None:
    assume(not improvements.find_proposals(base))
    items = [item(number) for number in range(1, count + 1)]
    random.Random(seed).shuffle(items)
    data: bytes | None = base
    try:
        for each in items:
            data = improvements.add(data, each)
    except ReflectError as error:
        # After a fence or a comment that is never closed nothing can be written.
        assert error.code == "no-place"
        assert parse_pieces(base.decode("utf-8-sig"))[-1].kind in ("fence", "html")
        return
    random.Random(seed + 1).shuffle(items)
    for each in items:
        data = improvements.remove(data, each)
    assert data == base


@pytest.mark.parametrize("base", [None, FORM, b"no end", b"## Pending\n"], ids=repr)
def test_moves_and_back_give_the_same_bytes(base: bytes | None) -> None:
    data = base
    for number in (3, 1, 2):
        data = improvements.add(data, item(number))
    assert data
    applied = improvements.move(data, item(2).id, "Applied")
    assert {found.id: found.section for found in improvements.find_proposals(applied)}[item(2).id] == "Applied"
    deferred = improvements.move(applied, item(2).id, "Deferred")
    assert improvements.move(deferred, item(2).id, "Pending") == data
    assert improvements.move(data, item(2).id, "Pending") == data


def test_what_was_moved_can_be_removed() -> None:
    data = improvements.move(improvements.add(None, ITEM), ITEM.id, "Applied")
    assert improvements.remove(data, ITEM) is None


def test_other_words_and_back_give_the_same_bytes() -> None:
    other = ITEM._replace(title="Other title", impact="Low")
    for base in (FORM, b"no end"):
        data = improvements.add(base, ITEM)
        changed = improvements.replace(data, ITEM, other)
        assert improvements.replace(changed, other, ITEM) == data
        assert improvements.remove(changed, other) == base
        with pytest.raises(RewordedError):
            improvements.replace(changed, ITEM, other)


def test_notes_of_a_person_stay() -> None:
    data = improvements.add(FORM, ITEM).replace(b"sessions)\n", b"sessions)\n\nWe do this in May.\n")
    assert improvements.remove(data, ITEM) == FORM.replace(b"## Applied", b"We do this in May.\n\n## Applied")


def test_a_reworded_proposal_is_not_taken() -> None:
    data = improvements.add(FORM, ITEM).replace(b"README", b"handbook")
    with pytest.raises(RewordedError):
        improvements.remove(data, ITEM)
    assert improvements.remove(data, ITEM, force=True) == FORM
    ticked = improvements.add(FORM, ITEM).replace(b"sessions)\n", b"sessions)\n- **Owner**: me\n")
    with pytest.raises(RewordedError):
        improvements.remove(ticked, ITEM)


def test_a_formatter_does_not_reword() -> None:
    data = (
        improvements.add(FORM, ITEM)
        .replace(b"- **", b"* __")
        .replace(b"**:", b"__:")
        .replace(b"the test", b"the\n  test")
    )
    data = data.replace(b"database\n\n", b"database\n")
    assert improvements.remove(data, ITEM) == FORM


def test_absent_and_double_entries_are_named() -> None:
    for data, code in (
        (FORM, "missing"),
        (improvements.add(FORM, ITEM) + improvements.render(ITEM).encode(), "entry-doubled"),
    ):
        with pytest.raises(ReflectError) as caught:
            improvements.remove(data, ITEM)
        assert caught.value.code == code
    with pytest.raises(ReflectError) as caught:
        improvements.add(improvements.add(FORM, ITEM), ITEM)
    assert caught.value.code == "duplicate"


def test_hostile_fields_stay_in_their_lines() -> None:
    hostile = ITEM._replace(
        title="# x\n## Applied ##", details="a\n## Deferred\n<!-- LRN-20260101-bbbbbbbb -->", action="@~/.ssh"
    )
    data = improvements.add(FORM, hostile)
    assert [found.id for found in improvements.find_proposals(data)] == [ITEM.id]
    assert b"`@~/.ssh`" in data
    assert data.count(b"\n## Applied\n") == 1
    assert improvements.remove(data, hostile) == FORM
