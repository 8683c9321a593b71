"""One learning per file, with its id in the front matter."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.targets import rules_file
from reflect_git.targets.rules_file import RulesFile
from reflect_git.targets.safe_text import RewordedError, make_safe
from tests.targets import samples

ID = "LRN-20260211-4c8d2a1f"
RULE = RulesFile(ID, "Use named exports.", ("src/**/*.ts", 'a "b"'))


def test_it_is_written_so() -> None:
    assert rules_file.render(RULE).decode().splitlines() == [
        "---", f"id: {ID}", "paths:", '  - "src/**/*.ts"', '  - "a \\"b\\""', "---", "", "- Use named exports.",
    ]  # fmt: skip
    assert b"paths" not in rules_file.render(RulesFile(ID, "x"))


@given(samples.texts, st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=3))
@example("Use x.", ["\ufffe\uffff", "a\x7f\x80\x85\x9fb", "\n\t\0"])
def test_what_is_written_is_read(text: str, paths: list[str]) -> None:
    if not make_safe(text)[0]:
        return
    rule = RulesFile(ID, text, tuple(paths))
    assert rules_file.parse(rules_file.render(rule)) == RulesFile(ID, make_safe(text)[0], tuple(paths))
    assert rules_file.has_same_rule(rules_file.render(rule), rule)


@pytest.mark.parametrize(
    "data", [b"", b"text", b"---\nid: other\n---\nx", b"---\nid: [\n---\n", b"---\npaths: a\n---\n- x\n"]
)
def test_files_of_others_are_not_ours(data: bytes) -> None:
    assert rules_file.parse(data) is None
    with pytest.raises(ReflectError) as caught:
        rules_file.check_removal(data, RULE, force=True)
    assert caught.value.code == "missing"


@pytest.mark.parametrize(("paths", "read"), [('"a, b"', ("a", "b")), ("a", ("a",)), ("[a, b]", ("a", "b")), ("1", ())])
def test_paths_are_read_as_the_client_does(paths: str, read: tuple[str, ...]) -> None:
    parsed = rules_file.parse(f"---\nid: {ID}\npaths: {paths}\n---\n\n- x\n".encode())
    assert parsed
    assert parsed.paths == read


def test_other_words_need_force() -> None:
    for data in (
        rules_file.render(RULE).replace(b"named", b"default"),
        rules_file.render(RULE) + b"\nMore.\n",
        rules_file.render(RULE).replace(b"*.ts", b"*.js"),
    ):
        with pytest.raises(RewordedError):
            rules_file.check_removal(data, RULE)
        rules_file.check_removal(data, RULE, force=True)
    rules_file.check_removal(rules_file.render(RULE).replace(b"\n", b"\r\n").replace(b"- Use", b"*   Use"), RULE)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Use named exports, not default ones, please", "use-named-exports-not-default-ones-4c8d2a1f"),
        ("Größe", "groe-4c8d2a1f"),
        ("日本語", "4c8d2a1f"),
        ("../../etc/passwd", "etc-passwd-4c8d2a1f"),
        ("x" * 90, "x" * 40 + "-4c8d2a1f"),
        ("", "4c8d2a1f"),
    ],
)
def test_names_are_plain_and_unlike(words: str, name: str) -> None:
    assert rules_file.build_slug(words, ID) == name


def test_an_empty_rule_is_refused() -> None:
    with pytest.raises(ReflectError):
        rules_file.render(RulesFile(ID, " "))
