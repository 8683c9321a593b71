"""The audit trail as it is read: one `git log` for all commits, one `git cat-file` for what the records add to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import files, records
from reflect_git.adapters.objects import Objects, names_in
from reflect_git.errors import ReflectError
from reflect_git.history.trail import FORMAT, Entry, Wanted, entry_of, type_of
from reflect_git.model.ids import digest, seconds_of
from reflect_git.store.layout import is_id, path_of
from reflect_git.store.repository import INBOX, MAIN

if TYPE_CHECKING:
    from reflect_git.adapters.git import Child
    from reflect_git.store.repository import Store

MIRRORS = "targets"
_FIRST_BLOCK, _BLOCK = 25, 1000


def entries(store: Store, wanted: Wanted, limit: int | None = None) -> Iterator[Entry]:
    """Newest first, as soon as they are known: nobody waits for 100,000 commits to see the first page."""
    child = _started(store, wanted)  # before the other process: it has more to do
    try:
        opened = Objects(store.git)
    except BaseException:
        child.drop()
        raise
    with opened as objects:
        tell = _Teller(store, objects)
        left = limit
        for block in _blocks(_listed(child, wanted), min(limit or _FIRST_BLOCK, _FIRST_BLOCK)):
            for entry in filter(wanted.is_met_by, tell(block)):
                yield entry
                if left is not None:
                    left -= 1
                    if not left:
                        return


def _started(store: Store, wanted: Wanted) -> Child:
    span = [f"--{name}={int(seconds_of(moment))}" for name, moment in _ages(wanted) if moment]
    inboxes = [f"--glob={INBOX}*"] if wanted.captures or wanted.types & {"captured"} else []
    return store.git.start("log", f"--format={FORMAT}", "--encoding=UTF-8", *span, *inboxes, MAIN, "--")


def _listed(child: Child, wanted: Wanted) -> Iterator[Entry]:
    """What `git log` says, line by line; it is stopped when nobody wants more."""
    is_over = False
    try:
        while line := child.line():
            text = line.decode("utf-8", "replace")
            if wanted.may_be(type_of(text)):
                yield entry_of(text)
        is_over = True
    finally:
        if not is_over:
            child.drop()
    result = child.finish()
    if result.code:
        from reflect_git.adapters.git import GitError

        raise GitError(("log",), result)


def _ages(wanted: Wanted) -> tuple[tuple[str, str], tuple[str, str]]:
    """In git's words, whose other options for it know no year after 2099."""
    return ("max-age", wanted.since), ("min-age", wanted.until)


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

    def __call__(self, block: Sequence[Entry]) -> list[Entry]:
        decided = self._decided(block)
        self._learn_folders({entry.named("Machine") or "" for entry in block if entry.named("Target")})
        told = [self._placed(entry._replace(made=made)) for entry, made in zip(block, decided, strict=True)]
        return self._versioned(told)

    def _decided(self, block: Sequence[Entry]) -> list[tuple[Any, ...]]:
        names = [[f"{MAIN}:{path_of(one)}" for one in entry.decisions if is_id(one)] for entry in block]
        data = self._objects.get([name for each in names for name in each])
        parsed = map(_checked, records.parse_many([one or b"" for one in data]))
        return [tuple(made for made in (next(parsed) for _ in each) if made) for each in names]

    def _learn_folders(self, machines: set[str]) -> None:
        """The names of the folders that a machine's mirrors lie in: main is asked, what is checked out may be old."""
        new = sorted(machines - set(self._folders))
        trees = self._objects.get([f"{MAIN}:{MIRRORS}/{machine}" for machine in new])
        self._folders.update(
            (machine, names_in(tree) if tree else []) for machine, tree in zip(new, trees, strict=True)
        )

    def _placed(self, entry: Entry) -> Entry:
        project = entry.named("Project")
        suffix = f"-{digest('project', project)[:8]}" if project else ""
        listed = self._folders.get(entry.named("Machine") or "", [])
        folder = next((name for name in listed if name.endswith(suffix)), "") if suffix else "global"
        return entry._replace(place=folder, quote=self._quote(entry))

    def _quote(self, entry: Entry) -> str:
        """What was said, of a decision whose message has only the id of a signal; from the copy for people."""
        if not is_id(entry.what) or not entry.what.startswith("SIG-"):
            return ""
        try:
            path = self._store.path(path_of(entry.what))
            return str(records.parse(files.read_regular(path, records.MAX_BYTES + 1)).get("content", ""))
        except (ReflectError, OSError):
            return ""

    def _versioned(self, told: Sequence[Entry]) -> list[Entry]:
        names = [_mirror(entry) for entry in told]
        data = iter(self._objects.get(list(filter(None, names))))
        found = [_version(next(data)) if name else 0 for name in names]
        return [
            entry._replace(version=version, place=entry.place[:-9] if entry.place != "global" else "")
            for entry, version in zip(told, found, strict=True)
        ]


def _mirror(entry: Entry) -> str:
    """Where the commit has the mirror of its target."""
    machine, target = entry.named("Machine"), entry.named("Target")
    if not machine or not target or not entry.place:
        return ""
    return f"{entry.commit}:{MIRRORS}/{machine}/{entry.place}/{target}"


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
