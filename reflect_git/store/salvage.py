"""Detect and recover lost signals, rebuild damaged inboxes, and the framework for doctor's checks.

`.git/reflect/stored` lists the ids of all stored signals, without text. A branch deleted by hand leaves no trace:
inboxes have no reflog, since expired signals must disappear, and a gc removes the objects. An id is missing if it is
listed, too young to have expired, not purged and in no inbox. Its text can be recovered while the object still exists.
"""

from __future__ import annotations

import os
import re
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import GitError
from reflect_git.records import yaml_form
from reflect_git.records.ids import day_of, plural
from reflect_git.store import copies, expiry, inbox, pending
from reflect_git.store.creation import first_inbox_commit
from reflect_git.store.main import ref_updates
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import INBOX, MAIN, id_in, is_id, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from reflect_git.store.repository import Store


_LARGEST = 1 << 28


def refresh(store: Store, now: float) -> None:
    """Rewrite the list: existing and missing signals, without expired and purged ones. The caller holds the lock."""
    ids = sorted({*missing(store, now), *_present(store)})
    files.write_whole(store.private_path(inbox.STORED), "".join(f"{one}\n" for one in ids).encode("ascii"))


def missing(store: Store, now: float) -> list[str]:
    """List the ids of stored signals that are gone without having expired or been purged."""
    data = files.read_if_there(store.private_path(inbox.STORED), _LARGEST) or b""
    oldest = time.strftime("%Y-%m-%d", time.gmtime(now - expiry.lifetime(store) * expiry.DAY))
    ids = {one for one in data.decode("ascii", "replace").split() if is_id(one) and day_of(one) > oldest}
    gone = ids - _present(store)
    return sorted(gone - purge_marks.among(store, gone)) if gone else []


def _present(store: Store) -> set[str]:
    """Return the signals in inboxes and pending files."""
    found = {name[:-5] for name in pending.pending(store)}
    for ref in store.git.refs(INBOX):
        found.update(id_in(path) for path in store.git.tree(ref, "signals"))
    return {one for one in found if one.startswith("SIG-")}


def recoverable(store: Store, ids: Collection[str]) -> dict[str, Any]:
    """Return id → record of those whose object or plain copy still exists."""

    wanted = set(ids)
    return {record["id"]: record for record in readable_records(store) if record["id"] in wanted} if wanted else {}


def recover(store: Store, now: float) -> tuple[int, int]:
    """Store recoverable signals again; return how many, and how many were missing. The caller holds the lock."""
    ids = missing(store, now)
    found = recoverable(store, ids)
    if found:
        pending.acknowledge_all(store, found.values())
        inbox.commit_all(store)
    return len(found), len(ids)


_CHUNK = 500


def rebuild_if_damaged(store: Store) -> None:
    """Rebuild damaged inboxes. A power cut can destroy unsynced objects, but the copies were synced."""
    from reflect_git.store.reading import reader

    case = Case(store, time.time(), reader.read)
    broken = case.broken_inboxes
    if broken:
        store.log(rebuild(store, broken, case.bad_objects))


def rebuild(store: Store, broken: Sequence[str], bad: Collection[str]) -> str:
    """Replace broken inboxes by a new generation; return a report. The caller holds the lock."""
    _drop_commit_graph(store)
    _set_objects_aside(store, bad)
    found = _salvage(store, broken)
    numbers = [int(ref.rpartition("/")[2]) for ref in broken if ref.rpartition("/")[2].isdigit()]
    files.write_whole(store.private_path(inbox.RESCUE), b"")  # after a kill, the next recovery reads the copies
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
    ref_updates.fast_import(store, ref, [first_inbox_commit(store.machine, generation), b"done\n"], force=True)
    inbox.remember_current(store, ref)
    return ref


def _drop_commit_graph(store: Store) -> None:
    """Delete the commit graph, which would still list commits that are gone."""
    files.remove(os.path.join(store.git_dir, "objects", "info", "commit-graph"))
    files.remove_tree(os.path.join(store.git_dir, "objects", "info", "commit-graphs"))


def _leave_damaged_packs(store: Store) -> None:
    """Repack what the intact branches need and delete the old packs if one is damaged."""
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
    """Return whether git can read this object and its content matches its id."""
    kind = store.git.run("cat-file", "-t", oid, check=False)
    if kind.code:
        return False
    word = kind.out.decode("ascii", "replace").strip()
    content = store.git.run("cat-file", word, oid, check=False)
    again = store.git.run("hash-object", "-t", word, "--literally", "--stdin", stdin=content.out, check=False)
    return content.code == 0 and again.out.decode("ascii", "replace").strip() == oid


def _salvage(store: Store, broken: Sequence[str]) -> int:
    """Make records pending that no intact branch and no copy has."""
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
    """Make a record pending, unless it is, or has a readable copy. An unreadable copy is deleted."""
    copy = files.read_if_there(store.path(path), yaml_form.MAX_BYTES + 1)
    if copy is not None:
        if _record_in(copy).get("id") == record["id"]:
            return False
        files.remove(store.path(path))
    if os.path.lexists(store.private_path("pending", f"{record['id']}.yaml")):
        return False
    pending.acknowledge(store, record)
    return True


def _record_in(data: bytes) -> dict[str, Any]:
    """Return the record in these bytes, or an empty one."""
    try:
        record = yaml_form.parse(data)
        yaml_form.check(record)
        path_of(record["id"])
    except (ReflectError, KeyError):
        return {}
    return record


