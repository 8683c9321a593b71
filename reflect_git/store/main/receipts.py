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
from reflect_git.store.inbox import STORED
from reflect_git.store.repository import MAIN, id_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Optional

    from reflect_git.store.repository import Store

FILE = "receipts"
_LARGEST = 1 << 26
_DECISION = "DEC-"
_LOST = "lost-"
_CAME = "came-"
_TOLD = "origins-told"  # first line of a file that says which decisions came from elsewhere
EMPTY = f"{_TOLD}\n".encode()


def is_lacking(store: Store) -> bool:
    """Return whether the file is missing."""
    return not os.path.exists(store.private_path(FILE))


def is_untold(store: Store) -> bool:
    """Return whether an older program wrote the file, without the decisions of other machines."""
    try:
        with open(store.private_path(FILE), "rb") as file:
            return file.read(len(_TOLD)) != _TOLD.encode()
    except OSError:
        return True


def begin(store: Store) -> None:
    """Create the file from the decisions on main. The caller holds the lock."""
    from reflect_git.store import machines

    if is_lacking(store):
        known = _decisions(store.git.tree(MAIN, "decisions")) if store.git.resolve(MAIN) else []
        # The list of stored signals is as old as receipts. If it exists, the receipts were deleted.
        is_lost = os.path.exists(store.private_path(STORED))
        ours = {store.machine} if is_lost else {store.machine, *machines.noted(store)}
        _write_receipt(store, [*([f"{_LOST}{utc()}"] if is_lost else []), *known, *_of_others(store, known, ours)])
    elif is_untold(store):
        ours = {store.machine, *machines.noted(store)}
        _write_receipt(store, [*(_lines(store) or ()), *_of_others(store, read(store) or [], ours)])


def _of_others(store: Store, known: Iterable[str], ours: Iterable[str]) -> list[str]:
    """Return a line for each of these decisions whose record names another machine."""
    if not known or not store.git.resolve(MAIN):
        return []
    out = store.git.run("grep", "-E", "^machine:", MAIN, "--", "decisions", check=False).out.decode("utf-8", "replace")
    names = {id_in(line.split(":", 2)[1]): line.rpartition(" ")[2].strip("\"'") for line in out.splitlines()}
    return [f"{_CAME}{one}" for one in known if names.get(one, store.machine) not in set(ours)]


def came(store: Store) -> set[str]:
    """Return the ids of the decisions that a sync brought."""
    return {one[len(_CAME) :] for one in _lines(store) or () if one.startswith(_CAME)}


def lost_at(store: Store) -> str:
    """Return when the loss of the receipts was noticed; empty if they were never lost."""
    return next((one.removeprefix(_LOST) for one in _lines(store) or () if one.startswith(_LOST)), "")


def add(store: Store, paths: Iterable[str], from_elsewhere: bool = False) -> None:
    """Add a receipt for each decision among these paths of main. The caller holds the lock."""
    new = _decisions(paths)
    if not new:
        return
    begin(store)
    known = _lines(store) or []
    lacking = [one for one in new if one not in set(known)]
    if lacking:
        _write_receipt(store, [*known, *lacking, *(f"{_CAME}{one}" for one in lacking if from_elsewhere)])


def read(store: Store) -> Optional[list[str]]:
    """Return the ids that have a receipt; None for a store without receipts."""
    lines = _lines(store)
    return None if lines is None else [one for one in lines if one.startswith(_DECISION)]


def _lines(store: Store) -> Optional[list[str]]:
    data = files.read_if_there(store.private_path(FILE), _LARGEST)
    return None if data is None else data.decode("ascii", "replace").split()


def _decisions(paths: Iterable[str]) -> list[str]:
    return [one for one in map(id_in, paths) if one.startswith(_DECISION)]


def _write_receipt(store: Store, ids: Iterable[str]) -> None:
    lines = dict.fromkeys((_TOLD, *ids))
    files.write_whole(store.private_path(FILE), "".join(f"{one}\n" for one in lines).encode("ascii", "replace"))
