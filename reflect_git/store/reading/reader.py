"""Read all records of the store, from inboxes, pending captures and main, through a disposable cache.

The cache knows the commits it was built from. If a branch has moved, only the difference between the two trees is read.
Otherwise a single `git for-each-ref` is enough. Rebuilding the cache gives the same result.
"""

from __future__ import annotations

import os
from functools import cached_property

from reflect_git.errors import ReflectError
from reflect_git.platform import files, system
from reflect_git.platform.git import GitError
from reflect_git.records import yaml_form
from reflect_git.records.history import History, set_computed_fields, sort_rows
from reflect_git.records.json_form import dumps, loads
from reflect_git.records.yaml_form import is_newer
from reflect_git.store import machines, pending
from reflect_git.store.reading import signal_columns
from reflect_git.store.reading.signal_columns import FastParser
from reflect_git.store.repository import INBOX, MAIN, SIGNALS_README, get_record_id, get_record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Optional, Union

    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store

    RecordParser = Callable[[bytes], dict[str, Any]]
    TableLoader = Callable[[], list[signal_columns.RecordTable]]
    OwnMachines = Callable[[list[Any]], Optional[frozenset[str]]]  # from decisions to the machines that count

_FOLDERS = {
    INBOX: ("signals", "exposure", "digests"),
    MAIN: ("learnings", "decisions", "tally", "exposure", "evaluations"),
}
# Below this many changed files, reading them again each time is cheaper than rewriting the cache.
_MIN_CHANGES_TO_SAVE = 64
# From this many new files on, compiling the pattern for fast parsing pays off.
_MIN_FAST_PARSE = 200
# And from this many on, two processes are faster than one.
_MIN_PARALLEL = 2000
_MAX_CACHE_BYTES = 1 << 30


def _any_machine(decisions: list[Any]) -> Optional[frozenset[str]]:
    return None


