"""Recovery, which every command starts with: finish interrupted steps, commit pending captures, restore copies."""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.store import config_file, copies, inbox, machines, pending
from reflect_git.store.main import journal, receipts, user_git
from reflect_git.store.purge import purge_marks
from reflect_git.store.repository import Busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Optional

    from reflect_git.store.repository import Store

_WAIT = 2.0
_INCOMING = "incoming"


def is_needed(store: Store, refs: Optional[Iterable[str]] = None) -> bool:
    """Return whether there is anything to recover. `refs` are the store's refs, or its inboxes, if known."""
    return bool(
        pending.pending(store)
        or journal.is_standing(store)
        or not copies.are_there(store)
        or os.path.exists(store.private_path(inbox.RESCUE))
        or not inbox.generations(store, refs)
        or user_git.is_needed(store)
        or purge_marks.is_lacking(store)
        or not os.path.exists(store.private_path(config_file.FILE))
        or machines.is_unnoted(store)
        or receipts.is_untold(store)
        or not os.path.exists(store.private_path(inbox.STORED))
    )


def sweep(store: Store) -> None:
    """Bring the store to a state as if nothing had been interrupted; leave the rest to the next command."""
    if os.path.isdir(store.private_path(_INCOMING)):
        _try(store, _discard_incoming)
    if not is_needed(store):
        return
    try:
        with store.locked(_WAIT):
            if _try(store, finish_interrupted):
                _try(store, user_git.guard)
            if purge_marks.is_lacking(store):
                _try(store, purge_marks.remember)
            if not os.path.exists(store.private_path(config_file.FILE)):
                _try(store, _recall_policies)
            if machines.is_unnoted(store):
                _try(store, machines.note)
            _try(store, receipts.begin)
            if not os.path.exists(store.private_path(inbox.STORED)):
                _try(store, _list_stored)
            rolling = any(facts.get("kind") == "roll" for _, facts in journal.standing(store))
            if not rolling and not _try(store, mend_inbox):
                from reflect_git.store import salvage

                _try(store, salvage.rebuild_if_damaged)
    except Busy:
        return  # the holder of the lock commits, or the next command does


def _try(store: Store, step: Callable[[Store], None]) -> bool:
    """Run one step and log its failure, so that the others still run."""
    try:
        step(store)
    except (ReflectError, OSError) as error:
        store.log(f"{step.__name__.strip('_')}: {error}")
        return False
    return True


def _recall_policies(store: Store) -> None:
    from reflect_git.store import policy  # policy runs a recovery itself

    policy.recall(store)


def _discard_incoming(store: Store) -> None:
    """Delete what a killed sync was fetching. A running sync has a lock of its own."""
    from reflect_git.store import remotes  # rarely needed

    try:
        with remotes.Alone(store, 0.0):
            remotes.discard_incoming(store)
    except ReflectError:
        return


def _list_stored(store: Store) -> None:
    from reflect_git.store import salvage

    salvage.refresh(store, time.time())


def mend_inbox(store: Store) -> None:
    """Create the inbox branch if needed, commit everything pending, and restore missing copies."""
    inbox.start_inbox(store)
    inbox.commit_all(store)
    if os.path.exists(store.private_path(inbox.RESCUE)):
        copies.rescue(store)
        inbox.commit_all(store)
        files.remove(store.private_path(inbox.RESCUE))
    if not copies.are_there(store):
        copies.restore(store)


def finish_interrupted(store: Store) -> None:
    """Finish the steps in the journal. The caller holds the lock."""
    standing = journal.standing(store)
    if not standing:
        return
    # All steps that can be interrupted; some of them run a recovery themselves, hence the late import.
    from reflect_git.store import expiry, maintenance, opening, policy
    from reflect_git.store.main import approval, main_branch, move_main
    from reflect_git.store.purge import purge_main

    steps = {
        "main": main_branch.finish, "roll": expiry.finish, "upkeep": maintenance.finish, "rename": opening.finish,
        "config": policy.finish, "apply": approval.finish, "move": move_main.finish,
        "purge": purge_main.finish,
    }  # fmt: skip
    for path, facts in sorted(standing, key=_turn):
        finish = steps.get(str(facts.get("kind")))
        if finish is not None:  # a newer version may know the others
            journal.bury_locks(store, path, facts)
            finish(store, path, facts)


def _turn(standing: tuple[str, dict[str, Any]]) -> int:
    """Return the sort key: first stale locks, then decisions, then the steps that carry them out."""
    return {"upkeep": -1, "apply": 1, "config": 2, "purge": 3}.get(str(standing[1].get("kind")), 0)
