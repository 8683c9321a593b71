"""The marks of purged records in a file that hooks can read quickly, because transcripts repeat a moment.

main has them too, but reading it takes a process and a parser. This file has one mark a line.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records.purge_marks import get_marks, id_mark, is_purged_path, remove_purged_entries
from reflect_git.store.repository import MAIN, PURGES_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

    from reflect_git.store.repository import Store

FILE = "purged"
_MAX_BYTES = 1 << 26


def find_purged(store: Store, record_ids: Iterable[str]) -> set[str]:
    """Return those of these ids that were purged."""
    marks = load_all_marks(store) if is_file_missing(store) else load_saved_marks(store)
    if not marks:
        return set()
    return {identity for identity in record_ids if id_mark(identity) in marks}


def save_marks(store: Store, marks: Iterable[str] = ()) -> None:
    """Save these marks, those of main, and the ones already saved. The caller holds the lock."""
    all_marks = sorted({*load_all_marks(store), *marks})
    files.write_atomic(store.private_path(FILE), "".join(f"{mark}\n" for mark in all_marks).encode("utf-8", "replace"))


def is_file_missing(store: Store) -> bool:
    """Return whether main has purges but the file is missing: after an older version, or a cleanup by hand."""
    return os.path.isdir(store.path(PURGES_FOLDER)) and not os.path.lexists(store.private_path(FILE))


def load_all_marks(store: Store) -> frozenset[str]:
    """Return the saved marks and those of main. Too slow for a hook."""
    from reflect_git.records import yaml_form

    found = yaml_form.parse_many(store.git.blobs(list(store.git.tree(MAIN, PURGES_FOLDER).values())))
    return load_saved_marks(store).union(mark for purge in found for mark in get_marks(purge))


def load_saved_marks(store: Store) -> frozenset[str]:
    """Return the saved marks, even if their files on main are gone."""
    data = files.read_if_exists(store.private_path(FILE), _MAX_BYTES) or b""
    return frozenset(data.decode("utf-8", "replace").split())


class PurgeMarks:
    """The purge marks, read on first use."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._marks: Optional[frozenset[str]] = None

    @property
    def marks(self) -> frozenset[str]:
        """Return all marks."""
        if self._marks is None:
            self._marks = load_all_marks(self._store)
        return self._marks

    def remove_entries(self, mirror: bytes) -> bytes:
        """Return a target snapshot without purged entries. A file may contain them again, but main must not."""
        return remove_purged_entries(mirror, self.marks) or mirror

    def is_purged_snapshot(self, path: str) -> bool:
        """Return whether the name of a target snapshot at this path would reveal a purged rule."""
        return is_purged_path(path, self.marks)

    def is_purged(self, record_id: str) -> bool:
        """Return whether this record was purged."""
        return id_mark(record_id) in self.marks
