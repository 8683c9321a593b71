"""New objects, kept from `git gc --prune=now` until a branch holds them.

Such a gc drops every object that no ref leads to, however young, and every temporary file. So a commit that main is to
become is made with a ref of its own, which goes when main has moved; and packs that come from elsewhere are marked as
kept before git can see them. fast-import keeps its pack marked until its refs are written. What it loses is only its
temporary file, and then it fails and is started again.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files
from reflect_git.adapters.git import SYNCED, GitError
from reflect_git.store import inbox, refwrites

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.store.repository import Store

NEXT = "refs/reflect/next"
# What a git that is killed while it writes or deletes that ref may leave; git takes the second to delete a ref.
LOCKS = (f"{NEXT}.lock", refwrites.PACKED)
MARK, FAST_IMPORT = "reflect-git", "fast-import"  # what .keep files say: ours, and those of a fast-import that failed
_ATTEMPTS = 8
_PAUSE = 0.02


def fast_import(store: Store, ref: str, stream: Sequence[bytes], force: bool = False) -> str:
    """Run fast-import on a stream that writes this ref; returns what it prints. The caller holds the lock.

    What it makes stays in a pack, since a gc that is under way deletes loose objects that are younger than its start.
    """
    if inbox.count_packs(store) >= inbox.MANY_PACKS:
        store.git.run("repack", "--geometric=2", "-d", "-q", check=False)
    words = ("fast-import", "--quiet", "--done", *(["--force"] if force else []))
    data, locks = b"".join(stream), refwrites.locks_of([ref])
    config = (*SYNCED, inbox.KEEP_PACK)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return refwrites.run(store, locks, *words, stdin=data, config=config).out.decode("ascii").strip()
        except GitError:
            inbox.remove_crash_reports(store)
            release_packs(store, (FAST_IMPORT,))  # else the same pack cannot be made again: its mark is there already
            if attempt == _ATTEMPTS:
                raise
        time.sleep(_PAUSE * attempt)
    return ""


def hold(store: Store, commit: str) -> bool:
    """Keep a commit that is not the one fast-import made; False if it is gone already."""
    try:
        refwrites.update(store, f"update {NEXT} {commit}\n")
    except GitError:
        return False
    return True


def release(store: Store) -> None:
    """A branch holds it, or it is not needed any more."""
    try:
        refwrites.update(store, f"delete {NEXT}\n")
    except GitError as error:  # the next commit that is made writes it anew
        store.log(f"'{NEXT}' stays: {error}")


def keep_pack(store: Store, name: str) -> None:
    """Mark a pack as kept before it comes."""
    files.write_whole(_pack(store, f"{name}.keep"), f"{MARK}\n".encode(), sync=False)


def release_packs(store: Store, marks: Sequence[str] = (MARK, FAST_IMPORT)) -> None:
    """Take the marks from packs whose objects a branch holds now; also those that a killed process left."""
    for name in files.names_in(_pack(store, "")):
        if name.endswith(".keep") and _mark(_pack(store, name)) in marks:
            files.remove(_pack(store, name))


def _mark(path: str) -> str:
    return (files.read_if_there(path, 64) or b"").decode("utf-8", "replace").strip()


def _pack(store: Store, name: str) -> str:
    return os.path.join(store.git_dir, "objects", "pack", name)
