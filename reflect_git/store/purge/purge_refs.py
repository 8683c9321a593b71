"""Remove purged content from everything except main: inboxes, backups, branches, reflogs, copies, files outside git.

Every step finds out by itself what is left to do, so a killed one is simply repeated.
"""

from __future__ import annotations

import os
import re
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER
from reflect_git.records.ids import plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.purge_marks import has_purged_entry, is_purged_path, is_purged_rules_file
from reflect_git.store import copies, inbox, index, lost_signals, maintenance, pending
from reflect_git.store.main import backups, commit_log, provenance, ref_updates, user_git
from reflect_git.store.purge import purge_digests, purge_marks, purge_search
from reflect_git.store.purge.purge_search import PurgeSet
from reflect_git.store.repository import BACKUP, INBOX, MAIN, PRIVATE_FOLDERS, get_record_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Optional

    from reflect_git.records.search_text import TextSearch
    from reflect_git.store.repository import Store

    ChangedDigests = Mapping[str, tuple[str, Optional[bytes]]]

_REMOTES = "refs/remotes/"
_STASH = "refs/stash"
_WAIT_SECONDS = 10.0
# Leftovers of git commands and of hooks that died; nobody needs them.
_LEFTOVER_NAMES = re.compile(
    r"((COMMIT|TAG|NOTES)_EDITMSG|MERGE_MSG|SQUASH_MSG|ORIG_HEAD|FETCH_HEAD|fast_import_crash_\d+)"
)


def clean_store(store: Store, marks: Collection[str], search: TextSearch | None = None) -> None:
    """Clean everything except main, which has already moved. The caller holds the lock, and nothing is interrupted."""
    purge_marks.save_marks(store, marks)  # first: a concurrent capture checks the marks before it is committed
    purge_set = PurgeSet(marks, search)
    affected = purge_search.find_objects(store, purge_set)
    digests = {ref: purge_digests.find_changed(store, ref, purge_set) for ref in store.git.refs(INBOX)}
    affected |= {blob for changed in digests.values() for blob, _ in changed.values()}
    _rewrite_branches(store, purge_set, affected)
    _delete_remote_refs(store)
    _restart_inboxes(store, purge_set, affected, digests)
    _clean_backups(store, purge_set, affected)
    provenance.save_origins(store, lambda path, blob: purge_set.has_blob(blob) or purge_set.has_id(get_record_id(path)))
    _clean_files(store, purge_set)
    lost_signals.refresh_stored(store, time.time())
    now = store.git.resolve(MAIN)
    if now:
        files.write_atomic(store.private_path(user_git.TIPS_FILE), f"{now}\n".encode("ascii"), sync=False)
    _expire_reflogs(store)
    _remove_objects(store, affected)


def has_purged_content(store: Store, marks: Collection[str]) -> bool:
    """Return whether the store has or had anything that these marks name. Changes nothing.

    Unreachable objects count too: a purge has to remove them as well.
    """
    purge_set = PurgeSet(marks)
    if any(is_purged_path(name, purge_set.marks) for name in purge_search.list_names(store)):
        return True
    if any(_iter_purged_captures(store, purge_set)) or any(
        purge_set.has_id(get_record_id(path)) for path in _list_copies(store)
    ):
        return True
    return bool(purge_search.find_objects(store, purge_set)) or purge_search.any_blob_mentions(store, purge_set.marks)


def contains_any(store: Store, ref: str, affected: Collection[str]) -> bool:
    """Return whether the history of a ref contains any of these objects."""
    out = store.git.run("rev-list", "--objects", "--no-object-names", "--end-of-options", ref).out
    return not set(out.decode("ascii").split()).isdisjoint(affected)


def list_user_refs(store: Store) -> list[RefTip]:
    """List the user's own refs, whatever their names."""
    return [tip for tip in _list_tips(store) if not _is_our_ref(tip.ref)]


class RefTip(NamedTuple):
    """A ref and the object that it finally points to. `is_alias`: it is a symbolic ref."""

    ref: str
    oid: str
    kind: str
    is_alias: bool


def _list_tips(store: Store, *below: str) -> list[RefTip]:
    form = "--format=%(objectname) %(*objecttype)%(objecttype) %(symref)%00%(refname)"
    listed = store.git.run("for-each-ref", form, "--end-of-options", *below).out.decode("utf-8", "surrogateescape")
    found = []
    for line in listed.splitlines():
        about, _, ref = line.partition("\0")
        oid, kind, alias = about.split(" ", 2)
        # A tag of a tag is reported as one; in practice it leads to a commit.
        found.append(RefTip(ref, oid, kind.replace("tag", "") or "commit", bool(alias)))
    return found


def _is_our_ref(ref: str) -> bool:
    if ref in (MAIN, _STASH) or ref.startswith((_REMOTES, "refs/reflect/")):
        return True
    return _is_inbox_ref(ref) or backups.is_backup(ref)


def _is_inbox_ref(ref: str) -> bool:
    machine, _, number = ref.removeprefix(INBOX).partition("/")
    return ref.startswith(INBOX) and bool(machine) and len(number) >= 4 and number.isdigit()


