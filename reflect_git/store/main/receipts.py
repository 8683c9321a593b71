"""Receipts: ids of the decisions that this program added to main here, one a line.

A commit can be forged to look like ours in every byte. It cannot add a line to this file, which is not part of the
history. The file is written before main moves, so a killed process leaves one receipt too many, never one too few. Ids
do not change when a purge rewrites history. A store from before this file starts with the decisions on main. If the
file was lost, it starts with a line that says so, for `audit` to report. A second line, `came-` and the id, marks a
decision that a sync brought: it was not made here, whatever machine it names.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records.ids import utc
from reflect_git.store.inbox import STORED_FILE
from reflect_git.store.repository import MAIN, get_record_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

    from reflect_git.store.repository import Store

FILE = "receipts"
_MAX_BYTES = 1 << 26
_DECISION_PREFIX = "DEC-"
_LOST_PREFIX = "lost-"
_FETCHED_PREFIX = "came-"
_FIRST_LINE = "origins-told"  # first line of a file that says which decisions came from elsewhere
EMPTY_FILE = f"{_FIRST_LINE}\n".encode()


def is_missing(store: Store) -> bool:
    """Return whether the file is missing."""
    return not os.path.exists(store.private_path(FILE))


def is_old_format(store: Store) -> bool:
    """Return whether an older program wrote the file, without the decisions of other machines."""
    try:
        with open(store.private_path(FILE), "rb") as file:
            return file.read(len(_FIRST_LINE)) != _FIRST_LINE.encode()
    except OSError:
        return True


def create_or_upgrade(store: Store) -> None:
    """Create the file from the decisions on main. The caller holds the lock."""
    from reflect_git.store import machines

    if is_missing(store):
        known = _filter_decisions(store.git.tree(MAIN, "decisions")) if store.git.resolve(MAIN) else []
        # The list of stored signals is as old as receipts. If it exists, the receipts were deleted.
        is_lost = os.path.exists(store.private_path(STORED_FILE))
        ours = {store.machine} if is_lost else {store.machine, *machines.read_names(store)}
        _write_lines(
            store, [*([f"{_LOST_PREFIX}{utc()}"] if is_lost else []), *known, *_list_fetched(store, known, ours)]
        )
    elif is_old_format(store):
        ours = {store.machine, *machines.read_names(store)}
        _write_lines(store, [*(_read_lines(store) or ()), *_list_fetched(store, read_ids(store) or [], ours)])


def _list_fetched(store: Store, known: Iterable[str], ours: Iterable[str]) -> list[str]:
    """Return a line for each of these decisions whose record names another machine."""
    if not known or not store.git.resolve(MAIN):
        return []
    out = store.git.run("grep", "-E", "^machine:", MAIN, "--", "decisions", check=False).out.decode("utf-8", "replace")
    names = {get_record_id(line.split(":", 2)[1]): line.rpartition(" ")[2].strip("\"'") for line in out.splitlines()}
    return [f"{_FETCHED_PREFIX}{one}" for one in known if names.get(one, store.machine) not in set(ours)]


def get_fetched_ids(store: Store) -> set[str]:
    """Return the ids of the decisions that a sync brought."""
    return {one[len(_FETCHED_PREFIX) :] for one in _read_lines(store) or () if one.startswith(_FETCHED_PREFIX)}


def get_loss_time(store: Store) -> str:
    """Return when the loss of the receipts was noticed; empty if they were never lost."""
    return next(
        (one.removeprefix(_LOST_PREFIX) for one in _read_lines(store) or () if one.startswith(_LOST_PREFIX)), ""
    )


def add_receipts(store: Store, paths: Iterable[str], from_elsewhere: bool = False) -> None:
    """Add a receipt for each decision among these paths of main. The caller holds the lock."""
    new = _filter_decisions(paths)
    if not new:
        return
    create_or_upgrade(store)
    known = _read_lines(store) or []
    lacking = [one for one in new if one not in set(known)]
    if lacking:
        _write_lines(store, [*known, *lacking, *(f"{_FETCHED_PREFIX}{one}" for one in lacking if from_elsewhere)])


def read_ids(store: Store) -> Optional[list[str]]:
    """Return the ids that have a receipt; None for a store without receipts."""
    lines = _read_lines(store)
    return None if lines is None else [one for one in lines if one.startswith(_DECISION_PREFIX)]


def _read_lines(store: Store) -> Optional[list[str]]:
    data = files.read_if_exists(store.private_path(FILE), _MAX_BYTES)
    return None if data is None else data.decode("ascii", "replace").split()


def _filter_decisions(paths: Iterable[str]) -> list[str]:
    return [one for one in map(get_record_id, paths) if one.startswith(_DECISION_PREFIX)]


def _write_lines(store: Store, ids: Iterable[str]) -> None:
    lines = dict.fromkeys((_FIRST_LINE, *ids))
    files.write_atomic(store.private_path(FILE), "".join(f"{one}\n" for one in lines).encode("ascii", "replace"))
