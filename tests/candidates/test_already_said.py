"""Statements in an instruction file, and where they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reflect_git.candidates.statements import parse_statements
from reflect_git.language.parse import compute_key
from reflect_git.language.sentences import split_line

FILE = """---
paths: src/**
---
# Shop

Work in small steps. Ask e.g. before a release.

## Commands
- Use bun, not deno
* Long bullets go on
  in the next line
1. [ ] Seeds live in `db/seeds.rb`. Never edit them by hand.

```sh
- not a statement
```
<!-- a note
- nor is this -->
<!-- reflect-git:begin -->
### Conventions
<!-- LRN-20260301-abcdefgh -->
- Name queues after their team
<!-- reflect-git:end -->
| a | table |
> quoted words
"""


def _told(text: str) -> list[tuple[int, str]]:
    return [(said.line, said.text) for said in parse_statements("CLAUDE.md", text)]


def test_bullets_paragraphs_and_their_sentences_are_statements() -> None:
    assert _told(FILE) == [
        (6, "Work in small steps. Ask e.g. before a release."),
        (6, "Work in small steps."),
        (6, "Ask e.g. before a release."),
        (9, "Use bun, not deno"),
        (10, "Long bullets go on in the next line"),
        (12, "Seeds live in `db/seeds.rb`. Never edit them by hand."),
        (12, "Seeds live in `db/seeds.rb`."),
        (12, "Never edit them by hand."),
        (22, "Name queues after their team"),
    ]


def test_our_entries_carry_their_id_and_everything_its_heading() -> None:
    said = {one.text: one for one in parse_statements("CLAUDE.md", FILE)}
    assert said["Name queues after their team"].learning == "LRN-20260301-abcdefgh"
    assert said["Name queues after their team"].heading == "Conventions"
    assert said["Use bun, not deno"].learning is None
    assert said["Use bun, not deno"].key == compute_key("use bun instead of deno")


def test_an_index_of_learnings_is_read_by_its_brackets() -> None:
    (said,) = parse_statements("LEARNINGS.md", "## Commands\n- [LRN-20260301-abcdefgh] Use bun (confirmed)\n")
    assert (said.learning, said.text) == ("LRN-20260301-abcdefgh", "Use bun (confirmed)")


def test_windows_line_ends_and_a_byte_order_mark_are_no_text() -> None:
    assert _told("\ufeff- one thing\r\n- another\r\n") == [(1, "one thing"), (2, "another")]


def test_a_sentence_does_not_end_in_code_or_after_an_abbreviation() -> None:
    assert split_line("Run `a. b` first. Then wait, e.g. a minute! 好。再见") == [
        "Run `a. b` first.", "Then wait, e.g. a minute!", "好。", "再见",
    ]  # fmt: skip


def test_hostile_files_are_read_in_one_go() -> None:
    for text in ("<!--" * 250_000, "<!-- -->" * 100_000, "- " * 400_000, "\n" * 900_000, "`" * 900_000, "#" * 900_000):
        assert len(parse_statements("CLAUDE.md", text)) <= 1


@given(st.text(alphabet=st.sampled_from("ab -*#`~\n<!>LRN1.|\r\x00"), max_size=200))
def test_any_file_can_be_read(text: str) -> None:
    for said in parse_statements("x.md", text):
        assert said.text.strip() and 1 <= said.line <= text.count("\n") + text.count("\r") + 1


def test_the_file_of_one_learning_is_its_own() -> None:
    """Otherwise moving or replacing the rule would be refused because of its own text."""
    text = '---\nid: LRN-20260211-4c8d2a1f\npaths:\n  - "*.ts"\n---\n\n- Use named exports. Never a default.\n'
    (whole, *parts) = parse_statements(".claude/rules/reflect/exports.md", text)
    assert whole.text == "Use named exports. Never a default." and whole.line == 7
    assert {said.learning for said in (whole, *parts)} == {"LRN-20260211-4c8d2a1f"}
    others = parse_statements("x.md", text.replace("id: LRN-20260211-4c8d2a1f", "name: exports"))
    assert {said.learning for said in others} == {None}


def test_an_entry_of_improvements_written_by_hand_says_its_title_its_details_and_its_action() -> None:
    entry = """# Project Improvements

## Pending

### [2026-01-31] Document the staging port
- **Category**: Documentation
- **Details**: The staging port is in no README.
- **Suggested action**: Add the staging port to README.md
- **Confidence**: High (seen in 2 sessions)
"""
    assert [(said.line, said.text) for said in parse_statements("improvements.md", entry)] == [
        (5, "Document the staging port"),
        (7, "The staging port is in no README."),
        (8, "Add the staging port to README.md"),
    ]