def readable_records(store: Store) -> Iterator[dict[str, Any]]:
    """Yield every record in the object store, reachable or not, and every plain copy."""
    for data in _readable_blobs(store):
        record = _record_in(data)
        if record:
            yield record
    for path in files.files_below(store.path("signals")):
        record = _record_in(files.read_if_there(path, yaml_form.MAX_BYTES + 1) or b"")
        if record:
            yield record


def _readable_blobs(store: Store) -> Iterator[bytes]:
    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", check=False).out
    rows = [line.split() for line in listing.decode("ascii", "replace").splitlines()]
    small = [row[0] for row in rows if len(row) == 3 and row[1] == "blob" and int(row[2]) <= yaml_form.MAX_BYTES]
    for start in range(0, len(small), _CHUNK):
        chunk = small[start : start + _CHUNK]
        try:
            yield from list(store.git.blobs(chunk))
        except (GitError, ValueError, IndexError):  # one of them is damaged: git stops there
            for oid in chunk:
                yield store.git.run("cat-file", "blob", oid, check=False).out


def _set_ref_aside(store: Store, ref: str) -> None:
    """Remove a broken branch; the log records its commit."""
    path = os.path.join(store.git_dir, ref)
    store.log(f"set the damaged '{ref}' aside, it was at {store.git.resolve(ref) or 'no object'}")
    locks = ref_updates.locks_of([ref], deletes=True)
    ref_updates.run(store, locks, "update-ref", "-d", ref, check=False)
    if os.path.lexists(path):  # git does not delete what it cannot read
        files.rename(path, store.private_path("corpses", f"{ref.replace('/', '_')}-{os.urandom(4).hex()}"))


if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NamedTuple, Optional

    from reflect_git.platform.git import Result
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store

    class Finding(NamedTuple):
        """The result of a check: level, message and hint."""

        level: str
        message: str
        hint: str = ""
        fixable: bool = False
        details: Sequence[str] = ()

else:
    from collections import namedtuple

    Finding = namedtuple("Finding", "level message hint fixable details", defaults=("", False, ()))

OK, NOTE, WARNING, DECIDE, ERROR = "ok", "note", "warning", "decide", "error"
MINUTE, DAY = 60, 86400
_NAMED = 5


class Case:
    """A store to be checked, with cached results. `read` returns its snapshot, with the caller's parsers."""

    def __init__(self, store: Store, now: float, read: Callable[[Store], Snapshot]) -> None:
        self.store = store
        self.now = now
        self._read = read
        self._snapshot: Optional[Snapshot] = None
        self._fsck: Optional[Result] = None

    def snapshot(self) -> Snapshot:
        """Return the records, read once."""
        if self._snapshot is None:
            self._snapshot = self._read(self.store)
        return self._snapshot

    def read_again(self) -> Snapshot:
        """Read the records again, under the lock, to include decisions made since the checks."""
        self._snapshot = None
        return self.snapshot()

    def fsck(self) -> Result:
        """Return the result of `git fsck`, run once."""
        if self._fsck is None:
            self._fsck = self.store.git.fsck()
        return self._fsck

    @property
    def bad_objects(self) -> set[str]:
        """Return the ids of the objects that `git fsck` reports."""
        said = (self.fsck().out + self.fsck().err).decode("utf-8", "replace")
        return set(re.findall(r"\b[0-9a-f]{40}\b", said))

    def is_broken(self, ref: str) -> bool:
        """Return whether a branch cannot be fully read, or contains an object that git reports."""
        if self.fsck().code == 0:
            return False
        listing = self.store.git.run("rev-list", "--objects", "--no-object-names", "--end-of-options", ref, check=False)
        return listing.code != 0 or not self.bad_objects.isdisjoint(listing.out.decode("ascii", "replace").split())

    @property
    def broken_inboxes(self) -> list[str]:
        """List this machine's inbox branches that are broken."""
        prefix = f"{INBOX}{self.store.machine}/"
        return [ref for ref in all_refs(self.store) if ref.startswith(prefix) and self.is_broken(ref)]


class Check:
    """One check: how to find the problem and, if we may, how to fix it."""

    def __init__(
        self, name: str, look: Callable[[Case], list[Finding]], mend: Optional[Callable[[Case], str]] = None
    ) -> None:
        self.name = name
        self._look = look
        self.mend = mend

    def run(self, case: Case) -> list[Finding]:
        """Return the findings; if the check itself fails, the reason."""
        try:
            return self._look(case)
        except (ReflectError, OSError) as error:
            return [Finding(ERROR, f"cannot be checked: {error}", "mend what stands above first")]


def all_refs(store: Store) -> list[str]:
    """List every branch, including those that git skips because it cannot read them."""
    found = set(store.git.refs("refs/heads/"))
    for path in files.files_below(os.path.join(store.git_dir, "refs", "heads")):
        if not path.endswith(".lock"):
            found.add(os.path.relpath(path, store.git_dir).replace(os.sep, "/"))
    return sorted(found)


def age(seconds: float) -> str:
    """Return a duration: `40 s`, `3 min`, `5 h`, `12 days`."""
    for size, unit in ((DAY, "days"), (3600, "h"), (MINUTE, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def some(names: Sequence[str]) -> str:
    """Return the first five names, quoted, for a message."""
    return ", ".join(f"'{name}'" for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
