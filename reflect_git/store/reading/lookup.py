"""Look up a few ids in the store by searching the text of its records, without parsing the others.

A large main is cached as lines of JSON in two more files, which are searched on disk. That takes a fraction of the time
of loading them. Session statistics are most of the lines and are rarely asked for.
"""

from __future__ import annotations

import json
import mmap
import os
import re

from reflect_git.platform import files
from reflect_git.records.yaml_form import is_newer
from reflect_git.store.reading import reader, signal_columns
from reflect_git.store.repository import INBOX, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any, Optional, Union

    from reflect_git.records.schema import Project
    from reflect_git.store.reading.reader import RecordParser
    from reflect_git.store.repository import Store

    Text = Union[bytes, mmap.mmap]

_LINES_FILE, _FIGURES_FILE = "main-lines", "main-figures"
_MIN_CACHED_RECORDS = 2000  # records; below that the other cache is as fast
_ID = re.compile(rb'"id":"([A-Z]{3}-[0-9]{8}-[0-9a-z]{8})"')
_KEY_COLUMN, _TIME_COLUMN, _SESSION_COLUMN, _PROJECT_COLUMN = (
    signal_columns.INDEXED_FIELDS.index(name) for name in ("key", "timestamp", "session_id", "project")
)


class RecordLookup:
    """The store at one moment, for queries about some ids."""

    def __init__(self, store: Store, by_hand: Optional[RecordParser] = None) -> None:
        refs = store.git.refs(INBOX, MAIN)
        part = reader._BranchCache(store, "inbox", reader._FOLDERS[INBOX], by_hand)
        part.refresh({ref: oid for ref, oid in refs.items() if ref.startswith(INBOX)})
        self._tables = [reader._load_pending(store), *part.tables.values()]
        waiting = b"\n".join([text for shelf in self._tables for text in shelf.other_records.values()])
        self._texts: list[Text] = [*_load_main_lines(store, refs.get(MAIN, ""), by_hand), waiting]

    @property
    def size(self) -> int:
        """Return the bytes of all records except signals."""
        return sum(map(len, self._texts))

    def find_mentions(self, *words: str, figures: bool = True) -> dict[str, Any]:
        """Return id → record of everything except signals that mentions one of these ids.

        Without `figures`, session statistics are not searched.
        """
        texts = self._texts if figures else self._texts[:1]
        lines = {line for word in words for text in texts for line in _iter_lines_with(text, word.encode())}
        found = map(json.loads, lines)
        return {record["id"]: record for record in found if not is_newer(record)}

    def has_id(self, record_id: str) -> bool:
        """Return whether an id exists. Listing all `list_ids` takes 0.25 s at 100,000 records."""
        mark = f'"id":"{record_id}"'.encode()
        return any(text.find(mark) >= 0 for text in self._texts) or any(
            record_id in shelf.columns[0] for shelf in self._tables
        )

    def list_ids(self) -> list[str]:
        """List all ids, including signals."""
        found = {match.decode() for text in self._texts for match in _ID.findall(text)}
        return sorted(found.union(*(shelf.columns[0] for shelf in self._tables)))

    def get_signals(self, record_ids: Collection[str]) -> list[Any]:
        """Return those of these signals that still exist, as captured, oldest first."""
        wanted = set(record_ids)
        parts: dict[str, tuple[Any, ...]] = {}
        for table in self._tables:
            for row, record_id in enumerate(table.columns[0]) if wanted else ():
                if record_id in wanted:
                    parts[record_id] = ("captured", 0, [], None, *(column[row] for column in table.pieces))
        found: list[Any] = json.loads(b"".join(signal_columns.build_json(parts.values())))
        return sorted(found, key=lambda signal: (signal["timestamp"], signal["id"]))

    def find_by_keys(self, keys: Collection[str]) -> list[tuple[str, str, str, Optional[Project]]]:
        """Return id, time, session and project of every signal with one of these keys."""
        return [
            (
                shelf.columns[0][row],
                *(shelf.columns[field][row] for field in (_TIME_COLUMN, _SESSION_COLUMN, _PROJECT_COLUMN)),
            )
            for shelf in self._tables
            for row, key in enumerate(shelf.columns[_KEY_COLUMN])
            if key in keys
        ]


def _load_main_lines(store: Store, tip: str, by_hand: Optional[RecordParser]) -> list[Text]:
    """Return the records of main, one a line, after a line with the commit; session statistics separately."""
    paths = [store.private_path("cache", name) for name in (_LINES_FILE, _FIGURES_FILE)]
    head = f"reflect-git lines 1 {tip}\n".encode("ascii")
    kept = [text for text in map(_map_file, paths) if text is not None and text[: len(head)] == head]
    if len(kept) == len(paths):
        return list(kept)
    part = reader._BranchCache(store, "main", reader._FOLDERS[MAIN], by_hand)
    part.refresh({MAIN: tip})
    others = part.tables[MAIN].other_records
    texts = [
        head
        + b"\n".join([text for path, text in others.items() if path.startswith("exposure/") is are_figures])
        + b"\n"
        for are_figures in (False, True)
    ]
    if len(others) >= _MIN_CACHED_RECORDS:
        for path, text in zip(paths, texts):
            files.write_atomic(path, text, sync=False)
    return list(texts)


def _map_file(path: str) -> Optional[mmap.mmap]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # empty
        return None
    finally:
        os.close(descriptor)


def _iter_lines_with(text: Text, word: bytes) -> Iterator[bytes]:
    at = text.find(word)
    while at >= 0:
        end = text.find(b"\n", at)
        end = end if end >= 0 else len(text)
        yield bytes(text[text.rfind(b"\n", 0, at) + 1 : end])
        at = text.find(word, end)
