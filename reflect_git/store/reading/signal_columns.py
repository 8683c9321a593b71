"""The cache format of records: columns for the fields that lists, filters and counts need; ready JSON for the rest.

10,000 signals of 800 bytes take 100 ms to parse and 100 ms to encode again. As columns they load in 10 ms, and JSON
output is assembled from pieces made when the record was first read.
"""

from __future__ import annotations

import marshal
import re
import sys
from functools import lru_cache

from reflect_git.errors import ReflectError
from reflect_git.records import schema, yaml_form
from reflect_git.records.ids import ALPHABET
from reflect_git.records.json_form import dumps
from reflect_git.store.repository import build_record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any, Optional

    Piece = tuple[bytes, bytes, bytes]

# The fields by which signals are sorted, filtered and counted, and from which their status is computed.
INDEXED_FIELDS = (
    "id", "timestamp", "session_id", "type", "category", "tags", "project", "trust", "key", "stored", "status",
    "confidence", "related", "promoted_to", "content", "machine",
)  # fmt: skip
# And one nested field: whether the signal is likely to stay valid.
COLUMNS = (*INDEXED_FIELDS, "durable")
_REQUIRED_FIELDS = frozenset(INDEXED_FIELDS)
_COMPUTED_FIELDS = ("status", "confidence", "related", "promoted_to")
# marshal is the interpreter's own format: another version may not read it.
FORMAT_STAMP = f"reflect-git rows 4 {sys.implementation.cache_tag} {marshal.version}\n".encode("ascii")
_SCALAR_TYPES = (str, int, type(None))
_EMPTY_END = b'[],"promoted_to":null'


class RecordTable:
    """The rows of one branch: signals as parallel columns and JSON pieces, other records as JSON by path."""

    def __init__(self, stored: Optional[tuple[Any, ...]] = None) -> None:
        empty: tuple[Any, ...] = ("", {}, {}, [], [[] for _ in COLUMNS], [[], [], []])
        self.tip: str
        self.unreadable: dict[str, str]
        self.other_records: dict[str, bytes]
        self.paths: list[str]
        self.columns: list[list[Any]]
        self.pieces: list[list[bytes]]
        self.tip, self.unreadable, self.other_records, self.paths, self.columns, self.pieces = stored or empty

    def to_tuple(self) -> tuple[Any, ...]:
        """Return the content as a tuple, for marshal."""
        return self.tip, self.unreadable, self.other_records, self.paths, self.columns, self.pieces

    def all_paths(self) -> list[str]:
        """List the paths of all records, also of unreadable ones."""
        return [*self.paths, *self.other_records, *self.unreadable]

    def remove_paths(self, gone: Collection[str]) -> None:
        """Remove these paths."""
        for path in gone:
            self.other_records.pop(path, None)
            self.unreadable.pop(path, None)
        if not self.paths or set(self.paths).isdisjoint(gone):
            return
        self._reorder([at for at, path in enumerate(self.paths) if path not in gone])

    def add(self, path: str, record: Mapping[str, Any], shared: dict[Any, Any], lines: bytes = b"") -> None:
        """Add a record. `shared` turns equal values into one object, which marshal writes and reads once.

        `lines` are the record's canonical bytes if it has any: their JSON need not be encoded again.
        """
        if not path.startswith("signals/") or not record.keys() >= _REQUIRED_FIELDS:
            self.other_records[path] = dumps(record)
            return
        self.paths.append(path)
        for column, field in zip(self.columns, INDEXED_FIELDS):
            value = record[field]
            kept = value if type(value) in _SCALAR_TYPES else (field, repr(value))
            column.append(shared.setdefault(kept, value))
        self.columns[-1].append(bool(record["meta"].get("durable", True)))
        for column, piece in zip(self.pieces, _cut_lines(lines, tuple(record)) if lines else _build_pieces(record)):
            column.append(piece)

    def extend(self, other: RecordTable) -> None:
        """Add the rows of another shelf, which has none of ours."""
        self.unreadable.update(other.unreadable)
        self.other_records.update(other.other_records)
        self.paths += other.paths
        for column, more in zip(self.columns, other.columns):
            column += more
        for pieces, rest in zip(self.pieces, other.pieces):
            pieces += rest

    def sort(self) -> None:
        """Sort by time, as callers need it: sorting sorted rows costs almost nothing."""
        times, stored = self.columns[INDEXED_FIELDS.index("timestamp")], self.columns[INDEXED_FIELDS.index("stored")]
        order = [min(pair) for pair in zip(times, stored)]
        self._reorder(sorted(range(len(order)), key=order.__getitem__))

    def _reorder(self, order: list[int]) -> None:
        self.paths = [self.paths[at] for at in order]
        self.columns = [[column[at] for at in order] for column in self.columns]
        self.pieces = [[column[at] for at in order] for column in self.pieces]


