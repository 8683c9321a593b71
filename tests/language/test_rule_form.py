"""Which sentences work as a rule by themselves, and the tables that decide it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.language.rule_form import find_end_date, find_rule_fault, is_english, tidy_sentence
from reflect_git.language.sentences import split_sentences
from reflect_git.language.words import KNOWLEDGE_DIR, load_table

RULES = """Commit messages must start with the ticket number, like SHOP-12
Seeds live in db/seeds
When you add a queue, also update queues.yaml
Every queue needs an owner
We don't mock the clock in integration tests
The staging mirror is read only
Keep functions below 30 lines
Prefer early returns over nested ifs
Release branches are called release/x.y
Nie direkt auf main pushen
Vor jedem Commit `make check` ausführen
Nunca borres migraciones
Ne modifie jamais les fichiers générés
Тесты лежат в tests/
提交前请运行 make lint
mainに直接pushしないでください""".splitlines()
NO_RULES = """Fix the failing test in cart.py
Rename foo to bar
Run the tests again
Don't change anything yet, just explain
Use the second option
The API returns 500 when the cart is empty
I think we should use redis
Make the table sortable
Warum ist der Test rot?
Corrige le bug dans le panier
The customer says that the page is slow
Wrong file, I meant main.tf""".splitlines()


@pytest.mark.parametrize("text", RULES)
def test_a_standing_instruction_is_a_rule(text: str) -> None:
    assert find_rule_fault(text) == ""


@pytest.mark.parametrize("text", NO_RULES)
def test_a_task_a_report_or_a_question_is_none(text: str) -> None:
    assert find_rule_fault(text)


def test_the_language_is_told_by_the_small_words() -> None:
    assert is_english("Never push to main") and is_english("pnpm")
    assert not is_english("Nie direkt auf main pushen") and not is_english("Тесты лежат в tests/")


@given(st.text(max_size=200))
def test_tidying_and_judging_take_any_text(text: str) -> None:
    assert isinstance(find_rule_fault(tidy_sentence(text)), str)


def test_what_was_pasted_is_nobodys_sentence() -> None:
    message = "still red:\n```\nnever trust the cache, always rebuild\n```\n> always use scp\n    never(x);\nhm, odd"
    assert split_sentences(message) == ["still red:", "hm, odd"]


def test_a_sentence_is_not_cut_within_code_quotes_or_abbreviations() -> None:
    assert split_sentences("Use `a. b` here, e.g. for logs. Never C.") == [
        "Use `a. b` here, e.g. for logs.",
        "Never C.",
    ]
    assert split_sentences("See https://example.org/a.b?c=d. Then go.") == [
        "See https://example.org/a.b?c=d.",
        "Then go.",
    ]


@pytest.mark.parametrize(
    "text, day",
    [
        ("use the old mirror until March", "2027-03-01"), ("until 2027-05-02 no deploys", "2027-05-02"),
        ("we stay on 3.2 until at least Q3", "2027-07-01"), ("until the end of March", "2027-03-31"),
        ("until the end of Q1", "2027-03-31"), ("until December", "2026-12-01"), ("until November", "2027-11-01"),
        ("no deploys until Friday", "2026-11-20"), ("until 3 March 2028", "2028-03-03"),
        ("tot maart niets verwijderen", "2027-03-01"),
        ("until March 3rd", "2027-03-03"), ("until 2028", "2028-01-01"), ("bis Ende März bleibt es so", "2027-03-31"),
        ("hasta marzo", "2027-03-01"), ("jusqu'en mars", "2027-03-01"), ("до марта", "2027-03-01"),
        ("wait until the specs pass", ""), ("until you may commit", ""), ("until 2027-13-01", ""),
        ("until 31 February", ""), ("use the mirror", ""),
    ],
)  # fmt: skip
def test_an_end_date_is_read_from_the_words(text: str, day: str) -> None:
    assert find_end_date(text, "2026-11-18T10:00:00Z") == day


@pytest.mark.parametrize("name", sorted(path.stem for path in Path(KNOWLEDGE_DIR).glob("*.json")))
def test_every_table_is_an_object_without_a_key_given_twice(name: str) -> None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    assert json.loads(Path(KNOWLEDGE_DIR, f"{name}.json").read_text(encoding="utf-8"), object_pairs_hook=once)


def _patterns(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [one for each in value.values() for one in _patterns(each)]
    return [one for each in value for one in _patterns(each)] if isinstance(value, list) else [value]


def test_every_pattern_of_the_wording_can_be_compiled_and_matches_no_empty_text() -> None:
    words = {**load_table("wording"), "wrapped": [form for form, _, _ in load_table("wording")["wrapped"]]}
    for pattern in _patterns(words):
        assert not re.compile(pattern).fullmatch(""), pattern


def test_a_comma_behind_a_please_still_parts_two_clauses() -> None:
    assert (
        tidy_sentence("no globals in handlers please, pass the logger in")
        == "No globals in handlers, pass the logger in"
    )
    assert tidy_sentence("no globals, please, pass the logger in") == "No globals, pass the logger in"
