"""The file format of records: a YAML 1.2 subset, one `key: value` a line, every value JSON.

Hooks read and write this format, so it needs neither `json` nor `re`, which take half of an interpreter's start.
"""

from __future__ import annotations

from reflect_git.errors import ReflectError
from reflect_git.records import json_form, schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Callable, Union

    FieldRule = tuple[str, Callable[[Any], bool]]

MAX_BYTES = 65536
MAX_DEPTH = 8  # the record itself is the first level
MAX_KEY = 1024  # PyYAML and ruamel.yaml do not look further for the colon after a key, escapes and quotes included
MAX_INT = 2**63 - 1
MIN_INT = -(2**63)

_UNSAFE_CHARS = "\u2028\u2029\ufeff\ufffe\uffff"
# YAML 1.1 reads these bare keys as booleans and null.
_RESERVED_KEYS = ("true", "false", "yes", "no", "on", "off", "null")
_KNOWN_KEYS = frozenset(key for fields in schema.FIELDS.values() for key in fields)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_KEY_CHARS = _LETTERS | frozenset("0123456789_")
_ID_ALPHABET = frozenset("0123456789abcdefghjkmnpqrstvwxyz")

_encode = json_form.quote
_decode = json_form.raw_decode
_DIGITS_TO_ZERO = {ord(digit): "0" for digit in "123456789"}
_TIME_SHAPES = frozenset(f"0000-00-00T00:00:00{'.'[:digits]}{'0' * digits}Z" for digits in range(10))
_MAX_CACHED_LINE = 128
_MAX_CACHED_LINES = 4096


