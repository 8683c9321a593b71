"""Daily maintenance, never in a hook: expire old signals and remove deleted objects from the object store.

`repack -ad` drops unreachable objects from the packs; `prune` drops the loose ones and the temporary files of killed
git processes. With anything less, every expired quote would stay on the disk.
"""

from __future__ import annotations

import hashlib
import os
import time

from reflect_git import __version__
from reflect_git.platform import files
from reflect_git.platform.git import GitError
from reflect_git.records import json_form
from reflect_git.records.ids import parse_utc
from reflect_git.store import copies, creation, expiry, inbox
from reflect_git.store.main import journal, main_branch, ref_updates
from reflect_git.store.repository import VERSION_FILE, StoreBusy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.records.schema import Signal
    from reflect_git.store.expiry import GetIncident
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store

_MAX_CLOCK_GAP = 45 * expiry.DAY
_MIN_CLOCK_RUN = 7 * expiry.DAY
_RETRY_SECONDS = 3600.0  # after a run that failed or was killed
_LOG_LIMIT = 256 << 10
_MIN_PACKS = 8
_FORMER_PRE_PUSH = (
    "60c14c824b4a084658151139555826a1d9bdd8e3740928ae9462591f5aeeadee",
    "9794c56b8ed0a206844511a1f23fd08ec98d027bac22b4107154b0ce6751ef57",
)
_LOCKS = ("objects/info/commit-graphs/commit-graph-chain.lock", "objects/info/commit-graph.lock")


def upgrade_files(store: Store) -> None:
    """Replace our own files that nobody changed, and note the version: the last step of an upgrade."""
    path = os.path.join(store.git_dir, "hooks", "pre-push")
    if hashlib.sha256(files.read_if_exists(path, 1 << 16) or b"").hexdigest() in _FORMER_PRE_PUSH:
        files.write_atomic(path, creation.read_template("store", "pre-push"))
        os.chmod(path, 0o700)
    files.write_atomic(store.private_path(VERSION_FILE), __version__.encode())


def is_due(store: Store, now: float) -> bool:
    """Return whether the last complete run is a day ago, or in the future, and none began within the last hour."""
    last, began = get_last_run(store), load_state(store).get("began")
    is_failing = isinstance(began, (int, float)) and 0 <= now - began < _RETRY_SECONDS
    return (now - last >= expiry.DAY or last > now) and not is_failing


def get_last_run(store: Store) -> float:
    """Return the time of the last run; 0 if there was none."""
    last = load_state(store).get("last")
    return float(last) if isinstance(last, (int, float)) else 0.0


