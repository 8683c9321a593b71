"""What a remote offers, in a throw-away repository: looked at there, and only what was accepted comes into the store.

It borrows the store's objects, so that only what is new is fetched; nothing in the store knows of it, and the next sync
begins with a fresh one. Nothing is ever checked out of it.
"""

from __future__ import annotations

import os
import time

from reflect_git.adapters import files, transport
from reflect_git.adapters.git import NOBODY, Git, GitError
from reflect_git.adapters.transport import TooMuch
from reflect_git.store import keeping, origins
from reflect_git.store.origins import EMPTY, History, entries, walk
from reflect_git.store.remotes import TRACKED
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized
    from types import TracebackType
    from typing import Any, Callable, Optional, TypeVar

    from reflect_git.adapters.child import Child, Result
    from reflect_git.adapters.hearing import Heard
    from reflect_git.adapters.transport import Limits, Remote, Under
    from reflect_git.store.origins import Listed
    from reflect_git.store.repository import Store

    Answer = TypeVar("Answer")
    Counted = TypeVar("Counted", bound=Sized)

FOLDER = "incoming"
_OURS, _HEX = "refs/ours", 40
_OFFERED = "refs/heads/offered/"  # below heads/, so that git itself takes nothing but commits for them
_CONFIG = "[core]\n\trepositoryformatversion = 0"
_INDEX = b"\xfftOc\0\0\0\2"  # how the index of a pack begins
_COUNT, _IDS, _ID = 8 + 255 * 4, 8 + 256 * 4, 20


def _nothing() -> None:
    pass


