"""All records of the store: the union of inboxes, pending captures and main, through a cache that may be thrown away.

The cache knows which commits it was made from. When a branch moved, only the difference between the two trees is read;
when it did not, one `git for-each-ref` is all that is asked. Rebuilding gives the same.
"""

from __future__ import annotations

from functools import cached_property

from reflect_git.adapters import files, records
from reflect_git.adapters.git import GitError
from reflect_git.adapters.jsontext import dumps, loads
from reflect_git.errors import ReflectError
from reflect_git.model.schema import VERSION
from reflect_git.store import beside, machines, rows, spool
from reflect_git.store.fold import History, fold, in_order
from reflect_git.store.layout import MARKER, id_in, path_of
from reflect_git.store.repository import INBOX, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Optional, Union

    from reflect_git.model.schema import Signal
    from reflect_git.store.repository import Store

    Reader = Callable[[bytes], dict[str, Any]]
    Shelves = Callable[[], list[rows.Shelf]]
    Own = Callable[[list[Any]], Optional[frozenset[str]]]  # from decisions to whose word counts

_FOLDERS = {INBOX: ("signals", "exposure"), MAIN: ("learnings", "decisions", "tally", "exposure")}
# Below this many changed files, reading them again each time is cheaper than writing the cache anew.
_WORTH_WRITING = 64
# From this many new files on, the pattern that skims signals is worth its compiling.
_SOME = 200
# And from this many on, two processes are faster than one.
_MANY = 2000
_CACHE_LIMIT = 1 << 30


def _everybody(decisions: list[Any]) -> Optional[frozenset[str]]:
    return None


class Scan:
    """The store at one moment, as lists and counts need it: signals in columns, named by row numbers.

    The moment is fixed when it is made; what the store held then is read when somebody first asks for it, and who asks
    what was decided waits for no signals. What is pruned by then is read as it is then.
    """

    def __init__(self, moment: str, captured: Shelves, decided: Shelves, own: Own = _everybody) -> None:
        self.moment = moment
        self._open_captured = captured
        self._open_decided = decided
        self._own = own

    @cached_property
    def _captured(self) -> list[rows.Shelf]:
        return self._open_captured()

    @cached_property
    def _decided(self) -> list[rows.Shelf]:
        return self._open_decided()

    @cached_property
    def unreadable(self) -> dict[str, str]:
        return {path: why for shelf in (*self._captured, *self._decided) for path, why in shelf.unreadable.items()}

    @cached_property
    def _decisive(self) -> list[Any]:
        """The records of main: a learning, a decision or a tally is nowhere else."""
        return _others_of(self._decided)

    @cached_property
    def _found(self) -> list[Any]:
        return [*_others_of(self._captured), *self._decisive]

    @cached_property
    def newer(self) -> list[str]:
        return sorted({record["id"] for record in self._found if record["version"] > VERSION})

    @cached_property
    def others(self) -> dict[str, Any]:
        return {record["id"]: record for record in self._found if record["version"] <= VERSION}

    @cached_property
    def decided(self) -> dict[str, Any]:
        """The same of main alone: learnings, decisions and tallies are nowhere else."""
        return {record["id"]: record for record in self._decisive if record["version"] <= VERSION}

    @cached_property
    def history(self) -> History:
        decisions = self._of("DEC")
        return History(*machines.counted(self._own(decisions), self._of("LRN"), decisions, self._of("TLY")))

    @cached_property
    def _union(self) -> tuple[dict[str, list[Any]], list[list[bytes]]]:
        columns, pieces = rows.union([*self._captured, *self._decided])
        fold(columns, self.history)
        return columns, pieces

    @property
    def columns(self) -> dict[str, list[Any]]:
        return self._union[0]

    @cached_property
    def rows(self) -> list[int]:
        return in_order(self.columns)

    def with_decisions(self) -> Scan:
        """The same; what was decided is read now, and not when somebody asks."""
        _ = self.decided
        return self

    def _of(self, prefix: str) -> list[Any]:
        return [one for one in self._decisive if one["version"] <= VERSION and one["id"].startswith(prefix)]

    def select(
        self, *, status: str = "", kind: str = "", since: str = "", tags: Sequence[str] = (), session: str = "",
        project: str = "",
    ) -> list[int]:  # fmt: skip
        """The rows that pass every filter given, oldest first; `since` is a UTC time, `project` a key or a name."""
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
        """Signals of some rows, whole, as a JSON list in parts: 8 MB are not copied without need."""
        columns, pieces = self._union
        parts = [*(columns[field] for field in ("status", "confidence", "related", "promoted_to")), *pieces]
        wanted = list(found)
        if len(wanted) * 8 < len(pieces[0]):  # of a few, only these are put together
            return rows.json_parts([tuple([part[row] for part in parts]) for row in wanted])
        whole = list(zip(*parts))
        return rows.json_parts([whole[row] for row in wanted])

    def whole(self, found: Iterable[int]) -> list[Signal]:
        signals: list[Signal] = loads(b"".join(self.json(found)))
        return signals


