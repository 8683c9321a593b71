"""Read the commits of main with their changes, and sign and verify decisions.

Reading takes three git processes, for any number of commits. A message can contain anything, so nothing is parsed out
of a listing: objects come with their length, and paths end with NUL.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.platform.git import COMMITTER, GitError
from reflect_git.store.repository import MAIN, get_record_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reflect_git.store.repository import Store

ADDED, CHANGED, DELETED = "A", "M", "D"
_BATCH_SIZE = 2000


@dataclass(frozen=True)
class Change:
    """One changed path of a commit; `old` and `new` are blob ids, all zeros if missing."""

    path: str
    kind: str
    old: str
    new: str

    @property
    def record_id(self) -> str:
        """Return the id of the record at this path, or an empty text."""
        return get_record_id(self.path)


@dataclass(frozen=True)
class Commit:
    """A commit. The `changes` of a merge are the paths that differ from every parent."""

    id: str
    parents: tuple[str, ...]
    author: str
    committer: str
    time: int
    is_signed: bool
    message: str
    changes: tuple[Change, ...] = ()

    @property
    def is_ours(self) -> bool:
        """Return whether the committer is reflect-git. Anybody can forge that."""
        return self.committer == COMMITTER

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0]

    @property
    def trailers(self) -> dict[str, list[str]]:
        """Parse the `Name: value` lines of the last paragraph: name → values, in order."""
        found: dict[str, list[str]] = {}
        _, gap, body = self.message.strip().rpartition("\n\n")
        for line in body.splitlines() if gap else ():
            name, colon, value = line.partition(": ")
            if colon and name and " " not in name:
                found.setdefault(name, []).append(value)
        return found

    def list_records(self, kind: str = ADDED, prefix: str = "") -> list[str]:
        """List the ids of the records that it added, changed or deleted."""
        return [
            one.record_id
            for one in self.changes
            if one.kind == kind and one.record_id.startswith(prefix) and one.record_id
        ]


def read(store: Store, tip: str = MAIN, *excluded: str) -> list[Commit]:
    """Return the commits from `tip`, newest first: descendants before their ancestors."""
    hidden = [f"^{name}" for name in excluded]
    listed = store.git.run("rev-list", "--topo-order", "--end-of-options", tip, *hidden).out.decode("ascii").split()
    found: list[Commit] = []
    for start in range(0, len(listed), _BATCH_SIZE):
        found += _read_batch(store, listed[start : start + _BATCH_SIZE])
    return found


def _read_batch(store: Store, ids: Sequence[str]) -> Iterator[Commit]:
    changes = _read_changes(store, ids)
    for commit, data in zip(ids, store.git.blobs(ids)):
        if not data:
            raise GitError(("cat-file",), store.git.run("cat-file", "commit", commit, check=False))
        yield _parse_commit(commit, data, tuple(changes.get(commit, ())))


def _parse_commit(commit: str, data: bytes, changes: tuple[Change, ...]) -> Commit:
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    fields: dict[str, list[str]] = {}
    for line in head.split("\n"):
        name, _, value = line.partition(" ")
        fields.setdefault(name, []).append(value)
    author, _ = _parse_person(fields.get("author", [""])[0])
    committer, seconds = _parse_person(fields.get("committer", [""])[0])
    is_signed = "gpgsig" in fields or "gpgsig-sha256" in fields
    return Commit(
        commit, tuple(fields.get("parent", [])), author, committer, seconds, is_signed, message, changes
    )  # fmt: skip


def _parse_person(text: str) -> tuple[str, int]:
    """Parse `Name <mail> 1770000000 +0000` into person and time."""
    name, _, rest = text.rpartition("> ")
    words = rest.split()
    return f"{name}>", int(words[0]) if words and words[0].isdigit() else 0


def _read_changes(store: Store, ids: Sequence[str]) -> dict[str, list[Change]]:
    feed = "".join(f"{commit}\n" for commit in ids).encode()
    out = store.git.run("diff-tree", "--stdin", "-r", "-z", "-c", "--root", "--no-renames", stdin=feed).out
    found: dict[str, list[Change]] = {}
    commit, words = "", iter(out.split(b"\0"))
    for word in words:
        if word.startswith(b":"):
            found[commit].append(_parse_change(word, next(words)))
        elif word:
            commit = word.decode("ascii")
            found[commit] = []
    return found


def _parse_change(meta: bytes, path: bytes) -> Change:
    """Parse `:mode mode old new K`. A merge has one colon, mode, blob and letter for each parent."""
    parents = len(meta) - len(meta.lstrip(b":"))
    words = meta.decode("ascii").split()
    blobs, kinds = words[parents + 1 : 2 * parents + 2], words[-1]
    kind = DELETED if DELETED in kinds else ADDED if set(kinds) == {ADDED} else CHANGED
    return Change(os.fsdecode(path), kind, blobs[0], blobs[-1])
