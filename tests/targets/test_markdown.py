"""Positions in a Markdown text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.targets.markdown import (
    count_front_matter_lines,
    is_blank,
    is_plain_item,
    parse_pieces,
    parse_spans,
    split_lines,
)
from tests.targets import samples


def kinds(text: str) -> list[tuple[str, int, int]]:
    return [(piece.kind, piece.start, piece.end) for piece in parse_pieces(text)]


def test_blocks_are_line_ranges_without_the_blank_lines_behind_them() -> None:
    text = "# A #\n\nwords\nmore\n\n- a\n\n- b\n\n\n```\n# no\n```\n<!-- c -->\n> q\n\n    code\nT\n===\n\n---\n"
    assert kinds(text) == [
        ("heading", 0, 1), ("paragraph", 2, 4), ("list", 5, 8), ("fence", 10, 13), ("html", 13, 14), ("other", 14, 15),
        ("other", 16, 17), ("other", 17, 19), ("other", 20, 21),
    ]  # fmt: skip
    assert parse_pieces(text)[0].text == "A"
    assert parse_pieces(text)[2].items == ((5, 6), (7, 8))


@pytest.mark.parametrize(
    "text",
    [
        "```\n<!-- x -->\n```\n",
        "- a\n\n  <!-- x -->\n",
        "> <!-- x -->\n",
        "    <!-- x -->\n",
        "~~~\n<!-- x -->",
        "1. a\n   <!-- x -->\n",
    ],
)
def test_what_is_inside_is_not_listed(text: str) -> None:
    assert "html" not in {piece.kind for piece in parse_pieces(text)}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\na: b\n---\nx\n", 3),
        ("---\n---\n", 2),
        ("---\r\na: b\r\n...\r\n", 3),
        ("---\na: |\n  - <!-- x -->\n\n# c\nlist:\n- x\n---", 8),
        ("---\nwords of prose\n---\n", 0),
        ("---\n<!-- reflect-git:begin -->\n---\n", 0),
        ("---\na: b\n", 0),
        ("\n---\na: b\n---\n", 0),
        ("", 0),
    ],
)
def test_front_matter(text: str, lines: int) -> None:
    assert count_front_matter_lines(split_lines(text)) == lines


@pytest.mark.parametrize("depth", [5, 30, 90])
def test_a_deep_list_swallows_nothing(depth: int) -> None:
    text = "".join("  " * level + "- x\n" for level in range(depth)) + "\n<!-- c -->\n"
    assert kinds(text) == [("list", 0, depth), ("html", depth + 1, depth + 2)]


@given(samples.instruction_files())
def test_pieces_are_in_order_and_inside_the_text(base: bytes) -> None:
    text = base.decode("utf-8-sig")
    lines = split_lines(text)
    assert "".join(lines) == text
    end = 0
    for piece in parse_pieces(text):
        assert end <= piece.start < piece.end <= len(lines)
        end = piece.end
        assert (
            piece.kind == "fence"
            or not is_blank(lines[end - 1])
            or piece.end == piece.start + 1
            or piece.kind == "html"
        )


@given(
    st.lists(
        st.sampled_from(["a", " ", "`", "``", "\\", "<b>", "<", ">", "<!--", "-->", "<http://x>", "'", '"']),
        max_size=14,
    )
)
def test_spans_are_the_whole_line(parts: list[str]) -> None:
    line = "".join(parts)
    found = parse_spans(line)
    assert [span.start for span in found] == sorted({span.start for span in found})
    assert all(span.text in line[span.start :] for span in found)
    assert len(line) == sum(len(span.text) for span in found) + sum(
        _backticks(line, span.start) for span in found if span.kind == "code"
    )


def _backticks(line: str, start: int) -> int:
    """Return the length of both backtick runs of a code span that starts there."""
    return 2 * (len(line[start:]) - len(line[start:].lstrip("`")))


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("a `b` c", ["text", "code", "text"]),
        ("\\`a`", ["text"]),
        ("``a`b``", ["code"]),
        ("<b>x</b>", ["tag", "text", "tag"]),
        ("<a href='`'>`", ["tag", "text"]),
        ("`<a href='`'>", ["code", "text"]),
        ("<https://x.y>", ["link"]),
        ("a < b > c", ["text"]),
        ("<!-- x -->", ["tag"]),
    ],
)
def test_what_stands_in_a_line(line: str, kinds: list[str]) -> None:
    assert [span.kind for span in parse_spans(line)] == kinds


@pytest.mark.parametrize(
    "text",
    ["# a", "- a", "1. a", "> a", "```", "~~~ x", "---", "[a]: b", "<div>", "", " a", "a\n\nb", "\tcode"],
)
def test_what_is_no_plain_sentence(text: str) -> None:
    assert not is_plain_item(text)
    assert is_plain_item("a - b # c 1. d")
