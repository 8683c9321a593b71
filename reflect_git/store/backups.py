"""The exact bytes of targets before a decision, on a branch that is never pushed: backup/<UTC>-<learning>.

Its message names the files in order, its tree has their bytes as backup/1, backup/2 …; no bytes: there was no file.
"""

from __future__ import annotations

import json
import time

from reflect_git.adapters.git import NOBODY, SYNCED
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
    branch = _branch(learning, now)
    while store.git.resolve(branch):  # reworded twice within one second
        now += 1
        branch = _branch(learning, now)
    named = "".join(f"Target: {json.dumps(path)}\n" for path, _ in kept)
    message = f"backup: before {learning}\n\n{named}".encode("utf-8", "replace")
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


def listing(store: Store) -> list[str]:
    """Full names, newest first."""
    return sorted(store.git.refs(BACKUP), reverse=True)


def prune(store: Store, now: float) -> None:
    """Keep those younger than 90 days, and always the newest 100."""
    oldest = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now - KEPT_DAYS * DAY))
    old = [name for name in listing(store)[KEPT_ALWAYS:] if name.removeprefix(BACKUP)[:16] < oldest]
    if old:
        store.git.update_refs("".join(f"delete {name}\n" for name in old))
