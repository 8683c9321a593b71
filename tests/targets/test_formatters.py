"""Effects of prettier on our output. Skipped without prettier; REFLECT_GIT_PRETTIER names one."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import assume, given, settings

from reflect_git.targets import block, improvements, rules_file
from reflect_git.targets.rules_file import RulesFile
from reflect_git.targets.safe_text import make_safe
from tests.targets import samples
from tests.targets.test_improvements import ITEM

# Read here: a test does not see the real environment.
PRETTIER = os.environ.get("REFLECT_GIT_PRETTIER") or shutil.which("prettier")
pytestmark = pytest.mark.skipif(not PRETTIER, reason="no prettier here")

A, B = "LRN-20260211-aaaaaaaa", "LRN-20260211-bbbbbbbb"
RULES = [
    (
        A,
        "Use `pnpm test:unit`, not `npm test`, in this project; it starts the database first and stops it again.",
        "command",
    ),
    (B, "# of retries is 3 and *.py files are checked by `make lint`.", "gotcha"),
    ("LRN-20260212-cccccccc", "1. install @types/node, then <Button> is found", "gotcha"),
    ("LRN-20260213-dddddddd", "日本語のテキストは空白なしで続き" * 4, "naming"),
]
MANY = [*RULES, *((f"LRN-20260214-eeeeeee{n}", f"Rule number {n}.", "convention") for n in range(6))]


def prettier(data: bytes, *options: str) -> bytes:
    command = [str(PRETTIER), "--stdin-filepath", "CLAUDE.md", *options]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def written(base: bytes | None, rules: list[tuple[str, str, str]] = RULES) -> bytes:
    for identity, text, category in rules:
        base = block.add(base, identity, text, category)
    return base or b""


@pytest.mark.parametrize(
    "base", [None, b"# T\n\nwords\n", b"# T\n\n- a\n- b\n", b"---\na: b\n---\n", b"| a   |\n| --- |\n| b   |\n"]
)
def test_prettier_leaves_our_block_alone(base: bytes | None) -> None:
    for rules in (RULES, MANY):
        data = written(base, rules)
        assert (b"# Commands" in data) == (rules is MANY)
        assert prettier(data) == data


@pytest.mark.parametrize("rules", [RULES, MANY], ids=["list", "headings"])
@pytest.mark.parametrize("wrap", ["always", "never", "preserve"])
def test_after_any_wrap_everything_is_still_found_and_goes(wrap: str, rules: list[tuple[str, str, str]]) -> None:
    base = b"# T\n\nwords\n"
    data: bytes | None = prettier(written(base, rules), "--prose-wrap", wrap)
    for identity, text, _ in rules:
        data = block.remove(data, identity, text)
    assert data == base


@settings(max_examples=15)
@given(samples.texts)
def test_prettier_rewords_no_text(text: str) -> None:
    assume(make_safe(text)[0])
    data = prettier(block.add(b"# T\n", A, text, "naming"), "--prose-wrap", "always")
    assert block.remove(data, A, text) == b"# T\n"


def test_prettier_leaves_the_other_forms_alone() -> None:
    for data in (
        improvements.add(None, ITEM),
        improvements.move(improvements.add(None, ITEM), ITEM.id, "Deferred"),
        rules_file.render(RulesFile(A, "Use pnpm.", ("src/**/*.ts", "a b"))),
    ):
        assert prettier(data) == data
    assert improvements.remove(prettier(improvements.add(None, ITEM), "--prose-wrap", "always"), ITEM) is None
