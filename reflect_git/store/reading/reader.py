"""Read all records of the store, from inboxes, pending captures and main, through a disposable cache.

The cache knows the commits it was built from. If a branch has moved, only the difference between the two trees is read.
Otherwise a single `git for-each-ref` is enough. Rebuilding the cache gives the same result.
"""

from __future__ import annotations

import os
from functools import cached_property

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import GitError
from reflect_git.records import yaml_form
from reflect_git.records.history import History, fold, in_order
from reflect_git.records.json_form import dumps, loads
from reflect_git.records.schema import VERSION
from reflect_git.store import machines, pending
from reflect_git.store.reading import signal_columns
from reflect_git.store.repository import INBOX, MAIN, MARKER, id_in, path_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Optional, Union

    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store

    Reader = Callable[[bytes], dict[str, Any]]
    Shelves = Callable[[], list[signal_columns.Shelf]]
    Own = Callable[[list[Any]], Optional[frozenset[str]]]  # from decisions to the machines that count
    from collections.abc import Callable
    from typing import Optional

_FOLDERS = {INBOX: ("signals", "exposure"), MAIN: ("learnings", "decisions", "tally", "exposure")}
# Below this many changed files, reading them again each time is cheaper than rewriting the cache.
_WORTH_WRITING = 64
# From this many new files on, compiling the pattern for fast parsing pays off.
_SOME = 200
# And from this many on, two processes are faster than one.
_MANY = 2000
_CACHE_LIMIT = 1 << 30


def _everybody(decisions: list[Any]) -> Optional[frozenset[str]]:
    return None


