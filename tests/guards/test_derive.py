"""A matcher derived from a rule's text applies to the calls that its author means, and to no others."""

from __future__ import annotations

import random

import pytest

from reflect_git.guards.derivation.derive import derive_matcher
from reflect_git.guards.form import find_problem
from reflect_git.guards.match import Call, find_match
from tests.guards.corpus import Case, load_cases

CASES = list(load_cases())
NOT_GUARDABLE = (
    "Keep functions under 40 lines.",
    "Use descriptive names.",
    "Run the tests before you commit.",
    "Prefer small commits.",
    "We use Python 3.11.",
    "Never assume the user is wrong.",
    "Use `npm ci` in CI, not `npm install`.",
    "Use tabs, not spaces.",
    "When the build fails, don't use npm.",
    "Never modify files outside `src/`.",
    "No `print` in library code.",
    "Don't forget to run `make lint`.",
    "No need to run `npm install` here, it is done.",
    "You don't need sudo for docker.",
    "If pytest fails, fix the code; don't edit the tests.",
    "Never commit without running `make test`.",
    "Don't run `docker build` twice in a row.",
    "Never say you ran `pytest` if you did not.",
    "Avoid `git checkout -- <file>`, it loses work.",
    "kubectl is read-only: no apply, no delete, no edit.",
    "Don't create files in the root directory.",
    "On Windows use `py`, not `python`.",
    "",
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule[:30]} {next(iter(case.given.values()))[:30]}")
def test_rule_applies_as_meant(case: Case) -> None:
    matcher = derive_matcher(case.rule)
    found = find_match(matcher, Call(case.tool, case.given, root="/home/pat/shop")) if matcher else ""
    assert bool(found) == case.applies, matcher


def test_every_derived_matcher_can_be_stored() -> None:
    for rule in {case.rule for case in CASES if case.applies} | {
        "Every new Go file must start with the SPDX-License-Identifier header"
    }:
        matcher = derive_matcher(rule)
        assert matcher and find_problem({key: value for key, value in matcher.items() if key != "instead"}) == "", rule


@pytest.mark.parametrize("rule", NOT_GUARDABLE)
def test_unclear_rules_are_not_guardable(rule: str) -> None:
    assert derive_matcher(rule) is None


@pytest.mark.parametrize(
    ("rule", "instead"),
    [
        ("Use bun instead of npm.", "bun"),
        ("Don't use wget; use curl.", "curl"),
        ("Never edit `api/`; run `make api`.", "make api"),
        ("Avoid `moment`, use `luxon` instead.", "luxon"),
        ("Never use npm in this project, always use pnpm instead", "pnpm"),
    ],
)
def test_says_what_to_use_instead(rule: str, instead: str) -> None:
    matcher = derive_matcher(rule)
    assert matcher and matcher["instead"] == instead


@pytest.mark.parametrize(
    "rule", ["Nutze pnpm statt npm.", "Utilise pnpm, pas npm.", "不要用 npm，用 pnpm", "Kein npm, immer pnpm."]
)
def test_preferences_in_other_languages(rule: str) -> None:
    matcher = derive_matcher(rule)
    assert matcher and matcher["any"] == [{"run": "npm"}]


@pytest.mark.parametrize(
    "rule", ["Use `$(rm -rf /)`, not `\x1b[31m`", "never `((a+)+)+$`", "`" * 500, "Don't edit `[`", "never use `*`"]
)
def test_hostile_texts_are_inert(rule: str) -> None:
    matcher = derive_matcher(rule)
    assert matcher is None or find_match(matcher, Call("Bash", {"command": "ls -la"})) == ""


@pytest.mark.parametrize(
    "rule",
    [
        "never ** use sh`", r"never \*\* use sh`", "except run is `\\` and not use",
        "except it is `npm` and not use it", "never except `npm`", "except", "never use",
        "not in favour of ", "never , use `npm` instead",
    ],
)  # fmt: skip
def test_a_text_without_a_meaning_is_not_guardable(rule: str) -> None:
    matcher = derive_matcher(rule)
    assert matcher is None or find_problem({key: value for key, value in matcher.items() if key != "instead"}) == ""


def test_no_text_raises_an_error() -> None:
    dice = random.Random(11)
    words = sorted({word for case in CASES for word in case.rule.split()})
    joints = "not never use run except only is without it there in and or to instead for be , . ( ) ` ** `\\`".split()
    for _ in range(3000):
        derive_matcher(" ".join(dice.choice((words, joints)[dice.random() < 0.5]) for _ in range(dice.randint(1, 9))))
