"""The marks of all that was purged, where a hook can ask for them: transcripts tell a moment again and again.

main has them, in files that take a process and a parser to read. Here they stand one a line.
"""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.store.layout import PURGES
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.store.repository import Store

FILE = "purged"
_LARGEST = 1 << 26


def among(store: Store, identities: Iterable[str]) -> set[str]:
    """Those of these ids that were purged."""
    marks = known(store) if is_lacking(store) else kept(store)
    if not marks:
        return set()
    from reflect_git.model.marks import id_mark  # most stores never purge

    return {identity for identity in identities if id_mark(identity) in marks}


def remember(store: Store, marks: Iterable[str] = ()) -> None:
    """These, those of main, and what is remembered already. The caller holds the lock."""
    told = sorted({*known(store), *marks})
    files.write_whole(store.private_path(FILE), "".join(f"{mark}\n" for mark in told).encode("utf-8", "replace"))


def is_lacking(store: Store) -> bool:
    """Whether main purged while nobody wrote it down: an older reflect-git did, or somebody cleaned up."""
    return os.path.isdir(store.path(PURGES)) and not os.path.lexists(store.private_path(FILE))


def known(store: Store) -> frozenset[str]:
    """What is remembered and what main names, for whoever has the time: a hook has not."""
    from reflect_git.adapters import records
    from reflect_git.model.marks import marks_in

    found = records.parse_many(store.git.blobs(list(store.git.tree(MAIN, PURGES).values())))
    return kept(store).union(mark for purge in found for mark in marks_in(purge))


def kept(store: Store) -> frozenset[str]:
    """What was purged since this store is one, whatever became of the files on main."""
    data = files.read_if_there(store.private_path(FILE), _LARGEST) or b""
    return frozenset(data.decode("utf-8", "replace").split())
