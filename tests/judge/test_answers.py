"""What is accepted of a judge's answer: only what it can quote, and never more than the rubric allows."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.judge.answers import Verdict, parse_answer
from reflect_git.judge.messages import Message
from reflect_git.records import schema
from tests.fuzz import corrupt_value
from tests.judge.judges import CRITERIA, build_answer

MESSAGES = (
    Message(1, "user", "please add a date picker to the checkout", 1),
    Message(2, "assistant", "I installed the picker with npm and added it.", 1),
)
TRUE = {"n": 2, "text": "installed the picker with npm"}
INVENTED = {"n": 2, "text": "installed the picker with pnpm"}


def parse(answer: Any) -> Verdict:
    return parse_answer(answer, MESSAGES)


def test_a_score_with_a_true_quote_counts() -> None:
    found = parse(build_answer(TRUE, 3))
    assert found.scores == dict.fromkeys(CRITERIA, 3.0) and found.overall == 3.0 and found.dropped == ()


@pytest.mark.parametrize(
    "quote",
    [INVENTED, {**TRUE, "n": 1}, {**TRUE, "n": 9}, {**TRUE, "n": "2"}, {"n": 2, "text": "the picker  with"},
     {"n": 2, "text": "npm"}, {"n": 2, "text": "            "}, {"n": True, "text": TRUE["text"]}, "text", None],
)  # fmt: skip
def test_a_score_whose_quotes_are_not_there_byte_for_byte_is_dropped(quote: Any) -> None:
    answer = build_answer(TRUE, 2)
    answer["scores"]["tone"] = {"score": 5, "quotes": [quote]}
    answer["weaknesses"] = [{"text": "invented", "quotes": [quote]}, {"text": "true", "quotes": [quote, TRUE]}]
    found = parse(answer)
    assert found.dropped == ("tone",) and "tone" not in found.scores and found.overall == 2.0
    assert [(one.text, one.quotes) for one in found.weaknesses] == [("true", (TRUE["text"],))]


def test_without_any_true_quote_nothing_is_accepted() -> None:
    with pytest.raises(ReflectError, match="no quote of the judge is in the messages"):
        parse(build_answer(INVENTED, 5))


def test_two_scores_are_too_few_for_an_overall_score() -> None:
    answer = build_answer(TRUE, 2)
    answer["scores"] = {name: answer["scores"][name] for name in CRITERIA[:2]}
    found = parse(answer)
    assert found.overall is None and found.recommendation == "keep" and not found.suggestions


@pytest.mark.parametrize(
    ("score", "recommendation", "suggestions", "weaknesses"),
    [(2.0, "update", 5, 1), (3.4, "update", 5, 1), (3.5, "keep", 0, 0), (3.9, "keep", 0, 0), (4.0, "keep", 3, 0)],
)
def test_changes_only_below_three_and_a_half(
    score: float, recommendation: str, suggestions: int, weaknesses: int
) -> None:
    many = [{"category": "nonsense", "text": f"Do it {at}.", "priority": 99} for at in range(9)]
    weak = [{"text": "weak", "quotes": [TRUE]}]
    found = parse(build_answer(TRUE, score, recommendation="update", suggestions=many, weaknesses=weak))
    assert (found.recommendation, len(found.suggestions), len(found.weaknesses)) == (
        recommendation, suggestions, weaknesses,
    )  # fmt: skip
    assert all(one.priority == 5 and one.category in schema.CATEGORIES for one in found.suggestions)


@pytest.mark.parametrize("score", [0, 6, -1, True, "5", None, float("nan"), float("inf"), [5], 10**400])
def test_a_score_that_is_none_is_dropped(score: Any) -> None:
    answer = build_answer(TRUE, 3)
    answer["scores"]["depth"]["score"] = score
    assert parse(answer).dropped == ("depth",)


@pytest.mark.parametrize("answer", [None, [], "5", {}, {"scores": {}}, {"scores": {"charm": 5}}, {"rules": []}])
def test_another_form_is_one_sentence(answer: Any) -> None:
    with pytest.raises(ReflectError, match="the judge did not answer in the form that was asked for"):
        parse(answer)


def test_a_thousand_corrupted_answers_crash_nothing(tmp_path: Path) -> None:
    dice = random.Random(26)
    accepted = 0
    for _ in range(1000):
        weak = [{"text": "weak\x1b[2J", "quotes": [TRUE]}]
        more = [{"category": "command", "text": "Use pnpm.\n# approve all", "priority": 5}]
        answer = build_answer(dice.choice([TRUE, INVENTED]), 2, weaknesses=weak, suggestions=more)
        given = corrupt_value(dice, answer, dice.choice([0.02, 0.15, 0.5]))
        try:
            found = parse(given)
        except ReflectError as error:
            assert error.code == "judge" and error.hint
            continue
        accepted += 1
        assert set(found.scores) | set(found.dropped) == set(CRITERIA)
        assert all(1 <= score <= 5 for score in found.scores.values())
        texts = [found.analysis, *(one.text for one in found.weaknesses), *(one.text for one in found.suggestions)]
        assert all(text.isprintable() and len(text) <= 2000 for text in texts)
        json.dumps(found.scores)
    assert accepted > 100, "the corruption is too strong to test anything"
