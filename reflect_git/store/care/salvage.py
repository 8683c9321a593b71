"""A damaged inbox built anew from everything that is readable: objects, plain copies, pending captures.

What is readable goes to pending first, synced, so that a kill at any point loses nothing. Damaged objects are moved out
of git's way: their names are hashes of their content, so git would take the damaged file for the one it is to write.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files, records
from reflect_git.adapters.git import GitError
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.store import copies, inbox, keeping, refwrites, spool
from reflect_git.store.care.case import Case
from reflect_git.store.creation import first_inbox_commit
from reflect_git.store.layout import path_of
from reflect_git.store.repository import INBOX, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from reflect_git.store.repository import Store

_CHUNK = 500


def rebuild_if_damaged(store: Store) -> None:
    """A power cut can take objects that were not synced; the copies were, and everything comes back from them."""
    from reflect_git.store import reading

    case = Case(store, time.time(), reading.read)
    broken = case.broken_inboxes
    if broken:
        store.log(rebuild(store, broken, case.bad_objects))


def rebuild(store: Store, broken: Sequence[str], bad: Collection[str]) -> str:
    """A new generation in place of the broken ones; the caller holds the lock. Returns what was done."""
    _drop_commit_graph(store)
    _set_objects_aside(store, bad)
    found = _salvage(store, broken)
    numbers = [int(ref.rpartition("/")[2]) for ref in broken if ref.rpartition("/")[2].isdigit()]
    files.write_whole(store.private_path(inbox.RESCUE), b"")  # if this is killed, the next sweep fetches the copies
    for ref in broken:
        _set_ref_aside(store, ref)
    _leave_damaged_packs(store)
    ref = _start(store, max(numbers, default=0) + 1)
    inbox.commit_all(store)
    rescued = copies.rescue(store)
    inbox.commit_all(store)
    files.remove(store.private_path(inbox.RESCUE))
    sources = f"{plural(rescued, 'copy', 'copies')} and {plural(found, 'readable object')}"
    return f"built '{ref.removeprefix('refs/heads/')}' anew from {sources}"


def _start(store: Store, number: int) -> str:
    generation = f"{number:04d}"
    ref = f"{INBOX}{store.machine}/{generation}"
    keeping.fast_import(store, ref, [first_inbox_commit(store.machine, generation), b"done\n"], force=True)
    inbox.remember_current(store, ref)
    return ref


def _drop_commit_graph(store: Store) -> None:
    """Derived from the commits; it would still promise those that are gone."""
    files.remove(os.path.join(store.git_dir, "objects", "info", "commit-graph"))
    files.remove_tree(os.path.join(store.git_dir, "objects", "info", "commit-graphs"))


def _leave_damaged_packs(store: Store) -> None:
    """What the sound branches hold goes into a new pack, object by object, and the old packs go."""
    packs = [name for name in files.names_in(os.path.join(store.git_dir, "objects", "pack")) if name.endswith(".idx")]
    for name in packs:
        if store.git.run("verify-pack", os.path.join(store.git_dir, "objects", "pack", name), check=False).code:
            store.git.run("repack", "-a", "-d", "-q")
            return


def _set_objects_aside(store: Store, bad: Collection[str]) -> None:
    for oid in bad:
        path = os.path.join(store.git_dir, "objects", oid[:2], oid[2:])
        if os.path.lexists(path) and not _is_whole(store, oid):
            files.rename(path, store.private_path("corpses", f"{oid}-{os.urandom(4).hex()}"))


def _is_whole(store: Store, oid: str) -> bool:
    """Whether git reads this object, and it is what its name says."""
    kind = store.git.run("cat-file", "-t", oid, check=False)
    if kind.code:
        return False
    word = kind.out.decode("ascii", "replace").strip()
    content = store.git.run("cat-file", word, oid, check=False)
    again = store.git.run("hash-object", "-t", word, "--literally", "--stdin", stdin=content.out, check=False)
    return content.code == 0 and again.out.decode("ascii", "replace").strip() == oid


def _salvage(store: Store, broken: Sequence[str]) -> int:
    """Records in the object store that no sound branch and no copy has become pending."""
    sound = [ref for ref in store.git.refs(INBOX, MAIN) if ref not in broken]
    elsewhere = {path for ref in sound for path in store.git.tree(ref, "signals", "exposure")}
    found = 0
    for data in _readable_blobs(store):
        record = _record_in(data)
        path = path_of(record["id"]) if record else ""
        if path.startswith(("signals/", "exposure/")) and path not in elsewhere:
            found += _take(store, record, path)
    return found


def _take(store: Store, record: dict[str, Any], path: str) -> bool:
    """Make a record pending, unless it is, or has a copy that can be read; one that cannot is in the way."""
    copy = files.read_if_there(store.path(path), records.MAX_BYTES + 1)
    if copy is not None:
        if _record_in(copy).get("id") == record["id"]:
            return False
        files.remove(store.path(path))
    if os.path.lexists(store.private_path("pending", f"{record['id']}.yaml")):
        return False
    spool.acknowledge(store, record)
    return True


def _record_in(data: bytes) -> dict[str, Any]:
    """The record that these bytes are, or an empty one."""
    try:
        record = records.parse(data)
        records.check(record)
        path_of(record["id"])
    except (ReflectError, KeyError):
        return {}
    return record


def readable_records(store: Store) -> Iterator[dict[str, Any]]:
    """Every record in the object store, held by a branch or not, and every plain copy."""
    for data in _readable_blobs(store):
        record = _record_in(data)
        if record:
            yield record
    for path in files.files_below(store.path("signals")):
        record = _record_in(files.read_if_there(path, records.MAX_BYTES + 1) or b"")
        if record:
            yield record


def _readable_blobs(store: Store) -> Iterator[bytes]:
    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", check=False).out
    rows = [line.split() for line in listing.decode("ascii", "replace").splitlines()]
    small = [row[0] for row in rows if len(row) == 3 and row[1] == "blob" and int(row[2]) <= records.MAX_BYTES]
    for start in range(0, len(small), _CHUNK):
        chunk = small[start : start + _CHUNK]
        try:
            yield from list(store.git.blobs(chunk))
        except (GitError, ValueError, IndexError):  # one of them is damaged: git stops there
            for oid in chunk:
                yield store.git.run("cat-file", "blob", oid, check=False).out


def _set_ref_aside(store: Store, ref: str) -> None:
    """Take a broken branch out of git's sight; the log keeps where it was."""
    path = os.path.join(store.git_dir, ref)
    store.log(f"set the damaged '{ref}' aside, it was at {store.git.resolve(ref) or 'no object'}")
    locks = refwrites.locks_of([ref], deletes=True)
    refwrites.run(store, locks, "update-ref", "-d", ref, check=False)
    if os.path.lexists(path):  # git does not delete what it cannot read
        files.rename(path, store.private_path("corpses", f"{ref.replace('/', '_')}-{os.urandom(4).hex()}"))
