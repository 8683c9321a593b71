"""Files that a person edited: plain YAML is parsed, everything complex is refused, and quickly."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.platform.yaml_loose import MAX_EVENTS, MAX_KEYS, parse_edited
from reflect_git.records.yaml_form import MAX_BYTES, RecordError, check, emit, parse

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.yaml")), ids=lambda path: path.name[:3])
def test_a_canonical_file_is_read_the_same(path: Path) -> None:
    data = path.read_bytes()
    record = parse_edited(data)
    check(record)
    assert emit(record) == data


@pytest.mark.parametrize(
    "written, value",
    [
        ("2026-02-11", "2026-02-11"),
        ("2026-02-11T09:30:00Z", "2026-02-11T09:30:00Z"),
        ("2026-02-11 09:30:00 +1", "2026-02-11 09:30:00 +1"),
        ("12:30", "12:30"),
        ("190:20:30", "190:20:30"),
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("y", "y"),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-17", -17),
        ("+1", 1),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e5", 1e5),
        ("1.0e-05", 1e-05),
        ("1.2.3", "1.2.3"),
        ("'2'", "2"),
        ('"2"', "2"),
        ('"null"', "null"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\ud83d"', "\ud83d"),
        ('"\\x41\\u00e9\\U0001f600\\/"', "Aé😀/"),
        ("naïve 😀 text # a comment", "naïve 😀 text"),
        ("'it''s'", "it's"),
        ("|\n  one\n  two", "one\ntwo\n"),
        (">-\n  one\n  two", "one two"),
        ("one\n  two", "one two"),
        ("\n- 1\n- x", [1, "x"]),
        ("\n  b: 1\n  c: {d: [e, 2]}", {"b": 1, "c": {"d": ["e", 2]}}),
        ("{1: x, true: y, 2026-02-11: z}", {"1": "x", "true": "y", "2026-02-11": "z"}),
        ('{"<<": 1}', {"<<": 1}),
        ("[]", []),
        ("{}", {}),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_a_value_as_a_person_writes_it(written: str, value: Any) -> None:
    found = parse_edited(f"a: {written}\n".encode())
    assert json.dumps(found) == json.dumps({"a": value})
    assert type(found["a"]) is type(value)
    assert parse(emit(found)) == found


@pytest.mark.parametrize("head", ["", "# a note\n", "---\n", "\ufeff", "\n\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_editors_leave_their_marks(head: str, newline: str) -> None:
    text = head + "a: 1\nb:\n  - x\n\n...\n"
    assert parse_edited(text.replace("\n", newline).encode()) == {"a": 1, "b": ["x"]}


def _nested(levels: int) -> bytes:
    return b"a: " + b"[" * (levels - 1) + b"]" * (levels - 1)


def _keys(count: int) -> bytes:
    return "".join(f"k{number}: 1\n" for number in range(count)).encode()


def _items(count: int) -> bytes:
    return b"a:\n" + b"- 1\n" * count


def test_limits_are_limits() -> None:
    assert len(parse_edited(_keys(MAX_KEYS))) == MAX_KEYS
    assert parse_edited(_nested(8))
    assert len(parse_edited(_items(MAX_EVENTS - 10))["a"]) == MAX_EVENTS - 10
    for data in (_keys(MAX_KEYS + 1), _nested(9), _items(MAX_EVENTS)):
        with pytest.raises(RecordError):
            parse_edited(data)


MERGE_BOMB = "a: &a {x: 1}\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)}\n  <<: [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
)
REFUSED = {
    "nothing": "",
    "a comment": "# only\n",
    "an empty document": "---\n...\n",
    "an empty mapping": "{}\n",
    "a list": "- a\n- b\n",
    "a text": "just words\n",
    "an anchor": "a: &x 1\n",
    "an anchored mapping": "&x\na: 1\n",
    "an anchored key": "&x a: 1\n",
    "an alias": "a: *x\n",
    "an alias as key": "*x : 1\n",
    "a merge": "a: {b: 1}\n<<: {c: 2}\n",
    "a nested merge": "a: {<<: {c: 2}}\n",
    "a merge bomb": MERGE_BOMB,
    "a billion laughs": LAUGHS,
    "a tag": "a: !x 1\n",
    "a Python tag": "a: !!python/object/apply:os.system ['true']\n",
    "a core tag": "a: !!str 1\n",
    "a bare tag": "a: ! 1\n",
    "a tagged key": "!!str a: 1\n",
    "a tagged mapping": "!!map {a: 1}\n",
    "a tagged top level": "--- !x\na: 1\n",
    "a version directive": "%YAML 1.1\n---\na: yes\n",
    "a tag directive": "%TAG ! tag:example.org,2026:\n---\na: 1\n",
    "an unknown directive": "%FOO bar\n---\na: 1\n",
    "a second document": "a: 1\n---\nb: 2\n",
    "a second empty document": "a: 1\n---\n",
    "a second document after dots": "a: 1\n...\nb: 2\n",
    "a key twice": "a: 1\nb: 2\na: 3\n",
    "a key twice, quoted": 'a: 1\n"a": 2\n',
    "a key twice, escaped": 'a: 1\n"\\x61": 2\n',
    "a key twice, nested": "a: {b: 1, b: 1}\n",
    "a list as key": "? [a]\n: 1\n",
    "a mapping as key": "{a: 1}: 2\n",
    "infinity": "a: .inf\n",
    "not a number": "a: .NaN\n",
    "a float too large": "a: 1e999\n",
    "an integer too large": "a: 9223372036854775808\n",
    "a hexadecimal too large": "a: 0x8000000000000000\n",
    "a tab for indentation": "a:\n\t- b\n",
    "an open quote": 'a: "b\n',
    "an open list": "a: [b\n",
    "a bad escape": 'a: "\\q"\n',
    "a control character": "a: \x07\n",
    "a reserved indicator": "a: @b\n",
    "a mapping in a line": "a: b: c\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_everything_clever_is_refused(name: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse_edited(REFUSED[name].encode())
    message = caught.value.message
    assert message[0].islower() and not message.endswith(".") and "\n" not in message
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("data", [b"a: \xff\n", b"a: \xed\xa0\x80\n", "a: 1\n".encode("utf-16"), b"\x00", b"\x80" * 99])
def test_other_encodings_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        parse_edited(data)


UNITS = (
    "[", "{", "[{", "{a: ", "[[[[[[[],", "[],", "a,", '"a",', "- ", "? ", "- a\n", "a: \n", "a: {", "k: 1\n", "!",
    "&a ", "*a ", "<<: ", "x ", "x\n ", "#\n", "\n", " ", "\t", ":", ": ", "''", "\\n", "'\n ", "|\n", ">\n x\n",
    "---\n", "...\n", "%", "1", "9.", "0x", "é", "😀", "\u2028", "\r", "@", ",", "]", "}", '"', "'", "a: [\n",
    "- - - ", "!!x ", "? a\n: b\n",
)  # fmt: skip
HEADS = ("", "a: ", "a: [", 'a: "', "a: |\n ", "a: [[[[[[")


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
@pytest.mark.parametrize("head", HEADS, ids=ascii)
def test_64_kib_of_anything_take_less_than_a_second(head: str, unit: str) -> None:
    data = (head + unit * MAX_BYTES).encode()[:MAX_BYTES]
    start = time.process_time()
    try:
        parse_edited(data)
    except RecordError:
        pass
    assert time.process_time() - start < 1


def test_more_than_64_kib_are_not_looked_at() -> None:
    with pytest.raises(RecordError, match="larger than 65536 bytes"):
        parse_edited(b"a: 1\n" + b"#" * MAX_BYTES)


def test_a_hundred_thousand_keys_are_refused_at_once() -> None:
    start = time.process_time()
    with pytest.raises(RecordError):
        parse_edited(_keys(100_000))
    with pytest.raises(RecordError, match="more than 64 keys"):
        parse_edited(_keys(100_000)[:60_000])
    assert time.process_time() - start < 1


pieces = st.sampled_from([*UNITS, "a", "b: ", "\n  ", "\n- ", "null", "2026-02-11", "\\ud83d", "<<", "\x00", "\x85"])
scraps = st.lists(pieces, max_size=40).map(lambda parts: "".join(parts).encode())


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode) | scraps)
def test_read_is_total(data: bytes) -> None:
    """Any bytes give a mapping of JSON values or a RecordError, never another exception."""
    try:
        found = parse_edited(data)
    except RecordError as error:
        assert error.code == "record"
    else:
        assert json.loads(json.dumps(found, allow_nan=False)) == found


numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=10,
)
plain = st.dictionaries(st.from_regex(r"[a-z][a-z0-9]{0,8}x", fullmatch=True), values, min_size=1, max_size=6)


@given(plain)
def test_what_a_hook_wrote_is_read_the_same(record: dict[str, Any]) -> None:
    try:
        data = emit(record)
    except RecordError:
        return
    assert json.dumps(parse_edited(data)) == json.dumps(parse(data))