class Incoming:
    """One conversation with a remote, for a `with` block."""

    def __init__(self, store: Store, remote: Remote, limits: Limits, user: Optional[Mapping[str, str]] = None) -> None:
        self._root = store.private_path(FOLDER)
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
        discard(store)
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
        """Who was begun and is not needed stops."""
        self.leave_begun()
        for under in (self._fetching and self._fetching[1], self._pushing and self._pushing[0]):
            if under is not None:
                under.drop()

    def main_here(self, refs: Optional[Mapping[str, str]] = None) -> str:
        """main of the store, as `refs` has it, for who knows them. What is asked about it is held to no limits, and
        what fails there is no remote's doing.

        `tracked` is what the store knows of main there.
        """
        refs = self._store.git.refs(MAIN, TRACKED) if refs is None else refs
        self.ours, self.tracked = str(refs.get(MAIN)), refs.get(TRACKED)
        return self.ours

    def heads(self) -> dict[str, str]:
        return transport.heads(self.git, self.remote, self.limits)

    def fetch(self, names: Iterable[str]) -> dict[str, str]:
        """Branches there, into refs of ours: what they are called is never given to a command again. Name → commit."""
        wanted = self._places(names)
        if wanted:
            transport.fetch(self.git, self.remote, wanted, self.limits).end()
        return {name: self._tip(ref) for name, ref in wanted.items()}

    def _places(self, names: Iterable[str]) -> dict[str, str]:
        wanted = {}
        for name in names:
            self._fetched += 1
            wanted[name] = f"{_OFFERED}{self._fetched}"
        return wanted

    def begin_main(self) -> None:
        """`fetch_main` will be asked for: the remote is at it while the caller gets ready for the answer."""
        wanted = self._places([MAIN])
        self._fetching = wanted[MAIN], transport.fetch(self.git, self.remote, wanted, self.limits, self._knows_ours())

    def _knows_ours(self) -> bool:
        """Whether a ref here tells what the store has: otherwise git asks for it in the store, twice."""
        if len(self.ours) == _HEX:
            files.write_whole(os.path.join(self._root, _OURS), f"{self.ours}\n".encode("ascii"), sync=False)
        return len(self.ours) == _HEX

    @property
    def is_asked(self) -> bool:
        return self._fetching is not None

    def fetch_main(self, meanwhile: Callable[[], object] = _nothing) -> Optional[str]:
        """What main is there; None if there is none. One conversation, where `heads` and `fetch` are two.

        Whatever comes is compared with the tree of main here, which is read meanwhile.
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
        except transport.NoBranch:
            return None
        finally:
            under.drop()
            self._fetching = None
        return self._tip(place)

    def _tip(self, ref: str) -> str:
        """In a repository that was made a moment ago a ref is a file."""
        data = files.read_if_there(os.path.join(self._root, ref))
        return data.decode("ascii", "replace").strip() if data else str(self.git.resolve(ref))

    def push(self, refs: Mapping[str, str]) -> str:
        return transport.sent(transport.push(self.git, self.remote, refs, self.limits))

    def begin_push(self, refs: Mapping[str, str], lease: str = "") -> None:
        """`pushed` will be asked for; what is sent is never waited for with the store's lock."""
        self._pushing = transport.push(self.git, self.remote, refs, self.limits, lease), lease

    def pushed(self) -> str:
        assert self._pushing is not None
        under, lease = self._pushing
        self._pushing = None
        return transport.sent(under, lease)

    def contains(self, commit: str, other: str) -> bool:
        """Whether `commit` is `other` or comes after it; not if `other` is unknown here."""
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
        """Every file of a commit."""
        asked = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
        return self._once(asked, lambda: self._counted(commit, list(entries(self._told(commit, asked, streams=True)))))

    def history(self, commit: str, known: Sequence[str]) -> History:
        """A history beside that of commits we know."""
        if commit in known or (len(known) == 1 and self._is_before(commit, known[0])):
            return History(b"")
        asked = (commit, *known)
        if asked not in self._histories:
            self._histories[asked] = self._walked(commit, known)
        return self._histories[asked]

    def _is_before(self, commit: str, known: str) -> bool:
        """Whether it was met on the way back from what is known, so that it has nothing beside that."""
        walked = self._histories.get((known, commit))
        return walked is not None and commit.encode() in walked.parents

    def begin(self, commit: str, known: Sequence[str]) -> None:
        """`history` will be asked for this: git walks through it while the caller has other things to look at."""
        from reflect_git.adapters.hearing import Heard

        key = (commit, *known)
        is_known = commit in known or key in self._histories or (len(known) == 1 and self._is_before(commit, known[0]))
        if not is_known and key not in self._begun:
            self._begun[key] = Heard(self._asked(commit, walk(commit, known)), most=self._most(commit))

    def leave_begun(self, but: tuple[str, ...] = ()) -> None:
        """What was begun is not what is needed, `but` for this."""
        for key in [key for key in self._begun if key != but]:
            self._begun.pop(key).drop()

    def _walked(self, commit: str, known: Sequence[str]) -> History:
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
        return transport.asked(self.git, self.limits, *asked, streams=streams)

    def _judged(self, commit: str, result: Result, asked: Sequence[str]) -> bytes:
        if commit != self.ours:
            return transport.within(result, self.limits, *asked).out
        if result.code:
            raise GitError(asked, result)
        return result.out

    def _once(self, asked: tuple[str, ...], answer: Callable[[], Answer]) -> Answer:
        """What is asked about commits by their ids has one answer: git is started once for it."""
        if asked not in self._known:
            self._known[asked] = answer()
        known: Answer = self._known[asked]
        return known

    def _counted(self, commit: str, found: Counted) -> Counted:
        if len(found) > self.limits.entries and commit != self.ours:
            raise TooMuch(f"{len(found)} files")
        return found

    def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """Of each object that is a file; without reading it."""
        wanted = "".join(f"{blob}\n" for blob in blobs).encode()
        if not wanted:
            return {}
        lines = self.git.run("cat-file", "--batch-check", "--buffer", stdin=wanted).out.decode("ascii").splitlines()
        return {oid: int(size) for oid, kind, size in (line.split() for line in lines if " blob " in line)}

    def once_ours(self, listed: Iterable[Listed]) -> set[Listed]:
        return origins.once_ours(self._store, listed)

    def once_theirs(self, listed: Iterable[Listed]) -> set[Listed]:
        return origins.once_theirs(self._store, listed)

    def blobs(self, ids: Sequence[str], most: float = float("inf")) -> list[bytes]:
        """The bytes of each; nothing at all if they are more than `most` together."""
        return list(self.git.blobs(ids, most, transport.held(self.limits) if most < float("inf") else ()))

    def keep(self, data: bytes) -> str:
        """Bytes of our own, beside what is offered; the id of the blob."""
        return self.git.run("hash-object", "-w", "--stdin", stdin=data).out.decode("ascii").strip()

    def hand_over(self, commit: str, known: Sequence[str]) -> None:
        """All objects of a history that was accepted become the store's, and no other. The caller holds its lock.

        The pack they came in is taken whole if it holds just these and what the store has anyhow: whoever sends it can
        put anything into it. Writing them anew takes as long as fetching them.
        """
        wanted = self.history(commit, known).objects
        for pack in self._packs_here():
            if self._store_has(self._held_in(pack) ^ wanted):
                _adopt(self._store, pack)
                return
        take(self._store, self._packed(commit, known))

    def require_sound(self, commit: str, known: Sequence[str]) -> None:
        """What was fetched was checked; what the store had before, through a fetch of the user's own, was not."""
        checked = (oid for pack in self._packs_here() for oid in self._held_in(pack))
        unknown = self.history(commit, known).objects.difference(checked, [EMPTY])
        if unknown:
            transport.require_sound(self.git, self.limits, unknown, os.path.join(self._root, "unchecked"))

    def _held_in(self, pack: str) -> set[str]:
        return self._once(("ids", pack), lambda: _ids_in(f"{pack}.idx"))

    def _packs_here(self) -> list[str]:
        """Without the ends of their names."""
        folder = os.path.join(self._root, "objects", "pack")
        return [os.path.join(folder, name[:-4]) for name in files.names_in(folder) if name.endswith(".idx")]

    def _store_has(self, ids: Iterable[str]) -> bool:
        asked = "".join(f"{oid}\n" for oid in ids).encode()
        if not asked:
            return True
        told = self._store.git.run("cat-file", "--batch-check=%(objecttype)", "--buffer", stdin=asked).out
        return b" missing\n" not in told

    def _packed(self, commit: str, known: Sequence[str]) -> bytes:
        """The objects of a history beside those of commits we know, and no other."""
        wanted = "".join(f"{line}\n" for line in (commit, *(f"^{one}" for one in known)))
        # As they came: looking for better deltas takes as long as all the rest.
        return self.git.run("pack-objects", "--revs", "--thin", "--stdout", "-q", "--delta-base-offset", "--window=0",
                            stdin=wanted.encode()).out  # fmt: skip

    def commit(
        self, base: Optional[str], new: Mapping[str, tuple[str, str]], parents: Sequence[str], message: str
    ) -> str:
        """A commit for the remote alone: the tree of `base` with other files in it (path → mode and blob)."""
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


