"""Differences between the store and the file."""

from __future__ import annotations

import pytest

from reflect_git.targets import block, improvements, plan, rules_file
from reflect_git.targets.plan import Finding, Rule
from reflect_git.targets.rules_file import RulesFile
from tests.targets.test_improvements import FORM, ITEM

A, B = "LRN-20260211-aaaaaaaa", "LRN-20260211-bbbbbbbb"
EXPECTED = [(A, "Use *pnpm*, not npm."), (B, "Run `make check` before a commit.")]


def headed() -> bytes:
    """Return the form with headings, as ten rules have it."""
    entries = "".join(f"<!-- {identity} -->\n\n- {text}\n\n" for identity, text in EXPECTED)
    return f"# T\n\n<!-- reflect-git:begin -->\n\n## Commands\n\n{entries}<!-- reflect-git:end -->\n".encode()


def written() -> bytes:
    data = b"# T\n"
    for identity, text in EXPECTED:
        data = block.add(data, identity, text, "command")
    return data


@pytest.mark.parametrize(
    "data",
    [
        written(),
        written().replace(b"\n", b"\r\n"),
        written().replace(b"\n- ", b"\n* "),
        written().replace(b"-->\n\n-", b"-->\n-"),
        written().replace(b"*pnpm*", b"_pnpm_"),
        written().replace(b"before a", b"before\n  a"),
        written().replace(b"\n\n", b"\n\n\n"),
        headed(),
        headed().replace(b"-->\n\n-", b"-->\n-"),
    ],
)
def test_a_formatter_is_no_finding(data: bytes) -> None:
    assert plan.compare_block(data, EXPECTED) == []


def test_missing() -> None:
    gone = [Finding("missing", identity, text) for identity, text in EXPECTED]
    assert plan.compare_block(None, EXPECTED) == gone
    assert plan.compare_block(b"text\n", EXPECTED) == gone
    assert plan.compare_block(written().replace(b"- Use *pnpm*, not npm.\n", b""), EXPECTED) == gone[:1]


def test_different_has_both_texts() -> None:
    data = written().replace(b"npm.", b"yarn.")
    assert plan.compare_block(data, EXPECTED) == [Finding("different", A, EXPECTED[0][1], "Use *pnpm*, not yarn.", 5)]
    data = headed().replace(b"npm.", b"yarn.")
    assert plan.compare_block(data, EXPECTED) == [Finding("different", A, EXPECTED[0][1], "Use *pnpm*, not yarn.", 7)]


def test_foreign_and_broken_marks() -> None:
    assert plan.compare_block(written(), EXPECTED[:1]) == [Finding("foreign", B, live=EXPECTED[1][1], line=6)]
    broken = plan.compare_block(written().replace(b"<!-- reflect-git:end -->\n", b""), EXPECTED)
    assert [(found.kind, found.line) for found in broken] == [("marker", 3)]
    assert "never ends" in broken[0].live


def test_rules_files() -> None:
    rule = RulesFile(A, "Use pnpm.", ("src/**",))
    data = rules_file.render(rule)
    assert plan.compare_rules_file(data, rule) == []
    assert [found.kind for found in plan.compare_rules_file(None, rule)] == ["missing"]
    assert [found.kind for found in plan.compare_rules_file(b"mine\n", rule)] == ["missing"]
    assert [found.kind for found in plan.compare_rules_file(data.replace(b"pnpm", b"npm"), rule)] == ["different"]
    assert [found.kind for found in plan.compare_rules_file(data.replace(A.encode(), B.encode()), rule)] == [
        "missing",
        "foreign",
    ]


def test_improvements() -> None:
    data = improvements.add(FORM, ITEM)
    assert plan.compare_improvements(data, [ITEM]) == []
    assert plan.compare_improvements(improvements.move(data, ITEM.id, "Deferred"), [ITEM]) == []
    assert [found.kind for found in plan.compare_improvements(FORM, [ITEM])] == ["missing"]
    assert [found.kind for found in plan.compare_improvements(data, [])] == ["foreign"]
    assert [found.kind for found in plan.compare_improvements(data.replace(b"README", b"wiki"), [ITEM])] == [
        "different"
    ]


def test_a_rules_file_that_no_rule_belongs_into_is_foreign() -> None:
    data = rules_file.render(RulesFile(A, "Use pnpm."))
    assert plan.compare_file("rules", data, []) == [Finding("foreign", A, live="Use pnpm.", line=1)]
    assert plan.compare_file("rules", b"mine\n", []) == []
    assert plan.compare_file("block", written(), [Rule(*one, "command") for one in EXPECTED]) == []


def test_two_findings_are_the_same_whatever_a_formatter_did() -> None:
    one = Finding("different", A, "x", "Use *yarn* now", 3)
    assert one.is_same(Finding("different", A, "x", "Use _yarn_\n  now", 9))
    assert not one.is_same(Finding("different", A, "x", "Use _npm_ now", 3))
    assert not one.is_same(Finding("missing", A, "x"))


def test_the_fields_of_an_improvement_are_read_back() -> None:
    (found,) = improvements.find_proposals(improvements.add(FORM, ITEM))
    fields = plan.parse_fields(found)
    assert (fields["title"], fields["impact"], fields["details"], fields["action"], fields["confidence"]) == (
        ITEM.title, ITEM.impact, ITEM.details, ITEM.action, ITEM.confidence,
    )  # fmt: skip


@pytest.mark.parametrize("gap", [b"\n\n", b"\n", b"\r\n\r\n", b"\n\n\n\n"])
def test_the_line_of_the_text_is_below_the_comment(gap: bytes) -> None:
    data = headed().replace(b"-->\n\n-", b"-->" + gap + b"-").replace(b"pnpm", b"yarn")
    (found,) = plan.compare_block(data, EXPECTED)
    lines = data.decode().splitlines()
    assert A in lines[found.line - 1]
    assert lines[plan.find_text_line(data, found) - 1] == "- Use *yarn*, not npm."


def test_the_line_of_the_text_is_below_the_front_matter() -> None:
    data = rules_file.render(RulesFile(A, "Use pnpm.", ("src/**",)))
    (found,) = plan.compare_rules_file(data, RulesFile(A, "Use npm.", ("src/**",)))
    assert data.decode().splitlines()[plan.find_text_line(data, found) - 1].endswith("Use pnpm.")


def test_where_nothing_is_below_it_is_the_line_that_was_found() -> None:
    assert plan.find_text_line(f"<!-- {A} -->\n".encode(), Finding("different", A, line=1)) == 1
