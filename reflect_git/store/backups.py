"""A target's exact bytes before an approval, on a branch of its own that is never pushed: backup/<UTC>-<learning>."""

from __future__ import annotations

import time

from reflect_git.adapters.git import NOBODY, SYNCED
from reflect_git.store.expiry import DAY
from reflect_git.store.repository import BACKUP, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from reflect_git.store.repository import Store

KEPT_DAYS = 90
KEPT_ALWAYS = 100
FOLDER = "backup"


def make(store: Store, learning: str, target: str, data: Optional[bytes], now: float) -> str:
    """Keep a target's bytes (None: there was no such file) on top of today's main. Returns the branch. Lock held."""
    branch = _branch(learning, now)
    while store.git.resolve(branch):  # reworded twice within one second
        now += 1
        branch = _branch(learning, now)
    message = f"backup: before {learning}\n\nTarget: {' '.join(target.split())}\n".encode("utf-8", "replace")
    body = [
        f"commit {branch}\ncommitter {NOBODY} {max(0, int(now))} +0000\ndata {len(message)}\n".encode(), message,
        f"\nfrom {MAIN}^0\n".encode(),
    ]  # fmt: skip
    if data is not None:
        body += (f"M 100644 inline {FOLDER}/{learning}\ndata {len(data)}\n".encode(), data, b"\n")
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