def load_state(store: Store) -> dict[str, Any]:
    """Return what the last run left: when it began and ended, how, and with which counts."""
    try:
        notes = json_form.loads(files.read_if_exists(store.private_path("upkeep.json")) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return notes if isinstance(notes, dict) else {}


def save_state(store: Store, **changes: Any) -> None:
    """Change some values of the state."""
    files.write_atomic(store.private_path("upkeep.json"), json_form.dumps({**load_state(store), **changes}))


def is_clock_plausible(snapshot: Snapshot, last: float, now: float) -> bool:
    """Return whether the clock has been seen to run for a week, so that signals may expire.

    A clock that jumped must not empty the inbox. The times when signals were stored and maintenance ran are evidence. A
    gap of 45 days is a jump or a long absence; after it, everything is kept for another week.
    """
    seen = sorted({last, *(parse_utc(signal["stored"]) for signal in snapshot.signals)}, reverse=True)
    since = now
    for moment in seen:
        if moment <= now:
            if since - moment > _MAX_CLOCK_GAP:
                break
            since = moment
    return now - since >= _MIN_CLOCK_RUN


def run_maintenance(store: Store, snapshot: Snapshot, now: float, get_incident: Optional[GetIncident] = None) -> int:
    """Do everything that is due; return how many signals expired. The caller holds the lock, after recovery.

    `get_incident` names the incident of an expiring failure, so that it is still counted afterwards.
    """
    gone = find_expired(store, snapshot, now)
    save_state(store, last=now)
    expiry.expire_signals(store, gone, now, get_incident)
    clean_up(store, now)
    return len(gone)


def find_expired(store: Store, snapshot: Snapshot, now: float) -> list[Signal]:
    """List the expired signals of this machine, if the clock is plausible. Remembers when it met misdated ones."""
    first_seen = _get_first_seen(store, expiry.find_misdated(store, snapshot, now), now)
    if first_seen != load_state(store).get("undated", {}):
        save_state(store, undated=first_seen)
    if not is_clock_plausible(snapshot, get_last_run(store), now):
        return []
    return expiry.find_expired(store, snapshot, now, first_seen)


def clean_up(store: Store, now: float) -> None:
    """Restore missing copies, delete old backups, and remove deleted objects. The caller holds the lock."""
    copies.move_lost_to_pending(store)
    copies.restore_missing(store)
    from reflect_git.store import lost_signals  # not needed to check whether it is due
    from reflect_git.store.main import backups

    backups.prune(store, now)
    try:
        lost_signals.refresh_stored(store, now)
        if lost_signals.find_missing(store, now):  # `doctor --fix` can recover them while their objects exist
            return
        remove_unreachable(store)
    except GitError:  # git cannot pack what it cannot read
        from reflect_git.store import lost_signals

        lost_signals.rebuild_if_damaged(store)
        remove_unreachable(store)


def _get_first_seen(store: Store, undated: list[str], now: float) -> dict[str, float]:
    """Return when maintenance first met each signal with an impossible date."""
    known = load_state(store).get("undated")
    before = known if isinstance(known, dict) else {}
    noted = {identity: when for identity, when in before.items() if isinstance(when, (int, float))}
    return {identity: noted.get(identity, now) for identity in undated}


def remove_unreachable(store: Store) -> None:
    """Remove unreachable objects from the object store.

    Packs contain committed objects. Loose ones may belong to a commit that the user is making, so the index is locked
    while they are pruned. If the user's git is running now, they are pruned tomorrow.
    """
    standing = journal.begin(store, "upkeep", _LOCKS, {})
    try:
        _remove_keep_marks(store)
        remove_partial_packs(store)
        store.git.run("repack", "-a", "-d", "-q")
        if main_branch.lock_index(store):
            try:
                store.git.run("prune", "--expire=now")
            finally:
                main_branch.unlock_index(store)
        store.git.run("commit-graph", "write", "--reachable", "--changed-paths", "--no-progress", check=False)
        _clean_private_files(store)
    except GitError:  # the index is unlocked again; after any other error the next command reads the journal
        journal.end(standing)
        raise
    journal.end(standing)


def combine_packs(store: Store) -> None:
    """Combine the small packs that hooks leave for each capture, without touching large ones. Deletes no object."""
    if inbox.count_packs(store) < _MIN_PACKS:
        return
    try:
        with store.locked(0.0):
            store.git.run("repack", "--geometric=2", "-d", "-q")
    except StoreBusy:  # the next session does it
        pass
    except GitError as error:
        store.log(f"packs: {error}")


def _remove_keep_marks(store: Store) -> None:
    """Remove the .keep marks of killed fast-imports and fetches; repack would keep their content forever."""
    ref_updates.remove_keep_marks(store)
    ref_updates.remove_marks_of_killed_fetches(store)


def remove_partial_packs(store: Store) -> None:
    """Delete packs without an index, which a sync killed while moving its pack leaves.

    git does not read them, and newer versions do not remove them. A young one may belong to the user's own git, which
    is still writing the index.
    """
    folder = os.path.join(store.git_dir, "objects", "pack")
    names = set(os.listdir(folder))
    for name in names:
        base, end = os.path.splitext(name)
        is_half = name.startswith("pack-") and end in (".pack", ".rev") and not {f"{base}.idx", f"{base}.keep"} & names
        if is_half and _is_old(os.path.join(folder, name)):
            files.remove(os.path.join(folder, name))


def finish_maintenance(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Clean up interrupted maintenance. It needs no repair; it runs again tomorrow or with `doctor --fix`."""
    main_branch.unlock_index(store)
    journal.end(path)


def _clean_private_files(store: Store) -> None:
    """Delete temporary files of killed processes, old stale locks, and the older half of a long log."""
    creation.remove_abandoned_drafts(os.path.dirname(store.root))
    for folder in ("pending", "cache", "journal", "corpses", ""):
        _remove_old_files(store.private_path(folder) if folder else store.private, everything=folder == "corpses")
    log = files.read_if_exists(store.private_path("log"), 1 << 26) or b""
    if len(log) > _LOG_LIMIT:
        files.write_atomic(store.private_path("log"), log[-_LOG_LIMIT // 2 :].partition(b"\n")[2])


def _remove_old_files(folder: str, everything: bool) -> None:
    """Delete old temporary files. We hold the store's lock, so only a capture being written has a young one."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if (everything or name.startswith(".tmp-")) and _is_old(path):
            files.remove_tree(path) if os.path.isdir(path) else files.discard(path)


def _is_old(path: str) -> bool:
    try:
        return time.time() - os.lstat(path).st_mtime > 600
    except FileNotFoundError:  # a capture that was just written
        return False
