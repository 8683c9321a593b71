"""A decision that changes instruction files: the files and ONE commit on main, both or neither, whenever it is killed.

The journal is the change itself, synced before the first file is touched. Who finds it standing asks the live files:
where the change is in them, the commit is made anew on today's main; where it is not, the journal is dropped. Other
differences are hand edits, and theirs.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live
from reflect_git.errors import ReflectError
from reflect_git.store import backups, journal, mainline, sweep

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

WAIT = 10.0


@dataclass(frozen=True)
class Change:
    """One file. `present` and `absent` are texts by which one sees in the live file that the change was made.

    `folders` is how many folders above it come with the file, or go with it.
    """

    path: str
    before: bytes | None
    after: bytes | None
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    folders: int = 0


@dataclass(frozen=True)
class Done:
    commit: str
    backup: str


def carry_out(
    store: Store, learning: str, changes: Sequence[Change], records: Mapping[str, bytes], message: str, now: float
) -> Done:
    """Back up, write the files, commit. `message` may name the backup branch as `{backup}`."""
    with store.locked(WAIT):
        sweep.finish_interrupted(store)
        kept = [(one.path, one.before) for one in changes]
        backup = backups.make(store, learning, kept, now) if kept else ""
        text = message.replace("{backup}", backup)
        facts = {"changes": [_packed(change) for change in changes], "message": text,
                 "files": {path: data.decode("utf-8") for path, data in records.items()}}  # fmt: skip
        standing = journal.begin(store, "apply", (), facts)
        try:
            _write(changes)
            commit = mainline.record(store, records, text)
        except (ReflectError, OSError):
            # What failed may be the tidying up after the commit: then the next command does it.
            if not mainline.has(store, records) and _take_back(changes):
                journal.end(standing)
            raise
        journal.end(standing)
    return Done(commit, backup)


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """A process died in between: commit what is in the files, or forget what is not."""
    changes = [_unpacked(item) for item in facts["changes"]]
    for change in changes:  # first: a file that was made by linking has two names until the other one is gone
        for left in live.leftovers(change.path, (change.before, change.after)):
            store.log(f"'{left}' holds an edit from a killed process; nobody has seen it")
    made = [change for change in changes if _is_made(change)]
    new = {name: text.encode("utf-8") for name, text in facts["files"].items()}
    if made and len(made) < len(changes):
        made = _complete(changes, made)
    if made or (not changes and new):
        mainline.record(store, new, facts["message"])
    for change in changes:
        _tidy(change)
    journal.end(path)


def _write(changes: Sequence[Change]) -> None:
    done: list[Change] = []
    for change in changes:
        try:
            live.replace(change.path, change.before, change.after)
        except BaseException:
            _tidy(change)
            _take_back(done)
            raise
        done.append(change)
        _tidy(change)


def _tidy(change: Change) -> None:
    """Folders that were made for a file do not outlive it."""
    if change.folders and live.read(change.path) is None:
        live.remove_folders(change.path, change.folders)


def _take_back(changes: Sequence[Change]) -> bool:
    """The files as they were, unless somebody wrote them since; then the journal tells the next command."""
    clean = True
    for change in reversed(changes):
        try:
            if live.read(change.path) == change.after:
                live.replace(change.path, change.after, change.before)
                _tidy(change)
            clean = clean and not _is_made(change)
        except (ReflectError, OSError):
            clean = False
    return clean


def _is_made(change: Change) -> bool:
    data = live.read(change.path)
    if data == change.after:
        return change.after != change.before
    text = (data or b"").decode("utf-8", "replace")
    told = change.present or change.absent
    return bool(told) and all(mark in text for mark in change.present) and not any(m in text for m in change.absent)


def _complete(changes: Sequence[Change], made: list[Change]) -> list[Change]:
    """Several files, not all of them written: the others, or none at all."""
    rest = [change for change in changes if change not in made]
    try:
        _write(rest)
    except (ReflectError, OSError):
        return [] if _take_back(made) else list(changes)
    return list(changes)


def _packed(change: Change) -> dict[str, Any]:
    fields = asdict(change)
    for name in ("before", "after"):
        data = fields[name]
        fields[name] = None if data is None else base64.b64encode(data).decode("ascii")
    return fields


def _unpacked(fields: Mapping[str, Any]) -> Change:
    before, after = (None if fields[name] is None else base64.b64decode(fields[name]) for name in ("before", "after"))
    marks = tuple(fields["present"]), tuple(fields["absent"])
    return Change(fields["path"], before, after, *marks, fields.get("folders", 0))
