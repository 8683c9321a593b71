"""Pending captures become ONE commit on this machine's inbox branch.

The branch is never checked out, so this needs no index and no work tree and costs the same at 100,000 signals as at
100. One `git fast-import` process says which of them the branch already has and takes the rest.
"""

from __future__ import annotations

import errno
import os
import time

from reflect_git.adapters import files, records
from reflect_git.adapters.child import Result
from reflect_git.adapters.git import SYNCED, GitError
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.store import corpses, purged, spool
from reflect_git.store.layout import is_id, path_of
from reflect_git.store.repository import FIRST_GENERATION, INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional

    from reflect_git.store.repository import Store

    Entry = tuple[str, bytes, Mapping[str, Any]]

AT_ONCE = 500
# Each question by itself would wait for two turns of a busy processor. The answers to these fit into the smallest pipe.
ASKED_AT_ONCE = 32
STORED = "stored"  # the ids of signals that were committed, one a line
RESCUE = "rescue"  # there is a new inbox: copies that the old one had may have to be committed again
ATTEMPTS = 3
TRAILERS = 20
_LIMIT = records.MAX_BYTES + 1

# The synced copy outlives a power cut, so the objects need no sync of their own (7.8 → 4.0 ms).
_UNSYNCED = ("core.fsync=none",)
# A capture stays in the pack that fast-import made of it: a second process that makes loose objects of it takes more
# time than the first (12.7 → 5.5 ms of CPU). Every look-up asks every pack, and a hundred of them cost as much as that
# process; so from this many on objects are loose again, until a session's end or begin gathers the packs.
MANY_PACKS = 64
KEEP_PACK, _UNPACK = "fastimport.unpackLimit=1", "fastimport.unpackLimit=100"


def commit_pending(store: Store, patience: float = 0.0, just_written: Optional[Entry] = None) -> Optional[str]:
    """Commit what is pending, at most `AT_ONCE` records; the caller holds the lock. Returns the new commit, if any.

    A lock file on our own inbox can only be a corpse, since all its writers hold the store's lock; it is moved away
    once it stood unchanged for two seconds, and `patience` says how long to wait for that.
    """
    names, just_written = _without_purged(store, spool.pending(store), just_written)
    entries = _read(store, names[:AT_ONCE], just_written)
    if not entries:
        return None
    deadline = time.monotonic() + patience
    for _ in range(ATTEMPTS):
        ref = current(store, deadline)
        if is_checked_out(store, ref):  # the user's next commit there would delete what their index does not know
            return None
        result = _write(store, ref, entries)
        if result.code == 0:
            _settle(store, entries)
            _note(store, entries)
            return result.out.decode("ascii", "replace").strip() or store.git.resolve(ref)
        _tidy_up(store)
        if b"Invalid ref name" in result.err:
            files.remove(store.private_path("cache", "inbox"))
        elif _is_locked(store, ref) and not corpses.bury(store, f"{ref}.lock", deadline):
            break
        # Else a `git gc --prune=now` took its temporary file, or there is no room: it is tried again.
    raise GitError(("fast-import",), result)


def _tidy_up(store: Store) -> None:
    """After a fast-import that failed: the same pack could not be made again while its mark is there."""
    from reflect_git.store import keeping  # hardly ever in a hook

    remove_crash_reports(store)
    keeping.release_packs(store, (keeping.FAST_IMPORT,))


def _is_locked(store: Store, ref: str) -> bool:
    return os.path.lexists(os.path.join(store.git_dir, f"{ref}.lock"))


def commit_all(store: Store) -> None:
    """All that is pending, however much, with patience for dead locks; the caller holds the lock."""
    while spool.pending(store):
        if commit_pending(store, patience=corpses.AGE + 0.5) is None:
            return


def current(store: Store, deadline: float = 0.0) -> str:
    """The full name of the branch that hooks write to, as last known: fast-import refuses it if it is gone."""
    cached = files.read_if_there(store.private_path("cache", "inbox"))
    ref = cached.decode("utf-8", "replace").strip() if cached else ""
    if ref.startswith(f"{INBOX}{store.machine}/"):
        return ref
    return start_inbox(store, deadline)


