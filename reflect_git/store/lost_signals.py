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
from reflect_git.records.ids import get_id_day, plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import copies, expiry, inbox, pending
from reflect_git.store.creation import build_first_inbox_commit
from reflect_git.store.main import ref_updates
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import INBOX, MAIN, get_record_id, get_record_path, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import Any, Optional

    from reflect_git.platform.git import Result
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store

_MAX_BYTES = 1 << 28


def refresh_stored(store: Store, now: float) -> None:
    """Rewrite the list: existing and missing signals, without expired and purged ones. The caller holds the lock."""
    ids = sorted({*find_missing(store, now), *_list_present(store)})
    files.write_atomic(store.private_path(inbox.STORED_FILE), "".join(f"{one}\n" for one in ids).encode("ascii"))


def find_missing(store: Store, now: float) -> list[str]:
    """List the ids of stored signals that are gone without having expired or been purged."""
    data = files.read_if_exists(store.private_path(inbox.STORED_FILE), _MAX_BYTES) or b""
    oldest = time.strftime("%Y-%m-%d", time.gmtime(now - expiry.get_ttl_days(store) * expiry.DAY))
    ids = {one for one in data.decode("ascii", "replace").split() if is_id(one) and get_id_day(one) > oldest}
    gone = ids - _list_present(store)
    return sorted(gone - purge_marks.find_purged(store, gone)) if gone else []


def _list_present(store: Store) -> set[str]:
    """Return the signals in inboxes and pending files."""
    found = {name[:-5] for name in pending.list_pending(store)}
    for ref in store.git.refs(INBOX):
        found.update(get_record_id(path) for path in store.git.tree(ref, "signals"))
    return {one for one in found if one.startswith("SIG-")}


def find_recoverable(store: Store, ids: Collection[str]) -> dict[str, Any]:
    """Return id → record of those whose object or plain copy still exists."""

    wanted = set(ids)
    return {record["id"]: record for record in iter_readable_records(store) if record["id"] in wanted} if wanted else {}


def recover_missing(store: Store, now: float) -> tuple[int, int]:
    """Store recoverable signals again; return how many, and how many were missing. The caller holds the lock."""
    ids = find_missing(store, now)
    found = find_recoverable(store, ids)
    if found:
        pending.write_records(store, found.values())
        inbox.commit_all(store)
    return len(found), len(ids)


_BATCH_SIZE = 500


def rebuild_if_damaged(store: Store) -> None:
    """Rebuild damaged inboxes. A power cut can destroy unsynced objects, but the copies were synced."""
    from reflect_git.store.reading import reader

    ctx = CheckContext(store, time.time(), reader.read)
    broken = ctx.broken_inboxes
    if broken:
        store.log(rebuild_inboxes(store, broken, ctx.bad_objects))


def rebuild_inboxes(store: Store, broken: Sequence[str], bad: Collection[str]) -> str:
    """Replace broken inboxes by a new generation; return a report. The caller holds the lock."""
    _drop_commit_graph(store)
    _set_objects_aside(store, bad)
    found = _collect_records(store, broken)
    numbers = [int(ref.rpartition("/")[2]) for ref in broken if ref.rpartition("/")[2].isdigit()]
    files.write_atomic(store.private_path(inbox.RESCUE_FILE), b"")  # after a kill, the next recovery reads the copies
    for ref in broken:
        _set_ref_aside(store, ref)
    _replace_damaged_packs(store)
    ref = _start_generation(store, max(numbers, default=0) + 1)
    inbox.commit_all(store)
    rescued = copies.move_lost_to_pending(store)
    inbox.commit_all(store)
    files.remove(store.private_path(inbox.RESCUE_FILE))
    sources = f"{plural(rescued, 'copy', 'copies')} and {plural(found, 'readable object')}"
    return f"built '{ref.removeprefix('refs/heads/')}' anew from {sources}"


def _start_generation(store: Store, number: int) -> str:
    generation = f"{number:04d}"
    ref = f"{INBOX}{store.machine}/{generation}"
    ref_updates.fast_import(store, ref, [build_first_inbox_commit(store.machine, generation), b"done\n"], force=True)
    inbox.cache_current_ref(store, ref)
    return ref


def _drop_commit_graph(store: Store) -> None:
    """Delete the commit graph, which would still list commits that are gone."""
    files.remove(os.path.join(store.git_dir, "objects", "info", "commit-graph"))
    files.remove_tree(os.path.join(store.git_dir, "objects", "info", "commit-graphs"))


def _replace_damaged_packs(store: Store) -> None:
    """Repack what the intact branches need and delete the old packs if one is damaged."""
    packs = [name for name in files.list_names(os.path.join(store.git_dir, "objects", "pack")) if name.endswith(".idx")]
    for name in packs:
        if store.git.run("verify-pack", os.path.join(store.git_dir, "objects", "pack", name), check=False).code:
            store.git.run("repack", "-a", "-d", "-q")
            return


def _set_objects_aside(store: Store, bad: Collection[str]) -> None:
    for oid in bad:
        path = os.path.join(store.git_dir, "objects", oid[:2], oid[2:])
        if os.path.lexists(path) and not _is_object_intact(store, oid):
            files.rename(path, store.private_path("corpses", f"{oid}-{os.urandom(4).hex()}"))


