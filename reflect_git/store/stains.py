"""Where a store says something: in the objects of git, in names of files and refs, and in files beside them."""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.model.marks import about_mark, blob_mark, id_mark
from reflect_git.model.sought import Sought
from reflect_git.store import purged
from reflect_git.store.layout import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reflect_git.store.repository import Store

LARGEST = 1 << 26
_AT_ONCE = 2000
_SILENT = (b"tree", b"parent", b"object", b"type", b"gpgsig", b"gpgsig-sha256")
_PEOPLE = (b"author", b"committer", b"tagger")


class Doomed:
    """What has to go: by what it says, and by the marks of a purge, which tell no text."""

    def __init__(self, marks: Collection[str], sought: Sought | None = None) -> None:
        self.marks = frozenset(marks)
        self.sought = sought or Sought([])

    def is_blob(self, oid: str) -> bool:
        return blob_mark(oid) in self.marks

    def is_id(self, identity: str) -> bool:
        return is_id(identity) and id_mark(identity) in self.marks

    def is_file(self, data: bytes) -> bool:
        """Whether these are the bytes of something that is gone, or they say it."""
        return self.is_blob(_oid(data)) or self.sought.in_bytes(data)


def _oid(data: bytes) -> str:
    """As git names a file's bytes."""
    from hashlib import sha1

    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def objects(store: Store, doomed: Doomed) -> set[str]:
    """Every object in the store that has to go, whoever holds it."""
    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", "--unordered").out.decode("ascii")
    rows = [line.split() for line in listing.splitlines()]
    found = {row[0] for row in rows if row[1] == "blob" and doomed.is_blob(row[0])}
    if doomed.sought.patterns:
        readable = [(row[0], row[1] == "blob") for row in rows if row[1] != "tree"]
        for start in range(0, len(readable), _AT_ONCE):
            chunk = readable[start : start + _AT_ONCE]
            for (oid, is_blob), data in zip(chunk, store.git.blobs([oid for oid, _ in chunk])):
                if any(map(doomed.sought.in_bytes, [data] if is_blob else told(data))):
                    found.add(oid)
    return found


def names_any(store: Store, marks: Collection[str]) -> bool:
    """Tell whether any object names a record that these marks name: a decision, a mirror, a backup, a message."""
    import re

    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", "--unordered").out.decode("ascii")
    rows = [line.split() for line in listing.splitlines()]
    readable = [row[0] for row in rows if row[1] != "tree"]
    seen: set[bytes] = set()
    for start in range(0, len(readable), _AT_ONCE):
        for data in store.git.blobs(readable[start : start + _AT_ONCE]):
            seen.update(re.findall(rb"\b[A-Z]{3}-[0-9]{8}-[0-9a-z]+", data))
    ids = [one.decode("ascii") for one in seen]
    return any(id_mark(one) in marks or about_mark(one) in marks for one in ids)


def told(data: bytes) -> list[bytes]:
    """What a commit or a tag says, part by part: who made it, its message, headers that somebody worded.

    In the names of objects anything may be found, and nothing is said by them.
    """
    head, _, message = data.partition(b"\n\n")
    parts = [message]
    for line in head.replace(b"\n ", b"\0").split(b"\n"):
        name, _, value = line.partition(b" ")
        if name in _PEOPLE:
            parts.append(value.rpartition(b"> ")[0] + b">")
        elif name not in _SILENT:
            parts.append(value.replace(b"\0", b"\n"))
    return parts


def held(store: Store) -> set[str]:
    """Every object that a ref or the index holds."""
    asked = ("rev-list", "--objects", "--no-object-names", "--all", "--indexed-objects")
    return set(store.git.run(*asked).out.decode("ascii").split())


def names(store: Store) -> list[str]:
    """Of every file in the history of any ref, and of the refs themselves."""
    asked = ("log", "--all", "--no-show-signature", "-z", "--format=", "--name-only", "--no-renames", "-m")
    listed = {name.decode("utf-8", "surrogateescape").strip("\n") for name in store.git.run(*asked).out.split(b"\0")}
    return sorted({*listed, *store.git.refs()} - {""})


def private(store: Store) -> Iterator[str]:
    """Files below .git/reflect, and the log beside the store; the journal is the purge itself, and goes with it."""
    yield f"{store.root}.log"
    for base, folders, inside in os.walk(store.private):
        folders[:] = [name for name in folders if os.path.join(base, name) != store.private_path("journal")]
        yield from (os.path.join(base, name) for name in inside if name not in ("lock", "index", purged.FILE))


def places(store: Store, sought: Sought) -> list[str]:
    """Where a text stands in files, or in their names: in the store's private ones, in git's own, in the work tree."""
    listed = list(private(store))
    apart = {os.path.join(store.git_dir, name) for name in ("objects", "logs")} | {store.private}
    for base, folders, inside in os.walk(store.root):
        folders[:] = [name for name in folders if os.path.join(base, name) not in apart]
        listed += [os.path.join(base, name) for name in inside if name != "index" or base != store.git_dir]
    found = [(os.path.relpath(path, store.root), path) for path in listed]
    return sorted(name for name, path in found if sought.in_text(name) or sought.in_bytes(content(path)))


def content(path: str) -> bytes:
    try:
        return files.read_if_there(path, LARGEST) or b""
    except OSError:
        return b""