class Snapshot(Scan):
    """The store at one moment, every record whole."""

    def __init__(self, moment: str, captured: Shelves, decided: Shelves, own: Own = _everybody) -> None:
        super().__init__(moment, captured, decided, own)
        self.signals = self.whole(self.rows)
        self.by_id: dict[str, Any] = {**self.others, **{signal["id"]: signal for signal in self.signals}}


def read(store: Store, by_hand: Optional[Reader] = None) -> Snapshot:
    """Everything the store knows. `by_hand` reads files that a person edited, where the front can."""
    return Snapshot(*_now(store, by_hand))


def scan(store: Store, by_hand: Optional[Reader] = None, foreseen: Optional[Foreseen] = None) -> Scan:
    """What lists and counts need of it, in a third of the time; less where main is what it was `foreseen` to be."""
    return Scan(*_now(store, by_hand, foreseen))


class Foreseen:
    """What was decided by a commit that main is about to be, read while it goes there."""

    def __init__(self, store: Store, commit: str, by_hand: Optional[Reader] = None) -> None:
        made = _Part(store, "main", _FOLDERS[MAIN], by_hand)
        made.refresh({MAIN: commit}, in_halves=False)  # who goes there has work for the other core
        self.commit = commit
        self.shelves = list(made.shelves.values())


def _others_of(shelves: Iterable[rows.Shelf]) -> list[Any]:
    texts = [text for shelf in shelves for text in shelf.others.values()]
    return list(loads(b"[%b]" % b",".join(texts)))


def _now(
    store: Store, by_hand: Optional[Reader], foreseen: Optional[Foreseen] = None
) -> tuple[str, Shelves, Shelves, Own]:
    """The moment, ways to what was captured and to what was decided by then, and whose word counts."""
    pending = _pending(store)  # before the branches: what is committed meanwhile is then in both, not in none
    refs = store.git.refs(INBOX, MAIN)
    moment = " ".join(
        [*(f"{ref}:{oid}" for ref, oid in sorted(refs.items())), *pending.all_paths(), *machines.marks(store)]
    )

    def at(tips: Mapping[str, str], name: str, prefix: str) -> list[rows.Shelf]:
        made = _Part(store, name, _FOLDERS[prefix], by_hand)
        made.refresh({ref: oid for ref, oid in tips.items() if ref.startswith(prefix)})
        return list(made.shelves.values())

    def part(name: str, prefix: str) -> list[rows.Shelf]:
        try:
            return at(refs, name, prefix)
        except GitError:  # another process took a text out since, and the commit with it: what is there now
            return at(store.git.refs(prefix), name, prefix)

    def decided() -> list[rows.Shelf]:
        if foreseen is not None and foreseen.commit == refs.get(MAIN):
            return foreseen.shelves
        return part("main", MAIN)

    # What is pending first: a branch that has the same record, too, comes later and wins.
    return moment, lambda: [pending, *part("inbox", INBOX)], decided, lambda made: machines.own(store, made)


def _pending(store: Store) -> rows.Shelf:
    shelf = rows.Shelf()
    for name in spool.pending(store):
        try:
            record = records.parse(files.read_regular(store.private_path("pending", name), records.MAX_BYTES + 1))
            records.check(record)
        except (ReflectError, OSError):  # being moved by a sweep, or about to be quarantined by one
            continue
        if record.get("id") == name[:-5]:
            _put(shelf, path_of(record["id"]), record, {})
    return shelf


