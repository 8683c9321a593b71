"""Backups of target files before a decision, on branches that are never pushed: backup/<UTC>-<learning>.

The commit message has the time in milliseconds and the paths in order. The tree has the bytes as backup/1, backup/2 …;
a missing entry means that there was no file. `.git/reflect/backups` lists the branches that should exist, so that a
deleted one can be reported.
"""

from __future__ import annotations

import json
import time

from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER
from reflect_git.records.ids import utc, utc_precise
from reflect_git.store.expiry import DAY
from reflect_git.store.main import ref_updates
from reflect_git.store.repository import BACKUP, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Optional

    from reflect_git.store.repository import Store

KEEP_DAYS = 90
KEEP_NEWEST = 100
FOLDER = "backup"
LIST_FILE = "backups"
_MAX_BYTES = 1 << 26


def create(store: Store, learning: str, kept: Sequence[tuple[str, Optional[bytes]]], now: float) -> str:
    """Back up files (None: no such file) on top of main; return the branch. The caller holds the lock."""
    branch, made = _build_ref(learning, now), utc_precise(now)
    while store.git.resolve(branch):  # amended twice within one second
        now += 1
        branch = _build_ref(learning, now)
    named = "".join(f"Target: {json.dumps(path)}\n" for path, _ in kept)
    message = f"backup: before {learning}\n\nTime: {made}\n{named}".encode("utf-8", "replace")
    body = [
        f"commit {branch}\ncommitter {COMMITTER} {max(0, int(now))} +0000\ndata {len(message)}\n".encode(), message,
        f"\nfrom {MAIN}^0\n".encode(),
    ]  # fmt: skip
    for number, (_, data) in enumerate(kept, 1):
        if data is not None:
            body += (f"M 100644 inline {FOLDER}/{number}\ndata {len(data)}\n".encode(), data, b"\n")
    body.append(b"\ndone\n")
    ref_updates.fast_import(store, branch, body)
    _add_to_list(store, branch)
    return branch.removeprefix("refs/heads/")


def _build_ref(learning: str, now: float) -> str:
    return f"{BACKUP}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{learning}"


def is_backup(ref: str) -> bool:
    """Return whether a branch has the name of a backup of ours."""
    stamp, _, learning = ref.removeprefix(BACKUP).partition("-")
    return ref.startswith(BACKUP) and len(stamp) == 16 and (stamp[8], stamp[15]) == ("T", "Z") and bool(learning)


def list_refs(store: Store) -> list[str]:
    """List the full names of all backups, newest first."""
    return sorted(filter(is_backup, store.git.refs(BACKUP)), reverse=True)


def prune(store: Store, now: float) -> None:
    """Delete backups older than 90 days, but keep the newest 100."""
    there = list_refs(store)
    old = [name for name in there[KEEP_NEWEST:] if _is_old(name, now)]
    gone = [name for name in _read_list(store) or () if name not in there and _is_old(name, now)]
    delete(store, old, [*old, *gone])


def delete(store: Store, names: Collection[str], unlisted: Collection[str] = ()) -> None:
    """Delete these backups, and remove them and `unlisted` from the list. The caller holds the lock.

    The list is written first: a kill in between leaves an unlisted backup and no false alarm.
    """
    known = _read_list(store)
    left = sorted({*(known or ()), *list_refs(store)}.difference(names, unlisted))
    if left != known:
        _write_list(store, left)
    if names:
        ref_updates.update(store, "".join(f"delete {name}\n" for name in names))


def find_missing(store: Store, now: float) -> list[str]:
    """List the backups that were made here, are younger than 90 days and no longer exist."""
    known = _read_list(store) or []
    there = set(list_refs(store)) if known else set()
    return sorted(name for name in known if name not in there and not _is_old(name, now))


def _is_old(ref: str, now: float) -> bool:
    return ref.removeprefix(BACKUP)[:16] < time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now - KEEP_DAYS * DAY))


