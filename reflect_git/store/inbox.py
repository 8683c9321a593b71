"""Commit pending captures to this machine's inbox branch, many in one commit.

The branch is never checked out, so this needs no index and no work tree. It costs the same at 100,000 signals as at
100. One `git fast-import` process reports which captures the branch already has, and adds the rest.
"""

from __future__ import annotations

import errno
import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import SYNC_CONFIG, GitError, Result
from reflect_git.records import yaml_form
from reflect_git.records.ids import plural
from reflect_git.store import pending
from reflect_git.store.main import journal
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import FIRST_GENERATION, INBOX, get_record_path, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional

    from reflect_git.store.repository import Store

    Entry = tuple[str, bytes, Mapping[str, Any]]

MAX_COMMIT_RECORDS = 500
# Single queries would each wait for two time slices of a busy CPU. The answers to this many fit into the smallest pipe.
MAX_QUERIES = 32
STORED_FILE = "stored"  # ids of committed signals, one a line
RESCUE_FILE = "rescue"  # marks a new inbox: copies from the old one may have to be committed again
ATTEMPTS = 3
MAX_TRAILERS = 20
_MAX_BYTES = yaml_form.MAX_BYTES + 1

# The synced copy survives a power cut, so the objects need no sync of their own (7.8 → 4.0 ms).
_NO_SYNC_CONFIG = ("core.fsync=none",)
# A capture stays in the pack that fast-import wrote: a second process that unpacks it into loose objects takes longer
# than the first (12.7 → 5.5 ms of CPU). But every lookup searches every pack, and a hundred packs cost as much as that
# process. So above this number objects are loose again, until the start or end of a session repacks them.
MAX_PACKS = 64
KEEP_PACK_CONFIG, _UNPACK_CONFIG = "fastimport.unpackLimit=1", "fastimport.unpackLimit=100"


def commit_pending(store: Store, patience: float = 0.0, just_written: Optional[Entry] = None) -> Optional[str]:
    """Commit pending records, at most `MAX_COMMIT_RECORDS`; return the new commit, if any. The caller holds the lock.

    All writers of our inbox hold the store's lock, so a lock file on the branch is always stale. It is moved away after
    two seconds without change; `patience` is the time to wait for that.
    """
    names, just_written = _drop_purged(store, pending.list_pending(store), just_written)
    entries = _read_entries(store, names[:MAX_COMMIT_RECORDS], just_written)
    if not entries:
        return None
    deadline = time.monotonic() + patience
    for _ in range(ATTEMPTS):
        ref = get_current_ref(store, deadline)
        if is_checked_out(store, ref):  # the user's next commit there would delete what their index does not know
            return None
        result = _write_commit(store, ref, entries)
        if result.code == 0:
            _move_to_copies(store, entries)
            _append_stored(store, entries)
            return result.out.decode("ascii", "replace").strip() or store.git.resolve(ref)
        _clean_up_fast_import(store)
        if b"Invalid ref name" in result.err:
            files.remove(store.private_path("cache", "inbox"))
        elif _is_locked(store, ref) and not journal.move_stale_lock(store, f"{ref}.lock", deadline):
            break
        # Otherwise a `git gc --prune=now` took its temporary file, or the disk is full: try again.
    raise GitError(("fast-import",), result)


def _clean_up_fast_import(store: Store) -> None:
    """Clean up after a failed fast-import: its mark would prevent writing the same pack again."""
    from reflect_git.store.main import ref_updates  # rarely needed in a hook

    remove_crash_reports(store)
    ref_updates.remove_keep_marks(store, (ref_updates.FAST_IMPORT_MARK,))


def _is_locked(store: Store, ref: str) -> bool:
    return os.path.lexists(os.path.join(store.git_dir, f"{ref}.lock"))


def commit_all(store: Store) -> None:
    """Commit everything pending, and wait for stale locks. The caller holds the lock."""
    while pending.list_pending(store):
        if commit_pending(store, patience=journal.STALE_SECONDS + 0.5) is None:
            return


def get_current_ref(store: Store, deadline: float = 0.0) -> str:
    """Return the cached name of the inbox branch. If it is gone, fast-import refuses it."""
    cached = files.read_if_exists(store.private_path("cache", "inbox"))
    ref = cached.decode("utf-8", "replace").strip() if cached else ""
    if ref.startswith(f"{INBOX}{store.machine}/"):
        return ref
    return ensure_inbox(store, deadline)


