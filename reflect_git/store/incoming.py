"""What a remote offers, in a throw-away repository: looked at there, and only what was accepted comes into the store.

It borrows the store's objects, so that only what is new is fetched; nothing in the store knows of it, and the next sync
begins with a fresh one. Nothing is ever checked out of it.
"""

from __future__ import annotations

import os

from reflect_git.adapters import files, transport
from reflect_git.adapters.git import NOBODY, Git, GitError
from reflect_git.adapters.transport import TooMuch
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, Callable, Optional, TypeVar

    from reflect_git.adapters.transport import Limits, Remote
    from reflect_git.store.repository import Store

    Answer = TypeVar("Answer")
    # (mode, path, blob), as git lists a tree
    Listed = tuple[str, str, str]

FOLDER = "incoming"
_OFFERED = "refs/offered/"
_CONFIG = "[core]\n\trepositoryformatversion = 0"


class Incoming:
    """One conversation with a remote."""

    def __init__(self, store: Store, remote: Remote, limits: Limits, user: Optional[Mapping[str, str]] = None) -> None:
        self._root = store.private_path(FOLDER)
        self.remote = remote
        self.limits = limits
        self._fetched = 0
        self._known: dict[tuple[str, ...], Any] = {}
        discard(store)
        for folder in ("objects/info", "objects/pack", "refs"):
            files.make_private_dirs(os.path.join(self._root, folder))
        borrowed = os.path.join(store.git_dir, "objects")
        for name, text in (("objects/info/alternates", borrowed), ("HEAD", "ref: refs/none"), ("config", _CONFIG)):
            files.write_whole(os.path.join(self._root, name), os.fsencode(f"{text}\n"), sync=False)
        self._store = store
        self.git = Git(store.git.program, self._root, self._root, store.env if user is None else user)

    def heads(self) -> dict[str, str]:
        return transport.heads(self.git, self.remote, self.limits)

    def fetch(self, names: Iterable[str]) -> dict[str, str]:
        """Branches there, into refs of ours: what they are called is never given to a command again. Name → commit."""
        wanted = {}
        for name in names:
            self._fetched += 1
            wanted[name] = f"{_OFFERED}{self._fetched}"
        if wanted:
            transport.fetch(self.git, self.remote, wanted, self.limits)
        return {name: str(self.git.resolve(ref)) for name, ref in wanted.items()}

    def push(self, refs: Mapping[str, str], lease: str = "") -> str:
        return transport.push(self.git, self.remote, refs, self.limits, lease)

    def contains(self, commit: str, other: str) -> bool:
        """Whether `commit` is `other` or comes after it; not if `other` is unknown here."""
        asked = ("merge-base", "--is-ancestor", other, commit)
        return commit == other or self._once(asked, lambda: self.git.run(*asked, check=False).code == 0)

    def tree(self, commit: str) -> list[Listed]:
        """Every file of a commit."""
        asked = ("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
        return self._once(asked, lambda: self._listed(_entries(self._told(*asked))))

    def history(self, commit: str, known: Sequence[str]) -> dict[str, bool]:
        """The commits of a history beside that of commits we know; each with whether the product made it."""
        if commit in known:
            return {}
        without = [f"^{one}" for one in known]
        asked = ("rev-list", "--format=%H %cn <%ce>", "--no-commit-header", "--end-of-options", commit, *without)
        out = self._once(asked, lambda: self._told(*asked).decode("utf-8", "replace"))
        # Not `splitlines`: a name may hold what Python takes for the end of a line.
        found = {line[:40]: line[41:] == NOBODY for line in out.split("\n")[:-1]}
        if len(found) > self.limits.commits:
            raise TooMuch("its history is longer than allowed")
        return found

    def introduced(self, commits: Iterable[str]) -> list[Listed]:
        """Every file that these commits brought along."""
        asked = ("diff-tree", "--stdin", "-r", "-m", "-z", "--root", "--no-renames", "--no-commit-id")
        listed = "".join(f"{commit}\n" for commit in commits)
        if not listed:
            return []
        return self._once(
            (*asked, listed), lambda: self._listed(_differences(self._told(*asked, stdin=listed.encode())))
        )

    def _told(self, *asked: str, stdin: bytes = b"") -> bytes:
        result = transport.finished(self.git.start(*asked), self.limits, stdin)
        if result.code:
            raise GitError(asked, result)
        return result.out

    def _once(self, asked: tuple[str, ...], answer: Callable[[], Answer]) -> Answer:
        """What is asked about commits by their ids has one answer: git is started once for it."""
        if asked not in self._known:
            self._known[asked] = answer()
        known: Answer = self._known[asked]
        return known

    def _listed(self, found: Iterator[Listed]) -> list[Listed]:
        unique = dict.fromkeys(found)
        if len(unique) > self.limits.entries:
            raise TooMuch(f"{len(unique)} files")
        return list(unique)

    def sizes(self, blobs: Iterable[str]) -> dict[str, int]:
        """Of each object that is a file; without reading it."""
        wanted = "".join(f"{blob}\n" for blob in blobs).encode()
        if not wanted:
            return {}
        lines = self.git.run("cat-file", "--batch-check", "--buffer", stdin=wanted).out.decode("ascii").splitlines()
        return {oid: int(size) for oid, kind, size in (line.split() for line in lines if " blob " in line)}

    def once_ours(self, listed: Iterable[Listed]) -> set[Listed]:
        """Those that main here has or had, at the same place. That their bytes are among the store's objects would
        tell nothing: they may have come as another file, or with a fetch of the user's own."""
        wanted = list(listed)
        if not wanted:
            return set()
        git = self._store.git
        tips = git.run("reflog", "show", "--format=%H", MAIN, check=False).out + MAIN.encode()
        asked = ("log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--root", "--full-history",
                 "-z", "--stdin")  # fmt: skip
        paths = "".join(f"{path}\n" for _, path, _ in wanted)
        found = set(_differences(git.run(*asked, stdin=tips + b"\n--\n" + os.fsencode(paths)).out))
        return {one for one in wanted if one in found}

    def blobs(self, ids: Sequence[str]) -> list[bytes]:
        return list(self.git.blobs(ids))

    def packed(self, commit: str, known: Sequence[str]) -> bytes:
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


def discard(store: Store) -> None:
    files.remove_tree(store.private_path(FOLDER))


def take(store: Store, pack: bytes) -> None:
    """Put accepted objects into the store; no ref points to them yet. The caller holds the lock."""
    if pack[8:12] != b"\0\0\0\0":  # an empty pack
        # Not strictly a second time: each object was checked when it was fetched.
        store.git.run("index-pack", "--stdin", "--fix-thin", stdin=pack, config=("core.fsync=all",))


def _entries(out: bytes) -> Iterator[Listed]:
    for entry in out.split(b"\0"):
        if entry:
            meta, _, path = entry.partition(b"\t")
            mode, _, blob = meta.split()
            yield mode.decode("ascii"), os.fsdecode(path), blob.decode("ascii")


def _differences(out: bytes) -> Iterator[Listed]:
    fields = out.split(b"\0")
    for meta, path in zip(fields[0::2], fields[1::2]):
        _, mode, _, blob, kind = meta[1:].split()
        if kind != b"D":
            yield mode.decode("ascii"), os.fsdecode(path), blob.decode("ascii")
