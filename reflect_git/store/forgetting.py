"""Whatever holds what was purged, beside main: inboxes, backups, branches, reflogs, copies, what is outside git.

Every step finds out by itself what is left to do, so that a killed one is simply done again.
"""

from __future__ import annotations

import os
import re
import time

from reflect_git.adapters import files
from reflect_git.adapters.git import NOBODY, SYNCED
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.purged import blob_mark, has_entry, id_mark, is_gone_file
from reflect_git.model.sought import Sought
from reflect_git.store import backups, copies, inbox, origins, rewriting, spool, upkeep
from reflect_git.store.care import guard
from reflect_git.store.layout import id_in
from reflect_git.store.repository import BACKUP, INBOX, MAIN, PRIVATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reflect_git.store.repository import Store

_REMOTES = "refs/remotes/"
_STASH = "refs/stash"
_AT_ONCE = 2000
_LARGEST = 1 << 26
_PATIENCE = 10.0
# What git leaves of commands, and hooks of processes that died: of no use to anybody.
_LITTER = re.compile(r"(COMMIT_EDITMSG|MERGE_MSG|SQUASH_MSG|ORIG_HEAD|FETCH_HEAD|fast_import_crash_\d+)")


class Gone:
    """What has to go: by what it says, and by the marks of a purge, which tell no text."""

    def __init__(self, marks: Collection[str], sought: Sought | None = None) -> None:
        self.marks = frozenset(marks)
        self.sought = sought or Sought([])

    def is_blob(self, oid: str) -> bool:
        return blob_mark(oid) in self.marks

    def is_id(self, identity: str) -> bool:
        return bool(identity) and id_mark(identity) in self.marks

    def is_file(self, data: bytes) -> bool:
        """Whether these are the bytes of something that is gone, or they say it."""
        return self.is_blob(_oid(data)) or self.sought.in_bytes(data)


def _oid(data: bytes) -> str:
    """As git names a file's bytes."""
    from hashlib import sha1

    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def forget(store: Store, marks: Collection[str], sought: Sought | None = None) -> None:
    """All but main itself, which moved before. The caller holds the lock, and nothing is interrupted."""
    gone = Gone(marks, sought)
    spoiled = objects(store, gone)
    _rewrite_branches(store, gone, spoiled)
    _leave_remotes(store)
    _restart_inboxes(store, gone, spoiled)
    _let_go_of_backups(store, gone, spoiled)
    origins.keep(store, lambda path, blob: gone.is_blob(blob) or gone.is_id(id_in(path)))
    _clean_files(store, gone)
    now = store.git.resolve(MAIN)
    if now:
        files.write_whole(store.private_path(guard.TIPS), f"{now}\n".encode("ascii"), sync=False)
    _expire_reflogs(store)
    _free(store, spoiled)


def objects(store: Store, gone: Gone) -> set[str]:
    """Every object in the store that has to go, whoever holds it."""
    listing = store.git.run("cat-file", "--batch-all-objects", "--batch-check", "--unordered").out.decode("ascii")
    rows = [line.split() for line in listing.splitlines()]
    found = {row[0] for row in rows if row[1] == "blob" and gone.is_blob(row[0])}
    if gone.sought.patterns:
        readable = [(row[0], row[1] == "blob") for row in rows if row[1] != "tree"]
        for start in range(0, len(readable), _AT_ONCE):
            chunk = readable[start : start + _AT_ONCE]
            for (oid, is_blob), data in zip(chunk, store.git.blobs([oid for oid, _ in chunk])):
                if gone.sought.in_bytes(data if is_blob else _told(data)):
                    found.add(oid)
    return found


def _told(data: bytes) -> bytes:
    """What a commit or a tag says: who made it, and its message; in the names of objects anything may be found."""
    head, _, message = data.partition(b"\n\n")
    people = [line.partition(b" ")[2].rpartition(b" ")[0].rpartition(b" ")[0] for line in head.split(b"\n")
              if line.startswith((b"author ", b"committer ", b"tagger "))]  # fmt: skip
    return b"\n".join([*people, message])


def names(store: Store) -> Iterator[str]:
    """Of every file in the history of any ref."""
    asked = ("log", "--all", "--no-show-signature", "-z", "--format=", "--name-only", "--no-renames", "-m")
    told = set(store.git.run(*asked).out.split(b"\0"))
    yield from sorted(name.decode("utf-8", "surrogateescape").strip("\n") for name in told if name)


def holds(store: Store, ref: str, spoiled: Collection[str]) -> bool:
    """Whether the history of a ref has any of these objects."""
    out = store.git.run("rev-list", "--objects", "--no-object-names", "--end-of-options", ref).out
    return not set(out.decode("ascii").split()).isdisjoint(spoiled)