def is_checked_out(store: Store, ref: str) -> bool:
    """Return whether the user has the inbox checked out; captures then stay in pending/."""
    head = files.read_if_exists(os.path.join(store.git_dir, "HEAD")) or b""
    return head.strip() == f"ref: {ref}".encode()


def get_ref_prefix(store: Store) -> str:
    """Return the ref prefix of our inbox branches."""
    return f"{INBOX}{store.machine}/"


def list_generations(store: Store, refs: Optional[Iterable[str]] = None) -> list[str]:
    """List our inbox branches, oldest first. There are several only while a new one is being started."""
    known = store.git.refs(get_ref_prefix(store)) if refs is None else refs
    ours = [ref for ref in known if ref.startswith(get_ref_prefix(store)) and ref.rpartition("/")[2].isdigit()]
    return sorted(ours, key=lambda ref: int(ref.rpartition("/")[2]))


def cache_current_ref(store: Store, ref: str) -> None:
    """Cache the name of the inbox branch."""
    files.write_atomic(store.private_path("cache", "inbox"), f"{ref}\n".encode(), sync=False)


def _find_newest_ref(store: Store) -> Optional[str]:
    found = list_generations(store)
    if found:
        cache_current_ref(store, found[-1])
    return found[-1] if found else None


def ensure_inbox(store: Store, deadline: float = 0.0) -> str:
    """Return our inbox branch according to git; create it if it is missing."""
    ref = _find_newest_ref(store)
    if ref is None:
        from reflect_git.store.creation import build_first_inbox_commit  # once for each machine

        stream = build_first_inbox_commit(store.machine, FIRST_GENERATION) + b"done\n"
        ref = f"{INBOX}{store.machine}/{FIRST_GENERATION}"
        journal.move_stale_lock(store, f"{ref}.lock", deadline)
        store.git.run("fast-import", "--quiet", "--done", stdin=stream)
        cache_current_ref(store, ref)
        files.write_atomic(store.private_path(RESCUE_FILE), b"", sync=False)
    return ref


def _drop_purged(store: Store, names: list[str], just_written: Optional[Entry]) -> tuple[list[str], Optional[Entry]]:
    """Drop pending captures that were purged after they were written."""
    written = [just_written[0]] if just_written else []
    gone = purge_marks.find_purged(store, [*written, *(name[:-5] for name in names)])
    for record_id in gone:
        files.remove(store.private_path("pending", f"{record_id}.yaml"))
    left = [name for name in names if name[:-5] not in gone] if gone else names
    return left, None if gone.intersection(written) else just_written


def _read_entries(store: Store, names: list[str], just_written: Optional[Entry]) -> list[Entry]:
    """Return (id, bytes, record) of each pending file. Quarantine unreadable ones: they must not block the others."""
    entries = [just_written] if just_written else []
    for name in names:
        if just_written and name == f"{just_written[0]}.yaml":
            continue
        path = store.private_path("pending", name)
        try:
            data = files.read_regular(path, _MAX_BYTES)
            record = yaml_form.parse(data)
            yaml_form.check(record)
            if not is_id(name[:-5]) or record.get("id") != name[:-5]:
                raise ReflectError("its name is not its id")
        except ReflectError as error:
            pending.quarantine(store, path, error.message)
            continue
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ELOOP):  # a pipe, device or link: not a capture of ours
                pending.quarantine(store, path, str(error))
            continue  # a temporary error must not discard a capture
        entries.append((record["id"], data, record))
    return entries


def _write_commit(store: Store, ref: str, entries: list[Entry]) -> Result:
    """Run one fast-import: start the commit, ask which paths exist, add the others. Its output is the commit.

    If nothing is new the stream ends early, and git changes nothing.
    """
    copied = all(identity.startswith("SIG-") for identity, _, _ in entries)
    config = (*(_NO_SYNC_CONFIG if copied else SYNC_CONFIG), get_pack_config(store))
    child = store.git.start("fast-import", "--quiet", "--done", config=config)
    message = build_message(entries, store.machine).encode("utf-8", "replace")
    who = f"reflect-git <{store.machine}@localhost>"
    question = (
        f"commit {ref}\nmark :1\ncommitter {who} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode()
        + message + f"\nfrom {ref}^0\n".encode()
    )  # fmt: skip
    stream = []
    for first in range(0, len(entries), MAX_QUERIES):
        batch = [(get_record_path(identity), data) for identity, data, _ in entries[first : first + MAX_QUERIES]]
        child.send(question + b"".join([f'ls "{path}"\n'.encode() for path, _ in batch]))
        question = b""
        for path, data in batch:
            answer = child.read_line()
            if not answer:  # git has exited: `finish` reports why
                return child.communicate()
            if answer.startswith(b"missing"):
                stream.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
    if not stream:
        result = child.communicate()
        remove_crash_reports(store)
        return Result(0, b"", result.err)
    return child.communicate(b"".join(stream) + b"get-mark :1\ndone\n")


