"""The fast parser gives the same result as the full one, and accepts nothing that the full one refuses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.records import yaml_form
from reflect_git.store.reading import signal_columns
from reflect_git.store.reading.signal_columns import FastParser
from tests.store.test_columns import PATH, TEXTS, signal

META = st.dictionaries(TEXTS, TEXTS | st.booleans() | st.integers() | st.floats(), max_size=2)
SNIPPETS = (
    '"', '""', ", ", ": ", "{", "}", "[", "]", "\n", "\\", "\\n", "\\/", "\\u0041", "null", "0", "-1", "1.0", "1e5",
    "99999999999999999999", '"a": 1', 'tags: ["x"]\n', "status: 1\n", "\u2028", "\x7f", "é", "T24", "-13-", "﻿",
)  # fmt: skip


def skimmed(data: bytes, path: str = PATH) -> tuple[Any, ...]:
    """Return the columns of a record, or () if it needs the full parser."""
    shelf = signal_columns.RecordTable()
    others = FastParser().parse_signals(shelf, [(path, data)])
    assert others == ([] if shelf.paths else [(path, data)])
    return shelf.to_tuple() if shelf.paths else ()


def read_whole(data: bytes) -> tuple[Any, ...]:
    shelf = signal_columns.RecordTable()
    record = yaml_form.parse(data)
    yaml_form.check(record)
    shelf.add(PATH, record, {}, data)
    return shelf.to_tuple()


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=2), META)
def test_a_signal_is_the_same_at_a_glance(content: str, context: str, tags: list[str], meta: dict[str, Any]) -> None:
    try:
        data = yaml_form.emit(signal(content, context, tags, meta, False))
    except ReflectError:  # a number that no record can have
        return
    assert skimmed(data) in ((), read_whole(data))


@given(st.data())
def test_nothing_is_taken_that_the_long_way_refuses(data: st.DataObject) -> None:
    text = yaml_form.emit(signal("use pnpm", "„so“", ["a"], {"score": 0.5, "durable": True}, False)).decode()
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(st.sampled_from(SNIPPETS)) + text[end:]
    found = skimmed(text.encode())
    if found:
        assert found == read_whole(text.encode())


@pytest.mark.parametrize("meta", [{}, {"score": 0.83, "durable": False}, {"why": 'a "word"'}])
def test_what_hooks_write_is_read_at_a_glance(meta: dict[str, Any]) -> None:
    assert skimmed(yaml_form.emit(signal('say "so"\nand so', "", ["Bash", "npm"], meta, False)))


@pytest.mark.parametrize("is_turned", [False, True])
def test_what_is_somewhere_else_or_in_another_order_goes_the_long_way(is_turned: bool) -> None:
    data = yaml_form.emit(signal("use pnpm", "", [], {}, is_turned))
    assert not skimmed(data, PATH if is_turned else PATH.replace("7k3", "7k4"))


def test_what_is_kept_to_be_shared_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_columns, "_MAX_VALUES", 20)
    skimmer, shelf, long_way = FastParser(), signal_columns.RecordTable(), signal_columns.RecordTable()
    for number in range(30):
        data = yaml_form.emit(signal(f"use pnpm {number}", "", ["Bash"], {"score": number}, False))
        assert skimmer.parse_signals(shelf, [(PATH, data)]) == []
        long_way.add(PATH, yaml_form.parse(data), {}, data)
        assert len(skimmer._values) <= 20
    assert shelf.to_tuple() == long_way.to_tuple()
