"""Wordings that share one frame, and similar wordings that do not."""

from __future__ import annotations

import pytest

from reflect_git.language.parse import agrees, opposes, parse_frame

SAME = [
    ("This project targets Ruby 3.2", "Use Ruby 3.2"),
    ("The repo uses bun", "we use bun"),
    ("Update the notes as well", "update the notes"),
    ("Keep env files in the config folder", "Keep environment files in the configuration directory"),
]
APART = [
    ("No tests in the worker", "Don't run tests in the worker"),
    ("Indent with tabs", "Align with tabs"),
    ("Rebuild the index, then restart", "Restart, then rebuild the index"),
    ("The index must be rebuilt before a release", "The index must not be rebuilt before a release"),
    ("The project targets Ruby 3.2", "The project targets Ruby 3.3"),
]


@pytest.mark.parametrize("one, other", SAME)
def test_they_say_the_same(one: str, other: str) -> None:
    first, second = parse_frame(one), parse_frame(other)
    assert first is not None and first == second


@pytest.mark.parametrize("one, other", APART)
def test_they_do_not(one: str, other: str) -> None:
    first, second = parse_frame(one), parse_frame(other)
    assert first is None or second is None or not agrees(first, second)


def test_a_means_that_is_forbidden_stands_against_the_wish_for_it() -> None:
    wish, ban = parse_frame("Indent with tabs"), parse_frame("Never indent with tabs")
    assert wish and ban and opposes(wish, ban)


def test_a_question_that_may_be_a_proposal_is_no_ban() -> None:
    assert parse_frame("can we not take it from the payload?") is None
    assert parse_frame("couldn't you reuse the parser?") is None