def is_checked_out(store: Store, ref: str) -> bool:
    """Whether the user looks at the inbox right now; captures wait in pending/ until they are back."""
    head = files.read_if_there(os.path.join(store.git_dir, "HEAD")) or b""
    return head.strip() == f"ref: {ref}".encode()


def below(store: Store) -> str:
    """What the names of our inbox branches begin with."""
    return f"{INBOX}{store.machine}/"


def generations(store: Store, refs: Optional[Iterable[str]] = None) -> list[str]:
    """Our inbox branches, oldest first, of all `refs`; more than one only while a new one is being started."""
    known = store.git.refs(below(store)) if refs is None else refs
    ours = [ref for ref in known if ref.startswith(below(store)) and ref.rpartition("/")[2].isdigit()]
    return sorted(ours, key=lambda ref: int(ref.rpartition("/")[2]))


def remember_current(store: Store, ref: str) -> None:
    files.write_whole(store.private_path("cache", "inbox"), f"{ref}\n".encode(), sync=False)


def _derive(store: Store) -> Optional[str]:
    found = generations(store)
    if found:
        remember_current(store, found[-1])
    return found[-1] if found else None


def start_inbox(store: Store, deadline: float = 0.0) -> str:
    """The branch that git says is ours, made if there is none."""
    ref = _derive(store)
    if ref is None:
        from reflect_git.store.creation import first_inbox_commit  # once in a machine's life

        stream = first_inbox_commit(store.machine, FIRST_GENERATION) + b"done\n"
        ref = f"{INBOX}{store.machine}/{FIRST_GENERATION}"
        corpses.bury(store, f"{ref}.lock", deadline)
        store.git.run("fast-import", "--quiet", "--done", stdin=stream)
        remember_current(store, ref)
        files.write_whole(store.private_path(RESCUE), b"", sync=False)
    return ref


def _without_purged(store: Store, names: list[str], just_written: Optional[Entry]) -> tuple[list[str], Optional[Entry]]:
    """Who acknowledged a capture may have asked before it was purged; it does not come back by that."""
    written = [just_written[0]] if just_written else []
    gone = purged.among(store, [*written, *(name[:-5] for name in names)])
    for identity in gone:
        files.remove(store.private_path("pending", f"{identity}.yaml"))
    left = [name for name in names if name[:-5] not in gone] if gone else names
    return left, None if gone.intersection(written) else just_written


def _read(store: Store, names: list[str], just_written: Optional[Entry]) -> list[Entry]:
    """(id, bytes, record) of each pending file; what cannot be read is set aside, never in the way of the others."""
    entries = [just_written] if just_written else []
    for name in names:
        if just_written and name == f"{just_written[0]}.yaml":
            continue
        path = store.private_path("pending", name)
        try:
            data = files.read_regular(path, _LIMIT)
            record = records.parse(data)
            records.check(record)
            if not is_id(name[:-5]) or record.get("id") != name[:-5]:
                raise ReflectError("its name is not its id")
        except ReflectError as error:
            spool.quarantine(store, path, error.message)
            continue
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ELOOP):  # a pipe, a device, a link: no capture of ours
                spool.quarantine(store, path, str(error))
            continue  # a passing error must not take a capture out of the way to the tip
        entries.append((record["id"], data, record))
    return entries


def _write(store: Store, ref: str, entries: list[Entry]) -> Result:
    """One fast-import conversation: open the commit, ask which paths it has, add the others. Its output is the commit.

    Nothing new means no commit: the stream ends early, and git changes nothing.
    """
    copied = all(identity.startswith("SIG-") for identity, _, _ in entries)
    config = (*(_UNSYNCED if copied else SYNCED), packing(store))
    child = store.git.start("fast-import", "--quiet", "--done", config=config)
    message = subject(entries, store.machine).encode("utf-8", "replace")
    who = f"reflect-git <{store.machine}@localhost>"
    question = (
        f"commit {ref}\nmark :1\ncommitter {who} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode()
        + message + f"\nfrom {ref}^0\n".encode()
    )  # fmt: skip
    stream = []
    for first in range(0, len(entries), ASKED_AT_ONCE):
        batch = [(path_of(identity), data) for identity, data, _ in entries[first : first + ASKED_AT_ONCE]]
        child.send(question + b"".join([f'ls "{path}"\n'.encode() for path, _ in batch]))
        question = b""
        for path, data in batch:
            answer = child.line()
            if not answer:  # git is gone: `finish` tells why
                return child.finish()
            if answer.startswith(b"missing"):
                stream.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
    if not stream:
        result = child.finish()
        remove_crash_reports(store)
        return Result(0, b"", result.err)
    return child.finish(b"".join(stream) + b"get-mark :1\ndone\n")


