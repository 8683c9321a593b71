"""Move main to an existing commit: a merge, or a history without purged content.

As in `main_branch`, but for any number of files: git writes them, and the disk is synced once for all. A kill leaves
partly written files. They are recognised because they are the beginning of the new file, unlike a change by the user.
"""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import faults, files
from reflect_git.platform.git import COMMITTER, GitError
from reflect_git.store.main import journal, main_branch, receipts, ref_updates
from reflect_git.store.main.main_branch import MainLock, QuietWait
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.platform.git import TreeEntry
    from reflect_git.store.main.main_branch import Stamp
    from reflect_git.store.repository import Store

    # path → mode and blob; None deletes the file
    TreeChanges = Mapping[str, Optional[TreeEntry]]
    TreeDifferences = Mapping[str, tuple[Optional[TreeEntry], Optional[TreeEntry]]]

_LOCKS = ("refs/heads/main.lock", *ref_updates.NEXT_REF_LOCKS)
_MAX_SINGLE_SYNCS = 32
_MAX_BYTES = 1 << 26


def _do_nothing() -> None:
    pass


class MainMoved(ReflectError):
    """Another process moved main meanwhile."""

    def __init__(self) -> None:
        super().__init__("main moved meanwhile", "run it again", code="moved")


def get_tree_changes(old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry]) -> dict[str, Optional[TreeEntry]]:
    """Return the changes that turn one tree into another."""
    gone: dict[str, Optional[TreeEntry]] = {path: None for path in old if path not in new}
    return {**gone, **{path: one for path, one in new.items() if old.get(path) != one}}


def get_tree_differences(old: Mapping[str, TreeEntry], new: Mapping[str, TreeEntry]) -> TreeDifferences:
    """Return both sides of each change, as `git diff-tree` reports them."""
    return {path: (old.get(path), new.get(path)) for path in get_tree_changes(old, new)}


def create_commit(
    store: Store, parents: Sequence[str], base: int, changes: TreeChanges, blobs: Mapping[str, bytes], message: str
) -> str:  # fmt: skip
    """Create a commit with these parents: the tree of one of them with some changes.

    A ref protects it until `ref_updates.delete_next_ref`. `blobs` are those that the store lacks, by id. The caller
    holds the lock.
    """
    text = message.encode("utf-8")
    parts = [b"".join(_format_blob(data, number) for number, data in enumerate(blobs.values(), start=2))]
    marks = {blob: f":{number}" for number, blob in enumerate(blobs, start=2)}
    parts.append(
        f"commit {ref_updates.NEXT_REF}\nmark :1\ncommitter {COMMITTER} {max(0, int(time.time()))} +0000\n".encode()
        + f"data {len(text)}\n".encode() + text + b"\n"
    )  # fmt: skip
    parts += [f"{word} {parent}\n".encode() for word, parent in zip(("from", *["merge"] * len(parents)), parents)]
    if base:
        tree = store.git.resolve(f"{parents[base]}^{{tree}}")
        parts.append(f'M 040000 {tree} ""\n'.encode())
    for path, change in changes.items():
        name = _quote_path(path)
        if change is None:
            parts.append(b"D " + name + b"\n")
        else:
            parts.append(f"M {change[0]} {marks.get(change[1], change[1])} ".encode() + name + b"\n")
    parts.append(b"get-mark :1\ndone\n")
    return ref_updates.fast_import(store, ref_updates.NEXT_REF, parts, force=True)


def _format_blob(data: bytes, number: int) -> bytes:
    return f"blob\nmark :{number}\ndata {len(data)}\n".encode() + data + b"\n"


def _quote_path(path: str) -> bytes:
    """Quote a path for fast-import, whatever characters it has."""
    name = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + name + b'"'


def move(
    store: Store, old: str, new: str, subject: str, changed: Optional[TreeDifferences] = None,
    meanwhile: Callable[[], object] = _do_nothing,
) -> None:  # fmt: skip
    """Move main from one commit to another, with index and work tree. The caller holds the lock.

    `changed` is the difference if known; otherwise git is asked. `meanwhile` is called while files are written; it may
    be called twice and must not fail.
    """
    known = changed if changed is not None else store.git.diff_entries(old, new)
    receipts.add_receipts(store, [path for path, (_, after) in known.items() if after], from_elsewhere=True)
    standing = journal.begin(store, "move", _LOCKS, {"old": old, "new": new, "subject": subject})
    try:
        _move_with_retries(store, old, new, subject, main_branch.WAIT_SECONDS, changed, meanwhile)
    except BaseException:
        if _undo_move(store, old, new):
            _remove_protection(store)
            journal.end(standing)
        raise
    _remove_protection(store)
    journal.end(standing)


def _remove_protection(store: Store) -> None:
    """Remove our protection: main has the objects, or they are no longer needed."""
    ref_updates.delete_next_ref(store)
    ref_updates.remove_keep_marks(store)


