"""Find out which files came from a remote, and which ones were made by hand or by this program.

main's reflog says which remote commits it was fast-forwarded to, and its merges say what they merged. A purge deletes
the reflog; what it said about files made by hand elsewhere is kept in a file of our own.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER
from reflect_git.store.repository import MAIN, RESTORE_PREFIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reflect_git.store.repository import Store

    # (mode, path, blob), as git lists a tree
    TreeFile = tuple[str, str, str]

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree
_DELETED_MODE, _FOLDER_MODE, _SUBMODULE_MODE = "000000", "040000", "160000"
_ORIGINS_FILE, _MAX_BYTES = "origins", 1 << 30
_LOG_ARGUMENTS = ("log", "--format=%H %T %cn <%ce>%n%P%n%s", "--raw", "-r", "-t", "-c", "-z", "--root", "--no-abbrev",
         "--no-renames")  # fmt: skip


class FileHistory:
    """The commits of a walk: files added by this program, files added by others, and all object ids.

    Of a merge only what none of its parents has: the rest is in their histories, or known.
    """

    def __init__(self, out: bytes) -> None:
        self.commits = 0
        self.by_program: dict[TreeFile, None] = {}
        self.by_others: dict[TreeFile, None] = {}
        self.objects: set[str] = set()
        self.parents: set[bytes] = set()
        fields = iter(out.split(b"\0"))
        for field in fields:
            if field[:1] == b"\n":
                field = field[1:]
            if field[:1] == b":":
                self._parse_change(field, next(fields))
            elif field:
                self._parse_commit(field)

    def _parse_commit(self, head: bytes) -> None:
        """Parse the header of a commit: `<commit> <tree> <committer>`, the parents, the subject."""
        self.commits += 1
        head, parents, subject = head.split(b"\n", 2)
        self.parents.update(parents.split())
        self.objects.update((head[:40].decode("ascii"), head[41:81].decode("ascii")))
        # A restored file has the content that was last there by hand.
        is_made = head[82:] == COMMITTER.encode() and not subject.startswith(RESTORE_PREFIX.encode())
        self._files = self.by_program if is_made else self.by_others

    def _parse_change(self, meta: bytes, path: bytes) -> None:
        mode, oid = _after(meta)
        if mode == _DELETED_MODE:
            return
        if mode != _SUBMODULE_MODE:
            self.objects.add(oid)
        if mode != _FOLDER_MODE or oid == EMPTY_TREE:  # a folder consists of its files; an empty one is only a name
            self._files[mode, os.fsdecode(path), oid] = None

    @property
    def files(self) -> list[TreeFile]:
        """List all files, by whomever."""
        return list({**self.by_program, **self.by_others})

    @property
    def by_hand(self) -> list[TreeFile]:
        """List the files that only commits of others added."""
        return [one for one in self.by_others if one not in self.by_program]


def _after(meta: bytes) -> tuple[str, str]:
    """Parse a change: a colon, mode and object for each parent, then the new mode and object, which are returned."""
    words = meta.decode("ascii").split()
    parents = words[0].count(":")
    return words[parents], words[2 * parents + 1]


def ancestry(out: bytes) -> Iterator[tuple[str, list[str], list[TreeFile]]]:
    """Parse `git log -z --raw --format="%H %P"`: yield each commit with its parents and the files it added."""
    fields = iter(out.split(b"\0"))
    heads: list[str] = []
    listed: list[TreeFile] = []
    for field in fields:
        field = field.lstrip(b"\n")
        if field[:1] == b":":
            mode, oid = _after(field)
            path = os.fsdecode(next(fields))
            if mode != _DELETED_MODE:
                listed.append((mode, path, oid))
        elif field:
            if heads:
                yield heads[0], heads[1:], listed
            heads, listed = field.decode("ascii").split(), []
    if heads:
        yield heads[0], heads[1:], listed


def get_log_arguments(commit: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the git arguments for a `FileHistory`: commits reachable from `commit` but not from `known`."""
    return (*_LOG_ARGUMENTS, "--end-of-options", commit, *(f"^{one}" for one in known))


