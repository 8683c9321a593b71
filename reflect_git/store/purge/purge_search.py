"""Search the store for purged texts and marks: git objects, names of files and refs, and other files.

Rewrite history.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.platform.git import SYNC_CONFIG, Git
from reflect_git.records.purge_marks import blob_mark, id_mark, is_purged_rules_file, mentions_any
from reflect_git.records.search_text import PURGED, TextSearch
from reflect_git.store.main import ref_updates
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from reflect_git.store.main.commit_log import Commit
    from reflect_git.store.repository import Store

MAX_BYTES = 1 << 26
_BATCH_SIZE = 2000
_ID_HEADERS = (b"tree", b"parent", b"object", b"type", b"gpgsig", b"gpgsig-sha256")
_PERSON_HEADERS = (b"author", b"committer", b"tagger")


class PurgeSet:
    """The text to remove, and purge marks, which reveal no text."""

    def __init__(self, marks: Collection[str], search: TextSearch | None = None) -> None:
        self.marks = frozenset(marks)
        self.search = search or TextSearch([])

    def has_blob(self, oid: str) -> bool:
        """Return whether a mark names this blob."""
        return blob_mark(oid) in self.marks

    def has_id(self, record_id: str) -> bool:
        """Return whether a mark names this record."""
        return is_id(record_id) and id_mark(record_id) in self.marks

    def has_file(self, data: bytes) -> bool:
        """Return whether these bytes are purged or contain the text."""
        return self.has_blob(_hash_blob(data)) or self.search.matches_bytes(data)


def _hash_blob(data: bytes) -> str:
    """Return git's object id of a file's bytes."""
    from hashlib import sha1

    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def find_objects(store: Store, purge_set: PurgeSet) -> set[str]:
    """Return every object in the store that has to be removed, reachable or not."""
    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", "--unordered").out.decode("ascii")
    rows = [line.split() for line in listing.splitlines()]
    found = {row[0] for row in rows if row[1] == "blob" and purge_set.has_blob(row[0])}
    if purge_set.search.patterns:
        readable = [(row[0], row[1] == "blob") for row in rows if row[1] != "tree"]
        for start in range(0, len(readable), _BATCH_SIZE):
            chunk = readable[start : start + _BATCH_SIZE]
            for (oid, is_blob), data in zip(chunk, store.git.blobs([oid for oid, _ in chunk])):
                if any(map(purge_set.search.matches_bytes, [data] if is_blob else get_commit_texts(data))):
                    found.add(oid)
    return found


def any_blob_mentions(store: Store, marks: Collection[str]) -> bool:
    """Return whether any object mentions a record that these marks name: decision, snapshot, backup or message."""
    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", "--unordered").out.decode("ascii")
    rows = [line.split() for line in listing.splitlines()]
    readable = [row[0] for row in rows if row[1] != "tree"]
    portions = (readable[start : start + _BATCH_SIZE] for start in range(0, len(readable), _BATCH_SIZE))
    return mentions_any((data for some in portions for data in store.git.blobs(some)), marks)


def get_commit_texts(data: bytes) -> list[bytes]:
    """Return the texts in a commit or tag: people, message, and free headers.

    Object ids are left out: a match in them means nothing.
    """
    head, _, message = data.partition(b"\n\n")
    parts = [message]
    for line in head.replace(b"\n ", b"\0").split(b"\n"):
        name, _, value = line.partition(b" ")
        if name in _PERSON_HEADERS:
            parts.append(value.rpartition(b"> ")[0] + b">")
        elif name not in _ID_HEADERS:
            parts.append(value.replace(b"\0", b"\n"))
    return parts


def list_reachable(store: Store) -> set[str]:
    """Return every object that a ref or the index refers to."""
    asked = ("rev-list", "--objects", "--no-object-names", "--all", "--indexed-objects")
    return set(store.git.run(*asked).out.decode("ascii").split())


def list_names(store: Store) -> list[str]:
    """List the paths of all files in the history of any ref, and the refs themselves."""
    asked = ("log", "--all", "--no-show-signature", "-z", "--format=", "--name-only", "--no-renames", "-m")
    listed = {name.decode("utf-8", "surrogateescape").strip("\n") for name in store.git.run(*asked).out.split(b"\0")}
    return sorted({*listed, *store.git.refs()} - {""})


def iter_private_files(store: Store) -> Iterator[str]:
    """Yield the files below .git/reflect and the log next to the store, without the journal of the purge itself."""
    yield f"{store.root}.log"
    for base, folders, inside in os.walk(store.private):
        folders[:] = [name for name in folders if os.path.join(base, name) != store.private_path("journal")]
        yield from (os.path.join(base, name) for name in inside if name not in ("lock", "index", purge_marks.FILE))


def find_files(store: Store, search: TextSearch) -> list[str]:
    """List the files that contain a text, or have it in their name: private ones, git's own, and the work tree."""
    listed = list(iter_private_files(store))
    apart = {os.path.join(store.git_dir, name) for name in ("objects", "logs")} | {store.private}
    for base, folders, inside in os.walk(store.root):
        folders[:] = [name for name in folders if os.path.join(base, name) not in apart]
        listed += [os.path.join(base, name) for name in inside if name != "index" or base != store.git_dir]
    found = [(os.path.relpath(path, store.root), path) for path in listed]
    return sorted(name for name, path in found if search.matches_text(name) or search.matches_bytes(read_content(path)))


