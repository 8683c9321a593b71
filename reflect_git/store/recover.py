"""Recovery, which every command starts with: finish interrupted steps, commit pending captures, restore copies."""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.store import config_file, copies, inbox, machines, pending, remotes
from reflect_git.store.main import journal, receipts, user_git
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import StoreBusy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Optional

    from reflect_git.store.repository import Store

_LOCK_SECONDS = 2.0
_INCOMING_FOLDER = "incoming"


def is_needed(store: Store, refs: Optional[Iterable[str]] = None) -> bool:
    """Return whether there is anything to recover. `refs` are the store's refs, or its inboxes, if known."""
    return bool(
        pending.list_pending(store)
        or journal.has_entries(store)
        or not copies.has_copies(store)
        or os.path.exists(store.private_path(inbox.RESCUE_FILE))
        or not inbox.list_generations(store, refs)
        or user_git.is_repair_needed(store)
        or purge_marks.is_file_missing(store)
        or not os.path.exists(store.private_path(config_file.POLICY_FILE))
        or machines.lacks_names(store)
        or receipts.is_old_format(store)
        or not os.path.exists(store.private_path(inbox.STORED_FILE))
    )


def recover_store(store: Store) -> None:
    """Bring the store to a state as if nothing had been interrupted; leave the rest to the next command."""
    if os.path.isdir(store.private_path(_INCOMING_FOLDER)):
        _run_step(store, _discard_incoming)
    if not is_needed(store):
        return
    try:
        with store.locked(_LOCK_SECONDS):
            if _run_step(store, finish_interrupted):
                _run_step(store, user_git.repair_main)
            if purge_marks.is_file_missing(store):
                _run_step(store, purge_marks.save_marks)
            if not os.path.exists(store.private_path(config_file.POLICY_FILE)):
                _run_step(store, _rebuild_policy_file)
            if machines.lacks_names(store):
                _run_step(store, machines.record_names)
            _run_step(store, receipts.create_or_upgrade)
            if not os.path.exists(store.private_path(inbox.STORED_FILE)):
                _run_step(store, _refresh_stored)
            rolling = any(facts.get("kind") == "roll" for _, facts in journal.load_entries(store))
            if not rolling and not _run_step(store, repair_inbox):
                from reflect_git.store import lost_signals

                _run_step(store, lost_signals.rebuild_if_damaged)
    except StoreBusy:
        return  # the holder of the lock commits, or the next command does


def _run_step(store: Store, step: Callable[[Store], None]) -> bool:
    """Run one step and log its failure, so that the others still run."""
    try:
        step(store)
    except (ReflectError, OSError) as error:
        store.log(f"{step.__name__.strip('_')}: {error}")
        return False
    return True


def _rebuild_policy_file(store: Store) -> None:
    from reflect_git.store import policy  # policy runs a recovery itself

    policy.rebuild_policy_file(store)


def _discard_incoming(store: Store) -> None:
    """Delete what a killed sync was fetching. A running sync has a lock of its own."""
    try:
        with remotes.SyncLock(store, 0.0):
            remotes.discard_incoming(store)
    except ReflectError:
        return


def _refresh_stored(store: Store) -> None:
    from reflect_git.store import lost_signals

    lost_signals.refresh_stored(store, time.time())


def repair_inbox(store: Store) -> None:
    """Create the inbox branch if needed, commit everything pending, and restore missing copies."""
    inbox.ensure_inbox(store)
    inbox.commit_all(store)
    if os.path.exists(store.private_path(inbox.RESCUE_FILE)):
        copies.move_lost_to_pending(store)
        inbox.commit_all(store)
        files.remove(store.private_path(inbox.RESCUE_FILE))
    if not copies.has_copies(store):
        copies.restore_missing(store)


def finish_interrupted(store: Store) -> None:
    """Finish the steps in the journal. The caller holds the lock."""
    standing = journal.load_entries(store)
    if not standing:
        return
    # All steps that can be interrupted; some of them run a recovery themselves, hence the late import.
    from reflect_git.store import expiry, maintenance, opening, policy
    from reflect_git.store.main import approval, main_branch, move_main
    from reflect_git.store.purge import purge_main

    steps = {
        "main": main_branch.finish_commit,
        "roll": expiry.finish_expiry,
        "upkeep": maintenance.finish_maintenance,
        "rename": opening.finish_rename,
        "config": policy.finish_change,
        "apply": approval.finish_change,
        "move": move_main.finish_move,
        "purge": purge_main.finish_purge,
    }
    for path, facts in sorted(standing, key=_get_order):
        finish = steps.get(str(facts.get("kind")))
        if finish is not None:  # a newer version may know the others
            journal.move_stale_locks(store, path, facts)
            finish(store, path, facts)


def _get_order(standing: tuple[str, dict[str, Any]]) -> int:
    """Return the sort key: first stale locks, then decisions, then the steps that carry them out."""
    return {"upkeep": -1, "apply": 1, "config": 2, "purge": 3}.get(str(standing[1].get("kind")), 0)
