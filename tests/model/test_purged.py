"""What is left of a file without a learning that was purged: nothing of a decision about it, the rest of a mirror."""

from __future__ import annotations

import pytest

from reflect_git.adapters import records
from reflect_git.model.purged import about_mark, id_mark, left_of
from tests.sync.offers import decision, mirror

GONE, OTHER = "LRN-20260211-00000001", "LRN-20260211-00000002"
MARKS = frozenset({about_mark(GONE)})


def entry(identity: str, newline: str = "\n") -> str:
    return newline.join((f"<!-- {identity} -->", "", f"- What {identity} says,", "  on two lines.", ""))


def test_a_decision_goes_by_its_subject_alone() -> None:
    about = records.emit(decision(1, kind="applied", subject=GONE, text="it"))
    other = records.emit(decision(2, kind="applied", subject=OTHER, text=f'subject: "{GONE}"\nsubject: "{GONE}"'))
    assert left_of(about, MARKS) is None and left_of(other, MARKS) == other
    assert left_of(about, frozenset({id_mark(GONE)})) == about, "a purge of before says nothing of it"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("order", [(GONE, OTHER), (OTHER, GONE), (GONE,), (OTHER,), (GONE, OTHER, GONE)])
def test_a_mirror_loses_the_entries_of_it(order: tuple[str, ...], newline: str) -> None:
    whole = mirror(3, "".join(entry(one, newline) for one in order))
    assert left_of(whole, MARKS) == mirror(3, "".join(entry(one, newline) for one in order if one != GONE))


def test_a_file_of_rules_is_one_learning() -> None:
    gone, other = (mirror(1, f"---\nid: {one}\n---\n\n- It says {GONE}.\n") for one in (GONE, OTHER))
    assert left_of(gone, MARKS) == mirror(1, "") and left_of(other, MARKS) == other


@pytest.mark.parametrize("data", [b"", b"version: 1\n", b"# mine\n\n<!-- LRN-20260211-00000001 -->\n\n- It.\n"])
def test_other_files_stay_as_they_are(data: bytes) -> None:
    assert left_of(data, MARKS) == data
