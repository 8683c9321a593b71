"""A temporary repository for objects from a remote; only accepted objects are moved into the store.

It borrows the store's objects, so that only new ones are fetched. Nothing in the store refers to it, and each sync
starts with a new one. Nothing is ever checked out of it.
"""

from __future__ import annotations

import os

from reflect_git.platform import files, remote_git
from reflect_git.platform.git import COMMITTER, Git, GitError
from reflect_git.platform.remote_git import LimitExceeded
from reflect_git.store.main import provenance, ref_updates
from reflect_git.store.main.provenance import EMPTY_TREE, FileHistory, get_log_arguments, parse_entries
from reflect_git.store.remotes import INCOMING_FOLDER, TRACKING_REF, discard_incoming
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized
    from types import TracebackType
    from typing import Any, Callable, Optional, TypeVar

    from reflect_git.platform.background_git import PendingResult
    from reflect_git.platform.git import GitProcess, Result
    from reflect_git.platform.remote_git import Limits, Remote, RemoteCommand
    from reflect_git.store.main.provenance import TreeFile
    from reflect_git.store.repository import Store

    Answer = TypeVar("Answer")
    Counted = TypeVar("Counted", bound=Sized)

_OWN_REF, _OID_LENGTH = "refs/ours", 40
_FETCHED_PREFIX = "refs/heads/offered/"  # below heads/, so that git accepts only commits there
_CONFIG_TEXT = "[core]\n\trepositoryformatversion = 0"
_INDEX_MAGIC = b"\xfftOc\0\0\0\2"  # the first bytes of a pack index
_COUNT_OFFSET, _IDS_OFFSET, _ID_LENGTH = 8 + 255 * 4, 8 + 256 * 4, 20


def _do_nothing() -> None:
    pass


