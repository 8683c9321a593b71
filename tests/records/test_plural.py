"""Counts in words."""

from __future__ import annotations

import pytest

from reflect_git.records.ids import plural


@pytest.mark.parametrize(
    "words, said",
    [
        ((0, "signal"), "0 signals"), ((1, "signal"), "1 signal"), ((2, "signal"), "2 signals"),
        ((1, "entry", "entries"), "1 entry"), ((3, "entry", "entries"), "3 entries"),
    ],
)  # fmt: skip
def test_one_and_several(words: tuple[int, str], said: str) -> None:
    assert plural(*words) == said
