"""Remove purged content from everything except main: inboxes, backups, branches, reflogs, copies, files outside git.

Every step finds out by itself what is left to do, so a killed one is simply repeated.
"""

from __future__ import annotations

import os
import re
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import NOBODY
from reflect_git.records.ids import plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.purge_marks import has_entry, is_gone, is_gone_file
from reflect_git.store import copies, inbox, maintenance, pending, salvage
from reflect_git.store.main import backups, commit_log, provenance, ref_updates, user_git
from reflect_git.store.purge import purge_marks, purge_search  # fmt: skip
from reflect_git.store.purge.purge_search import Doomed
from reflect_git.store.repository import BACKUP, INBOX, MAIN, PRIVATE, id_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reflect_git.records.search_text import Sought
    from reflect_git.store.repository import Store

_REMOTES = "refs/remotes/"
_STASH = "refs/stash"
_PATIENCE = 10.0
# Leftovers of git commands and of hooks that died; nobody needs them.
_LITTER = re.compile(r"((COMMIT|TAG|NOTES)_EDITMSG|MERGE_MSG|SQUASH_MSG|ORIG_HEAD|FETCH_HEAD|fast_import_crash_\d+)")


def forget(store: Store, marks: Collection[str], sought: Sought | None = None) -> None:
    """Clean everything except main, which has already moved. The caller holds the lock, and nothing is interrupted."""
    purge_marks.remember(store, marks)  # first: a concurrent capture checks the marks before it is committed
    doomed = Doomed(marks, sought)
    spoiled = purge_search.objects(store, doomed)
    _rewrite_branches(store, doomed, spoiled)
    _leave_remotes(store)
    _restart_inboxes(store, doomed, spoiled)
    _let_go_of_backups(store, doomed, spoiled)
    provenance.keep(store, lambda path, blob: doomed.is_blob(blob) or doomed.is_id(id_in(path)))
    _clean_files(store, doomed)
    salvage.refresh(store, time.time())
    now = store.git.resolve(MAIN)
    if now:
        files.write_whole(store.private_path(user_git.TIPS), f"{now}\n".encode("ascii"), sync=False)
    _expire_reflogs(store)
    _free(store, spoiled)


def has_any(store: Store, marks: Collection[str]) -> bool:
    """Return whether the store has or had anything that these marks name. Changes nothing.

    Unreachable objects count too: a purge has to remove them as well.
    """
    doomed = Doomed(marks)
    if any(is_gone(name, doomed.marks) for name in purge_search.names(store)):
        return True
    if any(_captures(store, doomed)) or any(doomed.is_id(id_in(path)) for path in _copied(store)):
        return True
    return bool(purge_search.objects(store, doomed)) or purge_search.names_any(store, doomed.marks)


def holds(store: Store, ref: str, spoiled: Collection[str]) -> bool:
    """Return whether the history of a ref contains any of these objects."""
    out = store.git.run("rev-list", "--objects", "--no-object-names", "--end-of-options", ref).out
    return not set(out.decode("ascii").split()).isdisjoint(spoiled)


def branches(store: Store) -> list[Tip]:
    """List the user's own refs, whatever their names."""
    return [tip for tip in _tips(store) if not _is_ours(tip.ref)]


class Tip(NamedTuple):
    """A ref and the object that it finally points to. `is_alias`: it is a symbolic ref."""

    ref: str
    oid: str
    kind: str
    is_alias: bool


def _tips(store: Store, *below: str) -> list[Tip]:
    form = "--format=%(objectname) %(*objecttype)%(objecttype) %(symref)%00%(refname)"
    listed = store.git.run("for-each-ref", form, "--end-of-options", *below).out.decode("utf-8", "surrogateescape")
    found = []
    for line in listed.splitlines():
        about, _, ref = line.partition("\0")
        oid, kind, alias = about.split(" ", 2)
        # A tag of a tag is reported as one; in practice it leads to a commit.
        found.append(Tip(ref, oid, kind.replace("tag", "") or "commit", bool(alias)))
    return found


def _is_ours(ref: str) -> bool:
    if ref in (MAIN, _STASH) or ref.startswith((_REMOTES, "refs/reflect/")):
        return True
    return _is_generation(ref) or backups.is_backup(ref)


def _is_generation(ref: str) -> bool:
    machine, _, number = ref.removeprefix(INBOX).partition("/")
    return ref.startswith(INBOX) and bool(machine) and len(number) >= 4 and number.isdigit()


