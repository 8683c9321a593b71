"""The canonical form: what is written is read back the same by everyone, and nothing else is accepted."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from reflect_git.records import ids, schema, yaml_form
from reflect_git.records.yaml_form import RecordError, check, emit, get_kind, parse, parse_many

REPO = Path(__file__).resolve().parents[2]
GOLDEN = REPO / "tests" / "golden"
# A record, once written, is read forever: a sum that differs is a bug in the change, never in this table.
GOLDEN_SUMS = {
    "SIG-20260211-7k3v9q2m.yaml": "a1f33c2708ca657a6d3566c57c95efd83570226179d97ea7ad151ea51df6400a",
    "LRN-20260212-4c8d2a1f.yaml": "3f39aea4ec4a88db8dd11090fd9c27688d933c5b7c957d76b798a4021846232e",
    "DEC-20260212-9xw5r3tz.yaml": "ef576c03ec4327914f7a49df7d3ae2a47fec7a3ef680f713eb411276e33270b9",
    "EXP-20260213-0mny6gqe.yaml": "0f8029fe7091d6ff1105786fdd0f66a121e026f94dff50e9d375e33a359666e4",
    "EVL-20260214-3f6h8k1m.yaml": "d873310b61df41f64872190be6c4885ae56288bdd4a40c4b7e516951cb7b0ea4",
    "EXP-20260214-2vt8k5dn.yaml": "077a8591eeab2a27e16dd9a346447675b6eedd14fa30ef843cf2bf645dd6c223",
    "TLY-20260225-c2bdvhj8.yaml": "aedc1e31b54e0e2c32ee6600534a7cf1a1bcad9e9dcac4ec6f27a48dfed6df90",
    "DIG-20260218-4d7h2k9s.yaml": "a5c18e79d8e56874b95e5002d220170a45c05cf1f1cab19d29082967ff5f06f0",
}
GOLDEN_KINDS = {name[:3] for name in GOLDEN_SUMS}

TRAPS = [
    "", " ", "~", "null", "Null", "yes", "no", "on", "off", "y", "n", "true", "True", "12:30", "190:20:30",
    "2026-02-11", "2026-02-11T09:30:00Z", "0x1F", "0o17", "0b11", "010", "1_000", ".5", "1.", "1e5", "1e-05", ".inf",
    ".NaN", "+1", "-0", "0123456789", "<<", "=", "- a", "? a", ": ", "a: b", "#", " # no comment", "---", "...",
    "%YAML 1.1", "!tag", "&anchor", "*alias", "|", ">", "'", '"', "\\", "\\n", "\\u0041", "[", "]", "{", "}", ",", "@",
    "`", "\t", "\n", "\r\n", "\n\n", "\x00", "\x07", "\x1b[2J", "\x7f", "\x80", "\x85", "\x9f", "\xa0", "\xad",
    "\u200b", "\u2028", "\u2029", "\ufeff", "\ufffd", "\ufffe", "\uffff", "\U0001f600",
    "\U0001f468\u200d\U0001f469", "\U000e0041", "\U0001fffe", "\U0010ffff", "\ud800", "\udfff", "\ud83d\ude00",
    "\ude00\ud83d", "\ud83d\ud83d\ude00\ude00",
]  # fmt: skip

texts = st.lists(st.sampled_from(TRAPS) | st.text(st.characters(exclude_categories=())), max_size=6).map("".join)
numbers = st.integers(yaml_form.MIN_INT, yaml_form.MAX_INT) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)


values = st.recursive(scalars, _deeper, max_leaves=12)
keys = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True).filter(lambda key: key not in yaml_form._RESERVED_KEYS)
some_records = st.dictionaries(keys, values, min_size=1, max_size=8)


def _exactly(value: Any) -> str:
    """Return the value with types and order, surrogate pairs joined as `json` does: 1 and 1.0 differ."""
    return json.dumps(json.loads(json.dumps(value)))


def _emitted(record: dict[str, Any]) -> bytes:
    try:
        return emit(record)
    except RecordError:
        assume(False)
        raise


def _ruamel(data: bytes) -> Any:
    return YAML(typ="safe", pure=True).load(data)


@given(some_records)
@pytest.mark.parametrize("read", [parse, _ruamel, yaml.safe_load], ids=["parse", "ruamel", "pyyaml"])
def test_what_is_written_is_read_back(read: Any, record: dict[str, Any]) -> None:
    assert _exactly(read(_emitted(record))) == _exactly(record)


@pytest.mark.parametrize("text", TRAPS, ids=ascii)
@pytest.mark.parametrize("read", [parse, _ruamel, yaml.safe_load], ids=["parse", "ruamel", "pyyaml"])
def test_every_trap_stays_a_text(read: Any, text: str) -> None:
    record = {"a": text, "b": [text], "c": {text: text}}
    assert _exactly(read(emit(record))) == _exactly(record)


@given(some_records)
def test_a_record_is_lines_of_printable_utf8(record: dict[str, Any]) -> None:
    text = _emitted(record).decode("utf-8")
    assert text.endswith("\n")
    assert len(text.splitlines()) == len(record)
    assert [line.split(": ")[0] for line in text.splitlines()] == list(record)


@given(some_records)
def test_what_is_read_is_written_the_same(record: dict[str, Any]) -> None:
    data = _emitted(record)
    assert emit(parse(data)) == data


def test_the_form() -> None:
    record = {"a": "é😀\n", "b": [1, {"x": None, "y": [True]}], "c": {}, "d": [], "e": 1e-05, "f": 1e22}
    lines = ['a: "é😀\\n"', 'b: [1, {"x": null, "y": [true]}]', "c: {}", "d: []", "e: 1.0e-05", "f: 1.0e+22"]
    assert emit(record).decode() == "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"A": 1},
        {"a-b": 1},
        {"": 1},
        {"é": 1},
        {"a\n": 1},
        {"_a": 1},
        {"yes": 1},
        {"null": 1},
        {"a" * 1025: 1},
        {"a": {"k" * 1023: 1}},
        {"a": {"\x01" * 171: 1}},
        {"a": {1: 1}},
        {"a": {None: 1}},
        {"a": {"\ud83d\ude00": 1, "😀": 2}},
        {"a": math.nan},
        {"a": [math.inf]},
        {"a": 2**63},
        {"a": -(2**63) - 1},
        {"a": b"bytes"},
        {"a": {1, 2}},
        {"a": object},
        {"a": "x" * 65536},
        {"a": "😀" * 16384},
    ],
    ids=lambda record: ascii(record)[:40],
)
def test_what_cannot_be_read_by_all_is_not_written(record: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        emit(record)


@pytest.mark.parametrize("read", [parse, _ruamel, yaml.safe_load], ids=["parse", "ruamel", "pyyaml"])
def test_the_longest_keys_are_read_by_all(read: Any) -> None:
    record = {"a" * 1024: 1, "b": {"k" * 1022: 1, "\x01" * 170: 2}}
    assert read(emit(record)) == record


def _nest(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_depth_counts_the_record_itself() -> None:
    assert parse(emit({"a": _nest(7)})) == {"a": _nest(7)}
    with pytest.raises(RecordError, match="deeper than 8"):
        emit({"a": _nest(8)})
    with pytest.raises(RecordError, match="deeper than 8"):
        parse(b"a: " + b"[" * 8 + b"1" + b"]" * 8 + b"\n")


def test_a_record_fills_its_64_kib_to_the_last_byte() -> None:
    data = emit({"a": "x" * (65536 - len('a: ""\n'))})
    assert len(data) == 65536
    assert emit(parse(data)) == data
    with pytest.raises(RecordError, match="larger"):
        parse(data[:-1] + b" \n")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"a: 1",
        b"a: 1\n\n",
        b"\na: 1\n",
        b"a: 1\r\n",
        b"a: 1 \n",
        b"a:  1\n",
        b"a:1\n",
        b"a:\n",
        b"a: \n",
        b" a: 1\n",
        b"a : 1\n",
        b'"a": 1\n',
        b"A: 1\n",
        b"yes: 1\n",
        b"# a comment\na: 1\n",
        b"a: 1 # a comment\n",
        b"---\na: 1\n",
        b"a: 1\n---\n",
        b"%YAML 1.2\n",
        b"\xef\xbb\xbfa: 1\n",
        b"\xff\xfea\x00: \x001\x00\n\x00",
        b'a: "\xff"\n',
        b'a: "\xed\xa0\x80"\n',
        b"a: 1\na: 1\n",
        b"a: 1\na: 2\n",
        b'a: 1, "b": 2\n',
        b'a: 1}, {"b": 2\n',
        b'a: {"x": 1\nb: 2}\n',
        b'a: {"x": 1\nb: 2}, "b": 3\n',
        b'a: [{"x": 1\nb: 2}]\n',
        b"a: [1\nb: 2], 3\n",
        b'a: "x\nb: y"\n',
        b'a: "x\\\nb: 1\n',
        b'a: {"x": 1, "x": 1}\n',
        b'a: {"x": 1, "\\u0078": 2}\n',
        b"a: [1,2]\n",
        b"a: [1 , 2]\n",
        b"a: [ 1]\n",
        b'a: {"x":1}\n',
        b"a: NaN\n",
        b"a: Infinity\n",
        b"a: [-Infinity]\n",
        b"a: 1e999\n",
        b"a: -0\n",
        b"a: 1e-05\n",
        b"a: 1.00\n",
        b"a: 1E5\n",
        b"a: 01\n",
        b"a: +1\n",
        b"a: 9223372036854775808\n",
        b"a: True\n",
        b"a: yes\n",
        b"a: ~\n",
        b"a: x\n",
        b"a: 'x'\n",
        b"a: 2026-02-11\n",
        b'a: "\\/"\n',
        b'a: "\\u0041"\n',
        b'a: "\\u000A"\n',
        b'a: "\\u000a"\n',
        b'a: "\\ud83d\\ude00"\n',
        b'a: "\\u00e9"\n',
        b'a: "\x00"\n',
        b'a: "\t"\n',
        b'a: "\x7f"\n',
        'a: "\x85"\n'.encode(),
        'a: "\u2028"\n'.encode(),
        'a: "\ufeff"\n'.encode(),
        b"a: !!str 1\n",
        b"a: &x 1\n",
        b"a: *x\n",
        b"<<: {}\n",
        b"a: |\n  x\n",
    ],
    ids=ascii,
)
def test_nothing_but_the_canonical_form_is_read(data: bytes) -> None:
    with pytest.raises(RecordError):
        parse(data)
    assert isinstance(parse_many([b"b: 1\n", data])[1], RecordError)


@pytest.mark.parametrize(
    "value",
    [b"[" * 65000, b"{" * 65000, b'{"a": ' * 10000, b"1" * 65000, b"-" * 65000, b"1." + b"0" * 65000, b'"' * 65000],
    ids=lambda value: ascii(value)[:12],
)
def test_hostile_values_are_refused_at_once(value: bytes) -> None:
    start = time.process_time()
    with pytest.raises(RecordError):
        parse(b"a: " + value + b"\n")
    assert time.process_time() - start < 1


PIECES = [
    "a", "b", ":", ",", "[", "]", "{", "}", '"', "\\", "1", "-", ".", "e", "0", "null", "true", "NaN", "é", "\x85",
    "\u2028", "\ufeff", "\\u0041", "\\ud83d", "\\ude00", "\n", " ", ": ", ", ", "\r", "\t", "a: 1\n", 'b: "x"\n',
    '"b": 2', "a: [",
]  # fmt: skip
pieces = st.sampled_from(PIECES)
scraps = st.lists(pieces, max_size=30).map(lambda parts: "".join(parts).encode())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    data = draw(some_records.map(_emitted))
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.binary(max_size=3) | scraps) + data[at + draw(st.integers(0, 3)) :]


@given(st.binary(max_size=200) | scraps | damaged())
def test_parse_is_total_and_exact(data: bytes) -> None:
    """Any bytes are either refused or exactly what `emit` writes for the parsed values."""
    try:
        record = parse(data)
    except RecordError as error:
        assert error.code == "record"
        assert error.message[0].islower() and not error.message.endswith(".")
    else:
        assert emit(record) == data
        assert _exactly(yaml.safe_load(data)) == _exactly(record)


@given(st.lists(some_records.map(_emitted) | scraps, max_size=8))
def test_many_at_once_are_read_as_one_by_one(items: list[bytes]) -> None:
    for data, found in zip(items, parse_many(items)):
        if isinstance(found, RecordError):
            with pytest.raises(RecordError):
                parse(data)
        else:
            assert _exactly(found) == _exactly(parse(data))


def test_records_read_together_share_no_list() -> None:
    first, second = parse_many([b"a: []\nb: {}\n"] * 2)
    assert isinstance(first, dict) and isinstance(second, dict)
    first["a"].append(1)
    first["b"]["x"] = 1
    assert second == {"a": [], "b": {}}


def _golden(prefix: str) -> dict[str, Any]:
    """Return the golden record of the newest version."""
    return parse(max(GOLDEN.glob(f"{prefix}-*.yaml")).read_bytes())


@pytest.mark.parametrize("name", GOLDEN_SUMS)
def test_golden_records_never_change(name: str) -> None:
    data = (GOLDEN / name).read_bytes()
    record = parse(data)
    check(record)
    assert hashlib.sha256(data).hexdigest() == GOLDEN_SUMS[name]
    assert emit(record) == data
    assert _exactly(_ruamel(data)) == _exactly(yaml.safe_load(data)) == _exactly(record)
    assert f"{record['id']}.yaml" == name
    later = schema.LATER_FIELDS.get(get_kind(record), ()) if record["version"] == 1 else ()
    assert (*record, *later) == schema.FIELDS[get_kind(record)]


def test_there_is_one_golden_record_of_each_kind_and_version() -> None:
    assert {path.name for path in GOLDEN.glob("*.yaml")} == set(GOLDEN_SUMS)
    assert {name[:3] for name in GOLDEN_SUMS} == set(schema.FIELDS)


@pytest.mark.parametrize("prefix", schema.FIELDS)
def test_every_field_is_required_and_has_a_type(prefix: str) -> None:
    for field in schema.FIELDS[prefix]:
        record = _golden(prefix)
        if field == "id":  # a later version may have other kinds
            record["version"] = 1
        record[field] = object()
        with pytest.raises(RecordError):
            check(record)
        del record[field]
        with pytest.raises(RecordError):
            check(record)


@pytest.mark.parametrize(
    "prefix, field, value",
    [
        ("SIG", "type", "opinion"),
        ("SIG", "status", "Captured"),
        ("SIG", "category", ""),
        ("SIG", "trust", "root"),
        ("SIG", "confidence", True),
        ("SIG", "confidence", "2"),
        ("SIG", "confidence", -1),
        ("SIG", "timestamp", "yesterday"),
        ("SIG", "timestamp", "2026-13-11T09:30:00Z"),
        ("SIG", "timestamp", "2026-02-11T09:30:00Z\n"),
        ("SIG", "timestamp", "2026-02-11T09:30:00+01:00"),
        ("SIG", "tags", ["a", 1]),
        ("SIG", "tags", "a"),
        ("SIG", "source", {"hook": "Stop"}),
        ("SIG", "source", {"hook": "Stop", "turn": "1", "file": None, "entry": None}),
        ("SIG", "project", {"key": "k"}),
        ("SIG", "meta", None),
        ("SIG", "version", 0),
        ("SIG", "version", True),
        ("SIG", "version", 1.0),
        ("SIG", "version", "2"),
        ("SIG", "version", None),
        ("LRN", "target", None),
        ("LRN", "matcher", []),
        ("DEC", "kind", "liked"),
        ("DEC", "by", {"road": "telepathy", "name": "", "email": ""}),
        ("EXP", "failures", {"Bash": "3"}),
        ("EXP", "rules", {"CLAUDE.md": "LRN-20260212-4c8d2a1f"}),
        ("EXP", "attended", 1),
        ("EVL", "scores", {"completeness": 6}),
        ("EVL", "scores", {"completeness": 0.5}),
        ("EVL", "scores", {"charm": 3}),
        ("EVL", "overall", "3"),
        ("EVL", "recommendation", "approve"),
        ("EVL", "judge", {"kind": "worker", "model": "", "rubric_sha": "", "prompt_sha": ""}),
        ("EVL", "messages", {"first": 1, "last": 2}),
        ("EVL", "anchored", None),
        ("EXP", "versions", {"CLAUDE.md": "v2"}),
        ("EXP", "guards", {"LRN-20260212-4c8d2a1f": [1, 1]}),
        ("EXP", "guards", {"LRN-20260212-4c8d2a1f": [1, 1, -1]}),
        ("EXP", "tokens", {"input": 1, "output": 1, "cache_read": 1}),
        ("EXP", "skills", {"deploy": 1.5}),
        ("EXP", "loaded", "some"),
        ("TLY", "lines", [["only", "five", "texts", "are", "here"]]),
        ("TLY", "day", "2026-02-32"),
        ("DIG", "period", "2026-W54"),
        ("DIG", "period", "2026-13"),
        ("DIG", "period", "2026-2"),
        ("DIG", "lines", [{"text": "no ids"}]),
        ("DIG", "lines", [{"section": "gossip", "text": "", "ids": [], "key": "", "trust": "assistant"}]),
        ("DIG", "from", ["../../.ssh/authorized_keys"]),
        ("DIG", "figures", {"sessions": "3"}),
        ("SIG", "id", "SIG-20260211-7k3v9q2l"),
        ("SIG", "id", "SIG-20261311-7k3v9q2m"),
        ("SIG", "id", "SIG-20260211-7K3V9Q2M"),
        ("SIG", "id", "SIG-20260211-7k3v9q2m\n"),
        ("SIG", "id", "SIG-20260211-0001"),
        ("SIG", "id", "XYZ-20260211-7k3v9q2m"),
        ("SIG", "id", "../../.ssh/authorized_keys"),
        ("SIG", "id", ["SIG-20260211-7k3v9q2m"]),
    ],
)
def test_wrong_fields_are_refused(prefix: str, field: str, value: Any) -> None:
    record = _golden(prefix)
    record[field] = value
    with pytest.raises(RecordError) as caught:
        check(record)
    assert caught.value.message[0] in "'fr" and not caught.value.message.endswith(".")


def test_fields_of_tomorrow_are_no_reason_to_refuse() -> None:
    record = {**_golden("SIG"), "mood": ["sunny"]}
    record["source"]["window"] = 3
    check(record)
    assert parse(emit(record)) == record


def test_figures_of_version_1_may_lack_the_later_fields_but_not_distort_them() -> None:
    record = {**_golden("EXP"), "version": 1}
    for field in schema.LATER_FIELDS["EXP"]:
        del record[field]
        check(record)
    with pytest.raises(RecordError):
        check({**record, "guards": {"LRN-20260212-4c8d2a1f": 3}})
    with pytest.raises(RecordError):
        check({**record, "version": 2})


def test_only_figures_have_a_second_version() -> None:
    newer = {
        prefix: [yaml_form.is_newer({**_golden(prefix), "version": n}) for n in (1, 2, 3)] for prefix in GOLDEN_KINDS
    }
    assert newer.pop("EXP") == [False, False, True]
    assert set(map(tuple, newer.values())) == {(False, True, True)}


def test_a_newer_version_is_kept_byte_for_byte() -> None:
    data = b'id: "NEW-1"\nversion: 2\ntype: 17\nshape: {"unheard": ["of"]}\n'
    record = parse(data)
    check(record)
    assert yaml_form.is_newer(record)
    assert emit(record) == data


def test_made_ids_are_valid() -> None:
    for prefix in schema.FIELDS:
        assert get_kind({"id": ids.random_id(prefix, ids.utc())}) == prefix
    for char in map(chr, range(256)):
        tail = {"id": f"SIG-20260211-7k3v9q2{char}"}
        if char in ids.ALPHABET:
            assert get_kind(tail) == "SIG"
        else:
            with pytest.raises(RecordError):
                get_kind(tail)


def test_a_hook_loads_json_and_re_and_nothing_else() -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import json, re; before = set(sys.modules);"
        "import reflect_git.records.yaml_form; print(*sorted(set(sys.modules) - before))"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(REPO)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert all(name.startswith("reflect_git") or name == "__future__" for name in loaded), loaded
