"""A temporary repository for objects from a remote; only accepted objects are moved into the store.

It borrows the store's objects, so that only new ones are fetched. Nothing in the store refers to it, and each sync
starts with a new one. Nothing is ever checked out of it.
"""

from __future__ import annotations

import os

from reflect_git.platform import files, remote_git
from reflect_git.platform.git import NOBODY, Git, GitError
from reflect_git.platform.remote_git import TooMuch
from reflect_git.store.main import provenance, ref_updates
from reflect_git.store.main.provenance import EMPTY, History, entries, walk
from reflect_git.store.remotes import INCOMING, TRACKED, discard_incoming
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized
    from types import TracebackType
    from typing import Any, Callable, Optional, TypeVar

    from reflect_git.platform.background_git import Heard
    from reflect_git.platform.git import Child, Result
    from reflect_git.platform.remote_git import Limits, Remote, Under
    from reflect_git.store.main.provenance import Listed
    from reflect_git.store.repository import Store

    Answer = TypeVar("Answer")
    Counted = TypeVar("Counted", bound=Sized)

_OURS, _HEX = "refs/ours", 40
_OFFERED = "refs/heads/offered/"  # below heads/, so that git accepts only commits there
_CONFIG = "[core]\n\trepositoryformatversion = 0"
_INDEX = b"\xfftOc\0\0\0\2"  # the first bytes of a pack index
_COUNT, _IDS, _ID = 8 + 255 * 4, 8 + 256 * 4, 20


def _nothing() -> None:
    pass


