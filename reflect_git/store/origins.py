"""What commits brought along, who made it, and where it came from.

main's log tells which commits it went forward to, and its merges whom they took in. A purge takes the log along; what
it told of files that somebody else made by hand is kept in a file of our own.
"""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.adapters.git import NOBODY
from reflect_git.store.layout import RESTORED
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reflect_git.store.repository import Store

    # (mode, path, blob), as git lists a tree
    Listed = tuple[str, str, str]

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the tree without files
_GONE, _FOLDER, _SUBMODULE = "000000", "040000", "160000"
_KEPT, _LARGEST = "origins", 1 << 30
_WALK = ("log", "--format=%H %T %cn <%ce>%n%P%n%s", "--raw", "-r", "-t", "-c", "-z", "--root", "--no-abbrev",
         "--no-renames")  # fmt: skip


class History:
    """Commits: what the product brought along with them and what others did, and every object they are made of.

    Of a merge only what none of its parents has: all else is in their histories, or known.
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
        """`<commit> <tree> <committer>`, in a second line the parents, in a third the subject."""
        self.commits += 1
        head, parents, subject = head.split(b"\n", 2)
        self.parents.update(parents.split())
        self.objects.update((head[:40].decode("ascii"), head[41:81].decode("ascii")))
        # What is put back is what a hand left there last.
        is_made = head[82:] == NOBODY.encode() and not subject.startswith(RESTORED.encode())
        self._files = self.made if is_made else self.others

    def _changed(self, meta: bytes, path: bytes) -> None:
        """A colon, a mode and an object for each parent, then the mode and the object that it is now."""
        words = meta.decode("ascii").split()
        parents = words[0].count(":")
        mode, oid = words[parents], words[2 * parents + 1]
        if mode == _GONE:
            return
        if mode != _SUBMODULE:
            self.objects.add(oid)
        if mode != _FOLDER or oid == EMPTY:  # a folder is the files in it, and one without any is only a name
            self._files[mode, os.fsdecode(path), oid] = None

    @property
    def files(self) -> list[Listed]:
        return list({**self.made, **self.others})

    @property
    def by_hand(self) -> list[Listed]:
        """Every file that only commits of others than the product brought along."""
        return [one for one in self.others if one not in self.made]


def walk(commit: str, known: Iterable[str]) -> tuple[str, ...]:
    """What git is asked for a `History`: that of a commit beside that of commits we know."""
    return (*_WALK, "--end-of-options", commit, *(f"^{one}" for one in known))


def once_ours(store: Store, listed: Iterable[Listed]) -> set[Listed]:
    """Those that main here has or had, at the same place. That their bytes are among the store's objects would
    tell nothing: they may have come as another file, or with a fetch of the user's own."""
    wanted = list(listed)
    tips = [*(commit for commit, *_ in _reflog(store)), MAIN] if wanted else []
    return _once_in(store, tips, wanted)


def once_theirs(store: Store, listed: Iterable[Listed]) -> set[Listed]:
    """Those that came from a remote, this one or an earlier one: main went forward to a commit that has or had
    them, or a merge of the product took it in."""
    wanted = list(listed)
    if not wanted:
        return set()
    merges = ("log", "--merges", "--format=%P", "--fixed-strings", f"--committer={NOBODY}", MAIN)
    lines = store.git.run(*merges).out.decode("ascii").splitlines()
    found = _once_in(store, [*_forward(store), *(parent for line in lines for parent in line.split()[1:])], wanted)
    return found | set(_kept(store)).intersection(wanted)


def keep(store: Store, is_gone: Callable[[str, str], bool]) -> None:
    """The log of main is about to go: what came from a remote, of what the product did not make, is written down; of a
    path and a blob that are `is_gone`, nothing. The caller holds the lock."""
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
    except ValueError:  # whoever changed it
        return []


def _forward(store: Store) -> list[str]:
    """Commits of a remote that main went forward to."""
    log = _reflog(store)
    return [
        commit for (commit, parents, who, said), before in zip(log, log[1:])
        if said.startswith("sync: ") and (who != NOBODY or parents.split()[:1] != before[:1])
    ]  # fmt: skip


def _reflog(store: Store) -> list[list[str]]:
    """What main was, the latest first: commit, parents, committer, and why it moved there."""
    asked = ("reflog", "show", "--format=%H%x00%P%x00%cn <%ce>%x00%gs", MAIN)
    out = store.git.run(*asked, check=False).out.decode("utf-8", "replace")
    return [line.split("\0") for line in out.split("\n")[:-1]]


def _once_in(store: Store, tips: Iterable[str], wanted: Sequence[Listed]) -> set[Listed]:
    """Those that the history of one of these commits has, at the same place."""
    starts = "".join(f"{tip}\n" for tip in tips)
    if not starts:
        return set()
    paths = "".join(f"{path}\n" for _, path, _ in wanted)
    asked = ("log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--root", "--full-history",
             "-z", "--stdin")  # fmt: skip
    found = set(_differences(store.git.run(*asked, stdin=os.fsencode(f"{starts}--\n{paths}")).out))
    return {one for one in wanted if one in found}


def entries(out: bytes) -> Iterator[Listed]:
    """What `git ls-tree -z` says."""
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
