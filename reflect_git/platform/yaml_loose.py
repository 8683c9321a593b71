"""Parse records that a person edited: plain YAML 1.2, with ruamel.yaml behind checks. No other module imports it.

The checks work on events, before anything is built. 10 kB of nesting takes ruamel's constructor 3.6 s, a merge-key bomb
of 300 bytes 2 s. Values are built here, because ruamel turns `2026-02-11` into a date and `1_000` into 1000. The core
schema of YAML 1.2 has neither.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from reflect_git.records.yaml_form import MAX_BYTES, MAX_DEPTH, MAX_INT, MIN_INT, RecordError, join_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_KEYS = 64
MAX_EVENTS = 4096  # 0.2 s; 64 KiB of `a,a,a` have 32,000

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile("[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_BASES = {"0o": 8, "0x": 16}
_MAX_DIGITS = 80


def parse_edited(data: bytes) -> dict[str, Any]:
    """Parse a file that a person edited into JSON types; refuse anything beyond plain YAML."""
    text = _decode(data)
    if text.count("[") + text.count("{") > MAX_EVENTS:  # each opens an event, and ruamel looks far ahead at every one
        raise RecordError(f"file has more than {MAX_EVENTS} YAML events")
    try:
        return _parse_document(_iter_events(text))
    except RecordError:
        raise
    except MarkedYAMLError as error:
        raise RecordError("file is not valid YAML" + _format_position(error)) from None
    except Exception:  # hostile input also triggers AttributeError, IndexError and RecursionError in ruamel
        raise RecordError("file is not valid YAML") from None


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise RecordError(f"file is larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecordError("file is not UTF-8") from None
    # ruamel silently drops unknown directives.
    if re.search(r"(?:^|[\r\n])%", text):
        raise RecordError("file has a YAML directive")
    return text


def _format_position(error: MarkedYAMLError) -> str:
    return f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""


def _iter_events(text: str) -> Iterator[Any]:
    for count, event in enumerate(YAML(typ="safe", pure=True).parse(text)):
        if count >= MAX_EVENTS:
            raise RecordError(f"file has more than {MAX_EVENTS} YAML events")
        yield event


def _parse_document(events: Iterator[Any]) -> dict[str, Any]:
    record = None
    for event in events:
        if isinstance(event, DocumentStartEvent):
            if record is not None:
                raise RecordError("file has a second YAML document")
            record = _parse_top(events)
    if not record:
        raise RecordError("file has no fields")
    return record


def _parse_top(events: Iterator[Any]) -> dict[str, Any]:
    event = next(events)
    _refuse_properties(event)
    if not isinstance(event, MappingStartEvent):
        raise RecordError("file is not a list of 'key: value' lines")
    return _parse_mapping(events, MAX_DEPTH)


def _parse_node(event: Any, events: Iterator[Any], room: int) -> Any:
    _refuse_properties(event)
    if isinstance(event, ScalarEvent):
        return _parse_scalar(event)
    if room < 1:
        raise RecordError(f"file is nested deeper than {MAX_DEPTH} levels")
    if isinstance(event, SequenceStartEvent):
        return _parse_sequence(events, room)
    return _parse_mapping(events, room)


def _refuse_properties(event: Any) -> None:
    if isinstance(event, AliasEvent):
        raise RecordError("file has a YAML alias")
    if event.anchor is not None:
        raise RecordError("file has a YAML anchor")
    if event.tag is not None:
        raise RecordError("file has a YAML tag")


def _parse_sequence(events: Iterator[Any], room: int) -> list[Any]:
    items = []
    for event in events:
        if isinstance(event, SequenceEndEvent):
            break
        items.append(_parse_node(event, events, room - 1))
    return items


def _parse_mapping(events: Iterator[Any], room: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for event in events:
        if isinstance(event, MappingEndEvent):
            break
        key = _parse_key(event)
        if key in found:
            raise RecordError("file has the same key twice")
        if len(found) == MAX_KEYS:
            raise RecordError(f"file has a mapping of more than {MAX_KEYS} keys")
        found[key] = _parse_node(next(events), events, room - 1)
    return found


def _parse_key(event: Any) -> str:
    """Return a key as written: `1: x` has the key '1', as in JSON."""
    _refuse_properties(event)
    if not isinstance(event, ScalarEvent):
        raise RecordError("file has a key that is not a text")
    if event.value == "<<" and _is_plain(event):
        raise RecordError("file has a YAML merge key")
    return join_surrogates(event.value)


def _is_plain(event: Any) -> bool:
    return bool(event.implicit[0])


def _parse_scalar(event: Any) -> Any:
    text = event.value
    if not _is_plain(event):
        return join_surrogates(text)
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        return _parse_integer(text)
    if _FLOAT.fullmatch(text) or _NOT_FINITE.fullmatch(text):
        return _parse_float(text)
    return join_surrogates(text)


def _parse_integer(text: str) -> int:
    base = _BASES.get(text[:2], 10)
    digits = text[2:] if base != 10 else text
    # 64 KiB of decimal digits take int() seconds in older Pythons and are an error in newer ones.
    value = int(digits, base) if len(digits) <= _MAX_DIGITS else MAX_INT + 1
    if not MIN_INT <= value <= MAX_INT:
        raise RecordError("file has a number that is too large")
    return value


def _parse_float(text: str) -> float:
    value = float(text.replace(".", "", 1) if _NOT_FINITE.fullmatch(text) else text)
    if value - value != 0:
        raise RecordError("file has a number that is not finite")
    return value
