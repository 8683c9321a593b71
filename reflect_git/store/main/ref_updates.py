"""Write and delete refs so that a killed git leaves no permanent lock, and protect new objects from gc.

git creates `REF.lock` for each ref that it writes, and `packed-refs.lock` to delete one. If it is killed they stay, and
every later git fails. So a journal names each step first, and the next command moves the locks of its refs away. That
journal is not synced: after a power cut, locks on our own refs are moved away when git meets them.
"""

from __future__ import annotations

import os
import time

from reflect_git.platform import files, system
from reflect_git.platform.git import SYNC_CONFIG, GitError
from reflect_git.store import inbox
from reflect_git.store.main import journal
from reflect_git.store.repository import BACKUP, INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    from reflect_git.platform.git import Result
    from reflect_git.store.repository import Store

    T = TypeVar("T")


PACKED_REFS_LOCK = "packed-refs.lock"
# these steps need no repair after a kill, only their locks moved away; older versions know this kind too
_KIND = "upkeep"
_OPTION = "option"  # a line of `git update-ref --stdin` that names no ref
# Only the holder of the store's lock writes these, so a two-second-old lock on one of them has no owner.
_OUR_PREFIXES = (INBOX, BACKUP, "refs/reflect/")


def update(store: Store, commands: str) -> None:
    """Run `git update-ref --stdin` with these commands, all or none of them. The caller holds the lock."""
    words = [line.split() for line in commands.splitlines()]
    refs = [line[1] for line in words if line[0] != _OPTION]
    deletes = any(line[0] == "delete" for line in words)
    if refs:
        run_with_locks(store, get_lock_files(refs, deletes), lambda: store.git.update_refs(commands))


def run(store: Store, locks: Sequence[str], *words: str, **options: Any) -> Result:
    """Run a git command that creates these lock files; see `Git.run` for the options. The caller holds the lock."""
    return run_with_locks(store, locks, lambda: store.git.run(*words, **options))


def run_with_locks(store: Store, locks: Sequence[str], step: Callable[[], T]) -> T:
    """Run a step in which git creates these lock files. The caller holds the lock.

    If git fails because it was killed or met a stale lock, the lock is moved away before the error is raised.
    """
    standing = journal.begin(store, _KIND, locks, {}, sync=False)
    try:
        result = step()
    except GitError:
        _move_stale_locks(store, standing, locks)
        journal.end(standing)
        raise
    journal.end(standing)
    return result


def get_lock_files(refs: Iterable[str], deletes: bool = False) -> list[str]:
    """Return the lock files that git creates to write these refs."""
    return [*(f"{ref}.lock" for ref in refs), *([PACKED_REFS_LOCK] if deletes else [])]


def _move_stale_locks(store: Store, standing: str, locks: Iterable[str]) -> None:
    deadline = time.monotonic() + journal.STALE_SECONDS + 0.5
    begun = os.stat(standing).st_mtime
    for lock in locks:
        journal.move_stale_lock(store, lock, deadline, not_before=0.0 if lock.startswith(_OUR_PREFIXES) else begun)


NEXT_REF = "refs/reflect/next"
# A git killed while writing or deleting that ref may leave these; it needs the second to delete a ref.
NEXT_REF_LOCKS = (f"{NEXT_REF}.lock", PACKED_REFS_LOCK)
KEEP_MARK, FAST_IMPORT_MARK = (
    "reflect-git",
    "fast-import",
)  # content of .keep files: ours, and those of a failed fast-import
_FETCH_MARKS = ("fetch-pack", "receive-pack")
_ATTEMPTS = 8
_PAUSE_SECONDS = 0.02


def fast_import(store: Store, ref: str, stream: Sequence[bytes], force: bool = False) -> str:
    """Run fast-import on a stream that writes this ref; return its output. The caller holds the lock.

    Its objects stay in a pack, since a running gc deletes loose objects younger than its start.
    """
    if inbox.count_packs(store) >= inbox.MAX_PACKS:
        store.git.run("repack", "--geometric=2", "-d", "-q", check=False)
    words = ("fast-import", "--quiet", "--done", *(["--force"] if force else []))
    data, locks = b"".join(stream), get_lock_files([ref])
    config = (*SYNC_CONFIG, inbox.KEEP_PACK_CONFIG)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return run(store, locks, *words, stdin=data, config=config).out.decode("ascii").strip()
        except GitError:
            inbox.remove_crash_reports(store)
            # otherwise the same pack cannot be written again, because its mark exists
            remove_keep_marks(store, (FAST_IMPORT_MARK,))
            if attempt == _ATTEMPTS:
                raise
        time.sleep(_PAUSE_SECONDS * attempt)
    return ""


def protect_commit(store: Store, commit: str) -> bool:
    """Protect a commit that fast-import did not create; return False if it is already gone."""
    try:
        update(store, f"update {NEXT_REF} {commit}\n")
    except GitError:
        return False
    return True


def delete_next_ref(store: Store) -> None:
    """Remove the protecting ref: a branch has the commit, or it is no longer needed."""
    try:
        update(store, f"delete {NEXT_REF}\n")
    except GitError as error:  # the next commit overwrites it
        store.log(f"'{NEXT_REF}' stays: {error}")


def keep_pack(store: Store, name: str) -> None:
    """Mark a pack as kept, before it arrives."""
    files.write_atomic(_get_pack_path(store, f"{name}.keep"), f"{KEEP_MARK}\n".encode(), sync=False)


def remove_keep_marks(store: Store, marks: Sequence[str] = (KEEP_MARK, FAST_IMPORT_MARK)) -> None:
    """Remove the marks of packs whose objects a branch has now, including those of killed processes."""
    for name in files.list_names(_get_pack_path(store, "")):
        if name.endswith(".keep") and _read_mark(_get_pack_path(store, name)) in marks:
            files.remove(_get_pack_path(store, name))


def remove_marks_of_killed_fetches(store: Store) -> None:
    """Remove the marks that a killed `git fetch` or push left on its pack ("fetch-pack 1234 on HOST").

    A repack would keep the pack forever, and with it what a purge has to remove.
    """
    for name in files.list_names(_get_pack_path(store, "")):
        words = _read_mark(_get_pack_path(store, name)).split() if name.endswith(".keep") else []
        is_fetch = len(words) == 4 and words[0] in _FETCH_MARKS and words[1].isdigit()
        if is_fetch and words[3] == os.uname().nodename and not system.current.is_running(int(words[1])):
            files.remove(_get_pack_path(store, name))


def _read_mark(path: str) -> str:
    return (files.read_if_exists(path, 64) or b"").decode("utf-8", "replace").strip()


def _get_pack_path(store: Store, name: str) -> str:
    return os.path.join(store.git_dir, "objects", "pack", name)
