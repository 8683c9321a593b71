"""Every case of the threat model has tests, and the tests it names exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from reflect_git.cli.app import COMMANDS

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "threat-model.md"

# Cases of features that are not built, so nothing can be tested.
NOT_BUILT: dict[int, str] = {}


def cases() -> dict[int, tuple[str, list[str]]]:
    """Map each case number to what happens and the tests that show it."""
    found = {}
    for line in PAGE.read_text(encoding="utf-8").partition("## Cases")[2].splitlines():
        if re.match(r"\| \d+ \|", line):
            number, _, happens, tests = (cell.strip() for cell in line.strip("|").split(" | "))
            found[int(number)] = (happens, re.findall(r"`([^`]+)`", tests))
    return found


CASES = cases()


@cache
def known_in(file: str) -> dict[str, str]:
    """Map each test of a file to its docstring; a test in a class has the class name as a prefix, as in pytest."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    listed = [("", node) for node in tree.body]
    listed += [(f"{node.name}::", one) for node in tree.body if isinstance(node, ast.ClassDef) for one in node.body]
    return {
        before + node.name: ast.get_docstring(node) or ""
        for before, node in listed
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_cases_are_counted_without_a_gap() -> None:
    """Cases of features that are still being built have numbers above these."""
    assert list(CASES)[:85] == list(range(1, 86)) and list(CASES) == sorted(CASES)


@pytest.mark.parametrize("number", CASES)
def test_a_case_has_tests_or_was_not_built(number: int) -> None:
    happens, tests = CASES[number]
    if number in NOT_BUILT:
        assert (happens, tests) == (f"not built: {NOT_BUILT[number]}", [])
        return
    assert tests and not happens.startswith("not built")
    for named in tests:
        file, _, name = named.partition("::")
        assert name in known_in(file), f"'{named}' is not there"


def test_a_test_that_names_its_case_stands_in_the_table() -> None:
    for path in sorted(TESTS.rglob("test_*.py")):
        file = path.relative_to(TESTS).as_posix()
        for name, said in known_in(file).items():
            for numbers in re.findall(r"\bRows? (\d+(?:(?:, | and )\d+)*)", said):
                for number in re.findall(r"\d+", numbers):
                    assert f"{file}::{name}" in CASES[int(number)][1], f"case {number} does not name it"


def test_what_was_not_built_has_no_command() -> None:
    """If one of these is built, its cases need tests."""
    assert not {"serve"} & set(COMMANDS)