class RecordError(ReflectError):
    """A record cannot be written, or bytes are not a valid record."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="record")


def emit(record: Mapping[str, Any]) -> bytes:
    """Return the canonical bytes of a record. Every YAML reader and `parse` read the same values from them."""
    lines = [f"{_check_key(key)}: {_format_value(value, MAX_DEPTH - 1)}\n" for key, value in record.items()]
    data = "".join(lines).encode("utf-8")
    if not data:
        raise RecordError("record has no fields")
    if len(data) > MAX_BYTES:
        raise RecordError(f"record is larger than {MAX_BYTES} bytes")
    return data


def parse(data: bytes) -> dict[str, Any]:
    """Parse the bytes of a record. Refuse anything that `emit` would not have written."""
    return _parse_record(data, _LineCache())


def parse_many(items: Iterable[bytes]) -> list[Union[dict[str, Any], RecordError]]:
    """Parse many records in 0.6 of the time: lines that they share are checked once."""
    seen = _LineCache()
    return [_parse_or_error(data, seen) for data in items]


class _LineCache:
    """Cache of short lines: parsed fields, and the texts of lists and mappings that are canonical.

    Lists and mappings are parsed again for each record, so that changing one does not change another.
    """

    def __init__(self) -> None:
        self.fields: dict[str, tuple[str, Any]] = {}
        self.nested: set[str] = set()


def _parse_or_error(data: bytes, seen: _LineCache) -> Union[dict[str, Any], RecordError]:
    try:
        return _parse_record(data, seen)
    except RecordError as error:
        return error


def _parse_record(data: bytes, seen: _LineCache) -> dict[str, Any]:
    lines = _split_lines(data)
    known = seen.fields.get
    record = {}
    for line in lines:
        key, value = known(line) or _parse_field(line, seen)
        record[key] = value
    if len(record) != len(lines):
        raise RecordError("record has the same key twice")
    return record


def _split_lines(data: bytes) -> list[str]:
    if len(data) > MAX_BYTES:
        raise RecordError(f"record is larger than {MAX_BYTES} bytes")
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise RecordError("record is not UTF-8") from None
    if lines.pop() or not lines:
        raise RecordError("record does not end with a line")
    return lines


def _parse_field(line: str, seen: _LineCache) -> tuple[str, Any]:
    key, _, text = line.partition(": ")
    if key not in _KNOWN_KEYS:
        _check_key(key)
    if text in seen.nested:
        return key, _decode(text)[0]
    field = (key, parse_value(text))
    if len(line) <= _MAX_CACHED_LINE:
        _cache_field(line, text, field, seen)
    return field


def _cache_field(line: str, text: str, field: tuple[str, Any], seen: _LineCache) -> None:
    if text[0] in "[{":
        if len(seen.nested) < _MAX_CACHED_LINES:
            seen.nested.add(text)
    elif len(seen.fields) < _MAX_CACHED_LINES:
        seen.fields[line] = field


def parse_value(text: str) -> Any:
    """Parse one JSON value with nothing after it; raise an error unless it is canonical.

    A plain text without escapes always is. Other values are encoded again and compared.
    """
    if text.count('"') == 2 and text[0] == text[-1] == '"' and "\\" not in text and text.isprintable():
        return text[1:-1]
    try:
        value, end = _decode(text)
    except (ValueError, RecursionError, MemoryError):
        raise RecordError("record has a line that is not 'key: value' with one JSON value") from None
    if end != len(text) or _format_value(value, MAX_DEPTH - 1) != text:
        raise RecordError("record is not in the canonical form")
    return value


def _check_key(key: str) -> str:
    if key in _KNOWN_KEYS:
        return key
    if type(key) is not str or key in _RESERVED_KEYS or not _is_key(key):
        raise RecordError("record has a key that is not a lower-case word")
    return key


def _format_value(value: Any, room: int) -> str:
    """Return the canonical JSON of a value; `room` is the number of levels left."""
    kind = type(value)
    if kind is str:
        return quote_text(value)
    if kind is dict:
        return _format_mapping(value, room)
    if kind is list or kind is tuple:
        return _format_sequence(value, room)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    return _format_number(value)


def quote_text(value: str) -> str:
    """Return a text as a JSON string that is valid YAML on one line."""
    text = _encode(value)
    return text if text.isprintable() else _escape_unsafe(text)


def _escape_unsafe(text: str) -> str:
    text = join_surrogates(text)
    # Compiling a pattern for these characters takes 0.8 ms, checking the characters of a text 0.03 ms.
    return text.translate({ord(char): f"\\u{ord(char):04x}" for char in set(text) if _is_unsafe(char)})


def _is_unsafe(char: str) -> bool:
    """Return whether JSON leaves a character raw that some YAML reader refuses, drops or reads as a line break."""
    return char in _UNSAFE_CHARS or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff"


def join_surrogates(text: str) -> str:
    """Combine the two halves of surrogate pairs into one character, as `emit` writes them."""
    if text.isprintable():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _format_mapping(value: dict[str, Any], room: int) -> str:
    _require_depth(room)
    parts = {_format_nested_key(key): _format_value(item, room - 1) for key, item in value.items()}
    if len(parts) != len(value):
        raise RecordError("record has the same key twice")
    return "{" + ", ".join([f"{key}: {item}" for key, item in parts.items()]) + "}"


def _format_nested_key(key: str) -> str:
    if type(key) is not str:
        raise RecordError("record has a key that is not a text")
    text = quote_text(key)
    if len(text) > MAX_KEY:
        raise RecordError(f"record has a key longer than {MAX_KEY} characters")
    return text


def _format_sequence(value: list[Any], room: int) -> str:
    _require_depth(room)
    return "[" + ", ".join([_format_value(item, room - 1) for item in value]) + "]"


def _require_depth(room: int) -> None:
    if room < 1:
        raise RecordError(f"record is nested deeper than {MAX_DEPTH} levels")


def _format_number(value: Any) -> str:
    if type(value) is int and MIN_INT <= value <= MAX_INT:
        return str(value)
    if type(value) is float and value - value == 0:
        text = repr(value)
        # YAML 1.1 recognises a float only by its point: 1e-05 is a text to PyYAML.
        return text if "." in text else text.replace("e", ".0e")
    raise RecordError(f"record has a value of type '{type(value).__name__}' that cannot be written")


def is_newer(record: Mapping[str, Any]) -> bool:
    """Return whether a later version of the program wrote this record: keep it unchanged, do not interpret it."""
    version = record.get("version")
    return type(version) is int and schema.is_newer(str(record.get("id")), version)


def get_kind(record: Mapping[str, Any]) -> str:
    """Return the prefix of a record's id: 'SIG', 'LRN', 'DEC', 'EXP', 'EVL', 'TLY' or 'DIG'."""
    name = record.get("id")
    if type(name) is not str or not _is_id(name) or name[:3] not in schema.FIELDS:
        raise RecordError("record has no valid id")
    return name[:3]


# No regular expressions: compiling these three takes 0.4 ms, and without any a hook need not import `re`.
def _is_key(text: str) -> bool:
    return text[:1] in _LETTERS and len(text) <= MAX_KEY and _KEY_CHARS.issuperset(text)


def _is_id(text: str) -> bool:
    """Return whether a text is an id: PREFIX-YYYYMMDD-xxxxxxxx."""
    prefix, day, name = text[:3], text[4:12], text[13:]
    return (
        len(text) == 21 and text[3] == text[12] == "-"
        and prefix.isascii() and prefix.isalpha() and prefix.isupper()
        and day.isascii() and day.isdigit() and "01" <= day[4:6] <= "12" and "01" <= day[6:] <= "31"
        and _ID_ALPHABET.issuperset(name)
    )  # fmt: skip