def _rewrite_branches(store: Store, doomed: Doomed, spoiled: Collection[str]) -> None:
    """Rewrite the user's branches and tags with purged content; delete refs to mere files or folders."""
    stained = {tip.ref: tip for tip in branches(store) if not tip.is_alias and holds(store, tip.ref, spoiled)}
    if not stained:
        return
    whole = {ref: tip.oid for ref, tip in stained.items() if tip.kind == "commit"}
    if whole:
        commits = {commit.id: commit for ref in whole for commit in commit_log.read(store, ref)}
        blobs = [oid for oid in spoiled if doomed.is_blob(oid)]
        whole = purge_search.rewrite(store, whole, doomed, commits.values(), blobs)
    ref_updates.update(store, "".join(
        f"update {ref} {whole[ref]} {tip.oid}\n" if ref in whole else f"delete {ref} {tip.oid}\n"
        for ref, tip in stained.items()
    ))  # fmt: skip
    purge_search.release(store)


def _leave_remotes(store: Store) -> None:
    """Delete the remote-tracking refs; the next sync asks again."""
    listed = [*_tips(store, _REMOTES), *_tips(store, "refs/reflect/")]
    ref_updates.update(store, "".join(f"option no-deref\ndelete {tip.ref}\n" for tip in listed))


def _restart_inboxes(store: Store, doomed: Doomed, spoiled: Collection[str]) -> None:
    """Start a new generation without purged content. Other machines' branches keep their name."""
    own = f"{INBOX}{store.machine}/"
    for ref, tip in store.git.refs(INBOX).items():
        if not _is_generation(ref):
            continue
        if not holds(store, ref, spoiled) and not any(doomed.is_id(id_in(path)) for path in store.git.tree(ref)):
            continue
        if store.git.checked_out() == ref:
            raise ReflectError(
                f"'{ref.removeprefix('refs/heads/')}' is checked out", f"git -C '{store.root}' switch main", "head"
            )
        number = ref.rpartition("/")[2]
        new = f"{own}{int(number) + 1:04d}" if ref.startswith(own) and number.isdigit() else ref
        _start_generation(store, doomed, spoiled, tip, new)
        if new != ref:
            ref_updates.update(store, f"delete {ref} {tip}\n")
            inbox.remember_current(store, new)


def _start_generation(store: Store, doomed: Doomed, spoiled: Collection[str], tip: str, ref: str) -> None:
    """Commit the tree without purged files, with no parent."""
    message = f"roll: a new generation\n\nMachine: {store.machine}\n".encode()
    dropped = [
        path for path, blob in store.git.tree(tip).items() if blob in spoiled or doomed.is_id(id_in(path))
    ]  # fmt: skip
    tree = store.git.resolve(f"{tip}^{{tree}}")
    stream = [
        f"commit {ref}\ncommitter {NOBODY} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode(), message,
        f'\nM 040000 {tree} ""\n'.encode(), *(f"D {path}\n".encode() for path in dropped), b"\ndone\n",
    ]  # fmt: skip
    # Overwrites what a killed attempt left, and the old branch of another machine.
    ref_updates.fast_import(store, ref, stream, force=True)


def _let_go_of_backups(store: Store, doomed: Doomed, spoiled: Collection[str]) -> None:
    """Delete backups that contain the text or a purged entry; detach the others from the old history."""
    dropped = []
    for ref, tip in store.git.refs(BACKUP).items():
        if not backups.is_backup(ref):
            continue
        kept = store.git.tree(tip, backups.FOLDER)
        message = next(store.git.blobs([tip])).partition(b"\n\n")[2]
        is_stained = any(blob in spoiled for blob in kept.values()) or _names_it(message, doomed)
        if is_stained or any(has_entry(data, doomed.marks) for data in store.git.blobs(list(kept.values()))):
            dropped.append(ref)
        elif _parent_is_gone(store, tip):
            _keep_alone(store, ref, tip, kept, message)
    if dropped:
        backups.drop(store, dropped)


def _names_it(message: bytes, doomed: Doomed) -> bool:
    """Return whether a backup's message, which names its files, contains the text or a purged rules file."""
    targets = backups.targets(message.decode("utf-8", "replace"))
    return doomed.sought.in_bytes(message) or any(is_gone_file(path, doomed.marks) for path in targets)


def _parent_is_gone(store: Store, tip: str) -> bool:
    parent = store.git.resolve(f"{tip}^")
    return parent is not None and not user_git.is_ancestor(store, parent, MAIN)