def _rewrite_branches(store: Store, purge_set: PurgeSet, affected: Collection[str]) -> None:
    """Rewrite the user's branches and tags with purged content; delete refs to mere files or folders."""
    stained = {
        tip.ref: tip for tip in list_user_refs(store) if not tip.is_alias and contains_any(store, tip.ref, affected)
    }
    if not stained:
        return
    whole = {ref: tip.oid for ref, tip in stained.items() if tip.kind == "commit"}
    if whole:
        commits = {commit.id: commit for ref in whole for commit in commit_log.read(store, ref)}
        blobs = [oid for oid in affected if purge_set.has_blob(oid)]
        whole = purge_search.rewrite_history(store, whole, purge_set, commits.values(), blobs)
    ref_updates.update(store, "".join(
        f"update {ref} {whole[ref]} {tip.oid}\n" if ref in whole else f"delete {ref} {tip.oid}\n"
        for ref, tip in stained.items()
    ))  # fmt: skip
    purge_search.delete_rewritten_refs(store)


def _delete_remote_refs(store: Store) -> None:
    """Delete the remote-tracking refs; the next sync asks again."""
    listed = [*_list_tips(store, _REMOTES), *_list_tips(store, "refs/reflect/")]
    ref_updates.update(store, "".join(f"option no-deref\ndelete {tip.ref}\n" for tip in listed))


def _restart_inboxes(
    store: Store, purge_set: PurgeSet, affected: Collection[str], digests: Mapping[str, ChangedDigests]
) -> None:  # fmt: skip
    """Start a new generation without purged content. Other machines' branches keep their name."""
    own = f"{INBOX}{store.machine}/"
    for ref, tip in store.git.refs(INBOX).items():
        if not _is_inbox_ref(ref):
            continue
        if not contains_any(store, ref, affected) and not any(
            purge_set.has_id(get_record_id(path)) for path in store.git.tree(ref)
        ):
            continue
        if store.git.get_head_branch() == ref:
            raise ReflectError(
                f"'{ref.removeprefix('refs/heads/')}' is checked out", f"git -C '{store.root}' switch main", "head"
            )
        number = ref.rpartition("/")[2]
        new = f"{own}{int(number) + 1:04d}" if ref.startswith(own) and number.isdigit() else ref
        _start_generation(store, purge_set, affected, tip, new, digests.get(ref, {}))
        if new != ref:
            ref_updates.update(store, f"delete {ref} {tip}\n")
            inbox.cache_current_ref(store, new)