def read_content(path: str) -> bytes:
    """Return a file's bytes; empty if it cannot be read."""
    try:
        return files.read_if_exists(path, MAX_BYTES) or b""
    except OSError:
        return b""


FOLDER = "purge"
REWRITTEN_PREFIX = "refs/reflect/rewritten/"
_ALLOW_FILE_PROTOCOL = "protocol.file.allow=always"  # from a folder of our own


def rewrite_history(
    store: Store, tips: Mapping[str, str], purge_set: PurgeSet, commits: Iterable[Commit], blobs: Iterable[str] = ()
) -> dict[str, str]:  # fmt: skip
    """Rewrite history; return ref → new commit. A ref is missing if nothing is left of it.

    The new objects are in the store and protected until `release`. Purged records are removed from every commit;
    `blobs` and sought texts are replaced.
    """
    from reflect_git.platform import filter_repo  # once for each store, if ever

    delete_repository(store)
    root = store.private_path(FOLDER)
    files.make_private_dirs(root)
    git = Git(store.git.program, root)
    git.lock_fd = store.git.lock_fd
    git.run("init", "--quiet", "--template=", "-b", "none", "--object-format=sha1")
    git.run("config", "core.bare", "true")  # nothing is ever checked out of it
    files.make_private_dirs(os.path.join(git.git_dir, "objects", "info"))
    borrowed = os.fsencode(os.path.join(store.git_dir, "objects")) + b"\n"
    files.write_atomic(os.path.join(git.git_dir, "objects", "info", "alternates"), borrowed, sync=False)
    git.update_refs("".join(f"create {ref} {tip}\n" for ref, tip in tips.items()))
    spec = {
        "patterns": purge_set.search.patterns, "blobs": list(blobs), "marks": list(purge_set.marks),
        "messages": {commit.id: text for commit in commits for text in build_purged_messages(commit, purge_set)},
    }  # fmt: skip
    filter_repo.rewrite(store.git.program, git.git_dir, spec, store.git.lock_fd)
    made = git.refs()
    if made:
        # With refs of their own, and in a pack that git keeps until they are written, so that a gc removes nothing.
        held = [f"{REWRITTEN_PREFIX}{number}" for number in range(len(made))]
        words = [
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--end-of-options", git.git_dir,
            *(f"+{ref}:{name}" for ref, name in zip(made, held)),
        ]  # fmt: skip
        config = (_ALLOW_FILE_PROTOCOL, "fetch.unpackLimit=1", *SYNC_CONFIG)
        ref_updates.run(store, ref_updates.get_lock_files(held), *words, config=config)
    delete_repository(store)
    return {ref: made[ref] for ref in tips if ref in made}


def build_purged_messages(commit: Commit, purge_set: PurgeSet) -> list[str]:
    """Return the new message of a commit about purged records: its verb without the title, and the purged ids."""
    trailers = [(name, value) for name, values in commit.trailers.items() for value in values]
    left = sorted({one for one in (*commit.list_records(), *(value for _, value in trailers)) if purge_set.has_id(one)})
    if not left:
        return []
    verb, colon, _ = commit.subject.partition(": ")
    kept = [
        f"{name}: {value}\n"
        for name, value in trailers
        if value not in left and not is_purged_rules_file(value, purge_set.marks)
    ]
    lines = "".join([*kept, *(f"Purged: {identity}\n" for identity in left)])
    return [f"{verb}: {PURGED}\n\n{lines}" if colon else f"{PURGED}\n\n{lines}"]


def delete_rewritten_refs(store: Store) -> None:
    """Remove the protecting refs: branches have the commits, or they are no longer needed."""
    ref_updates.update(store, "".join(f"delete {ref}\n" for ref in store.git.refs(REWRITTEN_PREFIX)))


def delete_repository(store: Store) -> None:
    """Delete the temporary repository."""
    files.remove_tree(store.private_path(FOLDER))
