"""Once a day, never in a hook: signals go when their time is over, and what is gone is taken out of the object store.

`repack -ad` drops what no branch holds from the packs, `prune` drops the loose rest and the temporary files of killed
git children. Anything less keeps every expired quote on the disk.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files, jsontext
from reflect_git.adapters.git import GitError
from reflect_git.model.ids import seconds_of
from reflect_git.store import copies, creation, expiry, inbox, journal, mainline
from reflect_git.store.repository import Busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.store.reading import Snapshot
    from reflect_git.store.repository import Store

_JUMP = 45 * expiry.DAY
_WEEK = 7 * expiry.DAY
_LOG_LIMIT = 256 << 10
_FEW_PACKS = 8
_LOCKS = ("objects/info/commit-graphs/commit-graph-chain.lock", "objects/info/commit-graph.lock")


def is_due(store: Store, now: float) -> bool:
    last = last_run(store)
    return now - last >= expiry.DAY or last > now


def last_run(store: Store) -> float:
    last = _notes(store).get("last")
    return float(last) if isinstance(last, (int, float)) else 0.0


def _notes(store: Store) -> dict[str, Any]:
    try:
        notes = jsontext.loads(files.read_if_there(store.private_path("upkeep.json")) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return notes if isinstance(notes, dict) else {}


def clock_is_believable(snapshot: Snapshot, last: float, now: float) -> bool:
    """A clock that jumped must not empty the inbox: signals go only under a clock that was seen to run for a week.

    What was seen are the times at which signals were stored and upkeep ran; 45 days without any are a jump, or a long
    absence, after which everything stays for a week more.
    """
    seen = sorted({last, *(seconds_of(signal["stored"]) for signal in snapshot.signals)}, reverse=True)
    since = now
    for moment in seen:
        if moment <= now:
            if since - moment > _JUMP:
                break
            since = moment
    return now - since >= _WEEK


def upkeep(store: Store, snapshot: Snapshot, now: float) -> int:
    """Everything that is due; the caller holds the lock and has swept. Returns how many signals went."""
    first_seen = _first_seen(store, expiry.undated(store, snapshot, now), now)
    believable = clock_is_believable(snapshot, last_run(store), now)
    notes = jsontext.dumps({"last": now, "undated": first_seen})
    files.write_whole(store.private_path("upkeep.json"), notes)
    gone = expiry.expired(store, snapshot, now, first_seen) if believable else []
    expiry.expire(store, gone, now)
    copies.rescue(store)
    copies.restore(store)
    from reflect_git.store import backups, stored  # who only asks whether it is due does without

    backups.prune(store, now)
    try:
        stored.refresh(store, now)
        if stored.missing(store, now):  # `doctor --fix` can recover them while their objects are there
            return len(gone)
        free(store)
    except GitError:  # what git cannot read it cannot pack
        from reflect_git.store.care import salvage

        salvage.rebuild_if_damaged(store)
        free(store)
    return len(gone)


def _first_seen(store: Store, undated: list[str], now: float) -> dict[str, float]:
    """When upkeep met each signal whose date cannot be right."""
    known = _notes(store).get("undated")
    before = known if isinstance(known, dict) else {}
    noted = {identity: when for identity, when in before.items() if isinstance(when, (int, float))}
    return {identity: noted.get(identity, now) for identity in undated}


def free(store: Store) -> None:
    """Take what no branch holds out of the object store.

    Packs hold what was committed; loose objects may belong to a commit that the user is just making, so the index is
    locked while those are pruned. If the user's git is at work right now, they go tomorrow.
    """
    standing = journal.begin(store, "upkeep", _LOCKS, {})
    try:
        _unkeep_packs(store)
        remove_halves(store)
        store.git.run("repack", "-a", "-d", "-q")
        if mainline.hold_index(store):
            try:
                store.git.run("prune", "--expire=now")
            finally:
                mainline.release_index(store)
        store.git.run("commit-graph", "write", "--reachable", "--changed-paths", "--no-progress", check=False)
        _tidy(store)
    except GitError:  # the index is free again; anything else may have kept it, and the journal tells the next command
        journal.end(standing)
        raise
    journal.end(standing)


def gather_packs(store: Store) -> None:
    """Hooks leave a pack for each capture; many become one, without a look at the large ones. Drops nothing."""
    if inbox.count_packs(store) < _FEW_PACKS:
        return
    try:
        with store.locked(0.0):
            store.git.run("repack", "--geometric=2", "-d", "-q")
    except Busy:  # the next session gathers them
        pass
    except GitError as error:
        store.log(f"packs: {error}")


def _unkeep_packs(store: Store) -> None:
    """A killed fast-import leaves its pack marked as kept, and repack would keep what is in it for ever."""
    from reflect_git.store import keeping  # who only asks whether it is due does without

    keeping.release_packs(store)


def remove_halves(store: Store) -> None:
    """A sync that was killed while its pack moved in leaves one without an index: no git reads it, and none of the
    newer ones removes it. A young one may be the user's own git, which is just writing the index."""
    folder = os.path.join(store.git_dir, "objects", "pack")
    names = set(os.listdir(folder))
    for name in names:
        base, end = os.path.splitext(name)
        is_half = name.startswith("pack-") and end in (".pack", ".rev") and not {f"{base}.idx", f"{base}.keep"} & names
        if is_half and _is_old(os.path.join(folder, name)):
            files.remove(os.path.join(folder, name))


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Interrupted upkeep needs no repair, only its locks removed; it is done again tomorrow or by `doctor --fix`."""
    mainline.release_index(store)
    journal.end(path)


def _tidy(store: Store) -> None:
    """Temporary files of killed processes, buried locks, and the older half of a long log."""
    creation.remove_abandoned(os.path.dirname(store.root))
    for folder in ("pending", "cache", "journal", "corpses", ""):
        _remove_old(store.private_path(folder) if folder else store.private, everything=folder == "corpses")
    log = files.read_if_there(store.private_path("log"), 1 << 26) or b""
    if len(log) > _LOG_LIMIT:
        files.write_whole(store.private_path("log"), log[-_LOG_LIMIT // 2 :].partition(b"\n")[2])


def _remove_old(folder: str, everything: bool) -> None:
    """The store's lock is held, so only a capture being acknowledged right now has a young temporary file."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if (everything or name.startswith(".tmp-")) and _is_old(path):
            files.remove_tree(path) if os.path.isdir(path) else files.discard(path)


def _is_old(path: str) -> bool:
    try:
        return time.time() - os.lstat(path).st_mtime > 600
    except FileNotFoundError:  # a capture that was just acknowledged
        return False
