"""Decisions become ONE commit on main, while the user may be working in the same repository.

main is checked out. Moving its ref alone would leave the user's index behind, and the next `git commit` would delete
the new records; `git merge --ff-only` left 187 of 500 killed runs that could not be repeated. So: the commit is made
first, then a private copy of the index gets the new entries, a ref transaction is prepared, the private index is put
in the user's place (locked as git locks it, for three system calls), and the transaction is committed. All this waits
for a quiet moment of the user's own git, and every step can be repeated from the journal.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files
from reflect_git.adapters.git import NOBODY, SYNCED, GitError
from reflect_git.errors import ReflectError
from reflect_git.store import corpses, journal, keeping, receipts, signing
from reflect_git.store.contention import LONG_WAIT, HeldMain, IndexLocked, Wait
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.store.repository import Store

    Stamp = Optional[tuple[int, int, int]]

__all__ = ["IndexLocked"]

_REF_LOCKS = ("refs/heads/main.lock", "HEAD.lock")
_MOVING = "moving"  # the commit that a transaction of ours is about to write
PATIENCE = 10.0
SHORT_PATIENCE = 1.0  # for what a sweep finishes: the next one tries again
_QUIET = 0.25
_HEX = frozenset("0123456789abcdef")
_ID = 40
_ATTEMPTS = 3


def record(store: Store, new: Mapping[str, bytes], message: str, unsigned: bool = False) -> str:
    """Add files to main in one commit, index and work tree included; returns it. The caller holds the lock.

    `unsigned`: though decisions are signed here.
    """
    receipts.add(store, new)
    facts = {"message": message, "files": {path: data.decode("utf-8") for path, data in new.items()}}
    more = {"unsigned": True} if unsigned else {}
    standing = journal.begin(store, "main", (_REF_LOCKS[0], *keeping.LOCKS), {**facts, **more})
    try:
        commit = _land(store, new, message, PATIENCE, unsigned)
    except BaseException:
        if _withdraw(store, new):
            keeping.release(store)
            journal.end(standing)
        raise
    keeping.release(store)
    journal.end(standing)
    return commit


def has(store: Store, new: Mapping[str, bytes]) -> bool:
    """Whether main carries these very bytes, of which there are some."""
    main = store.git.resolve(MAIN)
    return bool(new) and main is not None and _has_all(store, main, new)


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """A process died while recording: do again what is not done yet."""
    release_index(store)
    bury_refs(store)
    new = {name: text.encode("utf-8") for name, text in facts["files"].items()}
    _land(store, new, facts["message"], SHORT_PATIENCE, bool(facts.get("unsigned")))
    keeping.release(store)
    journal.end(path)


def _land(store: Store, new: Mapping[str, bytes], message: str, patience: float, unsigned: bool) -> str:
    """Until it succeeds or patience ends: whoever was faster, the user or another step of ours, stays."""
    wait = Wait(store, patience)
    parent = commit = ""

    def prepare(tip: str) -> Stamp:
        return _prepare_index(store, tip, new)

    while True:
        old, here = standing(store)
        if not old:
            raise ReflectError("the store has no branch 'main'", "run 'reflect-git doctor'", code="no-main")
        patient = here and wait.is_patient  # on another branch, nothing of the user's depends on main
        if not (patient and user_is_at_work(store)):
            with HeldMain(store, old if here and not patient else "") as held:
                if old != parent and not held.is_lost:
                    commit = old if _has_all(store, old, new) else make_commit(store, old, new, message, unsigned)
                    parent = old
                if not held.is_lost and advance(
                    store, old, commit, prepare, message, patient, here, held.release
                ):  # fmt: skip
                    return commit
            if commit and store.git.resolve(f"{commit}^{{commit}}") is None:  # a gc took it
                parent = ""
        wait.pause()


def _has_all(store: Store, commit: str, new: Mapping[str, bytes]) -> bool:
    """Whether main carries these very bytes already: a step that was killed after its commit."""
    present = store.git.tree(commit, *new)
    if len(present) < len(new):
        return False
    blobs = store.git.blobs([present[path] for path in new])
    return all(blob == data for blob, data in zip(blobs, new.values()))


def make_commit(store: Store, old: str, new: Mapping[str, bytes], message: str, unsigned: bool = False) -> str:
    """Make the commit that main is to be; a ref of its own keeps it from `git gc` until `keeping.release`."""
    text = message.encode("utf-8")
    parts = [
        f"commit {keeping.NEXT}\nmark :1\ncommitter {NOBODY} {max(0, int(time.time()))} +0000\n".encode(),
        f"data {len(text)}\n".encode(), text, f"\nfrom {old}\n".encode(),
    ]  # fmt: skip
    for path, data in new.items():
        parts += (f"M 100644 inline {path}\ndata {len(data)}\n".encode(), data, b"\n")
    parts.append(b"get-mark :1\ndone\n")
    made = keeping.fast_import(store, keeping.NEXT, parts, force=True)
    return _signed(store, made) if not unsigned and signing.is_wanted(store, new) else made


def _signed(store: Store, made: str) -> str:
    """The same commit with a signature, made again if a gc took it before a ref held it."""
    for _ in range(_ATTEMPTS):
        commit = signing.signed(store, made)
        if keeping.hold(store, commit):
            return commit
    raise ReflectError("git gc keeps removing new objects", "wait for it to end, then run it again", code="gc")


def tip(store: Store) -> str:
    """The commit that main is at, as the loose ref says, which counts before all; asked of git while it is packed."""
    loose = files.read_if_there(os.path.join(store.git_dir, *MAIN.split("/"))) or b""
    said = loose.decode("ascii", "replace").strip()
    return said if len(said) == _ID and _HEX.issuperset(said) else store.git.resolve(MAIN) or ""


def standing(store: Store) -> tuple[str, bool]:
    """The commit that main is at, and whether it is checked out."""
    told = store.git.run("for-each-ref", "--format=%(HEAD)%(objectname)", MAIN).out.decode("ascii")
    return told[1:].strip(), told[:1] == "*"


def advance(
    store: Store, old: str, commit: str, prepare: Callable[[str], Stamp], message: str, patient: bool,
    is_checked_out: bool, let_go: Callable[[], None],
) -> bool:  # fmt: skip
    """Move main from `old` to `commit` with index and work tree; False when somebody else was at it.

    `prepare` makes the private index for `old` and writes the files; it returns which index of the user's it is from.
    `let_go` ends our own hold of main, which the transaction waits for.
    """
    if not is_checked_out:
        let_go()
        return _move_ref_only(store, old, commit, message)
    seen = prepare(old)
    files.write_whole(store.private_path(_MOVING), commit.encode("ascii"), sync=False)
    transaction = store.git.start(
        "update-ref", "--create-reflog", "-m", message.partition("\n")[0], "--stdin", config=(*SYNCED, LONG_WAIT)
    )
    done = False
    try:
        transaction.send(f"start\nupdate {MAIN} {commit} {old}\nprepare\n".encode())
        let_go()
        ready = transaction.line() == b"start: ok" and transaction.line() == b"prepare: ok"
        if ready and not (patient and user_is_at_work(store)) and _publish_index(store, seen):
            transaction.send(b"commit\n")
            done = transaction.line() == b"commit: ok"
    finally:
        # Its input ends here: a transaction that was not committed is aborted, and its locks go with it.
        if transaction.finish().code < 0:
            bury_refs(store)
    files.remove(store.private_path(_MOVING))
    return done


def user_is_at_work(store: Store) -> bool:
    """Whether a git command of the user's wrote here a moment ago, so that the next one may be about to.

    A commit of theirs fails if main moves between its first look at HEAD and its end; nobody can lock that out.
    """
    newest = _changed(os.path.join(store.git_dir, "COMMIT_EDITMSG"))
    if not files.is_same(os.path.join(store.git_dir, "index"), private_index(store)):
        newest = max(newest, _changed(os.path.join(store.git_dir, "index")))
    return 0 <= time.time() - newest < _QUIET


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def bury_refs(store: Store) -> None:
    """Remove the locks of a killed transaction of ours: main's lock carries the commit that it was about to write.

    git writes that commit right after it made the lock. If it was killed in between, the lock is empty and stays so."""
    moving = files.read_if_there(store.private_path(_MOVING))
    lock = files.read_if_there(os.path.join(store.git_dir, _REF_LOCKS[0]))
    if moving and lock is not None and lock.strip() == moving.strip():
        for name in _REF_LOCKS:
            files.discard(os.path.join(store.git_dir, name))
    elif not lock:  # while main's lock has a commit, that of HEAD is empty and belongs to the same living git
        deadline = time.monotonic() + corpses.AGE + 0.5
        for name in _REF_LOCKS:
            if files.read_if_there(os.path.join(store.git_dir, name)) == b"":
                corpses.bury(store, name, deadline)


def _move_ref_only(store: Store, old: str, commit: str, message: str) -> bool:
    """HEAD is elsewhere: the user's index and work tree belong to another branch."""
    listing = store.git.run("worktree", "list", "--porcelain").out.decode("utf-8", "replace").splitlines()
    if f"branch {MAIN}" in listing:
        raise ReflectError(
            "'main' is checked out in another work tree of the store", "switch that one to another branch, or remove "
            "it with 'git worktree remove'", code="worktree",
        )  # fmt: skip
    try:
        store.git.run("update-ref", "-m", message.partition("\n")[0], MAIN, commit, old, config=SYNCED)
    except GitError:
        return False
    return True