def find_once_on_main(store: Store, listed: Iterable[TreeFile]) -> set[TreeFile]:
    """Return the files that main here has or had at the same path.

    Searching for their bytes in the store would prove nothing: they may belong to another file or to a fetch of the
    user.
    """
    wanted = list(listed)
    tips = [*(commit for commit, *_ in _read_reflog(store)), MAIN] if wanted else []
    return _find_in_history(store, tips, wanted)


def find_once_on_remote(store: Store, listed: Iterable[TreeFile]) -> set[TreeFile]:
    """Return the files that came from a remote, this or an earlier one.

    main was fast-forwarded to a commit that has or had them, or this program merged such a commit.
    """
    wanted = list(listed)
    if not wanted:
        return set()
    merges = ("log", "--merges", "--format=%P", "--fixed-strings", f"--committer={COMMITTER}", MAIN)
    lines = store.git.run(*merges).out.decode("ascii").splitlines()
    found = _find_in_history(
        store, [*_list_fast_forwards(store), *(parent for line in lines for parent in line.split()[1:])], wanted
    )
    return found | set(_load_origins(store)).intersection(wanted)


def save_origins(store: Store, is_gone: Callable[[str, str], bool]) -> None:
    """Save which files made by hand came from a remote, before main's reflog is deleted.

    Paths and blobs for which `is_gone` is true are left out. The caller holds the lock.
    """
    tips = "".join(f"{tip}\n" for tip in _list_fast_forwards(store))
    came = FileHistory(store.git.run(*_LOG_ARGUMENTS, "--stdin", stdin=tips.encode()).out).by_hand if tips else []
    known = _load_origins(store)
    if not came and not known:
        return
    stays = [one for one in dict.fromkeys([*known, *came]) if not is_gone(one[1], one[2])]
    lines = [f"{mode} blob {blob}\t{path}\0" for mode, path, blob in stays]
    files.write_atomic(store.private_path(_ORIGINS_FILE), os.fsencode("".join(lines)))


def _load_origins(store: Store) -> list[TreeFile]:
    try:
        return list(parse_entries(files.read_if_exists(store.private_path(_ORIGINS_FILE), _MAX_BYTES) or b""))
    except ValueError:  # changed by hand
        return []


def _list_fast_forwards(store: Store) -> list[str]:
    """List the remote commits that main was fast-forwarded to."""
    log = _read_reflog(store)
    return [
        commit for (commit, parents, who, said), before in zip(log, log[1:])
        if said.startswith("sync: ") and (who != COMMITTER or parents.split()[:1] != before[:1])
    ]  # fmt: skip


def _read_reflog(store: Store) -> list[list[str]]:
    """Return main's reflog, newest first: commit, parents, committer, reason."""
    asked = ("reflog", "show", "--format=%H%x00%P%x00%cn <%ce>%x00%gs", MAIN)
    out = store.git.run(*asked, check=False).out.decode("utf-8", "replace")
    return [line.split("\0") for line in out.split("\n")[:-1]]


def _find_in_history(store: Store, tips: Iterable[str], wanted: Sequence[TreeFile]) -> set[TreeFile]:
    """Return the files that the history of one of these commits has at the same path."""
    starts = "".join(f"{tip}\n" for tip in tips)
    if not starts:
        return set()
    paths = "".join(f"{path}\n" for _, path, _ in wanted)
    asked = ("log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--root", "--full-history",
             "-z", "--stdin")  # fmt: skip
    found = set(_parse_differences(store.git.run(*asked, stdin=os.fsencode(f"{starts}--\n{paths}")).out))
    return {one for one in wanted if one in found}


def parse_entries(out: bytes) -> Iterator[TreeFile]:
    """Parse the output of `git ls-tree -z`."""
    for entry in out.split(b"\0"):
        if entry:
            meta, _, path = entry.partition(b"\t")
            mode, _, blob = meta.split()
            yield mode.decode("ascii"), os.fsdecode(path), blob.decode("ascii")


def _parse_differences(out: bytes) -> Iterator[TreeFile]:
    fields = out.split(b"\0")
    for meta, path in zip(fields[0::2], fields[1::2]):
        _, mode, _, blob, _ = meta[1:].decode("ascii").split()
        yield mode, os.fsdecode(path), blob