class Scan:
    """The store at one moment, for lists and counts: signals in columns, referred to by row numbers.

    The moment is fixed on creation. Records are read on first use, and decisions can be read without the signals.
    Objects pruned meanwhile are read in their current state.
    """

    def __init__(self, moment: str, captured: Shelves, decided: Shelves, own: Own = _everybody) -> None:
        self.moment = moment
        self._open_captured = captured
        self._open_decided = decided
        self._own = own

    @cached_property
    def _captured(self) -> list[signal_columns.Shelf]:
        return self._open_captured()

    @cached_property
    def _decided(self) -> list[signal_columns.Shelf]:
        return self._open_decided()

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """Return path → reason of the files that cannot be read."""
        return {path: why for shelf in (*self._captured, *self._decided) for path, why in shelf.unreadable.items()}

    @cached_property
    def _decisive(self) -> list[Any]:
        """List the records of main: learnings, decisions and tallies are only there."""
        return _others_of(self._decided)

    @cached_property
    def _found(self) -> list[Any]:
        return [*_others_of(self._captured), *self._decisive]

    @cached_property
    def newer(self) -> list[str]:
        """List the ids of records written by a newer version."""
        return sorted({record["id"] for record in self._found if record["version"] > VERSION})

    @cached_property
    def others(self) -> dict[str, Any]:
        """Return id → record of everything except signals."""
        return {record["id"]: record for record in self._found if record["version"] <= VERSION}

    @cached_property
    def decided(self) -> dict[str, Any]:
        """Return id → record of main only: learnings, decisions and tallies are only there."""
        return {record["id"]: record for record in self._decisive if record["version"] <= VERSION}

    @cached_property
    def history(self) -> History:
        """Return the history of the machines that count."""
        decisions = self._of("DEC")
        return History(*machines.counted(self._own(decisions), self._of("LRN"), decisions, self._of("TLY")))

    @cached_property
    def _union(self) -> tuple[dict[str, list[Any]], list[list[bytes]]]:
        columns, pieces = signal_columns.union([*self._captured, *self._decided])
        fold(columns, self.history)
        return columns, pieces

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of all signals."""
        return self._union[0]

    @cached_property
    def rows(self) -> list[int]:
        """Return all row numbers, oldest first."""
        return in_order(self.columns)

    def with_decisions(self) -> Scan:
        """Read the decisions now instead of on first use; return self."""
        _ = self.decided
        return self

    def _of(self, prefix: str) -> list[Any]:
        return [one for one in self._decisive if one["version"] <= VERSION and one["id"].startswith(prefix)]

    def select(
        self, *, status: str = "", kind: str = "", since: str = "", tags: Sequence[str] = (), session: str = "",
        project: str = "",
    ) -> list[int]:  # fmt: skip
        """Return the rows that match every given filter, oldest first; `since` is UTC, `project` a key or name."""
        tests: list[tuple[object, str, Callable[[Any], bool]]] = [
            (status, "status", lambda value: value == status),
            (kind, "type", lambda value: value == kind),
            (since, "timestamp", lambda value: value >= since),
            (tags, "tags", lambda value: set(tags) <= set(value)),
            (session, "session_id", lambda value: value.startswith(session)),
            (project, "project", lambda value: value is not None and project in (value["key"], value["name"])),
        ]
        found = self.rows
        for wanted, field, passes in tests:
            if wanted:
                column = self.columns[field]
                found = [row for row in found if passes(column[row])]
        return found

    def json(self, found: Iterable[int]) -> list[bytes]:
        """Return the signals of some rows as a JSON list in parts, to avoid copying 8 MB."""
        columns, pieces = self._union
        parts = [*(columns[field] for field in ("status", "confidence", "related", "promoted_to")), *pieces]
        wanted = list(found)
        if len(wanted) * 8 < len(pieces[0]):  # for a few rows, assemble only these
            return signal_columns.json_parts([tuple([part[row] for part in parts]) for row in wanted])
        whole = list(zip(*parts))
        return signal_columns.json_parts([whole[row] for row in wanted])

    def whole(self, found: Iterable[int]) -> list[Signal]:
        """Return the full signals of some rows."""
        signals: list[Signal] = loads(b"".join(self.json(found)))
        return signals


class Snapshot(Scan):
    """The store at one moment, with every record in full."""

    def __init__(self, moment: str, captured: Shelves, decided: Shelves, own: Own = _everybody) -> None:
        super().__init__(moment, captured, decided, own)
        self.signals = self.whole(self.rows)
        self.by_id: dict[str, Any] = {**self.others, **{signal["id"]: signal for signal in self.signals}}


def read(store: Store, by_hand: Optional[Reader] = None) -> Snapshot:
    """Return all records. `by_hand` parses files that a person edited, if the caller has such a parser."""
    return Snapshot(*_now(store, by_hand))


def scan(store: Store, by_hand: Optional[Reader] = None, foreseen: Optional[Foreseen] = None) -> Scan:
    """Return what lists and counts need, in a third of the time; even less if main is at the `foreseen` commit."""
    return Scan(*_now(store, by_hand, foreseen))


class Foreseen:
    """The decisions of a commit that main is about to move to, read in advance."""

    def __init__(self, store: Store, commit: str, by_hand: Optional[Reader] = None) -> None:
        made = _Part(store, "main", _FOLDERS[MAIN], by_hand)
        made.refresh({MAIN: commit}, in_halves=False)  # the caller uses the other core meanwhile
        self.commit = commit
        self.shelves = list(made.shelves.values())


def _others_of(shelves: Iterable[signal_columns.Shelf]) -> list[Any]:
    texts = [text for shelf in shelves for text in shelf.others.values()]
    return list(loads(b"[%b]" % b",".join(texts)))


def _now(
    store: Store, by_hand: Optional[Reader], foreseen: Optional[Foreseen] = None
) -> tuple[str, Shelves, Shelves, Own]:
    """Return the moment, loaders for captures and decisions at that moment, and which machines count."""
    pending = _pending(store)  # before the branches: something committed meanwhile is then in both, not in neither
    refs = store.git.refs(INBOX, MAIN)
    moment = " ".join(
        [*(f"{ref}:{oid}" for ref, oid in sorted(refs.items())), *pending.all_paths(), *machines.marks(store)]
    )

    def at(tips: Mapping[str, str], name: str, prefix: str) -> list[signal_columns.Shelf]:
        made = _Part(store, name, _FOLDERS[prefix], by_hand)
        made.refresh({ref: oid for ref, oid in tips.items() if ref.startswith(prefix)})
        return list(made.shelves.values())

    def part(name: str, prefix: str) -> list[signal_columns.Shelf]:
        try:
            return at(refs, name, prefix)
        except GitError:  # another process purged this commit meanwhile: read the current one
            return at(store.git.refs(prefix), name, prefix)

    def decided() -> list[signal_columns.Shelf]:
        if foreseen is not None and foreseen.commit == refs.get(MAIN):
            return foreseen.shelves
        return part("main", MAIN)

    # Pending first: if a branch has the same record, it comes later and wins.
    return moment, lambda: [pending, *part("inbox", INBOX)], decided, lambda made: machines.own(store, made)


def _pending(store: Store) -> signal_columns.Shelf:
    shelf = signal_columns.Shelf()
    for name in pending.pending(store):
        try:
            record = yaml_form.parse(files.read_regular(store.private_path("pending", name), yaml_form.MAX_BYTES + 1))
            yaml_form.check(record)
        except (ReflectError, OSError):  # being moved, or about to be quarantined, by another process
            continue
        if record.get("id") == name[:-5]:
            _put(shelf, path_of(record["id"]), record, {})
    return shelf


def _put(
    shelf: signal_columns.Shelf, path: str, record: Mapping[str, Any], shared: dict[Any, Any], lines: bytes = b""
) -> None:
    """Add a record. One of a newer version is kept whole: its fields may mean something else."""
    if record["version"] > VERSION:
        shelf.others[path] = dumps(record)
    else:
        shelf.add(path, record, shared, lines)


class _Part:
    """Some branches, kept in one cache file."""

    def __init__(self, store: Store, name: str, folders: tuple[str, ...], by_hand: Optional[Reader]) -> None:
        self._store = store
        self._path = store.private_path("cache", f"{name}-rows")
        self._folders = folders
        self._by_hand = by_hand
        self._shared: dict[Any, Any] = {}
        self.shelves: dict[str, signal_columns.Shelf] = {}

    def refresh(self, tips: Mapping[str, str], in_halves: bool = True) -> None:
        """Load the cache, bring it to these commits, and save it if much has changed."""
        known = self._load()
        changed = len(set(known) - set(tips)) * _WORTH_WRITING
        for ref, tip in tips.items():
            shelf = self.shelves[ref] = known.get(ref) or signal_columns.Shelf()
            if shelf.tip != tip:
                changed += self._update(shelf, tip, in_halves)
                shelf.tip = tip
        if changed >= _WORTH_WRITING:
            self._save()

    def _update(self, shelf: signal_columns.Shelf, tip: str, in_halves: bool) -> int:
        """Bring the rows of one branch to another commit; return how many changed."""
        added, gone = self._difference(shelf, tip)
        added.pop(MARKER, None)
        shelf.drop({*gone, *added})
        if len(added) < _MANY or not in_halves or not has_room():
            self._fill(shelf, added)
        else:
            self._fill_in_halves(shelf, added)
        return len(added) + len(gone)

    def _fill_in_halves(self, shelf: signal_columns.Shelf, added: Mapping[str, str]) -> None:
        listed = list(added.items())
        first, second = dict(listed[: len(listed) // 2]), dict(listed[len(listed) // 2 :])
        other = beside(lambda: signal_columns.dump_shelf(self._fill(signal_columns.Shelf(), second)))
        self._fill(shelf, first)
        made = other()
        if made is None:
            self._fill(shelf, second)
        else:
            shelf.extend(signal_columns.load_shelf(made))

    def _fill(self, shelf: signal_columns.Shelf, added: Mapping[str, str]) -> signal_columns.Shelf:
        items = list(zip(added, self._store.git.blobs(list(added.values()))))
        if len(items) >= _SOME and self._folders == _FOLDERS[INBOX]:
            from reflect_git.store.reading.signal_columns import Skimmer

            items = Skimmer().skim(shelf, items)
        for path, record, lines in self._parsed(items):
            self._take(shelf, path, record, lines)
        return shelf

    def _difference(self, shelf: signal_columns.Shelf, tip: str) -> tuple[dict[str, str], list[str]]:
        if shelf.tip:
            try:
                return self._store.git.changes(shelf.tip, tip, *self._folders)
            except GitError:  # the commit of the cache was pruned: read everything again
                pass
        return self._store.git.tree(tip, *self._folders), shelf.all_paths()

    def _parsed(
        self, items: Iterable[tuple[str, bytes]]
    ) -> Iterator[tuple[str, Union[dict[str, Any], ReflectError], bytes]]:
        """Yield each blob as a record with its canonical bytes, or as the error.

        A blob that a power cut destroyed is read from its copy.
        """
        whole = [(path, data or self._copy(path)) for path, data in items]
        for (path, data), record in zip(whole, yaml_form.parse_many([data for _, data in whole])):
            if isinstance(record, ReflectError):
                yield (path, *self._read_by_hand(data, record))
            else:
                yield path, record, data

    def _read_by_hand(self, data: bytes, error: ReflectError) -> tuple[Union[dict[str, Any], ReflectError], bytes]:
        if self._by_hand is None:
            return error, b""
        try:
            return self._by_hand(data), b""
        except ReflectError as found:
            return found, b""

    def _copy(self, path: str) -> bytes:
        try:
            return files.read_regular(self._store.path(path), yaml_form.MAX_BYTES + 1)
        except OSError:
            return b""

    def _take(
        self, shelf: signal_columns.Shelf, path: str, record: Union[dict[str, Any], ReflectError], lines: bytes
    ) -> None:
        try:
            if isinstance(record, ReflectError):
                raise record
            yaml_form.check(record)
            identity = id_in(path)
            if not identity or record.get("id") != identity:
                raise ReflectError("its name is not its id")
        except ReflectError as error:
            shelf.unreadable[path] = error.message
            return
        _put(shelf, path, record, self._shared, lines)

    def _load(self) -> dict[str, signal_columns.Shelf]:
        try:
            by_hand, shelves = signal_columns.load(files.read_regular(self._path, _CACHE_LIMIT))
        except (OSError, ValueError, EOFError, TypeError, AttributeError):  # the cache is disposable, so ignore errors
            return {}
        # Files that a caller without a parser for edited files could not read are read again.
        blind = self._by_hand is not None and not by_hand
        return {ref: shelf for ref, shelf in shelves.items() if not (blind and shelf.unreadable)}

    def _save(self) -> None:
        """Write the cache, synced, because marshal trusts its bytes: a power cut must not leave a partial file."""
        for shelf in self.shelves.values():
            shelf.sort()
        try:
            files.write_whole(self._path, signal_columns.dump(self._by_hand is not None, self.shelves))
        except OSError:  # read-only or full disk: read again next time
            pass


_CHUNK = 1 << 20


def has_room() -> bool:
    """Return whether there is a second CPU core."""
    try:
        return len(os.sched_getaffinity(0)) > 1
    except AttributeError:  # macOS
        return (os.cpu_count() or 1) > 1


def beside(work: Callable[[], bytes]) -> Callable[[], Optional[bytes]]:
    """Run `work` in a forked process; return a function that waits for its result, None if it failed."""
    end, start = os.pipe()
    child = os.fork()
    if not child:
        _work(work, start)
    os.close(start)

    def made() -> Optional[bytes]:
        chunks = []
        with open(end, "rb", buffering=0) as source:
            while chunk := source.read(_CHUNK):
                chunks.append(chunk)
        return None if os.waitpid(child, 0)[1] else b"".join(chunks)

    return made


def _work(work: Callable[[], bytes], start: int) -> None:
    """Run in the child and exit without cleanup: buffered output must not be printed twice."""
    code = 1
    try:
        with open(start, "wb") as target:
            target.write(work())
        code = 0
    finally:
        os._exit(code)