class Incoming:
    """One connection to a remote and its temporary repository, for a `with` block."""

    def __init__(self, store: Store, remote: Remote, limits: Limits, user: Optional[Mapping[str, str]] = None) -> None:
        self._root = store.private_path(INCOMING_FOLDER)
        self.remote = remote
        self.limits = limits
        self._fetched_count = 0
        self.ours = ""
        self.tracked: Optional[str] = None
        self._cache: dict[tuple[str, ...], Any] = {}
        self._histories: dict[tuple[str, ...], FileHistory] = {}
        self._started_histories: dict[tuple[str, ...], PendingResult] = {}
        self._fetching: Optional[tuple[str, RemoteCommand]] = None
        self._pushing: Optional[tuple[RemoteCommand, str]] = None
        discard_incoming(store)
        for folder in ("objects/info", "objects/pack", "refs"):
            files.make_private_dirs(os.path.join(self._root, folder))
        borrowed = os.path.join(store.git_dir, "objects")
        for name, text in (("objects/info/alternates", borrowed), ("HEAD", "ref: refs/none"), ("config", _CONFIG_TEXT)):
            files.write_atomic(os.path.join(self._root, name), os.fsencode(f"{text}\n"), sync=False)
        self._store = store
        self.git = Git(store.git.program, self._root, self._root, store.env if user is None else user)

    def __enter__(self) -> Incoming:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        """Stop background commands that are still running."""
        self.stop_histories()
        for under in (self._fetching and self._fetching[1], self._pushing and self._pushing[0]):
            if under is not None:
                under.drop()

    def load_own_main(self, refs: Optional[Mapping[str, str]] = None) -> str:
        """Return the store's main, from `refs` if given; set `ours` and `tracked`.

        `tracked` is the last known main of the remote. Queries about our own main have no limits, and their errors are
        not blamed on the remote.
        """
        refs = self._store.git.refs(MAIN, TRACKING_REF) if refs is None else refs
        self.ours, self.tracked = str(refs.get(MAIN)), refs.get(TRACKING_REF)
        return self.ours

    def list_heads(self) -> dict[str, str]:
        """Return full name → commit of every branch on the remote."""
        return remote_git.list_heads(self.git, self.remote, self.limits)

    def fetch(self, names: Iterable[str]) -> dict[str, str]:
        """Fetch branches into refs of our own; return name → commit.

        Remote names are never passed to a command again.
        """
        wanted = self._assign_refs(names)
        if wanted:
            remote_git.start_fetch(self.git, self.remote, wanted, self.limits).wait()
        return {name: self._read_tip(ref) for name, ref in wanted.items()}

    def _assign_refs(self, names: Iterable[str]) -> dict[str, str]:
        wanted = {}
        for name in names:
            self._fetched_count += 1
            wanted[name] = f"{_FETCHED_PREFIX}{self._fetched_count}"
        return wanted

    def start_fetching_main(self) -> None:
        """Start fetching main in the background, for a later `fetch_main`."""
        wanted = self._assign_refs([MAIN])
        self._fetching = (
            wanted[MAIN],
            remote_git.start_fetch(self.git, self.remote, wanted, self.limits, self._write_own_ref()),
        )

    def _write_own_ref(self) -> bool:
        """Write a ref for the store's main; return whether it exists. Without it git asks the store twice."""
        if len(self.ours) == _OID_LENGTH:
            files.write_atomic(os.path.join(self._root, _OWN_REF), f"{self.ours}\n".encode("ascii"), sync=False)
        return len(self.ours) == _OID_LENGTH

    @property
    def is_fetching_main(self) -> bool:
        """Return whether a fetch of main is running."""
        return self._fetching is not None

    def fetch_main(self, meanwhile: Callable[[], object] = _do_nothing) -> Optional[str]:
        """Return the remote's main; None if it has none. Needs one connection, `list_heads` and `fetch` two.

        Our own tree of main is read meanwhile, because the result is compared with it.
        """
        if self._fetching is None:
            self.start_fetching_main()
        assert self._fetching is not None
        place, under = self._fetching
        try:
            meanwhile()
            if self.ours:
                self.list_tree(self.ours)
            under.wait()
        except remote_git.NoBranch:
            return None
        finally:
            under.drop()
            self._fetching = None
        return self._read_tip(place)

    def _read_tip(self, ref: str) -> str:
        """Return the commit of a ref. In a repository this new, a ref is a file."""
        data = files.read_if_exists(os.path.join(self._root, ref))
        return data.decode("ascii", "replace").strip() if data else str(self.git.resolve(ref))

    def push(self, refs: Mapping[str, str]) -> str:
        """Push refs and return the outcome."""
        return remote_git.wait_for_push(remote_git.start_push(self.git, self.remote, refs, self.limits))

    def start_push(self, refs: Mapping[str, str], lease: str = "") -> None:
        """Start a push in the background. Never wait for it while holding the store's lock; see `finish_push`."""
        self._pushing = remote_git.start_push(self.git, self.remote, refs, self.limits, lease), lease

    def finish_push(self) -> str:
        """Wait for the push and return its outcome."""
        assert self._pushing is not None
        under, lease = self._pushing
        self._pushing = None
        return remote_git.wait_for_push(under, lease)

    def contains(self, commit: str, other: str) -> bool:
        """Return whether `commit` is `other` or descends from it; False if `other` is unknown here."""
        if commit == other:
            return True
        beside, after = self._histories.get((other, commit)), self._histories.get((commit, other))
        if beside is not None:
            return not beside.commits
        if after is not None:
            return other.encode() in after.parents
        asked = ("merge-base", "--is-ancestor", other, commit)
        return self._get_cached(asked, lambda: self.git.run(*asked, check=False).code == 0)

    def list_tree(self, commit: str) -> list[TreeFile]:
        """List every file of a commit."""
        asked = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
        return self._get_cached(
            asked, lambda: self._check_count(commit, list(parse_entries(self._run_query(commit, asked, streams=True))))
        )

    def get_history(self, commit: str, known: Sequence[str]) -> FileHistory:
        """Return the commits reachable from `commit` but not from `known`."""
        if commit in known or (len(known) == 1 and self._is_ancestor(commit, known[0])):
            return FileHistory(b"")
        asked = (commit, *known)
        if asked not in self._histories:
            self._histories[asked] = self._walk_history(commit, known)
        return self._histories[asked]

    def list_ancestry(self, commit: str, known: Sequence[str]) -> list[tuple[str, list[str], list[TreeFile]]]:
        """List the commits reachable from `commit` but not from `known`: id, parents, new files; parents come first."""
        asked = ("log", "--topo-order", "--reverse", "--format=%H %P", "--raw", "-r", "-c", "-z", "--root",
                 "--no-abbrev", "--no-renames", "--end-of-options", commit, *(f"^{one}" for one in known))  # fmt: skip
        return list(provenance.parse_ancestry(self._run_query(commit, asked)))

    def independent(self, commits: Sequence[str]) -> list[str]:
        """Return those of these commits that no other one descends from."""
        asked = ("merge-base", "--independent", *commits)
        return self.git.run(*asked).out.decode("ascii").split() if len(commits) > 1 else list(commits)

    def _is_ancestor(self, commit: str, known: str) -> bool:
        """Return whether `commit` was met while walking back from `known`: it then adds nothing new."""
        walked = self._histories.get((known, commit))
        return walked is not None and commit.encode() in walked.parents

    def start_history(self, commit: str, known: Sequence[str]) -> None:
        """Start walking a history in the background, for a later `get_history`."""
        from reflect_git.platform.background_git import PendingResult

        key = (commit, *known)
        is_known = (
            commit in known or key in self._histories or (len(known) == 1 and self._is_ancestor(commit, known[0]))
        )
        if not is_known and key not in self._started_histories:
            self._started_histories[key] = PendingResult(
                self._start_query(commit, get_log_arguments(commit, known)), most=self._get_output_limit(commit)
            )

    def stop_histories(self, but: tuple[str, ...] = ()) -> None:
        """Stop all background walks except `but`."""
        for key in [key for key in self._started_histories if key != but]:
            self._started_histories.pop(key).drop()

    def _walk_history(self, commit: str, known: Sequence[str]) -> FileHistory:
        """Walk a history with git, or take the result of a walk started by `start_history`."""
        asked = get_log_arguments(commit, known)
        started = self._started_histories.pop((commit, *known), None)
        output = self._check_result(commit, started.result(), asked) if started else self._run_query(commit, asked)
        found = FileHistory(output)
        if found.commits > self.limits.commits and commit != self.ours:
            raise LimitExceeded("its history is longer than allowed")
        self._check_count(commit, found.files)
        return found

    def _run_query(self, commit: str, asked: Sequence[str], streams: bool = False) -> bytes:
        child = self._start_query(commit, asked, streams)
        return self._check_result(commit, child.communicate(most=self._get_output_limit(commit)), asked)

    def _get_output_limit(self, commit: str) -> float:
        return float("inf") if commit == self.ours else self.limits.listing

    def _start_query(self, commit: str, asked: Sequence[str], streams: bool = False) -> GitProcess:
        if commit == self.ours:
            return self.git.start(*asked)
        return remote_git.start_limited(self.git, self.limits, *asked, streams=streams)

    def _check_result(self, commit: str, result: Result, asked: Sequence[str]) -> bytes:
        if commit != self.ours:
            return remote_git.check_result(result, self.limits, *asked).out
        if result.code:
            raise GitError(asked, result)
        return result.out

    def _get_cached(self, asked: tuple[str, ...], answer: Callable[[], Answer]) -> Answer:
        """Cache the answer of a query by commit ids, which cannot change."""
        if asked not in self._cache:
            self._cache[asked] = answer()
        known: Answer = self._cache[asked]
        return known

    def _check_count(self, commit: str, found: Counted) -> Counted:
        if len(found) > self.limits.entries and commit != self.ours:
            raise LimitExceeded(f"{len(found)} files")
        return found

    def get_sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """Return the size of each blob, without reading it."""
        wanted = "".join(f"{blob}\n" for blob in blobs).encode()
        if not wanted:
            return {}
        lines = self.git.run("cat-file", "--batch-check", "--buffer", stdin=wanted).out.decode("ascii").splitlines()
        return {oid: int(size) for oid, kind, size in (line.split() for line in lines if " blob " in line)}

    def find_once_on_main(self, listed: Iterable[TreeFile]) -> set[TreeFile]:
        """Return the files that our main has or had at the same path."""
        return provenance.find_once_on_main(self._store, listed)

    def find_once_on_remote(self, listed: Iterable[TreeFile]) -> set[TreeFile]:
        """Return the files that came from a remote."""
        return provenance.find_once_on_remote(self._store, listed)

    def read_blobs(self, ids: Sequence[str], most: float = float("inf")) -> list[bytes]:
        """Return the bytes of each blob; nothing at all if their sum exceeds `most`."""
        return list(self.git.blobs(ids, most, remote_git.get_ulimit_prefix(self.limits) if most < float("inf") else ()))

    def write_blob(self, data: bytes) -> str:
        """Write a blob of our own; return its id."""
        return self.git.run("hash-object", "-w", "--stdin", stdin=data).out.decode("ascii").strip()

    def move_to_store(self, commit: str, known: Sequence[str]) -> None:
        """Move exactly the objects of an accepted history into the store. The caller holds the lock.

        The fetched pack is moved whole if it contains only these and objects that the store already has. The sender can
        put anything into it, so otherwise they are packed again, which takes as long as fetching.
        """
        wanted = self.get_history(commit, known).objects
        for pack in self._list_packs():
            if self._store_has(self._get_pack_ids(pack) ^ wanted):
                _move_pack(self._store, pack)
                return
        import_pack(self._store, self._build_pack(commit, known))

    def require_sound(self, commit: str, known: Sequence[str]) -> None:
        """Check objects that the store had before.

        Fetched ones are checked; those of the user's own fetches are not.
        """
        checked = (oid for pack in self._list_packs() for oid in self._get_pack_ids(pack))
        unknown = self.get_history(commit, known).objects.difference(checked, [EMPTY_TREE])
        if unknown:
            remote_git.require_valid_objects(self.git, self.limits, unknown, os.path.join(self._root, "unchecked"))

    def _get_pack_ids(self, pack: str) -> set[str]:
        return self._get_cached(("ids", pack), lambda: _read_pack_ids(f"{pack}.idx"))

    def _list_packs(self) -> list[str]:
        """List the paths of the fetched packs, without suffix."""
        folder = os.path.join(self._root, "objects", "pack")
        return [os.path.join(folder, name[:-4]) for name in files.list_names(folder) if name.endswith(".idx")]

    def _store_has(self, ids: Iterable[str]) -> bool:
        asked = "".join(f"{oid}\n" for oid in ids).encode()
        if not asked:
            return True
        output = self._store.git.run("cat-file", "--batch-check=%(objecttype)", "--buffer", stdin=asked).out
        return b" missing\n" not in output

    def _build_pack(self, commit: str, known: Sequence[str]) -> bytes:
        """Return a pack with exactly the objects of a history that `known` lacks."""
        wanted = "".join(f"{line}\n" for line in (commit, *(f"^{one}" for one in known)))
        # Reuse the deltas: searching for better ones takes as long as all the rest.
        return self.git.run("pack-objects", "--revs", "--thin", "--stdout", "-q", "--delta-base-offset", "--window=0",
                            stdin=wanted.encode()).out  # fmt: skip

    def create_commit(
        self, base: Optional[str], new: Mapping[str, tuple[str, str]], parents: Sequence[str], message: str
    ) -> str:
        """Create a commit for the remote only: the tree of `base` with some files replaced (path → mode and blob)."""
        index = os.path.join(self._root, "draft")
        files.discard(index)
        self.git.run("read-tree", *([base] if base else ["--empty"]), index=index)
        lines = b"".join(f"{mode} {blob}\t".encode() + os.fsencode(path) + b"\0" for path, (mode, blob) in new.items())
        self.git.run("update-index", "-z", "--index-info", stdin=lines, index=index)
        tree = self.git.run("write-tree", index=index).out.decode("ascii").strip()
        named = [word for parent in parents for word in ("-p", parent)]
        who = COMMITTER.partition(" <")
        config = (f"user.name={who[0]}", f"user.email={who[2][:-1]}")
        out = self.git.run("commit-tree", *named, tree, stdin=message.encode(), config=config).out
        return out.decode("ascii").strip()