def _is_object_intact(store: Store, oid: str) -> bool:
    """Return whether git can read this object and its content matches its id."""
    kind = store.git.run("cat-file", "-t", oid, check=False)
    if kind.code:
        return False
    word = kind.out.decode("ascii", "replace").strip()
    content = store.git.run("cat-file", word, oid, check=False)
    again = store.git.run("hash-object", "-t", word, "--literally", "--stdin", stdin=content.out, check=False)
    return content.code == 0 and again.out.decode("ascii", "replace").strip() == oid


def _collect_records(store: Store, broken: Sequence[str]) -> int:
    """Make records pending that no intact branch and no copy has."""
    sound = [ref for ref in store.git.refs(INBOX, MAIN) if ref not in broken]
    elsewhere = {path for ref in sound for path in store.git.tree(ref, "signals", "exposure", "digests")}
    found = 0
    for data in _iter_readable_blobs(store):
        record = _parse_record(data)
        path = get_record_path(record["id"]) if record else ""
        if path.startswith(("signals/", "exposure/", "digests/")) and path not in elsewhere:
            found += _make_pending(store, record, path)
    return found


def _make_pending(store: Store, record: dict[str, Any], path: str) -> bool:
    """Make a record pending, unless it is, or has a readable copy. An unreadable copy is deleted."""
    copy = files.read_if_exists(store.path(path), yaml_form.MAX_BYTES + 1)
    if copy is not None:
        if _parse_record(copy).get("id") == record["id"]:
            return False
        files.remove(store.path(path))
    if os.path.lexists(store.private_path("pending", f"{record['id']}.yaml")):
        return False
    pending.write_record(store, record)
    return True


def _parse_record(data: bytes) -> dict[str, Any]:
    """Return the record in these bytes, or an empty one."""
    try:
        record = yaml_form.parse(data)
        yaml_form.check(record)
        get_record_path(record["id"])
    except (ReflectError, KeyError):
        return {}
    return record


def iter_readable_records(store: Store) -> Iterator[dict[str, Any]]:
    """Yield every record in the object store, reachable or not, and every plain copy."""
    for data in _iter_readable_blobs(store):
        record = _parse_record(data)
        if record:
            yield record
    for path in files.list_files(store.path("signals")):
        record = _parse_record(files.read_if_exists(path, yaml_form.MAX_BYTES + 1) or b"")
        if record:
            yield record


def _iter_readable_blobs(store: Store) -> Iterator[bytes]:
    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", check=False).out
    rows = [line.split() for line in listing.decode("ascii", "replace").splitlines()]
    small = [row[0] for row in rows if len(row) == 3 and row[1] == "blob" and int(row[2]) <= yaml_form.MAX_BYTES]
    for start in range(0, len(small), _BATCH_SIZE):
        chunk = small[start : start + _BATCH_SIZE]
        try:
            yield from list(store.git.blobs(chunk))
        except (GitError, ValueError, IndexError):  # one of them is damaged: git stops there
            for oid in chunk:
                yield store.git.run("cat-file", "blob", oid, check=False).out


def _set_ref_aside(store: Store, ref: str) -> None:
    """Remove a broken branch; the log records its commit."""
    path = os.path.join(store.git_dir, ref)
    store.log(f"set the damaged '{ref}' aside, it was at {store.git.resolve(ref) or 'no object'}")
    locks = ref_updates.get_lock_files([ref], deletes=True)
    ref_updates.run(store, locks, "update-ref", "-d", ref, check=False)
    if os.path.lexists(path):  # git does not delete what it cannot read
        files.rename(path, store.private_path("corpses", f"{ref.replace('/', '_')}-{os.urandom(4).hex()}"))


class Finding(NamedTuple):
    """The result of a check: level, message and hint."""

    level: str
    message: str
    hint: str = ""
    fixable: bool = False
    details: Sequence[str] = ()


OK, NOTE, WARNING, DECIDE, ERROR = "ok", "note", "warning", "decide", "error"
MINUTE, DAY = 60, 86400
_MAX_NAMES = 5


class CheckContext:
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

    def reload_snapshot(self) -> Snapshot:
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
        return [ref for ref in list_branches(self.store) if ref.startswith(prefix) and self.is_broken(ref)]


class Check:
    """One check: how to find the problem and, if we may, how to fix it."""

    def __init__(
        self,
        name: str,
        look: Callable[[CheckContext], list[Finding]],
        mend: Optional[Callable[[CheckContext], str]] = None,
    ) -> None:
        self.name = name
        self._find_problems = look
        self.fix = mend

    def run(self, ctx: CheckContext) -> list[Finding]:
        """Return the findings; if the check itself fails, the reason."""
        try:
            return self._find_problems(ctx)
        except (ReflectError, OSError) as error:
            return [Finding(ERROR, f"cannot be checked: {error}", "mend what stands above first")]


def list_branches(store: Store) -> list[str]:
    """List every branch, including those that git skips because it cannot read them."""
    found = set(store.git.refs("refs/heads/"))
    for path in files.list_files(os.path.join(store.git_dir, "refs", "heads")):
        if not path.endswith(".lock"):
            found.add(os.path.relpath(path, store.git_dir).replace(os.sep, "/"))
    return sorted(found)


def format_age(seconds: float) -> str:
    """Return a duration: `40 s`, `3 min`, `5 h`, `12 days`."""
    for size, unit in ((DAY, "days"), (3600, "h"), (MINUTE, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def format_names(names: Sequence[str]) -> str:
    """Return the first five names, quoted, for a message."""
    return ", ".join(f"'{name}'" for name in names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")