def private_index(store: Store) -> str:
    return store.private_path("index")


def index_stamp(store: Store) -> Stamp:
    try:
        status = os.stat(os.path.join(store.git_dir, "index"))
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def copy_index(store: Store, old: str, is_trusted: bool = False) -> Stamp:
    """The user's index, as a private one; returns what was copied. One that is trusted is not read for a trial."""
    private = private_index(store)
    files.discard(f"{private}.lock")
    files.discard(private)
    seen = index_stamp(store)
    if seen is None:
        index_anew(store, old)
        return seen
    data = files.read_regular(os.path.join(store.git_dir, "index"), 1 << 32)
    files.write_whole(private, data, sync=False)
    if not is_trusted and is_index_broken(store):
        index_anew(store, old)
    return seen


def is_index_broken(store: Store) -> bool:
    """Whether git reads the private index and says no; one that was killed over it says nothing."""
    return store.git.run("ls-files", "--cached", "-z", index=private_index(store), check=False).code > 0


def index_anew(store: Store, old: str) -> None:
    """There is none, or a power cut took it: what main has is all that is known."""
    private = private_index(store)
    files.discard(f"{private}.lock")
    files.discard(private)
    store.git.run("read-tree", old, index=private, config=SYNCED)


def _prepare_index(store: Store, old: str, new: Mapping[str, bytes]) -> Stamp:
    """A private index with our entries added, and the files themselves."""
    seen = copy_index(store, old)
    ours, theirs = _write_work_tree(store, old, new)
    if ours:
        listing = b"".join(os.fsencode(path) + b"\0" for path in ours)
        store.git.run(
            "update-index", "--add", "-z", "--stdin", stdin=listing, index=private_index(store), config=SYNCED
        )
    if theirs:
        _add_by_content(store, theirs, new)
    return seen