def packing(store: Store) -> str:
    """Whether fast-import keeps the pack that it makes."""
    return KEEP_PACK if count_packs(store) < MANY_PACKS else _UNPACK


def count_packs(store: Store) -> int:
    return sum(name.endswith(".idx") for name in os.listdir(os.path.join(store.git_dir, "objects", "pack")))


def remove_crash_reports(store: Store) -> None:
    for name in os.listdir(store.git_dir):
        if name.startswith("fast_import_crash_"):
            files.discard(os.path.join(store.git_dir, name))


def subject(entries: list[Entry], machine: str) -> str:
    """`capture: 3 signals from <project>`, with trailers; `record: 1 session` where there are only figures."""
    projects = sorted({_project_name(record) for _, _, record in entries} - {""})
    signals = [identity for identity, _, _ in entries if identity.startswith("SIG-")]
    count = len(signals)
    where = f" from {projects[0]}" if len(projects) == 1 else f" from {len(projects)} projects" if projects else ""
    trailers = [f"Signal-Id: {identity}" for identity in signals[:TRAILERS]]
    if count > TRAILERS:
        trailers.append(f"Signal-Count: {count}")
    trailers.extend(f"Session: {session}" for session in _sessions(entries))
    trailers.append(f"Machine: {machine}")
    what = f"capture: {plural(count, 'signal')}" if count else f"record: {plural(len(entries), 'session')}"
    return f"{what}{where}\n\n" + "\n".join(trailers) + "\n"


def _project_name(record: Mapping[str, Any]) -> str:
    project = record.get("project")
    name = str(project.get("name", "")) if isinstance(project, dict) else ""
    return "".join(c for c in name if c.isprintable())[:60]


def _sessions(entries: list[Entry]) -> list[str]:
    found = {str(record.get("session_id", "")) for _, _, record in entries}
    return sorted("".join(c for c in session if c.isalnum() or c == "-")[:64] for session in found if session)[:5]


def _note(store: Store, entries: list[Entry]) -> None:
    """Add to the list of what was stored; where there is none, the next command makes it."""
    lines = b"".join(f"{identity}\n".encode() for identity, _, _ in entries if identity.startswith("SIG-"))
    try:
        files.append(store.private_path(STORED), lines)
    except OSError:  # the list is for telling a loss, not for storing
        pass


def forget_stored(store: Store, ids: Iterable[str]) -> None:
    """Take signals from the list that are gone because their time was over. The caller holds the lock."""
    gone = {f"{identity}\n".encode() for identity in ids}
    listed = files.read_if_there(store.private_path(STORED), 1 << 28)
    if listed is not None:
        left = [line for line in listed.splitlines(keepends=True) if line not in gone]
        files.write_whole(store.private_path(STORED), b"".join(left))


def _settle(store: Store, entries: list[Entry]) -> None:
    """Committed: the pending files, synced as they are, become the plain copies in signals/, unless there is one."""
    for identity, data, _ in entries:
        source = store.private_path("pending", f"{identity}.yaml")
        copy = store.path(path_of(identity))
        if not identity.startswith("SIG-") or os.path.lexists(copy):
            files.remove(source)
            continue
        files.make_private_dirs(os.path.dirname(copy), below=store.root)
        try:
            files.rename(source, copy)
        except FileNotFoundError:  # somebody deleted .git/reflect a moment ago
            files.write_whole(copy, data)
