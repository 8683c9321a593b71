"""What every command does first: finish what a killed process began, commit what is pending, write copies again."""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files
from reflect_git.errors import ReflectError
from reflect_git.store import copies, inbox, inforce, journal, machines, purged, receipts, spool
from reflect_git.store.care import guard
from reflect_git.store.repository import Busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Optional

    from reflect_git.store.repository import Store

_WAIT = 2.0
_INCOMING = "incoming"


def is_needed(store: Store, refs: Optional[Iterable[str]] = None) -> bool:
    """`refs` are those of the store, or at least its inboxes, for who knows them."""
    return bool(
        spool.pending(store)
        or journal.is_standing(store)
        or not copies.are_there(store)
        or os.path.exists(store.private_path(inbox.RESCUE))
        or not inbox.generations(store, refs)
        or guard.is_needed(store)
        or purged.is_lacking(store)
        or not os.path.exists(store.private_path(inforce.FILE))
        or machines.is_unnoted(store)
        or receipts.is_untold(store)
        or not os.path.exists(store.private_path(inbox.STORED))
    )


def sweep(store: Store) -> None:
    """Leave the store as if nothing had been interrupted; what cannot be done now is left to the next command."""
    if os.path.isdir(store.private_path(_INCOMING)):
        _try(store, _discard_incoming)
    if not is_needed(store):
        return
    try:
        with store.locked(_WAIT):
            if _try(store, finish_interrupted):
                _try(store, guard.guard)
            if purged.is_lacking(store):
                _try(store, purged.remember)
            if not os.path.exists(store.private_path(inforce.FILE)):
                _try(store, _recall_policies)
            if machines.is_unnoted(store):
                _try(store, machines.note)
            _try(store, receipts.begin)
            if not os.path.exists(store.private_path(inbox.STORED)):
                _try(store, _list_stored)
            rolling = any(facts.get("kind") == "roll" for _, facts in journal.standing(store))
            if not rolling and not _try(store, mend_inbox):
                from reflect_git.store.care import salvage

                _try(store, salvage.rebuild_if_damaged)
    except Busy:
        return  # the holder commits, or the next command does


def _try(store: Store, step: Callable[[Store], None]) -> bool:
    """One step that fails must not keep the others from being done."""
    try:
        step(store)
    except (ReflectError, OSError) as error:
        store.log(f"{step.__name__.strip('_')}: {error}")
        return False
    return True


def _recall_policies(store: Store) -> None:
    from reflect_git.store import policy  # which sweeps before it decides

    policy.recall(store)


def _discard_incoming(store: Store) -> None:
    """Remove what a killed sync was fetching; one that runs has it still, and a lock of its own."""
    from reflect_git.store import incoming, remotes  # hardly ever needed

    try:
        with remotes.Alone(store, 0.0):
            incoming.discard(store)
    except ReflectError:
        return


def _list_stored(store: Store) -> None:
    from reflect_git.store import stored

    stored.refresh(store, time.time())


def mend_inbox(store: Store) -> None:
    """The branch is there, all that is pending is on it, and the copies are where people look for them."""
    inbox.start_inbox(store)
    inbox.commit_all(store)
    if os.path.exists(store.private_path(inbox.RESCUE)):
        copies.rescue(store)
        inbox.commit_all(store)
        files.remove(store.private_path(inbox.RESCUE))
    if not copies.are_there(store):
        copies.restore(store)


def finish_interrupted(store: Store) -> None:
    """The caller holds the lock."""
    standing = journal.standing(store)
    if not standing:
        return
    # What a killed process may have been doing; some of it sweeps before it decides.
    from reflect_git.store import approval, expiry, identity, mainline, moves, policy, purging, upkeep

    steps = {
        "main": mainline.finish, "roll": expiry.finish, "upkeep": upkeep.finish, "rename": identity.finish,
        "config": policy.finish, "apply": approval.finish, "move": moves.finish,
        "purge": purging.finish,
    }  # fmt: skip
    for path, facts in sorted(standing, key=_turn):
        finish = steps.get(str(facts.get("kind")))
        if finish is not None:  # a newer reflect-git may know what to do with the others
            journal.bury_locks(store, path, facts)
            finish(store, path, facts)


def _turn(standing: tuple[str, dict[str, Any]]) -> int:
    """Order them: locks are moved away first; what carries out a decision comes after that decision's own journal."""
    return {"upkeep": -1, "apply": 1, "config": 2, "purge": 3}.get(str(standing[1].get("kind")), 0)
