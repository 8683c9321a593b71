"""Find out which files came from a remote, and which ones were made by hand or by this program.

main's reflog says which remote commits it was fast-forwarded to, and its merges say what they merged. A purge deletes
the reflog; what it said about files made by hand elsewhere is kept in a file of our own.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.platform.git import NOBODY
from reflect_git.store.repository import MAIN, RESTORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reflect_git.store.repository import Store

    # (mode, path, blob), as git lists a tree
    Listed = tuple[str, str, str]

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree
_GONE, _FOLDER, _SUBMODULE = "000000", "040000", "160000"
_KEPT, _LARGEST = "origins", 1 << 30
_WALK = ("log", "--format=%H %T %cn <%ce>%n%P%n%s", "--raw", "-r", "-t", "-c", "-z", "--root", "--no-abbrev",
         "--no-renames")  # fmt: skip


class History:
    """The commits of a walk: files added by this program, files added by others, and all object ids.

    Of a merge only what none of its parents has: the rest is in their histories, or known.
    """

    def __init__(self, out: bytes) -> None:
        self.commits = 0
        self.made: dict[Listed, None] = {}
        self.others: dict[Listed, None] = {}
        self.objects: set[str] = set()
        self.parents: set[bytes] = set()
        fields = iter(out.split(b"\0"))
        for field in fields:
            if field[:1] == b"\n":
                field = field[1:]
            if field[:1] == b":":
                self._changed(field, next(fields))
            elif field:
                self._begin(field)

    def _begin(self, head: bytes) -> None:
        """Parse the header of a commit: `<commit> <tree> <committer>`, the parents, the subject."""
        self.commits += 1
        head, parents, subject = head.split(b"\n", 2)
        self.parents.update(parents.split())
        self.objects.update((head[:40].decode("ascii"), head[41:81].decode("ascii")))
        # A restored file has the content that was last there by hand.
        is_made = head[82:] == NOBODY.encode() and not subject.startswith(RESTORED.encode())
        self._files = self.made if is_made else self.others

    def _changed(self, meta: bytes, path: bytes) -> None:
        """Parse a change: a colon, mode and object for each parent, then the new mode and object."""
        words = meta.decode("ascii").split()
        parents = words[0].count(":")
        mode, oid = words[parents], words[2 * parents + 1]
        if mode == _GONE:
            return
        if mode != _SUBMODULE:
            self.objects.add(oid)
        if mode != _FOLDER or oid == EMPTY:  # a folder consists of its files; an empty one is only a name
            self._files[mode, os.fsdecode(path), oid] = None

    @property
    def files(self) -> list[Listed]:
        """List all files, by whomever."""
        return list({**self.made, **self.others})

    @property
    def by_hand(self) -> list[Listed]:
        """List the files that only commits of others added."""
        return [one for one in self.others if one not in self.made]


def walk(commit: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the git arguments for a `History`: commits reachable from `commit` but not from `known`."""
    return (*_WALK, "--end-of-options", commit, *(f"^{one}" for one in known))


def once_ours(store: Store, listed: Iterable[Listed]) -> set[Listed]:
    """Return the files that main here has or had at the same path.

    Searching for their bytes in the store would prove nothing: they may belong to another file or to a fetch of the
    user.
    """
    wanted = list(listed)
    tips = [*(commit for commit, *_ in _reflog(store)), MAIN] if wanted else []
    return _once_in(store, tips, wanted)


def once_theirs(store: Store, listed: Iterable[Listed]) -> set[Listed]:
    """Return the files that came from a remote, this or an earlier one.

    main was fast-forwarded to a commit that has or had them, or this program merged such a commit.
    """
    wanted = list(listed)
    if not wanted:
        return set()
    merges = ("log", "--merges", "--format=%P", "--fixed-strings", f"--committer={NOBODY}", MAIN)
    lines = store.git.run(*merges).out.decode("ascii").splitlines()
    found = _once_in(store, [*_forward(store), *(parent for line in lines for parent in line.split()[1:])], wanted)
    return found | set(_kept(store)).intersection(wanted)


def keep(store: Store, is_gone: Callable[[str, str], bool]) -> None:
    """Save which files made by hand came from a remote, before main's reflog is deleted.

    Paths and blobs for which `is_gone` is true are left out. The caller holds the lock.
    """
    tips = "".join(f"{tip}\n" for tip in _forward(store))
    came = History(store.git.run(*_WALK, "--stdin", stdin=tips.encode()).out).by_hand if tips else []
    known = _kept(store)
    if not came and not known:
        return
    stays = [one for one in dict.fromkeys([*known, *came]) if not is_gone(one[1], one[2])]
    lines = [f"{mode} blob {blob}\t{path}\0" for mode, path, blob in stays]
    files.write_whole(store.private_path(_KEPT), os.fsencode("".join(lines)))


def _kept(store: Store) -> list[Listed]:
    try:
        return list(entries(files.read_if_there(store.private_path(_KEPT), _LARGEST) or b""))
    except ValueError:  # changed by hand
        return []


def _forward(store: Store) -> list[str]:
    """List the remote commits that main was fast-forwarded to."""
    log = _reflog(store)
    return [
        commit for (commit, parents, who, said), before in zip(log, log[1:])
        if said.startswith("sync: ") and (who != NOBODY or parents.split()[:1] != before[:1])
    ]  # fmt: skip


def _reflog(store: Store) -> list[list[str]]:
    """Return main's reflog, newest first: commit, parents, committer, reason."""
    asked = ("reflog", "show", "--format=%H%x00%P%x00%cn <%ce>%x00%gs", MAIN)
    out = store.git.run(*asked, check=False).out.decode("utf-8", "replace")
    return [line.split("\0") for line in out.split("\n")[:-1]]


def _once_in(store: Store, tips: Iterable[str], wanted: Sequence[Listed]) -> set[Listed]:
    """Return the files that the history of one of these commits has at the same path."""
    starts = "".join(f"{tip}\n" for tip in tips)
    if not starts:
        return set()
    paths = "".join(f"{path}\n" for _, path, _ in wanted)
    asked = ("log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--root", "--full-history",
             "-z", "--stdin")  # fmt: skip
    found = set(_differences(store.git.run(*asked, stdin=os.fsencode(f"{starts}--\n{paths}")).out))
    return {one for one in wanted if one in found}


def entries(out: bytes) -> Iterator[Listed]:
    """Parse the output of `git ls-tree -z`."""
    for entry in out.split(b"\0"):
        if entry:
            meta, _, path = entry.partition(b"\t")
            mode, _, blob = meta.split()
            yield mode.decode("ascii"), os.fsdecode(path), blob.decode("ascii")


def _differences(out: bytes) -> Iterator[Listed]:
    fields = out.split(b"\0")
    for meta, path in zip(fields[0::2], fields[1::2]):
        _, mode, _, blob, _ = meta[1:].decode("ascii").split()
        yield mode, os.fsdecode(path), blob
