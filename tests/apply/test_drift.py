"""What the store says against what is in the file."""

from __future__ import annotations

import pytest

from reflect_git.apply import block, drift, improvements, rulesfile
from reflect_git.apply.drift import Finding
from reflect_git.apply.plan import Rule
from reflect_git.apply.rulesfile import RulesFile
from tests.apply.test_improvements import FORM, ITEM

A, B = "LRN-20260211-aaaaaaaa", "LRN-20260211-bbbbbbbb"
EXPECTED = [(A, "Use *pnpm*, not npm."), (B, "Run `make check` before a commit.")]


def headed() -> bytes:
    """The form with headings, as ten rules have it."""
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
    assert drift.of_block(data, EXPECTED) == []


def test_missing() -> None:
    gone = [Finding("missing", identity, text) for identity, text in EXPECTED]
    assert drift.of_block(None, EXPECTED) == gone
    assert drift.of_block(b"text\n", EXPECTED) == gone
    assert drift.of_block(written().replace(b"- Use *pnpm*, not npm.\n", b""), EXPECTED) == gone[:1]


def test_different_has_both_texts() -> None:
    data = written().replace(b"npm.", b"yarn.")
    assert drift.of_block(data, EXPECTED) == [Finding("different", A, EXPECTED[0][1], "Use *pnpm*, not yarn.", 5)]
    data = headed().replace(b"npm.", b"yarn.")
    assert drift.of_block(data, EXPECTED) == [Finding("different", A, EXPECTED[0][1], "Use *pnpm*, not yarn.", 7)]


def test_foreign_and_broken_marks() -> None:
    assert drift.of_block(written(), EXPECTED[:1]) == [Finding("foreign", B, live=EXPECTED[1][1], line=6)]
    broken = drift.of_block(written().replace(b"<!-- reflect-git:end -->\n", b""), EXPECTED)
    assert [(found.kind, found.line) for found in broken] == [("marker", 3)]
    assert "never ends" in broken[0].live


def test_rules_files() -> None:
    rule = RulesFile(A, "Use pnpm.", ("src/**",))
    data = rulesfile.render(rule)
    assert drift.of_rules_file(data, rule) == []
    assert [found.kind for found in drift.of_rules_file(None, rule)] == ["missing"]
    assert [found.kind for found in drift.of_rules_file(b"mine\n", rule)] == ["missing"]
    assert [found.kind for found in drift.of_rules_file(data.replace(b"pnpm", b"npm"), rule)] == ["different"]
    assert [found.kind for found in drift.of_rules_file(data.replace(A.encode(), B.encode()), rule)] == [
        "missing",
        "foreign",
    ]


def test_improvements() -> None:
    data = improvements.add(FORM, ITEM)
    assert drift.of_improvements(data, [ITEM]) == []
    assert drift.of_improvements(improvements.move(data, ITEM.id, "Deferred"), [ITEM]) == []
    assert [found.kind for found in drift.of_improvements(FORM, [ITEM])] == ["missing"]
    assert [found.kind for found in drift.of_improvements(data, [])] == ["foreign"]
    assert [found.kind for found in drift.of_improvements(data.replace(b"README", b"wiki"), [ITEM])] == ["different"]


def test_a_rules_file_that_no_rule_belongs_into_is_foreign() -> None:
    data = rulesfile.render(RulesFile(A, "Use pnpm."))
    assert drift.of_file("rules", data, []) == [Finding("foreign", A, live="Use pnpm.", line=1)]
    assert drift.of_file("rules", b"mine\n", []) == []
    assert drift.of_file("block", written(), [Rule(*one, "command") for one in EXPECTED]) == []


def test_two_findings_are_the_same_whatever_a_formatter_did() -> None:
    one = Finding("different", A, "x", "Use *yarn* now", 3)
    assert one.is_same(Finding("different", A, "x", "Use _yarn_\n  now", 9))
    assert not one.is_same(Finding("different", A, "x", "Use _npm_ now", 3))
    assert not one.is_same(Finding("missing", A, "x"))


def test_the_fields_of_an_improvement_are_read_back() -> None:
    (found,) = improvements.find(improvements.add(FORM, ITEM))
    fields = drift.fields_of(found)
    assert (fields["title"], fields["impact"], fields["details"], fields["action"], fields["confidence"]) == (
        ITEM.title, ITEM.impact, ITEM.details, ITEM.action, ITEM.confidence,
    )  # fmt: skip


@pytest.mark.parametrize("gap", [b"\n\n", b"\n", b"\r\n\r\n", b"\n\n\n\n"])
def test_the_line_of_the_text_is_below_the_comment(gap: bytes) -> None:
    data = headed().replace(b"-->\n\n-", b"-->" + gap + b"-").replace(b"pnpm", b"yarn")
    (found,) = drift.of_block(data, EXPECTED)
    lines = data.decode().splitlines()
    assert A in lines[found.line - 1]
    assert lines[drift.line_of_text(data, found) - 1] == "- Use *yarn*, not npm."


def test_the_line_of_the_text_is_below_the_front_matter() -> None:
    data = rulesfile.render(RulesFile(A, "Use pnpm.", ("src/**",)))
    (found,) = drift.of_rules_file(data, RulesFile(A, "Use npm.", ("src/**",)))
    assert data.decode().splitlines()[drift.line_of_text(data, found) - 1].endswith("Use pnpm.")


def test_where_nothing_is_below_it_is_the_line_that_was_found() -> None:
    assert drift.line_of_text(f"<!-- {A} -->\n".encode(), Finding("different", A, line=1)) == 1