def _read_list(store: Store) -> Optional[list[str]]:
    """Return the full names in the list; None for a store without a list."""
    data = files.read_if_exists(store.private_path(LIST_FILE), _MAX_BYTES)
    return None if data is None else list(filter(is_backup, data.decode("utf-8", "replace").split()))


def _add_to_list(store: Store, branch: str) -> None:
    try:
        files.append(store.private_path(LIST_FILE), f"{branch}\n".encode())
    except FileNotFoundError:  # a store from before this list, or a deleted list: start with the existing backups
        _write_list(store, list_refs(store))
    except OSError as error:  # the list only serves to report losses
        store.log(f"'{branch}' is not in the list of backups: {error}")


def _write_list(store: Store, names: Sequence[str]) -> None:
    files.write_atomic(store.private_path(LIST_FILE), "".join(f"{name}\n" for name in names).encode())


class Backup:
    """A backup: its branch, its time, the learning, and each file with its size."""

    __slots__ = ("files", "learning", "name", "time")

    def __init__(self, name: str, time: str, learning: str, files: list[tuple[str, Optional[int]]]) -> None:
        self.name = name
        self.time = time
        self.learning = learning
        self.files = files


def list_backups(store: Store) -> list[Backup]:
    """List all backups, newest first, with two git processes. A size of None means that there was no file."""
    form = "--format=%(refname)%00%(creatordate:unix)%00%(contents)%01"
    listed = store.git.run("for-each-ref", form, "--end-of-options", BACKUP).out.decode("utf-8", "replace")
    entries = [entry.split("\0") for entry in listed.split("\x01\n") if entry]
    # Other branches with such a name belong to the user.
    found = sorted((entry for entry in entries if parse_targets(entry[2])), key=_get_sort_key, reverse=True)
    asked = [(ref, number) for ref, _, text in found for number in range(1, len(parse_targets(text)) + 1)]
    sizes = iter(_get_sizes(store, [f"{ref}:{FOLDER}/{number}" for ref, number in asked]))
    return [
        Backup(
            ref[len("refs/heads/") :], utc(float(seconds)), ref.rpartition("Z-")[2],
            [(path, next(sizes)) for path in parse_targets(text)],
        )
        for ref, seconds, text in found
    ]  # fmt: skip


def _get_sort_key(entry: Sequence[str]) -> tuple[str, str]:
    """Return the sort key: the time in the message, which also orders backups of one second."""
    ref, seconds, text = entry
    told = [line[6:] for line in text.split("\n") if line.startswith("Time: ")]
    return (told[0] if told else utc(float(seconds)), ref)


def read_contents(store: Store, name: str) -> list[tuple[str, Optional[bytes]]]:
    """Return the paths and bytes of one backup; empty if it no longer exists."""
    ref = f"refs/heads/{name}"
    if not name.startswith(BACKUP[len("refs/heads/") :]) or store.git.resolve(ref) is None:
        return []
    text = store.git.run("log", "-1", "--format=%B", "--end-of-options", ref).out.decode("utf-8", "replace")
    tree = store.git.tree(ref, FOLDER)
    blobs = dict(zip(tree, store.git.blobs(list(tree.values()))))
    return [(path, blobs.get(f"{FOLDER}/{number}")) for number, path in enumerate(parse_targets(text), 1)]


def parse_targets(message: str) -> list[str]:
    """Parse the paths in a message. They are JSON, because a path can contain any character."""
    try:
        return [json.loads(line[8:]) for line in message.split("\n") if line.startswith('Target: "')]
    except ValueError:
        return []


def _get_sizes(store: Store, names: Sequence[str]) -> list[Optional[int]]:
    if not names:
        return []
    out = store.git.run("cat-file", "--batch-check=%(objectsize)", stdin="".join(f"{n}\n" for n in names).encode()).out
    return [None if line.endswith(b"missing") else int(line) for line in out.splitlines()]
