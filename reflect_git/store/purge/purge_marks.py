"""The marks of purged records in a file that hooks can read quickly, because transcripts repeat a moment.

main has them too, but reading it takes a process and a parser. This file has one mark a line.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records.purge_marks import id_mark, is_gone, left_of
from reflect_git.store.repository import MAIN, PURGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

    from reflect_git.store.repository import Store

FILE = "purged"
_LARGEST = 1 << 26


def among(store: Store, identities: Iterable[str]) -> set[str]:
    """Return those of these ids that were purged."""
    marks = known(store) if is_lacking(store) else kept(store)
    if not marks:
        return set()
    from reflect_git.records.purge_marks import id_mark  # most stores never purge

    return {identity for identity in identities if id_mark(identity) in marks}


def remember(store: Store, marks: Iterable[str] = ()) -> None:
    """Save these marks, those of main, and the ones already saved. The caller holds the lock."""
    told = sorted({*known(store), *marks})
    files.write_whole(store.private_path(FILE), "".join(f"{mark}\n" for mark in told).encode("utf-8", "replace"))


def is_lacking(store: Store) -> bool:
    """Return whether main has purges but the file is missing: after an older version, or a cleanup by hand."""
    return os.path.isdir(store.path(PURGES)) and not os.path.lexists(store.private_path(FILE))


def known(store: Store) -> frozenset[str]:
    """Return the saved marks and those of main. Too slow for a hook."""
    from reflect_git.records import yaml_form
    from reflect_git.records.purge_marks import marks_in

    found = yaml_form.parse_many(store.git.blobs(list(store.git.tree(MAIN, PURGES).values())))
    return kept(store).union(mark for purge in found for mark in marks_in(purge))


def kept(store: Store) -> frozenset[str]:
    """Return the saved marks, even if their files on main are gone."""
    data = files.read_if_there(store.private_path(FILE), _LARGEST) or b""
    return frozenset(data.decode("utf-8", "replace").split())


class Gone:
    """The purge marks, read on first use."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._marks: Optional[frozenset[str]] = None

    @property
    def marks(self) -> frozenset[str]:
        """Return all marks."""
        if self._marks is None:
            self._marks = known(self._store)
        return self._marks

    def cut(self, mirror: bytes) -> bytes:
        """Return a target snapshot without purged entries. A file may contain them again, but main must not."""
        return left_of(mirror, self.marks) or mirror

    def has_mirror(self, path: str) -> bool:
        """Return whether the name of a target snapshot at this path would reveal a purged rule."""
        return is_gone(path, self.marks)

    def has(self, identity: str) -> bool:
        """Return whether this record was purged."""
        return id_mark(identity) in self.marks
