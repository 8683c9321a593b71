"""The exact bytes of targets before a decision, on a branch that is never pushed: backup/<UTC>-<learning>.

Its message tells when it was made, to the millisecond, and names the files in order; its tree has their bytes as
backup/1, backup/2 …; no bytes: there was no file.
"""

from __future__ import annotations

import json
import time

from reflect_git.adapters.git import NOBODY, SYNCED
from reflect_git.model.ids import utc, utc_precise
from reflect_git.store.expiry import DAY
from reflect_git.store.repository import BACKUP, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.store.repository import Store

KEPT_DAYS = 90
KEPT_ALWAYS = 100
FOLDER = "backup"


def make(store: Store, learning: str, kept: Sequence[tuple[str, Optional[bytes]]], now: float) -> str:
    """Keep the bytes of files (None: there was no such file) on top of today's main. Returns the branch. Lock held."""
    branch, made = _branch(learning, now), utc_precise(now)
    while store.git.resolve(branch):  # reworded twice within one second
        now += 1
        branch = _branch(learning, now)
    named = "".join(f"Target: {json.dumps(path)}\n" for path, _ in kept)
    message = f"backup: before {learning}\n\nTime: {made}\n{named}".encode("utf-8", "replace")
    body = [
        f"commit {branch}\ncommitter {NOBODY} {max(0, int(now))} +0000\ndata {len(message)}\n".encode(), message,
        f"\nfrom {MAIN}^0\n".encode(),
    ]  # fmt: skip
    for number, (_, data) in enumerate(kept, 1):
        if data is not None:
            body += (f"M 100644 inline {FOLDER}/{number}\ndata {len(data)}\n".encode(), data, b"\n")
    body.append(b"\ndone\n")
    store.git.run("fast-import", "--quiet", "--done", stdin=b"".join(body), config=SYNCED)
    return branch.removeprefix("refs/heads/")


def _branch(learning: str, now: float) -> str:
    return f"{BACKUP}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{learning}"


def is_backup(ref: str) -> bool:
    """Whether it is called as ours are; a branch that a person called otherwise is theirs."""
    stamp, _, learning = ref.removeprefix(BACKUP).partition("-")
    return ref.startswith(BACKUP) and len(stamp) == 16 and (stamp[8], stamp[15]) == ("T", "Z") and bool(learning)


def listing(store: Store) -> list[str]:
    """Full names, newest first."""
    return sorted(filter(is_backup, store.git.refs(BACKUP)), reverse=True)


def prune(store: Store, now: float) -> None:
    """Keep those younger than 90 days, and always the newest 100."""
    oldest = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now - KEPT_DAYS * DAY))
    old = [name for name in listing(store)[KEPT_ALWAYS:] if name.removeprefix(BACKUP)[:16] < oldest]
    if old:
        store.git.update_refs("".join(f"delete {name}\n" for name in old))


class Kept:
    """A backup: its branch, when and before which learning it was made, and each file with its size."""

    __slots__ = ("files", "learning", "name", "time")

    def __init__(self, name: str, time: str, learning: str, files: list[tuple[str, Optional[int]]]) -> None:
        self.name = name
        self.time = time
        self.learning = learning
        self.files = files


def kept(store: Store) -> list[Kept]:
    """All of them, newest first: one process for their messages, one for the sizes. A size of None: no file."""
    form = "--format=%(refname)%00%(creatordate:unix)%00%(contents)%01"
    listed = store.git.run("for-each-ref", form, "--end-of-options", BACKUP).out.decode("utf-8", "replace")
    entries = [entry.split("\0") for entry in listed.split("\x01\n") if entry]
    # A branch that a person called so is theirs.
    found = sorted((entry for entry in entries if targets(entry[2])), key=_order, reverse=True)
    asked = [(ref, number) for ref, _, text in found for number in range(1, len(targets(text)) + 1)]
    sizes = iter(_sizes(store, [f"{ref}:{FOLDER}/{number}" for ref, number in asked]))
    return [
        Kept(
            ref[len("refs/heads/") :], utc(float(seconds)), ref.rpartition("Z-")[2],
            [(path, next(sizes)) for path in targets(text)],
        )
        for ref, seconds, text in found
    ]  # fmt: skip


def _order(entry: Sequence[str]) -> tuple[str, str]:
    """By the time in its message: two of one second have an order, too."""
    ref, seconds, text = entry
    told = [line[6:] for line in text.split("\n") if line.startswith("Time: ")]
    return (told[0] if told else utc(float(seconds)), ref)


def contents(store: Store, name: str) -> list[tuple[str, Optional[bytes]]]:
    """The files of one backup and their bytes; nothing if there is no such backup any more."""
    ref = f"refs/heads/{name}"
    if not name.startswith(BACKUP[len("refs/heads/") :]) or store.git.resolve(ref) is None:
        return []
    text = store.git.run("log", "-1", "--format=%B", "--end-of-options", ref).out.decode("utf-8", "replace")
    tree = store.git.tree(ref, FOLDER)
    blobs = dict(zip(tree, store.git.blobs(list(tree.values()))))
    return [(path, blobs.get(f"{FOLDER}/{number}")) for number, path in enumerate(targets(text), 1)]


def targets(message: str) -> list[str]:
    """The paths that a message names; JSON, because a path may hold anything."""
    try:
        return [json.loads(line[8:]) for line in message.split("\n") if line.startswith('Target: "')]
    except ValueError:
        return []


def _sizes(store: Store, names: Sequence[str]) -> list[Optional[int]]:
    if not names:
        return []
    out = store.git.run("cat-file", "--batch-check=%(objectsize)", stdin="".join(f"{n}\n" for n in names).encode()).out
    return [None if line.endswith(b"missing") else int(line) for line in out.splitlines()]