def _is_day(text: str) -> bool:
    return text.translate(_DIGITS_TO_ZERO) == "0000-00-00" and "01" <= text[5:7] <= "12" and "01" <= text[8:] <= "31"


def _is_time(text: str) -> bool:
    """Return whether a text is a time: 2026-02-11T09:30:00Z, with up to nine fractional digits."""
    return (
        text.translate(_DIGITS_TO_ZERO) in _TIME_SHAPES and "01" <= text[5:7] <= "12" and "01" <= text[8:10] <= "31"
        and text[11:13] <= "23" and text[14:16] <= "59" and text[17:19] <= "59"
    )  # fmt: skip


def is_period(text: str) -> bool:
    """Return whether a text is an ISO week, `2026-W07`, or a month, `2026-02`."""
    year, _, rest = text.partition("-")
    if len(year) != 4 or not (year.isascii() and year.isdigit()):
        return False
    number, last = (rest[1:], "53") if rest.startswith("W") else (rest, "12")
    return len(number) == 2 and number.isascii() and number.isdigit() and "01" <= number <= last


def check(record: Mapping[str, Any]) -> None:
    """Raise an error for a record with missing or invalid fields. Unknown fields are allowed."""
    if is_newer(record):
        return
    for field, what, is_right in _CHECKS[get_kind(record)]:
        if field not in record:
            if record.get("version") == 1 and field in schema.LATER_FIELDS.get(record["id"][:3], ()):
                continue
            raise RecordError(f"'{record['id']}' has no field '{field}'")
        value = record[field]
        if not is_right(value):
            raise RecordError(f"field '{field}' of '{record['id']}' is not {what}")


def _one_of(words: tuple[str, ...]) -> FieldRule:
    return "one of " + ", ".join(words), lambda value: type(value) is str and value in words


def _text_like(what: str, is_like: Callable[[str], bool]) -> FieldRule:
    return what, lambda value: type(value) is str and is_like(value)


def _or_null(rule: FieldRule) -> FieldRule:
    return f"{rule[0]} or null", lambda value: value is None or rule[1](value)


def _list_of(what: str, rule: FieldRule) -> FieldRule:
    return what, lambda value: type(value) is list and all(map(rule[1], value))


def _mapping_to(what: str, rule: FieldRule) -> FieldRule:
    return what, lambda value: type(value) is dict and all(map(rule[1], value.values()))


def _shape(**rules: FieldRule) -> FieldRule:
    def is_right(value: Any) -> bool:
        return type(value) is dict and all(name in value and rule[1](value[name]) for name, rule in rules.items())

    return "a mapping with right values for " + ", ".join(rules), is_right


_TEXT: FieldRule = ("a text", lambda value: type(value) is str)
_COUNT: FieldRule = ("a number from 0 up", lambda value: type(value) is int and value >= 0)
_BOOL: FieldRule = ("true or false", lambda value: type(value) is bool)
_VERSION: FieldRule = ("a version number", lambda value: type(value) is int and value >= 1)
_META: FieldRule = ("a mapping", lambda value: type(value) is dict)
_UTC_TIME = _text_like("a UTC time such as 2026-02-11T09:30:00Z", _is_time)
_TEXTS = _list_of("a list of texts", _TEXT)
_COUNTS = _mapping_to("a mapping to numbers from 0 up", _COUNT)
_MAYBE_TEXT = _or_null(_TEXT)
_PROJECT = _or_null(_shape(key=_TEXT, name=_TEXT))
_TARGET = _shape(kind=_TEXT, path=_TEXT)
_SOURCE = _shape(hook=_TEXT, turn=_or_null(_COUNT), file=_MAYBE_TEXT, entry=_MAYBE_TEXT)
_THREE_COUNTS: FieldRule = (
    "three numbers",
    lambda value: type(value) is list and len(value) == 3 and all(map(_COUNT[1], value)),
)
_NUMBERS = _mapping_to("a mapping to numbers", ("a number", lambda value: type(value) in (int, float)))
_IDS = _list_of("a list of ids", _text_like("an id", _is_id))
_DIGEST_LINE = _shape(
    text=_TEXT, ids=_IDS, section=_one_of(schema.DIGEST_SECTIONS), key=_TEXT, trust=_one_of(schema.TRUSTS)
)
_TALLY_LINE: FieldRule = ("six texts", lambda value: _TEXTS[1](value) and len(value) == 6)

