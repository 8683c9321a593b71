"""Carry out a decision that changes instruction files: the files and one commit on main, both or neither.

The journal contains the whole change and is synced before the first file is touched. After a kill, the next command
looks at the live files. If they contain the change, it makes the commit on the current main. Otherwise it drops the
journal. Other differences are edits by hand and are left alone.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.store import recover
from reflect_git.store.main import backups, journal, main_branch

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

LOCK_SECONDS = 10.0


@dataclass(frozen=True)
class FileChange:
    """A change of one file. `present` and `absent` are texts that show in the live file that it was made.

    `folders` is the number of parent folders that are created or deleted with the file.
    """

    path: str
    before: bytes | None
    after: bytes | None
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    folders: int = 0


@dataclass(frozen=True)
class ChangeResult:
    """The commit and the backup branch of a change."""

    commit: str
    backup: str


def apply_changes(
    store: Store, learning: str, changes: Sequence[FileChange], records: Mapping[str, bytes], message: str, now: float,
    check: Callable[[], None] | None = None,
) -> ChangeResult:  # fmt: skip
    """Back up, write the files, commit. `message` may contain `{backup}` for the backup branch.

    `check` may refuse, once the store is locked.
    """
    with store.locked(LOCK_SECONDS):
        recover.finish_interrupted(store)
        if check:
            check()
        kept = [(one.path, one.before) for one in changes]
        backup = backups.create(store, learning, kept, now) if kept else ""
        text = message.replace("{backup}", backup)
        facts = {"changes": [_encode_change(change) for change in changes], "message": text,
                 "files": {path: data.decode("utf-8") for path, data in records.items()}}  # fmt: skip
        standing = journal.begin(store, "apply", (), facts)
        try:
            _write_files(changes)
            commit = main_branch.commit_files(store, records, text)
        except (ReflectError, OSError):
            # The failure may have happened after the commit: then the next command finishes.
            if not main_branch.has_files(store, records) and _restore_files(changes):
                journal.end(standing)
            raise
        journal.end(standing)
    return ChangeResult(commit, backup)


def finish_change(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Finish after a kill: commit the change if the files have it, otherwise drop it."""
    changes = [_decode_change(item) for item in facts["changes"]]
    for change in changes:  # first, because a file created by linking has two names until the temporary one is removed
        for left in instruction_files.remove_leftovers(change.path, (change.before, change.after)):
            store.log(f"'{left}' holds an edit from a killed process; nobody has seen it")
    made = [change for change in changes if _is_applied(change)]
    new = {name: text.encode("utf-8") for name, text in facts["files"].items()}
    if made and len(made) < len(changes):
        made = _write_remaining(changes, made)
    if made or (not changes and new):
        main_branch.commit_files(store, new, facts["message"])
    for change in changes:
        _remove_empty_folders(change)
    journal.end(path)


def _write_files(changes: Sequence[FileChange]) -> None:
    done: list[FileChange] = []
    for change in changes:
        try:
            instruction_files.replace(change.path, change.before, change.after)
        except BaseException:
            _remove_empty_folders(change)
            _restore_files(done)
            raise
        done.append(change)
        _remove_empty_folders(change)


def _remove_empty_folders(change: FileChange) -> None:
    """Remove folders that were created for a file that no longer exists."""
    if change.folders and instruction_files.read(change.path) is None:
        instruction_files.remove_empty_folders(change.path, change.folders)


def _restore_files(changes: Sequence[FileChange]) -> bool:
    """Restore the files unless they were changed since; return whether no change is left."""
    clean = True
    for change in reversed(changes):
        try:
            if instruction_files.read(change.path) == change.after:
                instruction_files.replace(change.path, change.after, change.before)
                _remove_empty_folders(change)
            clean = clean and not _is_applied(change)
        except (ReflectError, OSError):
            clean = False
    return clean


def _is_applied(change: FileChange) -> bool:
    data = instruction_files.read(change.path)
    if data == change.after:
        return change.after != change.before
    text = (data or b"").decode("utf-8", "replace")
    told = change.present or change.absent
    return bool(told) and all(mark in text for mark in change.present) and not any(m in text for m in change.absent)


def _write_remaining(changes: Sequence[FileChange], made: list[FileChange]) -> list[FileChange]:
    """Write the remaining files of a partly written change; if that fails, restore all of them."""
    rest = [change for change in changes if change not in made]
    try:
        _write_files(rest)
    except (ReflectError, OSError):
        return [] if _restore_files(made) else list(changes)
    return list(changes)


def _encode_change(change: FileChange) -> dict[str, Any]:
    fields = asdict(change)
    for name in ("before", "after"):
        data = fields[name]
        fields[name] = None if data is None else base64.b64encode(data).decode("ascii")
    return fields


def _decode_change(fields: Mapping[str, Any]) -> FileChange:
    before, after = (None if fields[name] is None else base64.b64decode(fields[name]) for name in ("before", "after"))
    marks = tuple(fields["present"]), tuple(fields["absent"])
    return FileChange(fields["path"], before, after, *marks, fields.get("folders", 0))