def get_pack_config(store: Store) -> str:
    """Return the setting that decides whether fast-import keeps its pack."""
    return KEEP_PACK_CONFIG if count_packs(store) < MAX_PACKS else _UNPACK_CONFIG


def count_packs(store: Store) -> int:
    """Count the packs of the store."""
    return sum(name.endswith(".idx") for name in os.listdir(os.path.join(store.git_dir, "objects", "pack")))


def remove_crash_reports(store: Store) -> None:
    """Delete the crash reports of fast-import."""
    for name in os.listdir(store.git_dir):
        if name.startswith("fast_import_crash_"):
            files.discard(os.path.join(store.git_dir, name))


def build_message(entries: list[Entry], machine: str) -> str:
    """Return the commit message: `capture: 3 signals from <project>`, or `record: 1 session`, with trailers."""
    projects = sorted({_get_project_name(record) for _, _, record in entries} - {""})
    signals = [identity for identity, _, _ in entries if identity.startswith("SIG-")]
    count = len(signals)
    where = f" from {projects[0]}" if len(projects) == 1 else f" from {len(projects)} projects" if projects else ""
    trailers = [f"Signal-Id: {identity}" for identity in signals[:MAX_TRAILERS]]
    if count > MAX_TRAILERS:
        trailers.append(f"Signal-Count: {count}")
    trailers.extend(f"Session: {session}" for session in _list_sessions(entries))
    trailers.append(f"Machine: {machine}")
    digests = sum(identity.startswith("DIG-") for identity, _, _ in entries)
    what = f"capture: {plural(count, 'signal')}" if count else f"record: {plural(len(entries), 'session')}"
    if digests and not count:
        what = f"digest: {plural(digests, 'digest')}"
    return f"{what}{where}\n\n" + "\n".join(trailers) + "\n"


def _get_project_name(record: Mapping[str, Any]) -> str:
    project = record.get("project")
    name = str(project.get("name", "")) if isinstance(project, dict) else ""
    return "".join(c for c in name if c.isprintable())[:60]


def _list_sessions(entries: list[Entry]) -> list[str]:
    found = {str(record.get("session_id", "")) for _, _, record in entries}
    return sorted("".join(c for c in session if c.isalnum() or c == "-")[:64] for session in found if session)[:5]


def _append_stored(store: Store, entries: list[Entry]) -> None:
    """Append to the list of stored signals. If it is missing, the next command creates it."""
    lines = b"".join(f"{identity}\n".encode() for identity, _, _ in entries if identity.startswith("SIG-"))
    try:
        files.append(store.private_path(STORED_FILE), lines)
    except OSError:  # the list only serves to detect losses
        pass


def remove_from_stored(store: Store, ids: Iterable[str]) -> None:
    """Remove expired signals from the list. The caller holds the lock."""
    gone = {f"{identity}\n".encode() for identity in ids}
    listed = files.read_if_exists(store.private_path(STORED_FILE), 1 << 28)
    if listed is not None:
        left = [line for line in listed.splitlines(keepends=True) if line not in gone]
        files.write_atomic(store.private_path(STORED_FILE), b"".join(left))


def _move_to_copies(store: Store, entries: list[Entry]) -> None:
    """Move the pending files, which are synced, to signals/ as plain copies after the commit."""
    for record_id, data, _ in entries:
        source = store.private_path("pending", f"{record_id}.yaml")
        copy = store.path(get_record_path(record_id))
        if not record_id.startswith("SIG-") or os.path.lexists(copy):
            files.remove(source)
            continue
        files.make_private_dirs(os.path.dirname(copy), below=store.root)
        try:
            files.rename(source, copy)
        except FileNotFoundError:  # .git/reflect was just deleted
            files.write_atomic(copy, data)