_SCORE: FieldRule = ("a number from 1 to 5", lambda value: type(value) in (int, float) and 1 <= value <= 5)
_AMOUNT: FieldRule = ("a number from 0 up", lambda value: type(value) in (int, float) and value >= 0)
_SCORES: FieldRule = (
    "a mapping of criteria to numbers from 1 to 5",
    lambda value: type(value) is dict and all(name in schema.CRITERIA and _SCORE[1](value[name]) for name in value),
)

# All other fields are texts.
_FIELD_RULES: dict[str, dict[str, FieldRule]] = {
    "SIG": {
        "version": _VERSION,
        "timestamp": _UTC_TIME,
        "type": _one_of(schema.TYPES),
        "status": _one_of(schema.STATUSES),
        "confidence": _COUNT,
        "source": _SOURCE,
        "category": _one_of(schema.CATEGORIES),
        "tags": _TEXTS,
        "related": _TEXTS,
        "promoted_to": _MAYBE_TEXT,
        "meta": _META,
        "project": _PROJECT,
        "trust": _one_of(schema.TRUSTS),
        "stored": _UTC_TIME,
    },
    "LRN": {
        "version": _VERSION,
        "timestamp": _UTC_TIME,
        "category": _one_of(schema.CATEGORIES),
        "project": _PROJECT,
        "target": _TARGET,
        "topic": _MAYBE_TEXT,
        "paths": _TEXTS,
        "signals": _TEXTS,
        "supersedes": _TEXTS,
        "trust": _one_of(schema.TRUSTS),
        "matcher": _or_null(_META),
        "meta": _META,
    },
    "DEC": {
        "version": _VERSION,
        "timestamp": _UTC_TIME,
        "by": _shape(road=_one_of(schema.CHANNELS), name=_TEXT, email=_TEXT),
        "kind": _one_of(schema.DECISION_KINDS),
        "text": _MAYBE_TEXT,
        "text_sha256": _MAYBE_TEXT,
        "key": _MAYBE_TEXT,
        "target": _or_null(_TARGET),
        "reopens": _MAYBE_TEXT,
        "meta": _META,
    },
    "EXP": {
        "version": _VERSION,
        "project": _PROJECT,
        "start": _UTC_TIME,
        "end": _UTC_TIME,
        "turns": _COUNT,
        "typed": _COUNT,
        "corrections": _COUNT,
        "failures": _COUNTS,
        "interruptions": _COUNT,
        "model": _MAYBE_TEXT,
        "client": _MAYBE_TEXT,
        "attended": _BOOL,
        "rules": _mapping_to("a mapping to lists of texts", _TEXTS),
        "hits": _COUNTS,
        "versions": _COUNTS,
        "guards": _mapping_to("a mapping to three numbers", _THREE_COUNTS),
        "tokens": _shape(**dict.fromkeys(schema.TOKENS, _COUNT)),
        "skills": _COUNTS,
        "loaded": _one_of((schema.LOADED, schema.NOT_LOADED)),
    },
    "EVL": {
        "version": _VERSION,
        "timestamp": _UTC_TIME,
        "project": _PROJECT,
        "messages": _shape(first=_COUNT, last=_COUNT, count=_COUNT),
        "versions": _COUNTS,
        "rules": _TEXTS,
        "scores": _SCORES,
        "overall": _or_null(_SCORE),
        "recommendation": _one_of(schema.RECOMMENDATIONS),
        "judge": _shape(kind=_one_of(schema.JUDGE_KINDS), model=_TEXT, rubric_sha=_TEXT, prompt_sha=_TEXT),
        "usage": _shape(input=_COUNT, output=_COUNT, usd=_AMOUNT),
        "anchored": _BOOL,
        "meta": _META,
    },
    "TLY": {
        "version": _VERSION,
        "day": _text_like("a day such as 2026-02-11", _is_day),
        "lines": _list_of("a list of lines of six texts", _TALLY_LINE),
    },
    "DIG": {
        "version": _VERSION,
        "timestamp": _UTC_TIME,
        "period": _text_like("a week such as 2026-W07 or a month such as 2026-02", is_period),
        "project": _PROJECT,
        "lines": _list_of("a list of mappings with text, ids, section, key and trust", _DIGEST_LINE),
        "figures": _NUMBERS,
        "from": _IDS,
        "meta": _META,
    },
}
_CHECKS = {
    kind: [(field, *rules.get(field, _TEXT)) for field in schema.FIELDS[kind]] for kind, rules in _FIELD_RULES.items()
}
