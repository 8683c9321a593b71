"""The fast reader of simple pages agrees with the parser."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reflect_git.targets import markdown
from reflect_git.targets.markdown import Piece, is_sentence, parse_simple_pieces, split_lines

LINES = """
# Title|## Commands|### x #|#|#x|- a|- b `c` d|* c|+ d|1. one|2. two|3) three|10. ten|- |-|1.|  more|   three|    four
      six|\ttab|text here|and [x] more|[x]: /u|[x] y|> q|<!-- a -->|<!-- reflect-git:begin -->|<!-- LRN-20260101-abc -->
<!--x-->|<!-- a|-->|<div>|```|```sh|~~~|````|  ```|- ```|  - nested|  1. n|- [ ] todo|---|===|***|* * *|- - x|- # h
- 1. x|||||   || a <b> c|`code` x|``` a`b|é text|**bold** x|__x__|-x|- > q|- <!-- c -->|text  |-  two|1.  x|title: x
- --|- ---|* **|* ***|- - -|- a --|* **b**|- a\u00a0|\u00a0|&amp;|\\- x|\x0c|\x85x|12345678901. x
""".strip("\n").replace("\n", "|").split("|")  # fmt: skip
SIMPLE = "# Title|## Commands|- a|- b `c`|  more|  - nested|* c|1. one|2. two|||words|<!-- a -->|```|```sh|x: y".split(
    "|"
)
PAGE = """\
---
paths: src/**
---
# Shop

What it is,
in two lines.

## Commands
- `make test`: all
- build:
  ```sh
  make
  ```

```sh
# no heading
make lint
```
1. first
2. then
   more

| a | b |
|---|---|
| 1 | 2 |

<!-- reflect-git:begin -->

## Conventions

<!-- LRN-20260211-4c8d2a1f -->

- Use pnpm.

<!-- reflect-git:end -->
"""


def both(text: str) -> tuple[list[Piece] | None, list[Piece]]:
    """Return the results of both readers."""
    lines = split_lines(text)
    front = markdown.count_front_matter_lines(lines)
    return parse_simple_pieces(lines, front), markdown._parse_with_library(lines, front)


@pytest.mark.parametrize("seed", range(10))
def test_what_it_reads_is_what_the_parser_reads(seed: int) -> None:
    chance, read = random.Random(seed), 0
    for _ in range(200):
        pool = chance.sample(LINES, chance.randint(3, 20)) if chance.random() < 0.5 else SIMPLE
        newline = chance.choice(["\n", "\n", "\r\n"])
        text = newline.join(chance.choices(pool, k=chance.choice([1, 2, 3, 5, 8, 14]))) + chance.choice(["", newline])
        simple, parsed = both(text)
        assert simple is None or simple == parsed, text
        read += simple is not None
    assert read > 20


@given(st.text("#-*+1.) >`~<!a[]:=_\t\r\n\\|", max_size=40))
def test_signs_in_any_order(text: str) -> None:
    simple, parsed = both(text)
    assert simple is None or simple == parsed


def test_pages_as_people_write_them_need_no_parser() -> None:
    simple, parsed = both(PAGE)
    assert simple == parsed
    assert [piece.kind for piece in parsed if piece.kind == "html"] == ["html"] * 3


@pytest.mark.parametrize(
    "line", ["> a", "<div>", "[a]: /b", "    a", "\ta", "---", "- ", "-  a", "a\rb", "- - a", "# a #"]
)
def test_what_can_be_read_in_two_ways_is_left_to_the_parser(line: str) -> None:
    assert both(f"{line}\n")[0] is None


@pytest.mark.parametrize("above", ["- a", "1. a", "  - a"])
def test_a_line_that_may_belong_to_the_item_above_is_left_to_the_parser(above: str) -> None:
    assert both(f"- b\n{above}\nc\n")[0] is None
    assert both(f"{' ' * 200}- a\n")[0] is None


def test_lists_within_lists_that_the_parser_gives_up_are_left_to_it() -> None:
    simple, parsed = both("- a\n  " + "- " * 99 + "x\n\n# Title\n")
    assert simple is None
    assert [piece.kind for piece in parsed] == ["list"]


@pytest.mark.parametrize("line", ["- --", "- ---", "* **", "* ***"])
def test_a_rule_is_no_item(line: str) -> None:
    assert both(f"- a\n{line}\n- b\n")[0] is None


@given(st.text(max_size=30))
def test_a_sentence_is_plain(text: str) -> None:
    if is_sentence(text):
        tokens = MarkdownIt("commonmark").parse(f"- {text}\n")
        assert len(tokens) == 7
        assert tokens[3].content == text


@pytest.mark.parametrize(
    "text", ["1. x", "- x", "#", "```x", "[a]: b", "<b>", "a ", "a\nb", "a\u2028b", "", "    a", "*"]
)
def test_anything_else_is_asked(text: str) -> None:
    assert not is_sentence(text)
