"""The index of the rules in force."""

from __future__ import annotations

import random

from reflect_git.targets.learnings_index import IndexEntry, render


def test_the_form() -> None:
    learnings = [
        IndexEntry("LRN-20260212-bbbbbbbb", "Mind the\n<!-- x --> gap", "gotcha", 1),
        IndexEntry("LRN-20260211-aaaaaaaa", "Use `pnpm`", "command", 3),
    ]
    assert render(learnings) == {
        "LEARNINGS.md": "# Learnings\n\n"
        "## Commands\n\n- [LRN-20260211-aaaaaaaa] Use `pnpm` (confirmed, 3 sessions)\n\n"
        "## Gotchas\n\n- [LRN-20260212-bbbbbbbb] Mind the gap (confirmed)\n"
    }
    assert render([]) == {"LEARNINGS.md": "# Learnings\n"}


def test_a_large_category_has_a_file_of_its_own() -> None:
    learnings = [
        IndexEntry(f"LRN-20260211-{number:08d}", f"Rule {number}", "project-structure", 0) for number in range(31)
    ]
    files = render(learnings)
    assert list(files) == ["LEARNINGS.md", "project-structure.md"]
    assert files["LEARNINGS.md"].count("- [LRN-") == 30
    assert "- [LRN-20260211-00000000]" not in files["LEARNINGS.md"]
    assert files["project-structure.md"].count("- [LRN-") == 31
    assert "project-structure.md" not in render(learnings[:30])
    random.Random(1).shuffle(learnings)
    assert render(learnings) == files