class Scan:
    """The store at one moment, for lists and counts: signals in columns, referred to by row numbers.

    The moment is fixed on creation. Records are read on first use, and decisions can be read without the signals.
    Objects pruned meanwhile are read in their current state.
    """

    def __init__(
        self, moment: str, captured: TableLoader, decided: TableLoader, own: OwnMachines = _any_machine
    ) -> None:
        self.moment = moment
        self._load_captured = captured
        self._load_main = decided
        self._get_own = own

    @cached_property
    def _captured_tables(self) -> list[signal_columns.RecordTable]:
        return self._load_captured()

    @cached_property
    def _main_tables(self) -> list[signal_columns.RecordTable]:
        return self._load_main()

    @cached_property
    def unreadable(self) -> dict[str, str]:
        """Return path → reason of the files that cannot be read."""
        return {
            path: why
            for shelf in (*self._captured_tables, *self._main_tables)
            for path, why in shelf.unreadable.items()
        }

    @cached_property
    def _main_record_list(self) -> list[Any]:
        """List the records of main: learnings, decisions and tallies are only there."""
        return _parse_other_records(self._main_tables)

    @cached_property
    def _record_list(self) -> list[Any]:
        return [*_parse_other_records(self._captured_tables), *self._main_record_list]

    @cached_property
    def newer(self) -> list[str]:
        """List the ids of records written by a newer version."""
        return sorted({record["id"] for record in self._record_list if is_newer(record)})

    @cached_property
    def other_records(self) -> dict[str, Any]:
        """Return id → record of everything except signals."""
        return {record["id"]: record for record in self._record_list if not is_newer(record)}

    @cached_property
    def main_records(self) -> dict[str, Any]:
        """Return id → record of main only: learnings, decisions and tallies are only there."""
        return {record["id"]: record for record in self._main_record_list if not is_newer(record)}

    @cached_property
    def history(self) -> History:
        """Return the history of the machines that count."""
        decisions = self._list_by_prefix("DEC")
        return History(
            *machines.filter_own_records(
                self._get_own(decisions), self._list_by_prefix("LRN"), decisions, self._list_by_prefix("TLY")
            )
        )

    @cached_property
    def _merged(self) -> tuple[dict[str, list[Any]], list[list[bytes]]]:
        columns, pieces = signal_columns.merge_tables([*self._captured_tables, *self._main_tables])
        set_computed_fields(columns, self.history)
        return columns, pieces

    @property
    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of all signals."""
        return self._merged[0]

    @cached_property
    def rows(self) -> list[int]:
        """Return all row numbers, oldest first."""
        return sort_rows(self.columns)

    def load_decisions(self) -> Scan:
        """Read the decisions now instead of on first use; return self."""
        _ = self.main_records
        return self

    def _list_by_prefix(self, prefix: str) -> list[Any]:
        return [one for one in self._main_record_list if one["id"].startswith(prefix) and not is_newer(one)]

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

    def to_json(self, found: Iterable[int]) -> list[bytes]:
        """Return the signals of some rows as a JSON list in parts, to avoid copying 8 MB."""
        columns, pieces = self._merged
        parts = [*(columns[field] for field in ("status", "confidence", "related", "promoted_to")), *pieces]
        wanted = list(found)
        if len(wanted) * 8 < len(pieces[0]):  # for a few rows, assemble only these
            return signal_columns.build_json([tuple([part[row] for part in parts]) for row in wanted])
        whole = list(zip(*parts))
        return signal_columns.build_json([whole[row] for row in wanted])

    def get_signals(self, found: Iterable[int]) -> list[Signal]:
        """Return the full signals of some rows."""
        signals: list[Signal] = loads(b"".join(self.to_json(found)))
        return signals


class Snapshot(Scan):
    """The store at one moment, with every record in full."""

    def __init__(
        self, moment: str, captured: TableLoader, decided: TableLoader, own: OwnMachines = _any_machine
    ) -> None:
        super().__init__(moment, captured, decided, own)
        self.signals = self.get_signals(self.rows)
        self.by_id: dict[str, Any] = {**self.other_records, **{signal["id"]: signal for signal in self.signals}}


def read(store: Store, by_hand: Optional[RecordParser] = None) -> Snapshot:
    """Return all records. `by_hand` parses files that a person edited, if the caller has such a parser."""
    return Snapshot(*_load_moment(store, by_hand))


def scan(store: Store, by_hand: Optional[RecordParser] = None, foreseen: Optional[PreloadedMain] = None) -> Scan:
    """Return what lists and counts need, in a third of the time; even less if main is at the `foreseen` commit."""
    return Scan(*_load_moment(store, by_hand, foreseen))


class PreloadedMain:
    """The decisions of a commit that main is about to move to, read in advance."""

    def __init__(self, store: Store, commit: str, by_hand: Optional[RecordParser] = None) -> None:
        made = _BranchCache(store, "main", _FOLDERS[MAIN], by_hand)
        made.refresh({MAIN: commit}, in_halves=False)  # the caller uses the other core meanwhile
        self.commit = commit
        self.tables = list(made.tables.values())


def _parse_other_records(shelves: Iterable[signal_columns.RecordTable]) -> list[Any]:
    texts = [text for shelf in shelves for text in shelf.other_records.values()]
    return list(loads(b"[%b]" % b",".join(texts)))


def _load_moment(
    store: Store, by_hand: Optional[RecordParser], foreseen: Optional[PreloadedMain] = None
) -> tuple[str, TableLoader, TableLoader, OwnMachines]:
    """Return the moment, loaders for captures and decisions at that moment, and which machines count."""
    pending = _load_pending(store)  # before the branches: something committed meanwhile is then in both, not in neither
    refs = store.git.refs(INBOX, MAIN)
    moment = " ".join(
        [*(f"{ref}:{oid}" for ref, oid in sorted(refs.items())), *pending.all_paths(), *machines.get_cache_key(store)]
    )

    def at(tips: Mapping[str, str], name: str, prefix: str) -> list[signal_columns.RecordTable]:
        made = _BranchCache(store, name, _FOLDERS[prefix], by_hand)
        made.refresh({ref: oid for ref, oid in tips.items() if ref.startswith(prefix)})
        return list(made.tables.values())

    def part(name: str, prefix: str) -> list[signal_columns.RecordTable]:
        try:
            return at(refs, name, prefix)
        except GitError:  # another process purged this commit meanwhile: read the current one
            return at(store.git.refs(prefix), name, prefix)

    def decided() -> list[signal_columns.RecordTable]:
        if foreseen is not None and foreseen.commit == refs.get(MAIN):
            return foreseen.tables
        return part("main", MAIN)

    # Pending first: if a branch has the same record, it comes later and wins.
    return (
        moment,
        lambda: [pending, *part("inbox", INBOX)],
        decided,
        lambda made: machines.get_own_machines(store, made),
    )


def _load_pending(store: Store) -> signal_columns.RecordTable:
    table = signal_columns.RecordTable()
    for name in pending.list_pending(store):
        try:
            record = yaml_form.parse(files.read_regular(store.private_path("pending", name), yaml_form.MAX_BYTES + 1))
            yaml_form.check(record)
        except (ReflectError, OSError):  # being moved, or about to be quarantined, by another process
            continue
        if record.get("id") == name[:-5]:
            _add_record(table, get_record_path(record["id"]), record, {})
    return table


def _add_record(
    table: signal_columns.RecordTable, path: str, record: Mapping[str, Any], shared: dict[Any, Any], lines: bytes = b""
) -> None:
    """Add a record. One of a newer version is kept whole: its fields may mean something else."""
    if is_newer(record):
        table.other_records[path] = dumps(record)
    else:
        table.add(path, record, shared, lines)


class _BranchCache:
    """Some branches, kept in one cache file."""

    def __init__(self, store: Store, name: str, folders: tuple[str, ...], by_hand: Optional[RecordParser]) -> None:
        self._store = store
        self._path = store.private_path("cache", f"{name}-rows")
        self._folders = folders
        self._by_hand = by_hand
        self._shared: dict[Any, Any] = {}
        self.tables: dict[str, signal_columns.RecordTable] = {}

    def refresh(self, tips: Mapping[str, str], in_halves: bool = True) -> None:
        """Load the cache, bring it to these commits, and save it if much has changed."""
        known = self._load()
        changed = len(set(known) - set(tips)) * _MIN_CHANGES_TO_SAVE
        for ref, tip in tips.items():
            table = self.tables[ref] = known.get(ref) or signal_columns.RecordTable()
            if table.tip != tip:
                changed += self._update(table, tip, in_halves)
                table.tip = tip
        if changed >= _MIN_CHANGES_TO_SAVE:
            self._save()

    def _update(self, table: signal_columns.RecordTable, tip: str, in_halves: bool) -> int:
        """Bring the rows of one branch to another commit; return how many changed."""
        added, gone = self._get_difference(table, tip)
        added.pop(SIGNALS_README, None)
        table.remove_paths({*gone, *added})
        if len(added) < _MIN_PARALLEL or not in_halves or not has_second_core():
            self._add_files(table, added)
        else:
            self._add_files_in_parallel(table, added)
        return len(added) + len(gone)

    def _add_files_in_parallel(self, table: signal_columns.RecordTable, added: Mapping[str, str]) -> None:
        listed = list(added.items())
        first, second = dict(listed[: len(listed) // 2]), dict(listed[len(listed) // 2 :])
        other = run_in_fork(lambda: signal_columns.dump_table(self._add_files(signal_columns.RecordTable(), second)))
        self._add_files(table, first)
        made = other()
        if made is None:
            self._add_files(table, second)
        else:
            table.extend(signal_columns.load_table(made))

    def _add_files(self, table: signal_columns.RecordTable, added: Mapping[str, str]) -> signal_columns.RecordTable:
        items = list(zip(added, self._store.git.blobs(list(added.values()))))
        if len(items) >= _MIN_FAST_PARSE and self._folders == _FOLDERS[INBOX]:
            items = FastParser().parse_signals(table, items)
        for path, record, lines in self._iter_parsed(items):
            self._add_checked(table, path, record, lines)
        return table

    def _get_difference(self, table: signal_columns.RecordTable, tip: str) -> tuple[dict[str, str], list[str]]:
        if table.tip:
            try:
                return self._store.git.diff_blobs(table.tip, tip, *self._folders)
            except GitError:  # the commit of the cache was pruned: read everything again
                pass
        return self._store.git.tree(tip, *self._folders), table.all_paths()

    def _iter_parsed(
        self, items: Iterable[tuple[str, bytes]]
    ) -> Iterator[tuple[str, Union[dict[str, Any], ReflectError], bytes]]:
        """Yield each blob as a record with its canonical bytes, or as the error.

        A blob that a power cut destroyed is read from its copy.
        """
        whole = [(path, data or self._read_copy(path)) for path, data in items]
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

    def _read_copy(self, path: str) -> bytes:
        try:
            return files.read_regular(self._store.path(path), yaml_form.MAX_BYTES + 1)
        except OSError:
            return b""

    def _add_checked(
        self, table: signal_columns.RecordTable, path: str, record: Union[dict[str, Any], ReflectError], lines: bytes
    ) -> None:
        try:
            if isinstance(record, ReflectError):
                raise record
            yaml_form.check(record)
            record_id = get_record_id(path)
            if not record_id or record.get("id") != record_id:
                raise ReflectError("its name is not its id")
        except ReflectError as error:
            table.unreadable[path] = error.message
            return
        _add_record(table, path, record, self._shared, lines)

    def _load(self) -> dict[str, signal_columns.RecordTable]:
        try:
            by_hand, shelves = signal_columns.load_cache(files.read_regular(self._path, _MAX_CACHE_BYTES))
        except (OSError, ValueError, EOFError, TypeError, AttributeError):  # the cache is disposable, so ignore errors
            return {}
        # Files that a caller without a parser for edited files could not read are read again.
        blind = self._by_hand is not None and not by_hand
        return {ref: shelf for ref, shelf in shelves.items() if not (blind and shelf.unreadable)}

    def _save(self) -> None:
        """Write the cache, synced, because marshal trusts its bytes: a power cut must not leave a partial file."""
        for table in self.tables.values():
            table.sort()
        try:
            files.write_atomic(self._path, signal_columns.dump_cache(self._by_hand is not None, self.tables))
        except OSError:  # read-only or full disk: read again next time
            pass


_CHUNK_BYTES = 1 << 20


def has_second_core() -> bool:
    """Return whether there is a second CPU core."""
    return system.current.count_cores() > 1


def run_in_fork(work: Callable[[], bytes]) -> Callable[[], Optional[bytes]]:
    """Run `work` in a forked process; return a function that waits for its result, None if it failed."""
    end, start = os.pipe()
    child = os.fork()
    if not child:
        _run_child(work, start)
    os.close(start)

    def read_result() -> Optional[bytes]:
        chunks = []
        with open(end, "rb", buffering=0) as source:
            while chunk := source.read(_CHUNK_BYTES):
                chunks.append(chunk)
        return None if os.waitpid(child, 0)[1] else b"".join(chunks)

    return read_result


def _run_child(work: Callable[[], bytes], start: int) -> None:
    """Run in the child and exit without cleanup: buffered output must not be printed twice."""
    code = 1
    try:
        with open(start, "wb") as target:
            target.write(work())
        code = 0
    finally:
        os._exit(code)
