"""The prompt with which a model words rules, and the parsing of its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reflect_git.rules.model_wording import (
    ParsedWording,
    PromptItem,
    build_prompt,
    build_system_prompt,
    estimate_tokens,
    parse_answer,
)
from tests.conftest import REPO

RULES = (REPO / "templates/wording/rules.md").read_text(encoding="utf-8")
CALL = (REPO / "templates/wording/call.md").read_text(encoding="utf-8")


def test_both_roads_have_the_same_rules_word_for_word() -> None:
    skill = (REPO / "skills/reflect/SKILL.md").read_text(encoding="utf-8")
    assert skill.count(RULES) == 1 and CALL.count("{rules}") == 1
    system = build_system_prompt(CALL, RULES)
    assert RULES in system and "{rules}" not in system


def test_the_prompt_is_json_and_has_nothing_twice() -> None:
    items = [
        PromptItem(("use uv\nnot pip",), "use uv not pip"),
        PromptItem(("that one",), "no, why that one? use seeds"),
        PromptItem(("é" * 500, "b", "c", "d"), "m" * 900),
    ]
    told = json.loads(build_prompt(items))
    assert told[0] == {"n": 1, "said": ["use uv not pip"]}
    assert told[1] == {"n": 2, "said": ["that one"], "message": "no, why that one? use seeds"}
    assert [len(text) for text in told[2]["said"]] == [400, 1, 1] and len(told[2]["message"]) == 800


def test_words_of_other_scripts_are_expected_to_take_more_tokens() -> None:
    latin, wide = (estimate_tokens("", letter * 400, 2)[0] for letter in ("a", "語"))
    assert (wide - latin, estimate_tokens("", "", 2)[1]) == (300, 300)


def entry(**fields: Any) -> ParsedWording:
    return parse_answer({"rules": [{"n": 1, **fields}]}, 1)[0]


def test_a_text_a_reason_and_a_twin_are_taken() -> None:
    answer = {"rules": [
        {"n": 2, "rule": " Use  uv,\nnot pip. ", "same_as": 1}, {"n": 1, "rule": "Use uv."},
        {"n": 3, "no_rule": "a task."},
    ]}  # fmt: skip
    assert parse_answer(answer, 3) == [
        ParsedWording("Use uv."),
        ParsedWording("Use uv, not pip.", same_as=0),
        ParsedWording(no_rule="a task"),
    ]


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"rules": None}, {"rules": [None, 1, {"n": "1"}, {"n": 2}, {"n": True}]}]
)
def test_whatever_else_it_says_is_no_answer(answer: Any) -> None:
    assert parse_answer(answer, 1) == [ParsedWording(trouble="Claude left it out")]


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("Use uv. Never pip. Run `uv sync`.", "has 3 sentences"),
        ("Use " + "very " * 60 + "long texts", "is too long"),
        ("Use the key [redacted:key] for staging", "had a secret in it"),
        ("Should tests use uv?", "is a question"),
        ("Run `uv sync before the tests", "is no whole sentence"),
    ],
)
def test_a_text_that_is_no_rule_in_form_is_dropped(rule: str, why: str) -> None:
    assert entry(rule=rule) == ParsedWording(trouble=f"Claude's text was dropped: it {why}")


def test_an_entry_may_not_act_on_a_terminal_nor_point_forward() -> None:
    assert entry(rule="Use\x1b[31m uv\u202e.") == ParsedWording("Use[31m uv.")
    assert entry(rule="Use uv.", same_as=1).same_as is entry(rule="Use uv.", same_as=7).same_as is None
    assert entry(rule=["x"], no_rule=3) == entry() == ParsedWording(trouble="Claude gave no text")
    assert len(entry(no_rule="x" * 500).no_rule) == 100


def test_the_first_entry_of_a_number_counts() -> None:
    assert parse_answer({"rules": [{"n": 1, "rule": "Use uv."}, {"n": 1, "rule": "Use pip."}]}, 1) == [
        ParsedWording("Use uv.")
    ]


@pytest.mark.parametrize(
    "text",
    ["To seed the shop, run `make seed`.", "Do not start servers on port 80.", "Do not concern yourself with `log/`."],
)
def test_a_whole_sentence_of_the_model_is_taken_however_it_begins(text: str) -> None:
    assert entry(rule=text) == ParsedWording(text)