def _write_work_tree(store: Store, old: str, new: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """Write the files; one that the user changed by hand stays as it is and shows up in `git status`."""
    ours, theirs = [], []
    before = store.git.tree(old, *new)
    for path, data in new.items():
        live = files.read_if_there(store.path(path), 1 << 26)
        known = next(store.git.blobs([before[path]]), b"") if path in before else None
        if live is None or live in (data, known, b""):  # empty: a power cut took what was there
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
        "update-index", "--add", "-z", "--index-info", stdin="".join(lines).encode(), index=private_index(store)
    )


def _take_index(store: Store, seen: Stamp) -> bool:
    """Lock the index by linking ours in its lock's place; not if the user's git has it or changed it meanwhile."""
    lock = os.path.join(store.git_dir, "index.lock")
    try:
        files.link(private_index(store), lock)
    except FileExistsError:
        return False
    if index_stamp(store) == seen:
        return True
    files.remove(lock)
    return False


def _publish_index(store: Store, seen: Stamp) -> bool:
    """Put our index in the user's place; it stays linked to the private one, which tells it from the user's own."""
    if not _take_index(store, seen):
        return False
    files.rename(os.path.join(store.git_dir, "index.lock"), os.path.join(store.git_dir, "index"))
    return True


def hold_index(store: Store) -> bool:
    """Keep the user's git from writing for a moment; False when it is at work right now."""
    files.discard(private_index(store))
    files.write_whole(private_index(store), b"", sync=False)
    return _take_index(store, index_stamp(store))


def release_index(store: Store) -> None:
    """Remove an index.lock that is ours: the same inode as the private index of the process that died."""
    lock = os.path.join(store.git_dir, "index.lock")
    if files.is_same(lock, private_index(store)):
        files.remove(lock)


def _withdraw(store: Store, new: Mapping[str, bytes]) -> bool:
    """It failed: take away what it would have added. False when main has it already, so that it must be finished."""
    try:
        if has(store, new):
            return False
        release_index(store)
        kept = store.git.tree(MAIN, *new)
        _write_back(store, kept, new)
        ours = [path for path in new if path not in kept]
        for path in ours:
            if files.read_if_there(store.path(path), 1 << 26) == new[path]:
                files.discard(store.path(path))
        staged = store.git.run("ls-files", "-z", "--", *ours).out
        if ours and staged:
            store.git.run("update-index", "--force-remove", "-z", "--stdin", stdin=staged)
    except (ReflectError, OSError):
        return False
    return True


def _write_back(store: Store, kept: Mapping[str, str], new: Mapping[str, bytes]) -> None:
    """Files that main has in another form get that form back."""
    for path, data in zip(kept, store.git.blobs(list(kept.values()))):
        if path in new and data != new[path] and files.read_if_there(store.path(path), 1 << 26) == new[path]:
            store.write(path, data, sync=True)
