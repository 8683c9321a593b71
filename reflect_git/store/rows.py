"""Records as the cache keeps them: what lists, filters and counts ask of a signal in columns, the rest as ready JSON.

10,000 signals of 800 bytes take 100 ms to parse and 100 ms to write again. In columns they are loaded in 10 ms, and an
answer in JSON is put together from pieces that were made when the record was first seen.
"""

from __future__ import annotations

import marshal
import sys
from functools import lru_cache

from reflect_git.adapters.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any, Optional

    Piece = tuple[bytes, bytes, bytes]

# The fields by which signals are sorted, folded, filtered and counted.
HEAD = (
    "id", "timestamp", "session_id", "type", "category", "tags", "project", "trust", "key", "stored", "status",
    "confidence", "related", "promoted_to", "content", "machine",
)  # fmt: skip
# And one thing that is deeper in a record: whether what was said is likely to hold tomorrow.
COLUMNS = (*HEAD, "durable")
_NEEDED = frozenset(HEAD)
_COMPUTED = ("status", "confidence", "related", "promoted_to")
# marshal is the interpreter's own format: another version of it may not read what this one wrote.
STAMP = f"reflect-git rows 4 {sys.implementation.cache_tag} {marshal.version}\n".encode("ascii")
_PLAIN = (str, int, type(None))
_PLAIN_END = b'[],"promoted_to":null'


class Shelf:
    """The rows of one branch: signals as parallel columns and pieces, other records as JSON by path."""

    def __init__(self, stored: Optional[tuple[Any, ...]] = None) -> None:
        empty: tuple[Any, ...] = ("", {}, {}, [], [[] for _ in COLUMNS], [[], [], []])
        self.tip: str
        self.unreadable: dict[str, str]
        self.others: dict[str, bytes]
        self.paths: list[str]
        self.columns: list[list[Any]]
        self.pieces: list[list[bytes]]
        self.tip, self.unreadable, self.others, self.paths, self.columns, self.pieces = stored or empty

    def stored(self) -> tuple[Any, ...]:
        return self.tip, self.unreadable, self.others, self.paths, self.columns, self.pieces

    def all_paths(self) -> list[str]:
        return [*self.paths, *self.others, *self.unreadable]

    def drop(self, gone: Collection[str]) -> None:
        """Forget these paths."""
        for path in gone:
            self.others.pop(path, None)
            self.unreadable.pop(path, None)
        if not self.paths or set(self.paths).isdisjoint(gone):
            return
        self._arrange([at for at, path in enumerate(self.paths) if path not in gone])

    def add(self, path: str, record: Mapping[str, Any], shared: dict[Any, Any], lines: bytes = b"") -> None:
        """`shared` makes equal values one object, which marshal writes and reads once. `lines` are the record's
        canonical bytes, where it has some: what they say in JSON need not be written anew."""
        if not path.startswith("signals/") or not record.keys() >= _NEEDED:
            self.others[path] = dumps(record)
            return
        self.paths.append(path)
        for column, field in zip(self.columns, HEAD):
            value = record[field]
            kept = value if type(value) in _PLAIN else (field, repr(value))
            column.append(shared.setdefault(kept, value))
        self.columns[-1].append(bool(record["meta"].get("durable", True)))
        for column, piece in zip(self.pieces, _cut(lines, tuple(record)) if lines else _pieces(record)):
            column.append(piece)

    def extend(self, other: Shelf) -> None:
        """With what another one has; nothing of it is here."""
        self.unreadable.update(other.unreadable)
        self.others.update(other.others)
        self.paths += other.paths
        for column, more in zip(self.columns, other.columns):
            column += more
        for pieces, rest in zip(self.pieces, other.pieces):
            pieces += rest

    def sort(self) -> None:
        """By time, as they are wanted: sorting what is sorted costs next to nothing."""
        times, stored = self.columns[HEAD.index("timestamp")], self.columns[HEAD.index("stored")]
        order = [min(pair) for pair in zip(times, stored)]
        self._arrange(sorted(range(len(order)), key=order.__getitem__))

    def _arrange(self, order: list[int]) -> None:
        self.paths = [self.paths[at] for at in order]
        self.columns = [[column[at] for at in order] for column in self.columns]
        self.pieces = [[column[at] for at in order] for column in self.pieces]


