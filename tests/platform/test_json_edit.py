"""Editing JSON as text: additions and removals leave every other byte unchanged."""

from __future__ import annotations

import json

import pytest

from reflect_git.platform import claude_settings

NEW = {"a": [1, {}]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "new": {\n    "a": [\n      1,\n      {}\n    ]\n  }\n}'),
        ('{"x":1}', '{"x":1,"new":{"a":[1,{}]}}'),
        ('{"x": 1}', '{"x": 1, "new": {"a": [1, {}]}}'),
        ('{ "x": 1 }', '{ "x": 1, "new": {"a": [1, {}]} }'),
        ('{\n\t"x": 1\n}\n', '{\n\t"x": 1,\n\t"new": {\n\t\t"a": [\n\t\t\t1,\n\t\t\t{}\n\t\t]\n\t}\n}\n'),
        ('{\r\n "x": 1\r\n}', '{\r\n "x": 1,\r\n "new": {\r\n  "a": [\r\n   1,\r\n   {}\r\n  ]\r\n }\r\n}'),
    ],
)
def test_an_entry_comes_in_the_manner_of_the_document(before: str, after: str) -> None:
    added = claude_settings.append_entry(before, 0, NEW, "new")
    assert added == after
    assert claude_settings.remove_entry(added, 0, len(claude_settings.list_entries(added, 0)) - 1) == before


@pytest.mark.parametrize("before", ["{ }", "{\n\n}", "{\n    }", "{\t}", "  {\r\n}\r\n"])
def test_white_space_in_an_empty_container_comes_back(before: str) -> None:
    opening = claude_settings.find_root(before)
    added = claude_settings.append_entry(before, opening, NEW, "new")
    assert json.loads(added) == {"new": NEW}
    assert claude_settings.remove_entry(added, opening, 0) == before


def test_what_came_after_ours_stays_when_ours_goes() -> None:
    text = '{\n  "ours": 1,\n  "b": 2,\n  "ours too": 3,\n  "c": 4\n}'
    text = claude_settings.remove_entry(claude_settings.remove_entry(text, 0, 2), 0, 0)
    assert text == '{\n  "b": 2,\n  "c": 4\n}'


def test_of_a_key_given_twice_the_last_one_counts() -> None:
    text = '{"a": [1], "b": "}", "a": [2]}'
    assert claude_settings.get_value(text, claude_settings.find_value(text, 0, "a")) == [2]
    assert claude_settings.find_value(text, 0, "c") == -1


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{"a": 1,}', 1, 9),
        ('{\n  // why\n  "a": 1\n}', 2, 3),
        ('{"a": 1} x', 1, 10),
        ('{"a":\n NaN}', 2, 2),
        ("", 1, 1),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        claude_settings.parse_json(text)
    assert (caught.value.lineno, caught.value.colno) == (line, column)
