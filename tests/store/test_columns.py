"""Rows of the cache: a record's own lines give the same signal as its fields do."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reflect_git.records import yaml_form
from reflect_git.store.reading import signal_columns

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["status: 1", '": "', "a: b\ntags: []", "\u2028\u0085", "\ud83d", "💡 „so“", "\\", ": "]
)
PATH = "signals/2026/02/11/7k/SIG-20260211-7k3v9q2m.yaml"


def signal(content: str, context: str, tags: list[str], meta: dict[str, Any], is_turned: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": "SIG-20260211-7k3v9q2m", "version": 1, "timestamp": "2026-02-11T09:30:00Z", "session_id": "s-1",
        "type": "correction", "status": "captured", "confidence": 2,
        "source": {"hook": "h", "turn": 3, "file": None, "entry": content}, "content": content, "context": context,
        "category": "convention", "tags": tags, "related": [], "promoted_to": None, "meta": meta,
        "project": {"key": "example.org/shop", "name": context}, "machine": "desk", "trust": "user_typed",
        "key": "0123456789abcdef", "stored": "2026-02-11T09:30:00Z",
    }  # fmt: skip
    return dict(reversed(made.items())) if is_turned else made


@given(
    TEXTS, TEXTS, st.lists(TEXTS, max_size=2), st.dictionaries(TEXTS, TEXTS | st.booleans(), max_size=2), st.booleans()
)
def test_lines_and_fields_give_the_same_signal(
    content: str, context: str, tags: list[str], meta: dict[str, Any], is_turned: bool
) -> None:
    lines = yaml_form.emit(signal(content, context, tags, meta, is_turned))
    record = yaml_form.parse(lines)
    found = []
    for given_lines in (lines, b""):
        shelf = signal_columns.RecordTable()
        shelf.add(PATH, record, {}, given_lines)
        columns, pieces = signal_columns.merge_tables([shelf])
        row = (
            *(columns[name][0] for name in ("status", "confidence", "related", "promoted_to")),
            *(p[0] for p in pieces),
        )
        found.append((columns, json.loads(b"".join(signal_columns.build_json([row])))))
    assert found[0] == found[1]
    assert found[0][1] == [record]