def union(shelves: Iterable[Shelf]) -> tuple[dict[str, list[Any]], list[list[bytes]]]:
    """The columns and pieces of all shelves; of a signal that several have, the last one counts."""
    full = [shelf for shelf in shelves if shelf.paths] or [Shelf()]
    if len(full) > 1:
        all_columns = [[value for shelf in full for value in shelf.columns[at]] for at in range(len(COLUMNS))]
        all_pieces = [[piece for shelf in full for piece in shelf.pieces[at]] for at in range(3)]
        last = list({identity: row for row, identity in enumerate(all_columns[0])}.values())
        columns = [[column[row] for row in last] for column in all_columns]
        return dict(zip(COLUMNS, columns)), [[column[row] for row in last] for column in all_pieces]
    return dict(zip(COLUMNS, full[0].columns)), full[0].pieces


def _pieces(record: Mapping[str, Any]) -> Piece:
    """The record's JSON in its own order, cut where the computed fields stand: after `type` and after `tags`."""
    plain = [(name, value) for name, value in record.items() if name not in _COMPUTED]
    names = [name for name, _ in plain]
    cuts = sorted((names.index("type") + 1, names.index("tags") + 1))
    first, second, third = (
        dumps(dict(part)) for part in (plain[: cuts[0]], plain[cuts[0] : cuts[1]], plain[cuts[1] :])
    )
    return first[:-1] + b',"status":', _after(second)[:-1] + b',"related":', _after(third)


def _cut(lines: bytes, names: tuple[str, ...]) -> Piece:
    """The same of a record in its canonical form, where each line is a key and its JSON: a third of the time."""
    first, second, third = _parts(names)
    fields = [line.replace(b": ", b'":', 1) for line in lines.split(b"\n")]
    start = b'{"' + b',"'.join([fields[at] for at in first]) + b',"status":'
    middle = b',"'.join([b"", *[fields[at] for at in second]]) + b',"related":'
    return start, middle, b',"'.join([b"", *[fields[at] for at in third]]) + b"}"


@lru_cache(maxsize=64)
def _parts(names: tuple[str, ...]) -> tuple[list[int], list[int], list[int]]:
    """Which fields come before, between and after the computed ones: nearly all records have them in one order."""
    plain = [at for at, name in enumerate(names) if name not in _COMPUTED]
    cuts = sorted((plain.index(names.index("type")) + 1, plain.index(names.index("tags")) + 1))
    return plain[: cuts[0]], plain[cuts[0] : cuts[1]], plain[cuts[1] :]


def forms(names: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """The pieces of records with these fields, as forms in which the JSON of some of them is put."""
    found = [[names[at] for at in part] for part in _parts(names)]
    first, second, third = (",".join(f'"{name}":%s' for name in part) for part in found)
    return list(zip(("{" + first + ',"status":', f',{second},"related":', f",{third}}}"), found))


def _after(part: bytes) -> bytes:
    """An object's fields as they follow others: a comma, unless there are none."""
    return b"," + part[1:] if len(part) > 2 else part[1:]


def json_parts(rows: Iterable[tuple[str, int, list[str], Optional[str], bytes, bytes, bytes]]) -> list[bytes]:
    """A JSON list of signals, in parts to be joined; a row is its four computed fields and its three pieces."""
    middles: dict[tuple[str, int], bytes] = {}
    parts: list[bytes] = []
    for status, confidence, related, promoted_to, first, second, third in rows:
        middle = middles.get((status, confidence))
        if middle is None:
            middle = middles[status, confidence] = dumps(status) + b',"confidence":%d' % confidence
        end = _end(related, promoted_to) if related or promoted_to is not None else _PLAIN_END
        parts += (b",", first, middle, second, end, third)
    parts[:1] = [b"["]
    parts.append(b"]")
    return parts


def _end(related: list[str], promoted_to: Optional[str]) -> bytes:
    return dumps(related) + b',"promoted_to":' + dumps(promoted_to)


def dump_shelf(shelf: Shelf) -> bytes:
    return marshal.dumps(shelf.stored())


def load_shelf(data: bytes) -> Shelf:
    """What a process of ours handed over a moment ago."""
    return Shelf(marshal.loads(data))  # noqa: S302


def dump(by_hand: bool, shelves: Mapping[str, Shelf]) -> bytes:
    return STAMP + marshal.dumps((by_hand, {ref: shelf.stored() for ref, shelf in shelves.items()}))


def load(data: bytes) -> tuple[bool, dict[str, Shelf]]:
    """ValueError for what this version of the program, under this interpreter, did not write."""
    if not data.startswith(STAMP):
        raise ValueError("another format")
    # A file of ours, 0600 in a folder that is 0700: whoever can write it can change this program, too.
    by_hand, shelves = marshal.loads(memoryview(data)[len(STAMP) :])  # noqa: S302
    return by_hand, {ref: Shelf(stored) for ref, stored in shelves.items()}
