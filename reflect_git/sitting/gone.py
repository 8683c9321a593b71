"""Learnings that were purged, here or on another machine: only marks tell of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from reflect_git.model.marks import id_mark, is_gone, left_of
from reflect_git.store import purged

if TYPE_CHECKING:
    from reflect_git.store.repository import Store


class Gone:
    """Read when the first id is asked about."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @cached_property
    def marks(self) -> frozenset[str]:
        return purged.known(self._store)

    def cut(self, mirror: bytes) -> bytes:
        """Without entries of what is gone: a file may come back with them, main must not."""
        return left_of(mirror, self.marks) or mirror

    def has_mirror(self, path: str) -> bool:
        """Whether a mirror there would tell of it by its name."""
        return is_gone(path, self.marks)

    def has(self, identity: str) -> bool:
        return id_mark(identity) in self.marks