def merge_tables(shelves: Iterable[RecordTable]) -> tuple[dict[str, list[Any]], list[list[bytes]]]:
    """Combine the columns and pieces of all shelves. If several have a signal, the last one counts."""
    full = [shelf for shelf in shelves if shelf.paths] or [RecordTable()]
    if len(full) > 1:
        all_columns = [[value for shelf in full for value in shelf.columns[at]] for at in range(len(COLUMNS))]
        all_pieces = [[piece for shelf in full for piece in shelf.pieces[at]] for at in range(3)]
        last = list({identity: row for row, identity in enumerate(all_columns[0])}.values())
        columns = [[column[row] for row in last] for column in all_columns]
        return dict(zip(COLUMNS, columns)), [[column[row] for row in last] for column in all_pieces]
    return dict(zip(COLUMNS, full[0].columns)), full[0].pieces


def _build_pieces(record: Mapping[str, Any]) -> Piece:
    """Return the record's JSON in its own order, cut at the computed fields: after `type` and after `tags`."""
    plain = [(name, value) for name, value in record.items() if name not in _COMPUTED_FIELDS]
    names = [name for name, _ in plain]
    cuts = sorted((names.index("type") + 1, names.index("tags") + 1))
    first, second, third = (
        dumps(dict(part)) for part in (plain[: cuts[0]], plain[cuts[0] : cuts[1]], plain[cuts[1] :])
    )
    return first[:-1] + b',"status":', _as_continuation(second)[:-1] + b',"related":', _as_continuation(third)


def _cut_lines(lines: bytes, names: tuple[str, ...]) -> Piece:
    """Split canonical lines of a key and its JSON, like `_build_pieces` but in a third of the time."""
    first, second, third = _split_fields(names)
    fields = [line.replace(b": ", b'":', 1) for line in lines.split(b"\n")]
    start = b'{"' + b',"'.join([fields[at] for at in first]) + b',"status":'
    middle = b',"'.join([b"", *[fields[at] for at in second]]) + b',"related":'
    return start, middle, b',"'.join([b"", *[fields[at] for at in third]]) + b"}"


@lru_cache(maxsize=64)
def _split_fields(names: tuple[str, ...]) -> tuple[list[int], list[int], list[int]]:
    """Return the fields before, between and after the computed ones. Nearly all records have the same order."""
    plain = [at for at, name in enumerate(names) if name not in _COMPUTED_FIELDS]
    cuts = sorted((plain.index(names.index("type")) + 1, plain.index(names.index("tags")) + 1))
    return plain[: cuts[0]], plain[cuts[0] : cuts[1]], plain[cuts[1] :]


