"""main moves to a commit that is already made: a merge, or a history without what was purged.

As in `mainline`, but with any number of files: git writes them, and one sync of the disk stands for all. What a kill
leaves in the work tree is the beginning of a file, which is how it is known from a change of the user's.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import faults, files
from reflect_git.adapters.git import NOBODY, GitError
from reflect_git.errors import ReflectError
from reflect_git.store import journal, keeping, mainline, receipts
from reflect_git.store.contention import HeldMain, Wait
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.adapters.git import Listed
    from reflect_git.store.mainline import Stamp
    from reflect_git.store.repository import Store

    # path → mode and blob; None: the file goes
    Changes = Mapping[str, Optional[Listed]]
    Changed = Mapping[str, tuple[Optional[Listed], Optional[Listed]]]

_LOCKS = ("refs/heads/main.lock", *keeping.LOCKS)
_FEW = 32
_LARGEST = 1 << 26


def _nothing() -> None:
    pass


class Moved(ReflectError):
    """Somebody else moved main meanwhile: look again."""

    def __init__(self) -> None:
        super().__init__("main moved meanwhile", "run it again", code="moved")


def changes(old: Mapping[str, Listed], new: Mapping[str, Listed]) -> dict[str, Optional[Listed]]:
    """What makes one tree of another."""
    gone: dict[str, Optional[Listed]] = {path: None for path in old if path not in new}
    return {**gone, **{path: one for path, one in new.items() if old.get(path) != one}}


def differences(old: Mapping[str, Listed], new: Mapping[str, Listed]) -> Changed:
    """The same with both sides, as `git diff-tree` tells it of two commits with these trees."""
    return {path: (old.get(path), new.get(path)) for path in changes(old, new)}


def make(
    store: Store, parents: Sequence[str], base: int, changes: Changes, blobs: Mapping[str, bytes], message: str
) -> str:  # fmt: skip
    """A commit with these parents: the tree of one of them with some changes; held until `keeping.release`.

    Blobs that the store does not have yet are given by their ids. The caller holds the lock.
    """
    text = message.encode("utf-8")
    parts = [b"".join(_blob(data, number) for number, data in enumerate(blobs.values(), start=2))]
    marks = {blob: f":{number}" for number, blob in enumerate(blobs, start=2)}
    parts.append(
        f"commit {keeping.NEXT}\nmark :1\ncommitter {NOBODY} {max(0, int(time.time()))} +0000\n".encode()
        + f"data {len(text)}\n".encode() + text + b"\n"
    )  # fmt: skip
    parts += [f"{word} {parent}\n".encode() for word, parent in zip(("from", *["merge"] * len(parents)), parents)]
    if base:
        tree = store.git.resolve(f"{parents[base]}^{{tree}}")
        parts.append(f'M 040000 {tree} ""\n'.encode())
    for path, change in changes.items():
        name = _quoted(path)
        if change is None:
            parts.append(b"D " + name + b"\n")
        else:
            parts.append(f"M {change[0]} {marks.get(change[1], change[1])} ".encode() + name + b"\n")
    parts.append(b"get-mark :1\ndone\n")
    return keeping.fast_import(store, keeping.NEXT, parts, force=True)


def _blob(data: bytes, number: int) -> bytes:
    return f"blob\nmark :{number}\ndata {len(data)}\n".encode() + data + b"\n"


def _quoted(path: str) -> bytes:
    """As fast-import reads it, whatever a user called a file."""
    name = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + name + b'"'


def move(
    store: Store, old: str, new: str, subject: str, changed: Optional[Changed] = None,
    meanwhile: Callable[[], object] = _nothing,
) -> None:  # fmt: skip
    """main goes from one commit to another, index and work tree included. The caller holds the lock.

    `changed` is what differs between them, for who knows it; git is asked otherwise. `meanwhile` is done while files
    are written; it may be done again, and must not fail.
    """
    known = changed if changed is not None else store.git.differences(old, new)
    receipts.add(store, [path for path, (_, after) in known.items() if after], from_elsewhere=True)
    standing = journal.begin(store, "move", _LOCKS, {"old": old, "new": new, "subject": subject})
    try:
        _land(store, old, new, subject, mainline.PATIENCE, changed, meanwhile)
    except BaseException:
        if _is_taken_back(store, old, new):
            _release(store)
            journal.end(standing)
        raise
    _release(store)
    journal.end(standing)


def _release(store: Store) -> None:
    """main holds it, or nobody needs it any more."""
    keeping.release(store)
    keeping.release_packs(store)


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """A process died while moving: go on where main did not move elsewhere, and leave nothing half done."""
    mainline.release_index(store)
    mainline.bury_refs(store)
    old, new, main = facts["old"], facts["new"], store.git.resolve(MAIN)
    is_there = store.git.resolve(f"{new}^{{commit}}") is not None
    if is_there and main in (old, new):
        _land(store, old, new, facts["subject"], mainline.SHORT_PATIENCE)
    elif is_there and main is not None:
        _is_taken_back(store, main, new)
    _release(store)
    journal.end(path)


def _is_taken_back(store: Store, old: str, new: str) -> bool:
    """It failed: the files as they were. False when main has moved, so that it must be finished."""
    try:
        if store.git.resolve(MAIN) == new:
            return False
        mainline.release_index(store)
        changed = store.git.differences(new, old)
        ours = _untouched(store, changed)
        kept = [(path, after[1]) for path, (_, after) in changed.items() if after and path in ours]
        for (path, _), data in zip(kept, store.git.blobs([blob for _, blob in kept])):
            store.write(path, data, sync=True)
        _remove(store, [path for path in ours if changed[path][1] is None])
        return True
    except (ReflectError, OSError):
        return False


def _land(
    store: Store, old: str, new: str, subject: str, patience: float, changed: Optional[Changed] = None,
    meanwhile: Callable[[], object] = _nothing,
) -> None:  # fmt: skip
    wait = Wait(store, patience)

    def prepare(_: str) -> Stamp:
        return _prepare(store, old, new, changed, meanwhile)

    while True:
        main, is_checked_out = mainline.standing(store)
        if main not in (old, new):
            raise Moved()
        patient = is_checked_out and wait.is_patient
        if not (patient and mainline.user_is_at_work(store)):
            with HeldMain(store, main if is_checked_out and not patient else "") as held:
                if not held.is_lost and mainline.advance(
                    store, main, new, prepare, subject, patient, is_checked_out, held.release
                ):
                    return
        wait.pause()


def _prepare(
    store: Store, old: str, new: str, known: Optional[Changed], meanwhile: Callable[[], object]
) -> Stamp:  # fmt: skip
    """A private index in which the files that differ are the new ones; and those files."""
    seen = mainline.copy_index(store, old, is_trusted=True)
    changed = store.git.differences(old, new) if known is None else known
    lines = [
        (f"{after[0]} {after[1]}\t" if after else f"0 {'0' * 40}\t").encode() + os.fsencode(path) + b"\0"
        for path, (_, after) in changed.items()
    ]
    try:
        _update_index(store, lines)
    except GitError:  # killed, or no room: only one that cannot be read is made anew, for it has what the user staged
        if not mainline.is_index_broken(store):
            raise
        mainline.index_anew(store, old)
        _update_index(store, lines)
    ours = _untouched(store, changed)
    _remove(store, [path for path in ours if changed[path][1] is None])
    written = [path for path in ours if changed[path][1] is not None]
    _check_out(store, written, meanwhile)
    _sync([mainline.private_index(store), *(store.path(path) for path in written)])
    return seen


def _update_index(store: Store, lines: Iterable[bytes]) -> None:
    index = mainline.private_index(store)
    store.git.run("update-index", "-z", "--index-info", stdin=b"".join(lines), index=index)


def _untouched(store: Store, changed: Changed) -> list[str]:
    """Files that no hand of the user's changed: missing, as they were, as they will be, or the beginning of that."""
    there = _there(store, changed)
    sides = [[(path, one[1]) for path in there for one in [changed[path][side]] if one] for side in (0, 1)]
    before, after = (
        {path: data for (path, _), data in zip(listed, store.git.blobs([blob for _, blob in listed]))}
        for listed in sides
    )
    theirs = set()
    for path in there:
        try:
            live = files.read_regular(store.path(path), _LARGEST)
        except OSError:  # a folder, a link, a pipe: nothing of ours
            theirs.add(path)
            continue
        if live != before.get(path) and not after.get(path, b"").startswith(live):
            theirs.add(path)
    return [path for path in changed if path not in theirs]