def branches(store: Store) -> dict[str, str]:
    """The user's own refs."""
    ours = (MAIN, INBOX, BACKUP, _REMOTES, _STASH, "refs/reflect/")
    return {ref: oid for ref, oid in store.git.refs().items() if not ref.startswith(ours)}


def _rewrite_branches(store: Store, gone: Gone, spoiled: Collection[str]) -> None:
    """A branch of the user's that was made from the old main."""
    stained = {ref: tip for ref, tip in branches(store).items() if holds(store, ref, spoiled)}
    if not stained:
        return
    paths = {path for ref in stained for path in store.git.tree(ref) if gone.is_id(id_in(path))}
    blobs = [oid for oid in spoiled if gone.is_blob(oid)]
    made = rewriting.rewrite(store, stained, gone.sought, paths, blobs, marks=gone.marks)
    lines = [
        f"update {ref} {made[ref]} {tip}\n" if ref in made else f"delete {ref} {tip}\n" for ref, tip in stained.items()
    ]
    store.git.update_refs("".join(lines))


def _leave_remotes(store: Store) -> None:
    """What a remote had when we last asked; the next sync asks again."""
    store.git.update_refs("".join(f"delete {ref}\n" for ref in store.git.refs(_REMOTES, "refs/reflect/")))


def _restart_inboxes(store: Store, gone: Gone, spoiled: Collection[str]) -> None:
    """A new generation without it; of another machine, whose branch is not ours to name, the same one."""
    own = f"{INBOX}{store.machine}/"
    for ref, tip in store.git.refs(INBOX).items():
        if not holds(store, ref, spoiled) and not any(gone.is_id(id_in(path)) for path in store.git.tree(ref)):
            continue
        if store.git.checked_out() == ref:
            raise ReflectError(
                f"'{ref.removeprefix('refs/heads/')}' is checked out", f"git -C '{store.root}' switch main", "head"
            )
        number = ref.rpartition("/")[2]
        new = f"{own}{int(number) + 1:04d}" if ref.startswith(own) and number.isdigit() else ref
        _start_generation(store, gone, spoiled, tip, new)
        if new != ref:
            store.git.update_refs(f"delete {ref} {tip}\n")
            inbox.remember_current(store, new)


def _start_generation(store: Store, gone: Gone, spoiled: Collection[str], tip: str, ref: str) -> None:
    """A commit without a parent: the tree less what is gone."""
    message = f"roll: a new generation\n\nMachine: {store.machine}\n".encode()
    dropped = [
        path for path, blob in store.git.tree(tip).items() if blob in spoiled or gone.is_id(id_in(path))
    ]  # fmt: skip
    tree = store.git.resolve(f"{tip}^{{tree}}")
    stream = [
        f"commit {ref}\ncommitter {NOBODY} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode(), message,
        f'\nM 040000 {tree} ""\n'.encode(), *(f"D {path}\n".encode() for path in dropped), b"\ndone\n",
    ]  # fmt: skip
    # Over what a killed attempt left, and over the old branch of another machine.
    store.git.run("fast-import", "--quiet", "--done", "--force", stdin=b"".join(stream), config=SYNCED)


def _let_go_of_backups(store: Store, gone: Gone, spoiled: Collection[str]) -> None:
    """Those with the text, or with an entry of what is gone, in a file go; the others stay without the history that
    they were made on."""
    for ref, tip in store.git.refs(BACKUP).items():
        kept = store.git.tree(tip, backups.FOLDER)
        message = next(store.git.blobs([tip])).partition(b"\n\n")[2]
        is_stained = any(blob in spoiled for blob in kept.values()) or _names_it(message, gone)
        if is_stained or any(has_entry(data, gone.marks) for data in store.git.blobs(list(kept.values()))):
            store.git.update_refs(f"delete {ref} {tip}\n")
        elif _parent_is_gone(store, tip):
            _keep_alone(store, ref, tip, kept, message)


def _names_it(message: bytes, gone: Gone) -> bool:
    """The message of a backup names its files."""
    targets = backups.targets(message.decode("utf-8", "replace"))
    return gone.sought.in_bytes(message) or any(is_gone_file(path, gone.marks) for path in targets)


def _parent_is_gone(store: Store, tip: str) -> bool:
    parent = store.git.resolve(f"{tip}^")
    return parent is not None and not guard.is_ancestor(store, parent, MAIN)


def _keep_alone(store: Store, ref: str, tip: str, kept: dict[str, str], message: bytes) -> None:
    seconds = store.git.run("show", "-s", "--format=%ct", tip).out.decode("ascii").strip()
    stream = [
        f"commit {ref}\ncommitter {NOBODY} {seconds} +0000\ndata {len(message)}\n".encode(), message,
        b"\n", *(f"M 100644 {blob} {path}\n".encode() for path, blob in kept.items()), b"\ndone\n",
    ]  # fmt: skip
    store.git.run("fast-import", "--quiet", "--done", "--force", stdin=b"".join(stream), config=SYNCED)