def finish_move(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Finish an interrupted move, unless main has moved elsewhere; leave nothing half done."""
    main_branch.unlock_index(store)
    main_branch.remove_stale_ref_locks(store)
    old, new, main = facts["old"], facts["new"], store.git.resolve(MAIN)
    is_there = store.git.resolve(f"{new}^{{commit}}") is not None
    if is_there and main in (old, new):
        _move_with_retries(store, old, new, facts["subject"], main_branch.SHORT_WAIT_SECONDS)
    elif is_there and main is not None:
        _undo_move(store, main, new)
    _remove_protection(store)
    journal.end(path)


def _undo_move(store: Store, old: str, new: str) -> bool:
    """Restore the files after a failure. Return False if main has moved, so that it must be finished."""
    try:
        if store.git.resolve(MAIN) == new:
            return False
        main_branch.unlock_index(store)
        changed = store.git.diff_entries(new, old)
        ours = _list_untouched(store, changed)
        kept = [(path, after[1]) for path, (_, after) in changed.items() if after and path in ours]
        for (path, _), data in zip(kept, store.git.blobs([blob for _, blob in kept])):
            store.write(path, data, sync=True)
        _remove_files(store, [path for path in ours if changed[path][1] is None])
        return True
    except (ReflectError, OSError):
        return False


def _move_with_retries(
    store: Store, old: str, new: str, subject: str, patience: float, changed: Optional[TreeDifferences] = None,
    meanwhile: Callable[[], object] = _do_nothing,
) -> None:  # fmt: skip
    wait = QuietWait(store, patience)

    def prepare(_: str) -> Stamp:
        return _prepare_index(store, old, new, changed, meanwhile)

    while True:
        main, is_checked_out = main_branch.get_main_state(store)
        if main not in (old, new):
            raise MainMoved()
        patient = is_checked_out and wait.is_waiting_for_quiet
        if not (patient and main_branch.is_user_git_active(store)):
            with MainLock(store, main if is_checked_out and not patient else "") as held:
                if not held.has_main_moved and main_branch.advance_main(
                    store, main, new, prepare, subject, patient, is_checked_out, held.release
                ):
                    return
        wait.pause()


def _prepare_index(
    store: Store, old: str, new: str, known: Optional[TreeDifferences], meanwhile: Callable[[], object]
) -> Stamp:  # fmt: skip
    """Write the changed files and a private index with them; return the stamp of the user's index."""
    seen = main_branch.copy_index(store, old, is_trusted=True)
    changed = store.git.diff_entries(old, new) if known is None else known
    lines = [
        (f"{after[0]} {after[1]}\t" if after else f"0 {'0' * 40}\t").encode() + os.fsencode(path) + b"\0"
        for path, (_, after) in changed.items()
    ]
    try:
        _update_index(store, lines)
    # killed, or the disk is full. Rebuild only an unreadable index, because it has what the user staged
    except GitError:
        if not main_branch.is_index_broken(store):
            raise
        main_branch.rebuild_index(store, old)
        _update_index(store, lines)
    ours = _list_untouched(store, changed)
    _remove_files(store, [path for path in ours if changed[path][1] is None])
    written = [path for path in ours if changed[path][1] is not None]
    _check_out(store, written, meanwhile)
    _sync_files([main_branch.get_private_index(store), *(store.path(path) for path in written)])
    return seen


def _update_index(store: Store, lines: Iterable[bytes]) -> None:
    index = main_branch.get_private_index(store)
    store.git.run("update-index", "-z", "--index-info", stdin=b"".join(lines), index=index)


def _list_untouched(store: Store, changed: TreeDifferences) -> list[str]:
    """List the files that the user did not change: missing, old, new, or the beginning of the new content."""
    there = _list_existing(store, changed)
    sides = [[(path, one[1]) for path in there for one in [changed[path][side]] if one] for side in (0, 1)]
    before, after = (
        {path: data for (path, _), data in zip(listed, store.git.blobs([blob for _, blob in listed]))}
        for listed in sides
    )
    theirs = set()
    for path in there:
        try:
            live = files.read_regular(store.path(path), _MAX_BYTES)
        except OSError:  # a folder, link or pipe: not ours
            theirs.add(path)
            continue
        if live != before.get(path) and not after.get(path, b"").startswith(live):
            theirs.add(path)
    return [path for path in changed if path not in theirs]


def _list_existing(store: Store, paths: Iterable[str]) -> list[str]:
    """List the existing paths. Each folder is read once, and only possible matches are checked, case ignored."""
    listed: dict[str, set[str]] = {}
    found = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder not in listed:
            listed[folder] = {one.lower() for one in files.list_all_names(store.path(folder) if folder else store.root)}
        if (name.lower() in listed[folder] or not name.isascii()) and os.path.lexists(store.path(path)):
            found.append(path)
    return found


def _remove_files(store: Store, paths: Iterable[str]) -> None:
    for path in paths:
        files.remove(store.path(path))
        _remove_empty_folders(store, os.path.dirname(path))


def _remove_empty_folders(store: Store, folder: str) -> None:
    while folder:
        try:
            os.rmdir(store.path(folder))
        except OSError:
            return
        folder = os.path.dirname(folder)


def _check_out(store: Store, paths: Sequence[str], meanwhile: Callable[[], object]) -> None:
    """Write the files with git, from the private index: as fast as git's own merge, for 10,000 files."""
    if not paths:
        return
    from reflect_git.platform.background_git import PendingResult

    for folder in sorted({os.path.dirname(store.path(path)) for path in paths}):
        files.make_private_dirs(folder, below=store.root)
    listing = b"".join(os.fsencode(path) + b"\0" for path in paths)
    asked = ("checkout-index", "--force", "--index", "--quiet", "-z", "--stdin")
    writing = PendingResult(store.git.start(*asked, index=main_branch.get_private_index(store)), listing)
    try:
        meanwhile()
    finally:
        result = writing.result()
    if result.code:
        raise GitError(asked, result)


def _sync_files(paths: Sequence[str]) -> None:
    """Sync a few files one by one, or everything at once: one by one, 10,000 take seconds.

    The index is included. git writes it twice and need not wait for the disk each time.
    """
    faults.point("sync", paths[0])
    if len(paths) > _MAX_SINGLE_SYNCS:
        os.sync()
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
