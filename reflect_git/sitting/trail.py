"""The audit trail as it is read, commit by commit, with what the records add to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import files, records
from reflect_git.adapters.objects import Objects, names_in
from reflect_git.errors import ReflectError
from reflect_git.history.trail import Entry, Wanted, entry_of, type_of
from reflect_git.model.ids import digest
from reflect_git.store.layout import is_id, path_of
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.adapters.child import Child
    from reflect_git.sitting.asking import Asked
    from reflect_git.store.repository import Store

MIRRORS = "targets"
_FIRST_BLOCK, _BLOCK = 25, 1000


def entries(store: Store, asked: Asked, wanted: Wanted, limit: int | None = None) -> Iterator[Entry]:
    """Newest first, as soon as they are known: nobody waits for 100,000 commits to see the first page."""
    with asked.objects as objects:
        tell = _Teller(store, objects)
        left = limit
        for block in _blocks(_listed(asked, wanted), min(limit or _FIRST_BLOCK, _FIRST_BLOCK)):
            for entry in filter(wanted.is_met_by, tell(block)):
                yield entry
                if left is not None:
                    left -= 1
                    if not left:
                        return


def _listed(asked: Asked, wanted: Wanted) -> Iterator[Entry]:
    """From what git says, the first part and then the rest."""
    tip, count = "", 0
    for text in _lines(asked.log):
        tip, count = tip or text.partition("\0")[0], count + 1
        if wanted.may_be(type_of(text)):
            yield entry_of(text)
    rest = asked.rest(tip, count)
    for text in _lines(rest) if rest else ():
        if wanted.may_be(type_of(text)):
            yield entry_of(text)


def _lines(child: Child) -> Iterator[str]:
    """What `git log` says, line by line; it is stopped when nobody wants more."""
    is_over = False
    try:
        while line := child.line():
            yield line.decode("utf-8", "replace")
        is_over = True
    finally:
        if not is_over:
            child.drop()
    result = child.finish()
    if result.code:
        from reflect_git.adapters.git import GitError

        raise GitError(("log",), result)


def _blocks(listed: Iterator[Entry], size: int) -> Iterator[list[Entry]]:
    """A page first, then by the thousand."""
    block: list[Entry] = []
    for entry in listed:
        block.append(entry)
        if len(block) == size:
            yield block
            block, size = [], _BLOCK
    yield block


class _Teller:
    """Adds to entries what stands in records: who decided, which version the target became, whose project it is."""

    def __init__(self, store: Store, objects: Objects) -> None:
        self._store = store
        self._objects = objects
        self._folders: dict[str, list[str]] = {}

    def __call__(self, block: Sequence[Entry]) -> Sequence[Entry]:
        """Two questions for all of them: each takes git a while, in which what it said before is read."""
        new = sorted({entry.named("Machine") or "" for entry in block if entry.named("Target")} - set(self._folders))
        names = [[f"{MAIN}:{path_of(one)}" for one in entry.decisions if is_id(one)] for entry in block]
        folders = [f"{MAIN}:{MIRRORS}/{machine}" for machine in new]
        found = self._objects.get([*folders, *(name for each in names for name in each)])
        self._learn_folders(new, found[: len(new)])
        mirrors = [self._mirror(entry) for entry in block]
        versions = self._objects.ask([name for name in mirrors if name])
        parsed = map(_checked, records.parse_many([one or b"" for one in found[len(new) :]]))
        for entry, each in zip(block, names, strict=True):
            entry.made = tuple(made for made in (next(parsed) for _ in each) if made)
            entry.quote = self._quote(entry)
        for entry, mirror in zip(block, mirrors, strict=True):
            entry.version = _version(next(versions)) if mirror else 0
        return block

    def _learn_folders(self, machines: Sequence[str], trees: Sequence[bytes | None]) -> None:
        """The names of the folders that a machine's mirrors lie in: main is asked, what is checked out may be old."""
        self._folders.update(
            (machine, names_in(tree) if tree else []) for machine, tree in zip(machines, trees, strict=True)
        )

    def _mirror(self, entry: Entry) -> str:
        """Where the commit has the mirror of its target; the folder of its project tells that project's name."""
        project, machine, target = entry.named("Project"), entry.named("Machine") or "", entry.named("Target")
        folder = "global"
        if project:
            suffix = f"-{digest('project', project)[:8]}"
            folder = next((name for name in self._folders.get(machine, ()) if name.endswith(suffix)), "")
            named = folder or next((name for name in self._everywhere if name.endswith(suffix)), "")
            entry.place = named[: -len(suffix)]
        return f"{entry.commit}:{MIRRORS}/{machine}/{folder}/{target}" if machine and target and folder else ""

    @cached_property
    def _everywhere(self) -> list[str]:
        """The folders of all machines: one that only said no wrote no file, and has none of its own."""
        (top,) = self._objects.get([f"{MAIN}:{MIRRORS}"])
        trees = self._objects.get([f"{MAIN}:{MIRRORS}/{machine}" for machine in (names_in(top) if top else [])])
        return [name for tree in trees if tree for name in names_in(tree)]

    def _quote(self, entry: Entry) -> str:
        """What was said, of a decision whose message has only the id of a signal; from the copy for people."""
        if not is_id(entry.what) or not entry.what.startswith("SIG-"):
            return ""
        try:
            path = self._store.path(path_of(entry.what))
            return str(records.parse(files.read_regular(path, records.MAX_BYTES + 1)).get("content", ""))
        except (ReflectError, OSError):
            return ""


def _version(data: bytes | None) -> int:
    name, _, number = (data or b"").partition(b"\n")[0].partition(b": ")
    return int(number) if name == b"version" and number.isdigit() else 0


def _checked(found: Any) -> Any:
    """A decision that can be read; `audit` tells of those that cannot."""
    if isinstance(found, ReflectError):
        return None
    try:
        records.check(found)
    except ReflectError:
        return None
    return found