def _clean_files(store: Store, gone: Gone) -> None:
    """Captures and their copies; what is derived; what is private and never synced; what git left of its commands."""
    for path in _captures(store, gone):
        files.remove(path)
    dropped = [id_in(path) for path in _copied(store) if gone.is_id(id_in(path)) or _is_gone(store, path, gone)]
    copies.drop(store, dropped)
    for name in files.names_in(store.path("learnings")):
        if name.endswith(".md"):  # rendered; the next approval or review renders it anew
            files.remove(store.path(f"learnings/{name}"))
    for name in ("cache", "corpses", "incoming", rewriting.FOLDER):
        files.remove_tree(store.private_path(name))
    for name in PRIVATE:
        files.make_private_dirs(store.private_path(name))
    for name in files.hidden_names_in(store.private_path("journal"), ".tmp-"):  # of a holder of the lock that died
        files.remove(store.private_path("journal", name))
    for path in _private(store):
        _clean(path, gone)
    for name in os.listdir(store.git_dir):
        if _LITTER.fullmatch(name):
            files.remove(os.path.join(store.git_dir, name))


def _captures(store: Store, gone: Gone) -> Iterator[str]:
    """Pending ones, and those that were set aside."""
    listed = [store.private_path("pending", name) for name in spool.pending(store)]
    listed += [store.private_path("quarantine", name) for name in files.names_in(store.private_path("quarantine"))]
    for path in listed:
        if gone.is_id(os.path.basename(path).partition(".")[0]) or gone.is_file(
            files.read_if_there(path, _LARGEST) or b""
        ):
            yield path


def _copied(store: Store) -> list[str]:
    found = files.files_below(store.path("signals"))
    return [os.path.relpath(path, store.root).replace(os.sep, "/") for path in found if path.endswith(".yaml")]


def _is_gone(store: Store, path: str, gone: Gone) -> bool:
    return bool(id_in(path)) and gone.is_file(files.read_if_there(store.path(path), _LARGEST) or b"")


def _private(store: Store) -> Iterator[str]:
    """Files below .git/reflect, and the log beside the store; the journal is the purge itself, and goes with it."""
    yield f"{store.root}.log"
    for base, folders, names in os.walk(store.private):
        folders[:] = [name for name in folders if os.path.join(base, name) != store.private_path("journal")]
        yield from (os.path.join(base, name) for name in names if name not in ("lock", "index"))


def _clean(path: str, gone: Gone) -> None:
    data = _bytes(path)
    if gone.sought.in_bytes(data):
        files.write_whole(path, gone.sought.cleaned(data))


def _expire_reflogs(store: Store) -> None:
    """All but the stash, which is a reflog and nothing else."""
    logs = os.path.join(store.git_dir, "logs")
    names = [os.path.relpath(path, logs).replace(os.sep, "/") for path in files.files_below(logs)]
    known = [name for name in names if name == "HEAD" or (name != _STASH and store.git.resolve(name))]
    for name in set(names) - set(known) - {_STASH}:
        files.remove(os.path.join(logs, *name.split("/")))
    if known:
        store.git.run("reflog", "expire", "--expire=now", "--expire-unreachable=now", *known)


def _free(store: Store, spoiled: Collection[str]) -> None:
    """Until the object store has none of them; while the user's git is at work, loose ones stay."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        upkeep.free(store)
        left = still_there(store, spoiled)
        if not left:
            return
        if time.monotonic() > deadline:
            raise ReflectError(
                f"still in the store: {plural(len(left), 'object')} of what was purged",
                "end the git that works there; the next reflect-git command takes them out", code="busy",
            )  # fmt: skip
        time.sleep(0.25)


def still_there(store: Store, spoiled: Collection[str]) -> list[str]:
    asked = "".join(f"{oid}\n" for oid in spoiled).encode("ascii")
    out = store.git.run("cat-file", "--batch-check", stdin=asked).out.decode("ascii") if spoiled else ""
    return [line.split()[0] for line in out.splitlines() if not line.endswith(" missing")]


def places(store: Store, sought: Sought) -> list[str]:
    """Where a text still stands in the store's private files and in the work tree, by the names of files."""
    listed = list(_private(store))
    for base, folders, inside in os.walk(store.root):
        folders[:] = [name for name in folders if os.path.join(base, name) != store.git_dir]
        listed += [os.path.join(base, name) for name in inside]
    found = [(os.path.relpath(path, store.root), path) for path in listed]
    return sorted(name for name, path in found if sought.in_text(name) or sought.in_bytes(_bytes(path)))


def _bytes(path: str) -> bytes:
    try:
        return files.read_if_there(path, _LARGEST) or b""
    except OSError:
        return b""
