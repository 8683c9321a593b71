"""A remark that only points at the current task is not a lasting rule."""

from __future__ import annotations

import pytest

from reflect_git.language.rule_form import has_only_pronouns, has_pronoun
from tests.candidates.signals import gather, signal


@pytest.mark.parametrize(
    "text",
    [
        "Leave it alone", "I meant the second file", "no, not that one, the other one", "Put it back!",
        "Use this instead",
        "don't do that", "I was talking about the last line", "not here", "I want both", "undo that please",
        "I said the 2nd option", "Lass das so", "ich meinte die zweite Datei",
        "pas celui-là", "deja eso", "оставь это",
    ],
)  # fmt: skip
def test_pronouns_and_ordinals_alone_only_point(text: str) -> None:
    assert has_only_pronouns(text)


@pytest.mark.parametrize(
    "text",
    [
        "Use pnpm, not npm", "Ask me first", "Never do that again", "Always do this", "Do this first",
        "Keep it simple", "Leave tests alone",
        "Leave the lock file alone", "It uses tabs here", "Run the linter first", "Don't touch generated files", "",
        "No emojis", "Do it in this project", "Use 2 spaces", "Put it into the changelog", "Ask before you do it",
        "不要这样做",
    ],
)  # fmt: skip
def test_a_word_of_its_own_is_more(text: str) -> None:
    assert not has_only_pronouns(text)


def test_what_only_points_is_weak_whatever_else_it_is() -> None:
    found = gather([
        signal("Leave it alone", confidence=3), signal("I meant the second file", trust="user_feedback"),
        signal("Use pnpm, not npm"),
    ])  # fmt: skip
    assert [one.text for one in found.strong] == ["Use pnpm, not npm"]
    assert {one.tier for one in found.weak} == {"weak"} and len(found.weak) == 2


@pytest.mark.parametrize(
    ("text", "pronoun"),
    [
        ("move it to the left", True),
        ("mach es immer so", True),
        ("use pnpm here", False),
        ("die Tests laufen zuerst", False),
    ],
)
def test_a_pronoun_points_and_an_article_does_not(text: str, pronoun: bool) -> None:
    assert has_pronoun(text) == pronoun