def _start_generation(
    store: Store, purge_set: PurgeSet, affected: Collection[str], tip: str, ref: str, digests: ChangedDigests
) -> None:  # fmt: skip
    """Commit the tree without purged files and with the changed digests, with no parent."""
    message = f"roll: a new generation\n\nMachine: {store.machine}\n".encode()
    dropped = [
        path for path, blob in store.git.tree(tip).items() if blob in affected or purge_set.has_id(get_record_id(path))
    ]  # fmt: skip
    changed = [
        (path, data) for path, (_, data) in digests.items() if data and not purge_set.has_id(get_record_id(path))
    ]
    tree = store.git.resolve(f"{tip}^{{tree}}")
    stream = [
        f"commit {ref}\ncommitter {COMMITTER} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode(),
        message,
        f'\nM 040000 {tree} ""\n'.encode(),
        *(f"D {path}\n".encode() for path in dropped),
        *(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n" for path, data in changed),
        b"\ndone\n",
    ]
    # Overwrites what a killed attempt left, and the old branch of another machine.
    ref_updates.fast_import(store, ref, stream, force=True)


def _clean_backups(store: Store, purge_set: PurgeSet, affected: Collection[str]) -> None:
    """Delete backups that contain the text or a purged entry; detach the others from the old history."""
    dropped = []
    for ref, tip in store.git.refs(BACKUP).items():
        if not backups.is_backup(ref):
            continue
        kept = store.git.tree(tip, backups.FOLDER)
        message = next(store.git.blobs([tip])).partition(b"\n\n")[2]
        is_stained = any(blob in affected for blob in kept.values()) or _is_message_purged(message, purge_set)
        if is_stained or any(has_purged_entry(data, purge_set.marks) for data in store.git.blobs(list(kept.values()))):
            dropped.append(ref)
        elif _has_old_parent(store, tip):
            _detach_backup(store, ref, tip, kept, message)
    if dropped:
        backups.delete(store, dropped)


def _is_message_purged(message: bytes, purge_set: PurgeSet) -> bool:
    """Return whether a backup's message, which names its files, contains the text or a purged rules file."""
    targets = backups.parse_targets(message.decode("utf-8", "replace"))
    return purge_set.search.matches_bytes(message) or any(
        is_purged_rules_file(path, purge_set.marks) for path in targets
    )


def _has_old_parent(store: Store, tip: str) -> bool:
    parent = store.git.resolve(f"{tip}^")
    return parent is not None and not user_git.is_ancestor(store, parent, MAIN)


def _detach_backup(store: Store, ref: str, tip: str, kept: dict[str, str], message: bytes) -> None:
    seconds = store.git.run("show", "-s", "--format=%ct", tip).out.decode("ascii").strip()
    stream = [
        f"commit {ref}\ncommitter {COMMITTER} {seconds} +0000\ndata {len(message)}\n".encode(), message,
        b"\n", *(f"M 100644 {blob} {path}\n".encode() for path, blob in kept.items()), b"\ndone\n",
    ]  # fmt: skip
    ref_updates.fast_import(store, ref, stream, force=True)


def _clean_files(store: Store, purge_set: PurgeSet) -> None:
    """Clean captures and their copies, derived files, private files, and leftovers of git commands."""
    for path in _iter_purged_captures(store, purge_set):
        files.remove(path)
    dropped = [
        get_record_id(path)
        for path in _list_copies(store)
        if purge_set.has_id(get_record_id(path)) or _is_purged_copy(store, path, purge_set)
    ]
    copies.delete_copies(store, dropped)
    for name in files.list_names(store.path("learnings")):
        if name.endswith(".md"):  # rendered; the next approval or review renders it again
            files.remove(store.path(f"learnings/{name}"))
    index.delete(store)
    for name in ("cache", "corpses", "incoming", purge_search.FOLDER):
        files.remove_tree(store.private_path(name))
    for name in PRIVATE_FOLDERS:
        files.make_private_dirs(store.private_path(name))
    for name in files.list_names_with_prefix(
        store.private_path("journal"), ".tmp-"
    ):  # of a holder of the lock that died
        files.remove(store.private_path("journal", name))
    for path in purge_search.iter_private_files(store):
        _clean_file(path, purge_set)
    files.remove_tree(os.path.join(store.git_dir, "rr-cache"))
    for name in os.listdir(store.git_dir):
        if _LEFTOVER_NAMES.fullmatch(name):
            files.remove(os.path.join(store.git_dir, name))


def _iter_purged_captures(store: Store, purge_set: PurgeSet) -> Iterator[str]:
    """Yield the pending and quarantined captures that are purged."""
    yield from purge_digests.find_pending(store, purge_set)
    listed = [store.private_path("pending", name) for name in pending.list_pending(store)]
    listed += [store.private_path("quarantine", name) for name in files.list_names(store.private_path("quarantine"))]
    for path in listed:
        if purge_set.has_id(os.path.basename(path).partition(".")[0]) or purge_set.has_file(
            files.read_if_exists(path, purge_search.MAX_BYTES) or b""
        ):
            yield path


def _list_copies(store: Store) -> list[str]:
    found = files.list_files(store.path("signals"))
    return [os.path.relpath(path, store.root).replace(os.sep, "/") for path in found if path.endswith(".yaml")]


def _is_purged_copy(store: Store, path: str, purge_set: PurgeSet) -> bool:
    return bool(get_record_id(path)) and purge_set.has_file(
        files.read_if_exists(store.path(path), purge_search.MAX_BYTES) or b""
    )


def _clean_file(path: str, purge_set: PurgeSet) -> None:
    data = purge_search.read_content(path)
    if purge_set.search.matches_bytes(data):
        files.write_atomic(path, purge_set.search.remove_matches(data))


def _expire_reflogs(store: Store) -> None:
    """Expire all reflogs except the stash, which consists only of its reflog."""
    logs = os.path.join(store.git_dir, "logs")
    names = [os.path.relpath(path, logs).replace(os.sep, "/") for path in files.list_files(logs)]
    known = [name for name in names if name == "HEAD" or (name != _STASH and store.git.resolve(name))]
    for name in set(names) - set(known) - {_STASH}:
        files.remove(os.path.join(logs, *name.split("/")))
    if known:
        locks = ref_updates.get_lock_files([*known, *(f"logs/{name}" for name in known)])
        ref_updates.run(store, locks, "reflog", "expire", "--expire=now", "--expire-unreachable=now", *known)


def _remove_objects(store: Store, affected: Collection[str]) -> None:
    """Repeat until the object store has none of them. Loose ones stay while the user's git is running."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        maintenance.remove_unreachable(store)
        left = find_existing(store, affected)
        # Objects that the user still refers to, by a ref or in the index, are reported and stay.
        if not left or left <= purge_search.list_reachable(store):
            return
        if time.monotonic() > deadline:
            raise ReflectError(
                f"still in the store: {plural(len(left), 'object')} of what was purged",
                "end the git that works there; the next reflect-git command takes them out", code="busy",
            )  # fmt: skip
        time.sleep(0.25)


def find_existing(store: Store, affected: Collection[str]) -> set[str]:
    """Return those of these objects that still exist."""
    asked = "".join(f"{oid}\n" for oid in affected).encode("ascii")
    out = store.git.run("cat-file", "--batch-check", stdin=asked).out.decode("ascii") if affected else ""
    return {line.split()[0] for line in out.splitlines() if not line.endswith(" missing")}