def import_pack(store: Store, pack: bytes) -> None:
    """Put accepted objects into the store. No ref points to them yet: the pack is kept until `release_packs`.

    The caller holds the lock.
    """
    if pack[8:12] != b"\0\0\0\0":  # not an empty pack
        # Not strict again: each object was checked when it was fetched.
        words = ("index-pack", "--stdin", "--fix-thin", f"--keep={ref_updates.KEEP_MARK}")
        store.git.run(*words, stdin=pack, config=("core.fsync=all",))


def _read_pack_ids(index: str) -> set[str]:
    """Return the object ids in a pack, from its index, which our own git wrote."""
    data = files.read_regular(index, 1 << 32)
    if not data.startswith(_INDEX_MAGIC):
        return set()
    end = _IDS_OFFSET + _ID_LENGTH * int.from_bytes(data[_COUNT_OFFSET:_IDS_OFFSET], "big")
    return {data[at : at + _ID_LENGTH].hex() for at in range(_IDS_OFFSET, end, _ID_LENGTH)}


def _move_pack(store: Store, pack: str) -> None:
    """Move a pack into the store. Sync first and move the index last, because git recognises a pack by its index."""
    place = os.path.join(store.git_dir, "objects", "pack")
    ref_updates.keep_pack(store, os.path.basename(pack))
    for end in (".pack", ".rev", ".idx"):
        if os.path.exists(pack + end):
            files.sync_file(pack + end)
            files.rename(pack + end, os.path.join(place, os.path.basename(pack) + end))
    files.sync_directory(place)
