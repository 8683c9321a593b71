"""Commit decisions to main, while the user may be working in the same repository.

main is checked out. Moving only its ref would leave the user's index behind, and the next `git commit` would delete the
new records. `git merge --ff-only` left 187 of 500 killed runs in a state that could not be repeated. So the steps are:

- create the commit
- add the new entries to a private copy of the index
- prepare a ref transaction
- replace the user's index by the private one (locked as git locks it, for three system calls)
- commit the transaction

All this waits for a quiet moment of the user's own git, and every step can be repeated from the journal.
"""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER, SYNC_CONFIG, GitError
from reflect_git.store.main import journal, receipts, ref_updates, signing
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.store.repository import Store

    Stamp = Optional[tuple[int, int, int]]
    from types import TracebackType

    from reflect_git.platform.git import GitProcess

__all__ = ["IndexLocked"]

_REF_LOCKS = ("refs/heads/main.lock", "HEAD.lock")
_MOVING_FILE = "moving"  # the commit that our transaction is about to write
WAIT_SECONDS = 30.0  # while the user's git commits in a loop, single attempts fail on a loaded machine
_MAX_QUIET_WAIT = 3.0  # wait that long for a quiet moment, then try anyway
SHORT_WAIT_SECONDS = 1.0  # for steps that a recovery finishes: the next one tries again
_QUIET_SECONDS = 0.25
_HEX = frozenset("0123456789abcdef")
_ID_LENGTH = 40
_ATTEMPTS = 3


def commit_files(store: Store, new: Mapping[str, bytes], message: str, unsigned: bool = False) -> str:
    """Add files to main in one commit, with index and work tree; return it. The caller holds the lock.

    `unsigned`: do not sign it, even if decisions are signed here.
    """
    receipts.add_receipts(store, new)
    facts = {"message": message, "files": {path: data.decode("utf-8") for path, data in new.items()}}
    more = {"unsigned": True} if unsigned else {}
    standing = journal.begin(store, "main", (_REF_LOCKS[0], *ref_updates.NEXT_REF_LOCKS), {**facts, **more})
    try:
        commit = _commit_with_retries(store, new, message, WAIT_SECONDS, unsigned)
    except BaseException:
        if _undo_commit(store, new):
            ref_updates.delete_next_ref(store)
            journal.end(standing)
        raise
    ref_updates.delete_next_ref(store)
    journal.end(standing)
    return commit


def has_files(store: Store, new: Mapping[str, bytes]) -> bool:
    """Return whether main contains exactly these files; False for no files."""
    main = store.git.resolve(MAIN)
    return bool(new) and main is not None and _has_all(store, main, new)


