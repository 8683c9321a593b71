"""Our JSON writer without `json` gives the same output as `json`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.records import json_form

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES)
def test_what_is_written_is_what_json_writes(value: Any) -> None:
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert json_form.dumps(value) == written.encode("utf-8", "backslashreplace")


@given(VALUES)
def test_what_is_read_is_what_json_reads(value: Any) -> None:
    assert (
        json_form.loads(json_form.dumps(value)) == json_form.loads(json.dumps(value)) == json.loads(json.dumps(value))
    )


def test_half_a_surrogate_pair_is_written_as_its_escape() -> None:
    assert json_form.dumps(["\ud83d"]) == b'["\\ud83d"]'
    assert json_form.loads(json_form.dumps(["\ud83d"])) == ["\ud83d"]


@pytest.mark.parametrize("data", [b"", b"{", b"[1] 2", b"\xff", "nul", b'{"a": 1,}'])
def test_a_bad_text_is_a_value_error(data: str | bytes) -> None:
    with pytest.raises(ValueError):
        json_form.loads(data)


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError):
        json_form.dumps({"a": {1, 2}})
