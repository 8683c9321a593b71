"""docs/wording.py finds the banned words and forms, and accepts plain wording."""

from __future__ import annotations

import pytest

from docs import wording


def _reasons(source: str, package: str = "cli") -> list[str]:
    return [f"{one.kind}: {one.reason}" for one in wording.check_source(source, package, "a.py")]


@pytest.mark.parametrize(
    "source",
    [
        '"""Commands that set up a store."""',
        'def load_queue():\n    """Load the proposed rules of a project."""',
        'class Queue:\n    """The proposed rules of a project."""',
        'class Queue:\n    @property\n    def size(self):\n        """The number of rules."""',
        'raise ReflectError(f"\'{name}\' is not a target", "see reflect-git rules --all")',
        'front.tell("restored the rule; there is no backup yet")',
        'PATTERN = r"what waits\\b for you"',
    ],
)
def test_accepts_plain_wording(source: str) -> None:
    assert _reasons(source) == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('"""What waits for an answer."""', "docstring: begins with 'What'"),
        ('"""A text that is cut in the middle of\na sentence."""', "docstring: first line is not a whole sentence"),
        ('def find():\n    """The same for a file."""', "docstring: begins with 'The'"),
        ('def find():\n    """Returns the file."""', "docstring: 'Returns' is not an imperative"),
        ('def find():\n    """A file by its name."""', "docstring: 'A' is not an imperative"),
        ('def find():\n    """Find the entry that stands in a file."""', "docstring: 'stands'"),
        ("def told():\n    pass", "name: could mean many things"),
        ("class ReviewDesk:\n    pass", "name: 'desk' in a name"),
        ('front.tell("it is refused as it stands here")', "message: 'stands'"),
        ('raise ReflectError("a question is no rule here")', "message: 'is no …'"),
        ('raise ReflectError("there is no such file.")', "message: message ends with a full stop"),
        ('raise ReflectError("The file is missing here")', "message: message begins with a capital"),
    ],
)
def test_finds_banned_forms(source: str, reason: str) -> None:
    assert _reasons(source) == [reason]


def test_strings_of_other_packages_may_be_data() -> None:
    assert _reasons('PHRASES = ("tell me what waits here",)', "language") == []
    assert _reasons('raise ReflectError("tell me what waits here")', "language") == ["message: 'what waits'"]


def test_no_package_has_more_than_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert wording.main(["--quiet"]) == 0, capsys.readouterr().out