def is_there(store: Store) -> bool:
    return os.path.isdir(store.private_path(FOLDER))


def discard(store: Store) -> None:
    """Remove it; what was killed a moment ago may still have put a file into it."""
    for is_last in (False, False, True):
        try:
            files.remove_tree(store.private_path(FOLDER))
            return
        except OSError:
            if is_last:
                raise
            time.sleep(0.05)


def take(store: Store, pack: bytes) -> None:
    """Put accepted objects into the store; no ref points to them yet, so the pack is kept until `release_packs`.

    The caller holds the lock.
    """
    if pack[8:12] != b"\0\0\0\0":  # an empty pack
        # Not strictly a second time: each object was checked when it was fetched.
        words = ("index-pack", "--stdin", "--fix-thin", f"--keep={keeping.MARK}")
        store.git.run(*words, stdin=pack, config=("core.fsync=all",))


def _ids_in(index: str) -> set[str]:
    """What a pack holds, as its index tells it, which our own git made."""
    data = files.read_regular(index, 1 << 32)
    if not data.startswith(_INDEX):
        return set()
    end = _IDS + _ID * int.from_bytes(data[_COUNT:_IDS], "big")
    return {data[at : at + _ID].hex() for at in range(_IDS, end, _ID)}


def _adopt(store: Store, pack: str) -> None:
    """On disk first, and its index last: git knows a pack by that."""
    place = os.path.join(store.git_dir, "objects", "pack")
    keeping.keep_pack(store, os.path.basename(pack))
    for end in (".pack", ".rev", ".idx"):
        if os.path.exists(pack + end):
            files.sync_file(pack + end)
            files.rename(pack + end, os.path.join(place, os.path.basename(pack) + end))
    files.sync_directory(place)