def _there(store: Store, paths: Iterable[str]) -> list[str]:
    """A folder is listed once, and only a name that may be in it, whatever counts as one there, is looked for."""
    listed: dict[str, set[str]] = {}
    found = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder not in listed:
            listed[folder] = {one.lower() for one in files.all_names_in(store.path(folder) if folder else store.root)}
        if (name.lower() in listed[folder] or not name.isascii()) and os.path.lexists(store.path(path)):
            found.append(path)
    return found


def _remove(store: Store, paths: Iterable[str]) -> None:
    for path in paths:
        files.remove(store.path(path))
        _prune(store, os.path.dirname(path))


def _prune(store: Store, folder: str) -> None:
    while folder:
        try:
            os.rmdir(store.path(folder))
        except OSError:
            return
        folder = os.path.dirname(folder)


def _check_out(store: Store, paths: Sequence[str], meanwhile: Callable[[], object]) -> None:
    """By git, from the private index: 10,000 files take as long as they take in a merge of its own."""
    if not paths:
        return
    from reflect_git.adapters.hearing import Heard

    for folder in sorted({os.path.dirname(store.path(path)) for path in paths}):
        files.make_private_dirs(folder, below=store.root)
    listing = b"".join(os.fsencode(path) + b"\0" for path in paths)
    asked = ("checkout-index", "--force", "--index", "--quiet", "-z", "--stdin")
    writing = Heard(store.git.start(*asked, index=mainline.private_index(store)), listing)
    try:
        meanwhile()
    finally:
        result = writing.result()
    if result.code:
        raise GitError(asked, result)


def _sync(paths: Sequence[str]) -> None:
    """Each of a few, or at once all that the system holds back: one by one, 10,000 take seconds.

    The index is among them, and git, which writes it twice, need not wait for the disk each time.
    """
    faults.point("sync", paths[0])
    if len(paths) > _FEW:
        os.sync()
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