def _keep_alone(store: Store, ref: str, tip: str, kept: dict[str, str], message: bytes) -> None:
    seconds = store.git.run("show", "-s", "--format=%ct", tip).out.decode("ascii").strip()
    stream = [
        f"commit {ref}\ncommitter {NOBODY} {seconds} +0000\ndata {len(message)}\n".encode(), message,
        b"\n", *(f"M 100644 {blob} {path}\n".encode() for path, blob in kept.items()), b"\ndone\n",
    ]  # fmt: skip
    ref_updates.fast_import(store, ref, stream, force=True)


def _clean_files(store: Store, doomed: Doomed) -> None:
    """Clean captures and their copies, derived files, private files, and leftovers of git commands."""
    for path in _captures(store, doomed):
        files.remove(path)
    dropped = [id_in(path) for path in _copied(store) if doomed.is_id(id_in(path)) or _is_gone(store, path, doomed)]
    copies.drop(store, dropped)
    for name in files.names_in(store.path("learnings")):
        if name.endswith(".md"):  # rendered; the next approval or review renders it again
            files.remove(store.path(f"learnings/{name}"))
    for name in ("cache", "corpses", "incoming", purge_search.FOLDER):
        files.remove_tree(store.private_path(name))
    for name in PRIVATE:
        files.make_private_dirs(store.private_path(name))
    for name in files.hidden_names_in(store.private_path("journal"), ".tmp-"):  # of a holder of the lock that died
        files.remove(store.private_path("journal", name))
    for path in purge_search.private(store):
        _clean(path, doomed)
    files.remove_tree(os.path.join(store.git_dir, "rr-cache"))
    for name in os.listdir(store.git_dir):
        if _LITTER.fullmatch(name):
            files.remove(os.path.join(store.git_dir, name))


def _captures(store: Store, doomed: Doomed) -> Iterator[str]:
    """Yield the pending and quarantined captures that are purged."""
    listed = [store.private_path("pending", name) for name in pending.pending(store)]
    listed += [store.private_path("quarantine", name) for name in files.names_in(store.private_path("quarantine"))]
    for path in listed:
        if doomed.is_id(os.path.basename(path).partition(".")[0]) or doomed.is_file(
            files.read_if_there(path, purge_search.LARGEST) or b""
        ):
            yield path


def _copied(store: Store) -> list[str]:
    found = files.files_below(store.path("signals"))
    return [os.path.relpath(path, store.root).replace(os.sep, "/") for path in found if path.endswith(".yaml")]


def _is_gone(store: Store, path: str, doomed: Doomed) -> bool:
    return bool(id_in(path)) and doomed.is_file(files.read_if_there(store.path(path), purge_search.LARGEST) or b"")


def _clean(path: str, doomed: Doomed) -> None:
    data = purge_search.content(path)
    if doomed.sought.in_bytes(data):
        files.write_whole(path, doomed.sought.cleaned(data))


def _expire_reflogs(store: Store) -> None:
    """Expire all reflogs except the stash, which consists only of its reflog."""
    logs = os.path.join(store.git_dir, "logs")
    names = [os.path.relpath(path, logs).replace(os.sep, "/") for path in files.files_below(logs)]
    known = [name for name in names if name == "HEAD" or (name != _STASH and store.git.resolve(name))]
    for name in set(names) - set(known) - {_STASH}:
        files.remove(os.path.join(logs, *name.split("/")))
    if known:
        locks = ref_updates.locks_of([*known, *(f"logs/{name}" for name in known)])
        ref_updates.run(store, locks, "reflog", "expire", "--expire=now", "--expire-unreachable=now", *known)


def _free(store: Store, spoiled: Collection[str]) -> None:
    """Repeat until the object store has none of them. Loose ones stay while the user's git is running."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        maintenance.free(store)
        left = still_there(store, spoiled)
        # Objects that the user still refers to, by a ref or in the index, are reported and stay.
        if not left or left <= purge_search.held(store):
            return
        if time.monotonic() > deadline:
            raise ReflectError(
                f"still in the store: {plural(len(left), 'object')} of what was purged",
                "end the git that works there; the next reflect-git command takes them out", code="busy",
            )  # fmt: skip
        time.sleep(0.25)


def still_there(store: Store, spoiled: Collection[str]) -> set[str]:
    """Return those of these objects that still exist."""
    asked = "".join(f"{oid}\n" for oid in spoiled).encode("ascii")
    out = store.git.run("cat-file", "--batch-check", stdin=asked).out.decode("ascii") if spoiled else ""
    return {line.split()[0] for line in out.splitlines() if not line.endswith(" missing")}