def build_templates(names: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Return templates for the pieces of records with these fields, each with the fields to insert."""
    found = [[names[at] for at in part] for part in _split_fields(names)]
    first, second, third = (",".join(f'"{name}":%s' for name in part) for part in found)
    return list(zip(("{" + first + ',"status":', f',{second},"related":', f",{third}}}"), found))


def _as_continuation(part: bytes) -> bytes:
    """Return an object's fields as a continuation: with a leading comma, unless it is empty."""
    return b"," + part[1:] if len(part) > 2 else part[1:]


def build_json(rows: Iterable[tuple[str, int, list[str], Optional[str], bytes, bytes, bytes]]) -> list[bytes]:
    """Return a JSON list of signals in parts to be joined. A row is four computed fields and three pieces."""
    middles: dict[tuple[str, int], bytes] = {}
    parts: list[bytes] = []
    for status, confidence, related, promoted_to, first, second, third in rows:
        middle = middles.get((status, confidence))
        if middle is None:
            middle = middles[status, confidence] = dumps(status) + b',"confidence":%d' % confidence
        end = _format_end(related, promoted_to) if related or promoted_to is not None else _EMPTY_END
        parts += (b",", first, middle, second, end, third)
    parts[:1] = [b"["]
    parts.append(b"]")
    return parts


def _format_end(related: list[str], promoted_to: Optional[str]) -> bytes:
    return dumps(related) + b',"promoted_to":' + dumps(promoted_to)


def dump_table(table: RecordTable) -> bytes:
    """Serialise a shelf for another process of ours."""
    return marshal.dumps(table.to_tuple())


def load_table(data: bytes) -> RecordTable:
    """Load a shelf that a process of ours just wrote."""
    return RecordTable(marshal.loads(data))  # noqa: S302


def dump_cache(by_hand: bool, shelves: Mapping[str, RecordTable]) -> bytes:
    """Serialise the cache."""
    return FORMAT_STAMP + marshal.dumps((by_hand, {ref: shelf.to_tuple() for ref, shelf in shelves.items()}))


def load_cache(data: bytes) -> tuple[bool, dict[str, RecordTable]]:
    """Load the cache; raise ValueError if another version of the program or interpreter wrote it."""
    if not data.startswith(FORMAT_STAMP):
        raise ValueError("another format")
    # A file of ours, mode 0600 in a 0700 folder: anybody who can write it can also change this program.
    by_hand, shelves = marshal.loads(memoryview(data)[len(FORMAT_STAMP) :])  # noqa: S302
    return by_hand, {ref: RecordTable(stored) for ref, stored in shelves.items()}


# Only the escapes for which JSON has a letter. Texts with others are rare, and none has a raw line end.
_TEXT = r'"[^"\\\n]*(?:\\["\\bfnrt][^"\\\n]*)*"'
_MAYBE_TEXT = f"(?:{_TEXT}|null)"
_TEXTS = rf"\[(?:{_TEXT}(?:, {_TEXT})*)?\]"
_COUNT = "(?:0|[1-9][0-9]{0,17})"
_MONTH, _DATE = "(?:0[1-9]|1[0-2])", "(?:0[1-9]|[12][0-9]|3[01])"
_TIME = rf'"[0-9]{{4}}-{_MONTH}-{_DATE}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,9}})?Z"'


def _one_of(words: Iterable[str]) -> str:
    return f'"(?:{"|".join(words)})"'


# All other fields are texts. `yaml_form` checks the content of `meta`.
_VALUES = {
    "id": rf'"SIG-[0-9]{{4}}{_MONTH}{_DATE}-[{ALPHABET}]{{8}}"', "version": str(schema.VERSION),
    "timestamp": _TIME, "type": _one_of(schema.TYPES), "status": _one_of(schema.STATUSES), "confidence": _COUNT,
    "source": rf'\{{"hook": {_TEXT}, "turn": (?:{_COUNT}|null), "file": {_MAYBE_TEXT}, "entry": {_MAYBE_TEXT}\}}',
    "category": _one_of(schema.CATEGORIES), "tags": _TEXTS, "related": _TEXTS, "promoted_to": _MAYBE_TEXT,
    "meta": r"\{[^\n]*\}", "project": rf'(?:\{{"key": {_TEXT}, "name": {_TEXT}\}}|null)',
    "trust": _one_of(schema.TRUSTS), "stored": _TIME,
}  # fmt: skip
# As this program writes typed text: no key occurs twice, and such numbers are canonical.
_USUAL_META = r'\{"score": (?:[01]\.0|0\.[0-9]{0,3}[1-9]), "durable": (true|false)(?:, "via": "[a-z_-]+")?\}'
_FIELDS = schema.FIELDS["SIG"]
_MAX_VALUES = 4096
# The groups of the pattern, counted from one.
_META_GROUP = _FIELDS.index("meta") + 1
_INDEXED_GROUPS = [_FIELDS.index(name) + 1 for name in INDEXED_FIELDS]
_PIECE_GROUPS = [(form, [_FIELDS.index(name) + 1 for name in names]) for form, names in build_templates(_FIELDS)]


class FastParser:
    """Parse signals with one regular expression. Equal values become one object, which marshal writes once."""

    def __init__(self) -> None:
        lines = [f"{name}: ({_VALUES.get(name, _TEXT)})\n" for name in _FIELDS]
        self._match = re.compile("".join(lines)).fullmatch
        self._match_meta = re.compile(_USUAL_META).fullmatch
        self._values: dict[str, Any] = {}  # by the JSON of a field

    def parse_signals(self, table: RecordTable, items: Iterable[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
        """Add every signal that the pattern matches to the shelf; return the others, as paths with bytes."""
        seen, others = [], []
        for path, data in items:
            row = self._parse_row(path, data)
            if row:
                seen.append((path, *row))
            else:
                others.append((path, data))
        for column, values in zip((table.paths, *table.columns, *table.pieces), zip(*seen)):
            column.extend(values)
        return others

    def _parse_row(self, path: str, data: bytes) -> tuple[Any, ...]:
        """Return the columns and pieces of a signal; empty if the pattern does not match."""
        try:
            text = data.decode("utf-8")
            # Unprintable characters have longer escapes, or are raw where they should not be.
            match = self._match(text) if text.replace("\n", "").isprintable() else None
            if not match or len(data) > yaml_form.MAX_BYTES or build_record_path(match[1][1:-1]) != path:
                return ()
            known = self._values
            fields = [
                known[field] if field in known else self._parse_value(field) for field in match.group(*_INDEXED_GROUPS)
            ]
            is_durable = self._is_durable(match[_META_GROUP])
        except (UnicodeDecodeError, ReflectError):
            return ()
        return (*fields, is_durable, *[(form % match.group(*cut)).encode() for form, cut in _PIECE_GROUPS])

    def _parse_value(self, text: str) -> Any:
        if len(self._values) >= _MAX_VALUES:  # signals that share a value are close together, so clearing loses little
            self._values.clear()
        # The pattern has already checked the rest of a text.
        value = text[1:-1] if text[0] == '"' and "\\" not in text else yaml_form.parse_value(text)
        self._values[text] = value
        return value

    def _is_durable(self, text: str) -> bool:
        usual = self._match_meta(text)
        return usual[1] == "true" if usual else bool(yaml_form.parse_value(text).get("durable", True))