def _put(shelf: rows.Shelf, path: str, record: Mapping[str, Any], shared: dict[Any, Any], lines: bytes = b"") -> None:
    """A record of a newer version is kept whole: its fields may mean something else."""
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
        self.shelves: dict[str, rows.Shelf] = {}

    def refresh(self, tips: Mapping[str, str], in_halves: bool = True) -> None:
        known = self._load()
        changed = len(set(known) - set(tips)) * _WORTH_WRITING
        for ref, tip in tips.items():
            shelf = self.shelves[ref] = known.get(ref) or rows.Shelf()
            if shelf.tip != tip:
                changed += self._update(shelf, tip, in_halves)
                shelf.tip = tip
        if changed >= _WORTH_WRITING:
            self._save()

    def _update(self, shelf: rows.Shelf, tip: str, in_halves: bool) -> int:
        """Bring the rows of one branch to another commit; returns how many changed."""
        added, gone = self._difference(shelf, tip)
        added.pop(MARKER, None)
        shelf.drop({*gone, *added})
        if len(added) < _MANY or not in_halves or not beside.has_room():
            self._fill(shelf, added)
        else:
            self._fill_in_halves(shelf, added)
        return len(added) + len(gone)

    def _fill_in_halves(self, shelf: rows.Shelf, added: Mapping[str, str]) -> None:
        listed = list(added.items())
        first, second = dict(listed[: len(listed) // 2]), dict(listed[len(listed) // 2 :])
        other = beside.beside(lambda: rows.dump_shelf(self._fill(rows.Shelf(), second)))
        self._fill(shelf, first)
        made = other()
        if made is None:
            self._fill(shelf, second)
        else:
            shelf.extend(rows.load_shelf(made))

    def _fill(self, shelf: rows.Shelf, added: Mapping[str, str]) -> rows.Shelf:
        items = list(zip(added, self._store.git.blobs(list(added.values()))))
        if len(items) >= _SOME and self._folders == _FOLDERS[INBOX]:
            from reflect_git.store.skimming import Skimmer

            items = Skimmer().skim(shelf, items)
        for path, record, lines in self._parsed(items):
            self._take(shelf, path, record, lines)
        return shelf

    def _difference(self, shelf: rows.Shelf, tip: str) -> tuple[dict[str, str], list[str]]:
        if shelf.tip:
            try:
                return self._store.git.changes(shelf.tip, tip, *self._folders)
            except GitError:  # the commit the cache was made from is pruned: all of it anew
                pass
        return self._store.git.tree(tip, *self._folders), shelf.all_paths()

    def _parsed(
        self, items: Iterable[tuple[str, bytes]]
    ) -> Iterator[tuple[str, Union[dict[str, Any], ReflectError], bytes]]:
        """Each blob as a record, with its bytes if they are canonical, or as the reason why it is none; one that a
        power cut took is read from its copy."""
        whole = [(path, data or self._copy(path)) for path, data in items]
        for (path, data), record in zip(whole, records.parse_many([data for _, data in whole])):
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
            return files.read_regular(self._store.path(path), records.MAX_BYTES + 1)
        except OSError:
            return b""

    def _take(self, shelf: rows.Shelf, path: str, record: Union[dict[str, Any], ReflectError], lines: bytes) -> None:
        try:
            if isinstance(record, ReflectError):
                raise record
            records.check(record)
            identity = id_in(path)
            if not identity or record.get("id") != identity:
                raise ReflectError("its name is not its id")
        except ReflectError as error:
            shelf.unreadable[path] = error.message
            return
        _put(shelf, path, record, self._shared, lines)

    def _load(self) -> dict[str, rows.Shelf]:
        try:
            by_hand, shelves = rows.load(files.read_regular(self._path, _CACHE_LIMIT))
        except (OSError, ValueError, EOFError, TypeError, AttributeError):  # disposable, so never a reason
            return {}
        # What could not be read by one who cannot read what a person edited is read again.
        blind = self._by_hand is not None and not by_hand
        return {ref: shelf for ref, shelf in shelves.items() if not (blind and shelf.unreadable)}

    def _save(self) -> None:
        """Synced, because marshal trusts its bytes: after a power cut the file is there whole, or as it was."""
        for shelf in self.shelves.values():
            shelf.sort()
        try:
            files.write_whole(self._path, rows.dump(self._by_hand is not None, self.shelves))
        except OSError:  # read-only or full: the next one reads again
            pass