class Incoming:
    """One connection to a remote and its temporary repository, for a `with` block."""

    def __init__(self, store: Store, remote: Remote, limits: Limits, user: Optional[Mapping[str, str]] = None) -> None:
        self._root = store.private_path(INCOMING)
        self.remote = remote
        self.limits = limits
        self._fetched = 0
        self.ours = ""
        self.tracked: Optional[str] = None
        self._known: dict[tuple[str, ...], Any] = {}
        self._histories: dict[tuple[str, ...], History] = {}
        self._begun: dict[tuple[str, ...], Heard] = {}
        self._fetching: Optional[tuple[str, Under]] = None
        self._pushing: Optional[tuple[Under, str]] = None
        discard_incoming(store)
        for folder in ("objects/info", "objects/pack", "refs"):
            files.make_private_dirs(os.path.join(self._root, folder))
        borrowed = os.path.join(store.git_dir, "objects")
        for name, text in (("objects/info/alternates", borrowed), ("HEAD", "ref: refs/none"), ("config", _CONFIG)):
            files.write_whole(os.path.join(self._root, name), os.fsencode(f"{text}\n"), sync=False)
        self._store = store
        self.git = Git(store.git.program, self._root, self._root, store.env if user is None else user)

    def __enter__(self) -> Incoming:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        """Stop background commands that are still running."""
        self.leave_begun()
        for under in (self._fetching and self._fetching[1], self._pushing and self._pushing[0]):
            if under is not None:
                under.drop()

    def main_here(self, refs: Optional[Mapping[str, str]] = None) -> str:
        """Return the store's main, from `refs` if given; set `ours` and `tracked`.

        `tracked` is the last known main of the remote. Queries about our own main have no limits, and their errors are
        not blamed on the remote.
        """
        refs = self._store.git.refs(MAIN, TRACKED) if refs is None else refs
        self.ours, self.tracked = str(refs.get(MAIN)), refs.get(TRACKED)
        return self.ours

    def heads(self) -> dict[str, str]:
        """Return full name → commit of every branch on the remote."""
        return remote_git.heads(self.git, self.remote, self.limits)

    def fetch(self, names: Iterable[str]) -> dict[str, str]:
        """Fetch branches into refs of our own; return name → commit.

        Remote names are never passed to a command again.
        """
        wanted = self._places(names)
        if wanted:
            remote_git.fetch(self.git, self.remote, wanted, self.limits).end()
        return {name: self._tip(ref) for name, ref in wanted.items()}

    def _places(self, names: Iterable[str]) -> dict[str, str]:
        wanted = {}
        for name in names:
            self._fetched += 1
            wanted[name] = f"{_OFFERED}{self._fetched}"
        return wanted

    def begin_main(self) -> None:
        """Start fetching main in the background, for a later `fetch_main`."""
        wanted = self._places([MAIN])
        self._fetching = wanted[MAIN], remote_git.fetch(self.git, self.remote, wanted, self.limits, self._knows_ours())

    def _knows_ours(self) -> bool:
        """Write a ref for the store's main; return whether it exists. Without it git asks the store twice."""
        if len(self.ours) == _HEX:
            files.write_whole(os.path.join(self._root, _OURS), f"{self.ours}\n".encode("ascii"), sync=False)
        return len(self.ours) == _HEX

    @property
    def is_asked(self) -> bool:
        """Return whether a fetch of main is running."""
        return self._fetching is not None

    def fetch_main(self, meanwhile: Callable[[], object] = _nothing) -> Optional[str]:
        """Return the remote's main; None if it has none. Needs one connection, `heads` and `fetch` two.

        Our own tree of main is read meanwhile, because the result is compared with it.
        """
        if self._fetching is None:
            self.begin_main()
        assert self._fetching is not None
        place, under = self._fetching
        try:
            meanwhile()
            if self.ours:
                self.tree(self.ours)
            under.end()
        except remote_git.NoBranch:
            return None
        finally:
            under.drop()
            self._fetching = None
        return self._tip(place)

    def _tip(self, ref: str) -> str:
        """Return the commit of a ref. In a repository this new, a ref is a file."""
        data = files.read_if_there(os.path.join(self._root, ref))
        return data.decode("ascii", "replace").strip() if data else str(self.git.resolve(ref))

    def push(self, refs: Mapping[str, str]) -> str:
        """Push refs and return the outcome."""
        return remote_git.sent(remote_git.push(self.git, self.remote, refs, self.limits))

    def begin_push(self, refs: Mapping[str, str], lease: str = "") -> None:
        """Start a push in the background. Never wait for it while holding the store's lock; see `pushed`."""
        self._pushing = remote_git.push(self.git, self.remote, refs, self.limits, lease), lease

    def pushed(self) -> str:
        """Wait for the push and return its outcome."""
        assert self._pushing is not None
        under, lease = self._pushing
        self._pushing = None
        return remote_git.sent(under, lease)

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
        return self._once(asked, lambda: self.git.run(*asked, check=False).code == 0)

    def tree(self, commit: str) -> list[Listed]:
        """List every file of a commit."""
        asked = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
        return self._once(asked, lambda: self._counted(commit, list(entries(self._told(commit, asked, streams=True)))))

    def history(self, commit: str, known: Sequence[str]) -> History:
        """Return the commits reachable from `commit` but not from `known`."""
        if commit in known or (len(known) == 1 and self._is_before(commit, known[0])):
            return History(b"")
        asked = (commit, *known)
        if asked not in self._histories:
            self._histories[asked] = self._walked(commit, known)
        return self._histories[asked]

    def _is_before(self, commit: str, known: str) -> bool:
        """Return whether `commit` was met while walking back from `known`: it then adds nothing new."""
        walked = self._histories.get((known, commit))
        return walked is not None and commit.encode() in walked.parents

    def begin(self, commit: str, known: Sequence[str]) -> None:
        """Start walking a history in the background, for a later `history`."""
        from reflect_git.platform.background_git import Heard

        key = (commit, *known)
        is_known = commit in known or key in self._histories or (len(known) == 1 and self._is_before(commit, known[0]))
        if not is_known and key not in self._begun:
            self._begun[key] = Heard(self._asked(commit, walk(commit, known)), most=self._most(commit))

    def leave_begun(self, but: tuple[str, ...] = ()) -> None:
        """Stop all background walks except `but`."""
        for key in [key for key in self._begun if key != but]:
            self._begun.pop(key).drop()

    def _walked(self, commit: str, known: Sequence[str]) -> History:
        """Walk a history with git, or take the result of a walk started by `begin`."""
        asked = walk(commit, known)
        begun = self._begun.pop((commit, *known), None)
        told = self._judged(commit, begun.result(), asked) if begun else self._told(commit, asked)
        found = History(told)
        if found.commits > self.limits.commits and commit != self.ours:
            raise TooMuch("its history is longer than allowed")
        self._counted(commit, found.files)
        return found

    def _told(self, commit: str, asked: Sequence[str], streams: bool = False) -> bytes:
        child = self._asked(commit, asked, streams)
        return self._judged(commit, child.finish(most=self._most(commit)), asked)

    def _most(self, commit: str) -> float:
        return float("inf") if commit == self.ours else self.limits.listing

    def _asked(self, commit: str, asked: Sequence[str], streams: bool = False) -> Child:
        if commit == self.ours:
            return self.git.start(*asked)
        return remote_git.asked(self.git, self.limits, *asked, streams=streams)

    def _judged(self, commit: str, result: Result, asked: Sequence[str]) -> bytes:
        if commit != self.ours:
            return remote_git.within(result, self.limits, *asked).out
        if result.code:
            raise GitError(asked, result)
        return result.out

    def _once(self, asked: tuple[str, ...], answer: Callable[[], Answer]) -> Answer:
        """Cache the answer of a query by commit ids, which cannot change."""
        if asked not in self._known:
            self._known[asked] = answer()
        known: Answer = self._known[asked]
        return known

    def _counted(self, commit: str, found: Counted) -> Counted:
        if len(found) > self.limits.entries and commit != self.ours:
            raise TooMuch(f"{len(found)} files")
        return found

    def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """Return the size of each blob, without reading it."""
        wanted = "".join(f"{blob}\n" for blob in blobs).encode()
        if not wanted:
            return {}
        lines = self.git.run("cat-file", "--batch-check", "--buffer", stdin=wanted).out.decode("ascii").splitlines()
        return {oid: int(size) for oid, kind, size in (line.split() for line in lines if " blob " in line)}

    def once_ours(self, listed: Iterable[Listed]) -> set[Listed]:
        """Return the files that our main has or had at the same path."""
        return provenance.once_ours(self._store, listed)

    def once_theirs(self, listed: Iterable[Listed]) -> set[Listed]:
        """Return the files that came from a remote."""
        return provenance.once_theirs(self._store, listed)

    def blobs(self, ids: Sequence[str], most: float = float("inf")) -> list[bytes]:
        """Return the bytes of each blob; nothing at all if their sum exceeds `most`."""
        return list(self.git.blobs(ids, most, remote_git.held(self.limits) if most < float("inf") else ()))

    def keep(self, data: bytes) -> str:
        """Write a blob of our own; return its id."""
        return self.git.run("hash-object", "-w", "--stdin", stdin=data).out.decode("ascii").strip()

    def hand_over(self, commit: str, known: Sequence[str]) -> None:
        """Move exactly the objects of an accepted history into the store. The caller holds the lock.

        The fetched pack is moved whole if it contains only these and objects that the store already has. The sender can
        put anything into it, so otherwise they are packed again, which takes as long as fetching.
        """
        wanted = self.history(commit, known).objects
        for pack in self._packs_here():
            if self._store_has(self._held_in(pack) ^ wanted):
                _adopt(self._store, pack)
                return
        take(self._store, self._packed(commit, known))

    def require_sound(self, commit: str, known: Sequence[str]) -> None:
        """Check objects that the store had before.

        Fetched ones are checked; those of the user's own fetches are not.
        """
        checked = (oid for pack in self._packs_here() for oid in self._held_in(pack))
        unknown = self.history(commit, known).objects.difference(checked, [EMPTY])
        if unknown:
            remote_git.require_sound(self.git, self.limits, unknown, os.path.join(self._root, "unchecked"))

    def _held_in(self, pack: str) -> set[str]:
        return self._once(("ids", pack), lambda: _ids_in(f"{pack}.idx"))

    def _packs_here(self) -> list[str]:
        """List the paths of the fetched packs, without suffix."""
        folder = os.path.join(self._root, "objects", "pack")
        return [os.path.join(folder, name[:-4]) for name in files.names_in(folder) if name.endswith(".idx")]

    def _store_has(self, ids: Iterable[str]) -> bool:
        asked = "".join(f"{oid}\n" for oid in ids).encode()
        if not asked:
            return True
        told = self._store.git.run("cat-file", "--batch-check=%(objecttype)", "--buffer", stdin=asked).out
        return b" missing\n" not in told

    def _packed(self, commit: str, known: Sequence[str]) -> bytes:
        """Return a pack with exactly the objects of a history that `known` lacks."""
        wanted = "".join(f"{line}\n" for line in (commit, *(f"^{one}" for one in known)))
        # Reuse the deltas: searching for better ones takes as long as all the rest.
        return self.git.run("pack-objects", "--revs", "--thin", "--stdout", "-q", "--delta-base-offset", "--window=0",
                            stdin=wanted.encode()).out  # fmt: skip

    def commit(
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
        who = NOBODY.partition(" <")
        config = (f"user.name={who[0]}", f"user.email={who[2][:-1]}")
        out = self.git.run("commit-tree", *named, tree, stdin=message.encode(), config=config).out
        return out.decode("ascii").strip()


def take(store: Store, pack: bytes) -> None:
    """Put accepted objects into the store. No ref points to them yet: the pack is kept until `release_packs`.

    The caller holds the lock.
    """
    if pack[8:12] != b"\0\0\0\0":  # not an empty pack
        # Not strict again: each object was checked when it was fetched.
        words = ("index-pack", "--stdin", "--fix-thin", f"--keep={ref_updates.MARK}")
        store.git.run(*words, stdin=pack, config=("core.fsync=all",))


def _ids_in(index: str) -> set[str]:
    """Return the object ids in a pack, from its index, which our own git wrote."""
    data = files.read_regular(index, 1 << 32)
    if not data.startswith(_INDEX):
        return set()
    end = _IDS + _ID * int.from_bytes(data[_COUNT:_IDS], "big")
    return {data[at : at + _ID].hex() for at in range(_IDS, end, _ID)}


def _adopt(store: Store, pack: str) -> None:
    """Move a pack into the store. Sync first and move the index last, because git recognises a pack by its index."""
    place = os.path.join(store.git_dir, "objects", "pack")
    ref_updates.keep_pack(store, os.path.basename(pack))
    for end in (".pack", ".rev", ".idx"):
        if os.path.exists(pack + end):
            files.sync_file(pack + end)
            files.rename(pack + end, os.path.join(place, os.path.basename(pack) + end))
    files.sync_directory(place)