def finish_commit(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Finish a recording that was interrupted: repeat the missing steps."""
    unlock_index(store)
    remove_stale_ref_locks(store)
    new = {name: text.encode("utf-8") for name, text in facts["files"].items()}
    _commit_with_retries(store, new, facts["message"], SHORT_WAIT_SECONDS, bool(facts.get("unsigned")))
    ref_updates.delete_next_ref(store)
    journal.end(path)


def _commit_with_retries(store: Store, new: Mapping[str, bytes], message: str, patience: float, unsigned: bool) -> str:
    """Retry until it succeeds or patience ends. Keep what the user or another step of ours committed first."""
    wait = QuietWait(store, patience)
    parent = commit = ""

    def prepare(tip: str) -> Stamp:
        return _prepare_index(store, tip, new)

    while True:
        old, here = get_main_state(store)
        if not old:
            raise ReflectError("the store has no branch 'main'", "run 'reflect-git doctor'", code="no-main")
        patient = here and wait.is_waiting_for_quiet  # on another branch, nothing of the user's depends on main
        if not (patient and is_user_git_active(store)):
            with MainLock(store, old if here and not patient else "") as held:
                if old != parent and not held.has_main_moved:
                    commit = old if _has_all(store, old, new) else create_commit(store, old, new, message, unsigned)
                    parent = old
                if not held.has_main_moved and advance_main(
                    store, old, commit, prepare, message, patient, here, held.release
                ):  # fmt: skip
                    return commit
            if commit and store.git.resolve(f"{commit}^{{commit}}") is None:  # a gc removed it
                parent = ""
        wait.pause()


def _has_all(store: Store, commit: str, new: Mapping[str, bytes]) -> bool:
    """Return whether a commit already has exactly these files, as after a kill following the commit."""
    present = store.git.tree(commit, *new)
    if len(present) < len(new):
        return False
    blobs = store.git.blobs([present[path] for path in new])
    return all(blob == data for blob, data in zip(blobs, new.values()))


def create_commit(store: Store, old: str, new: Mapping[str, bytes], message: str, unsigned: bool = False) -> str:
    """Create the next commit of main. A ref protects it from `git gc` until `ref_updates.delete_next_ref`."""
    text = message.encode("utf-8")
    parts = [
        f"commit {ref_updates.NEXT_REF}\nmark :1\ncommitter {COMMITTER} {max(0, int(time.time()))} +0000\n".encode(),
        f"data {len(text)}\n".encode(), text, f"\nfrom {old}\n".encode(),
    ]  # fmt: skip
    for path, data in new.items():
        parts += (f"M 100644 inline {path}\ndata {len(data)}\n".encode(), data, b"\n")
    parts.append(b"get-mark :1\ndone\n")
    made = ref_updates.fast_import(store, ref_updates.NEXT_REF, parts, force=True)
    return _sign_commit(store, made) if not unsigned and signing.is_required(store, new) else made


def _sign_commit(store: Store, made: str) -> str:
    """Return a signed copy of the commit; repeat if a gc removed it before a ref protected it."""
    for _ in range(_ATTEMPTS):
        commit = signing.sign_commit(store, made)
        if ref_updates.protect_commit(store, commit):
            return commit
    raise ReflectError("git gc keeps removing new objects", "wait for it to end, then run it again", code="gc")


def get_tip(store: Store) -> str:
    """Return the commit of main: from the loose ref, which has priority, or from git if it is packed."""
    loose = files.read_if_exists(os.path.join(store.git_dir, *MAIN.split("/"))) or b""
    said = loose.decode("ascii", "replace").strip()
    return said if len(said) == _ID_LENGTH and _HEX.issuperset(said) else store.git.resolve(MAIN) or ""


def get_main_state(store: Store) -> tuple[str, bool]:
    """Return the commit of main, and whether it is checked out."""
    told = store.git.run("for-each-ref", "--format=%(HEAD)%(objectname)", MAIN).out.decode("ascii")
    return told[1:].strip(), told[:1] == "*"


def advance_main(
    store: Store, old: str, commit: str, prepare: Callable[[str], Stamp], message: str, patient: bool,
    is_checked_out: bool, let_go: Callable[[], None],
) -> bool:  # fmt: skip
    """Move main from `old` to `commit` with index and work tree; return False if another process interfered.

    `prepare` creates the private index for `old` and writes the files; it returns the stamp of the user's index it
    copied. `let_go` releases our own lock on main, which the transaction waits for.
    """
    if not is_checked_out:
        let_go()
        return _move_ref_only(store, old, commit, message)
    seen = prepare(old)
    files.write_atomic(store.private_path(_MOVING_FILE), commit.encode("ascii"), sync=False)
    transaction = store.git.start(
        "update-ref",
        "--create-reflog",
        "-m",
        message.partition("\n")[0],
        "--stdin",
        config=(*SYNC_CONFIG, REF_LOCK_TIMEOUT),
    )
    done = False
    try:
        transaction.send(f"start\nupdate {MAIN} {commit} {old}\nprepare\n".encode())
        let_go()
        ready = transaction.read_line() == b"start: ok" and transaction.read_line() == b"prepare: ok"
        if ready and not (patient and is_user_git_active(store)) and _replace_index(store, seen):
            transaction.send(b"commit\n")
            done = transaction.read_line() == b"commit: ok"
    finally:
        # Its input ends here: an uncommitted transaction is aborted, and its locks are removed.
        if transaction.communicate().code < 0:
            remove_stale_ref_locks(store)
    files.remove(store.private_path(_MOVING_FILE))
    return done


def is_user_git_active(store: Store) -> bool:
    """Return whether a git command of the user wrote here a moment ago, so that another may follow.

    Their commit fails if main moves between its first look at HEAD and its end; no lock can prevent that.
    """
    newest = _get_mtime(os.path.join(store.git_dir, "COMMIT_EDITMSG"))
    if not files.is_same_file(os.path.join(store.git_dir, "index"), get_private_index(store)):
        newest = max(newest, _get_mtime(os.path.join(store.git_dir, "index")))
    return 0 <= time.time() - newest < _QUIET_SECONDS


def _get_mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def remove_stale_ref_locks(store: Store) -> None:
    """Remove the locks of our killed transaction: main's lock contains the commit it was about to write.

    git writes that commit right after creating the lock. If it was killed in between, the lock is empty and stays so.
    """
    moving = files.read_if_exists(store.private_path(_MOVING_FILE))
    lock = files.read_if_exists(os.path.join(store.git_dir, _REF_LOCKS[0]))
    if moving and lock is not None and lock.strip() == moving.strip():
        for name in _REF_LOCKS:
            files.discard(os.path.join(store.git_dir, name))
    elif not lock:  # while main's lock has a commit, HEAD's lock is empty and belongs to the same living git
        deadline = time.monotonic() + journal.STALE_SECONDS + 0.5
        for name in _REF_LOCKS:
            if files.read_if_exists(os.path.join(store.git_dir, name)) == b"":
                journal.move_stale_lock(store, name, deadline)


def _move_ref_only(store: Store, old: str, commit: str, message: str) -> bool:
    """Move only the ref: HEAD is on another branch, so the user's index and work tree do not change."""
    listing = store.git.run("worktree", "list", "--porcelain").out.decode("utf-8", "replace").splitlines()
    if f"branch {MAIN}" in listing:
        raise ReflectError(
            "'main' is checked out in another work tree of the store", "switch that one to another branch, or remove "
            "it with 'git worktree remove'", code="worktree",
        )  # fmt: skip
    try:
        store.git.run("update-ref", "-m", message.partition("\n")[0], MAIN, commit, old, config=SYNC_CONFIG)
    except GitError:
        return False
    return True


def get_private_index(store: Store) -> str:
    """Return the path of the private index."""
    return store.private_path("index")


def get_index_stamp(store: Store) -> Stamp:
    """Return inode, size and time of the user's index, to detect changes; None if it is missing."""
    try:
        status = os.stat(os.path.join(store.git_dir, "index"))
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def copy_index(store: Store, old: str, is_trusted: bool = False) -> Stamp:
    """Copy the user's index to the private one; return the stamp of the original.

    With `is_trusted` it is not checked by reading it.
    """
    private = get_private_index(store)
    files.discard(f"{private}.lock")
    files.discard(private)
    seen = get_index_stamp(store)
    if seen is None:
        rebuild_index(store, old)
        return seen
    data = files.read_regular(os.path.join(store.git_dir, "index"), 1 << 32)
    files.write_atomic(private, data, sync=False)
    if not is_trusted and is_index_broken(store):
        rebuild_index(store, old)
    return seen


def is_index_broken(store: Store) -> bool:
    """Return whether git refuses to read the private index. A git that was killed does not count."""
    return store.git.run("ls-files", "--cached", "-z", index=get_private_index(store), check=False).code > 0


def rebuild_index(store: Store, old: str) -> None:
    """Build the private index from main: the user's index is missing, or a power cut destroyed it."""
    private = get_private_index(store)
    files.discard(f"{private}.lock")
    files.discard(private)
    store.git.run("read-tree", old, index=private, config=SYNC_CONFIG)


def _prepare_index(store: Store, old: str, new: Mapping[str, bytes]) -> Stamp:
    """Write the files and a private index with our entries; return the stamp of the user's index."""
    seen = copy_index(store, old)
    ours, theirs = _write_work_tree(store, old, new)
    if ours:
        listing = b"".join(os.fsencode(path) + b"\0" for path in ours)
        store.git.run(
            "update-index", "--add", "-z", "--stdin", stdin=listing, index=get_private_index(store), config=SYNC_CONFIG
        )
    if theirs:
        _add_by_content(store, theirs, new)
    return seen


def _write_work_tree(store: Store, old: str, new: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """Write the files. One that the user changed by hand is kept and shows up in `git status`."""
    ours, theirs = [], []
    before = store.git.tree(old, *new)
    for path, data in new.items():
        live = files.read_if_exists(store.path(path), 1 << 26)
        known = next(store.git.blobs([before[path]]), b"") if path in before else None
        if live is None or live in (data, known, b""):  # empty: a power cut destroyed the content
            store.write(path, data, sync=True)
            ours.append(path)
        else:
            theirs.append(path)
    return ours, theirs


def _add_by_content(store: Store, paths: Sequence[str], new: Mapping[str, bytes]) -> None:
    lines = []
    for path in paths:
        blob = store.git.run("hash-object", "-w", "--stdin", stdin=new[path]).out.decode("ascii").strip()
        lines.append(f"100644 {blob} 0\t{path}\0")
    store.git.run(
        "update-index", "--add", "-z", "--index-info", stdin="".join(lines).encode(), index=get_private_index(store)
    )


def _link_index_lock(store: Store, seen: Stamp) -> bool:
    """Lock the index by linking ours as its lock; return False if the user's git holds or changed it."""
    lock = os.path.join(store.git_dir, "index.lock")
    try:
        files.link(get_private_index(store), lock)
    except FileExistsError:
        return False
    if get_index_stamp(store) == seen:
        return True
    files.remove(lock)
    return False


def _replace_index(store: Store, seen: Stamp) -> bool:
    """Replace the user's index by ours. It stays linked to the private one, which identifies it as ours."""
    if not _link_index_lock(store, seen):
        return False
    files.rename(os.path.join(store.git_dir, "index.lock"), os.path.join(store.git_dir, "index"))
    return True


def lock_index(store: Store) -> bool:
    """Prevent the user's git from writing for a moment; return False if it is writing now."""
    files.discard(get_private_index(store))
    files.write_atomic(get_private_index(store), b"", sync=False)
    return _link_index_lock(store, get_index_stamp(store))


def unlock_index(store: Store) -> None:
    """Remove an index.lock that is ours: it has the same inode as the private index of the dead process."""
    lock = os.path.join(store.git_dir, "index.lock")
    if files.is_same_file(lock, get_private_index(store)):
        files.remove(lock)


def _undo_commit(store: Store, new: Mapping[str, bytes]) -> bool:
    """Undo a failed recording. Return False if main already has it, so that it must be finished."""
    try:
        if has_files(store, new):
            return False
        unlock_index(store)
        kept = store.git.tree(MAIN, *new)
        _restore_files(store, kept, new)
        ours = [path for path in new if path not in kept]
        for path in ours:
            if files.read_if_exists(store.path(path), 1 << 26) == new[path]:
                files.discard(store.path(path))
        staged = store.git.run("ls-files", "-z", "--", *ours).out
        if ours and staged:
            store.git.run("update-index", "--force-remove", "-z", "--stdin", stdin=staged)
    except (ReflectError, OSError):
        return False
    return True


def _restore_files(store: Store, kept: Mapping[str, str], new: Mapping[str, bytes]) -> None:
    """Restore the files that main has with other content."""
    for path, data in zip(kept, store.git.blobs(list(kept.values()))):
        if path in new and data != new[path] and files.read_if_exists(store.path(path), 1 << 26) == new[path]:
            store.write(path, data, sync=True)


_SILENT_SECONDS = 1.0  # seconds before a message says what we wait for
REF_LOCK_TIMEOUT = "core.filesRefLockTimeout=1000"  # milliseconds that our transaction waits for a lock on main


class IndexLocked(ReflectError):
    """Another git process, not ours, prevented main from moving."""

    def __init__(self, store: Store, seconds: float) -> None:
        if os.path.lexists(os.path.join(store.git_dir, "index.lock")):
            hint = "wait for it to end; 'reflect-git doctor' shows its age"
            super().__init__("another git process holds the store's index", hint, code="index-locked")
        else:
            said = f"your git kept writing to '{store.root}' for {seconds:.0f} s; nothing was changed"
            super().__init__(said, "run it again when that has ended", code="git-busy")


class QuietWait:
    """Wait for a quiet moment of the user's git for a while; then try anyway, until the time is up."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._began = time.monotonic()

    @property
    def is_waiting_for_quiet(self) -> bool:
        """Return whether to wait for a quiet moment still."""
        return time.monotonic() < self._began + min(_MAX_QUIET_WAIT, self._seconds / 2)

    def pause(self) -> None:
        """Wait for a moment, print a message after a second, and raise an error at the end."""
        waited = time.monotonic() - self._began
        if waited > self._seconds:
            raise IndexLocked(self._store, self._seconds)
        if waited > _SILENT_SECONDS:
            self._store.show_wait_message(f"waiting for your git, which is writing to '{self._store.root}'")
        time.sleep(0.01)


class MainLock:
    """A lock on main for a `with` block, held by a transaction that changes nothing.

    A loop of commits moves main every few milliseconds, and our own commit takes longer. A commit of the user that
    meets the lock waits a tenth of a second for it. An empty `old` locks nothing.
    """

    def __init__(self, store: Store, old: str) -> None:
        self._store = store
        self._old = old
        self._child: Optional[GitProcess] = None
        self.has_main_moved = False  # main has moved meanwhile

    def __enter__(self) -> MainLock:
        if self._old:
            self._child = self._store.git.start("update-ref", "--stdin")
            self._child.send(f"start\nverify {MAIN} {self._old}\nprepare\n".encode())
            self.has_main_moved = [self._child.read_line(), self._child.read_line()] != [b"start: ok", b"prepare: ok"]
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.release()

    def release(self) -> None:
        """Release the lock: the input ends, and the transaction is aborted."""
        child, self._child = self._child, None
        if child is not None:
            child.communicate()
