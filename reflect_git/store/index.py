"""The index of the store: a disposable SQLite database with every record, for lists, counts and full-text search.

`.git/reflect/cache/index.sqlite` is brought up to date from the branch tips and `pending/` when it is opened. A corrupt
or foreign file is replaced. If the file cannot be used at all, the index is built in memory for this one command.
Hooks never open it, because importing sqlite3 costs 7 ms. Purge and expiry delete the file: SQLite keeps deleted text.
"""

from __future__ import annotations

import os
import stat

from reflect_git.errors import ReflectError
from reflect_git.platform import faults, files
from reflect_git.platform.git import GitError
from reflect_git.records import schema, yaml_form
from reflect_git.records.json_form import dumps, loads
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import pending
from reflect_git.store.repository import INBOX, MAIN, SIGNALS_README, get_record_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Optional, Union

    from reflect_git.store.repository import Store

    RecordParser = Callable[[bytes], dict[str, Any]]
    Parsed = tuple[str, Union[dict[str, Any], ReflectError]]

FILE = "index.sqlite"
# The folders of a branch whose files are records.
BRANCH_FOLDERS = {
    INBOX: ("signals", "exposure", "digests"),
    MAIN: ("learnings", "decisions", "tally", "exposure", "evaluations"),
}
PENDING = "pending"  # the source of records that are not committed yet; other sources are branches
_FORMAT = 3  # raise it when the tables or the values in them change
_APPLICATION_ID = 0x7265666C  # "refl"
_LOCK_SECONDS, _BUSY_SECONDS = 20.0, 5.0
_BATCH = 5_000  # records parsed and inserted at a time, which limits the memory needed
_PAGES_KIB = 65_536
_MAX_INTEGER = (1 << 63) - 1
_IS_KNOWN = schema.build_version_test("kind", "version")

_TABLES = (
    "CREATE TABLE tips (source TEXT PRIMARY KEY, tip TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    source TEXT NOT NULL, path TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, version INTEGER NOT NULL,
    type TEXT, time TEXT, stored TEXT, session TEXT, project TEXT, project_name TEXT, key TEXT, subject TEXT,
    category TEXT, trust TEXT, machine TEXT, confidence INTEGER, durable INTEGER, tags TEXT, text TEXT, more TEXT,
    body TEXT NOT NULL)""",
    """CREATE TABLE tally_lines (
    record INTEGER NOT NULL, key TEXT, type TEXT, project TEXT, day TEXT, session TEXT, trust TEXT)""",
    "CREATE TABLE mentions (id TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (id, record)) WITHOUT ROWID",
    """CREATE TABLE digest_lines (
    number INTEGER PRIMARY KEY, record INTEGER NOT NULL, section TEXT, key TEXT, trust TEXT, ids TEXT, text TEXT)""",
    """CREATE TABLE unreadable (
    source TEXT NOT NULL, path TEXT NOT NULL, why TEXT NOT NULL, retry INTEGER NOT NULL, PRIMARY KEY (source, path))""",
    """CREATE VIRTUAL TABLE texts USING fts5(
    text, more, content='records', content_rowid='number', tokenize='porter unicode61 remove_diacritics 2')""",
    # A digest is searched line by line: as one text, that of a month would match everything.
    """CREATE VIRTUAL TABLE line_texts USING fts5(
    text, content='digest_lines', content_rowid='number', tokenize='porter unicode61 remove_diacritics 2')""",
)
# Created after the first records were inserted, which is faster than keeping them up to date meanwhile.
_LOOKUPS = (
    "INSERT INTO texts(texts) VALUES ('rebuild')",
    "INSERT INTO line_texts(line_texts) VALUES ('rebuild')",
    "CREATE INDEX digest_lines_by_record ON digest_lines (record)",
    """CREATE TRIGGER digest_lines_added AFTER INSERT ON digest_lines BEGIN
    INSERT INTO line_texts (rowid, text) VALUES (new.number, new.text);
    END""",
    """CREATE TRIGGER digest_lines_removed AFTER DELETE ON digest_lines BEGIN
    INSERT INTO line_texts (line_texts, rowid, text) VALUES ('delete', old.number, old.text);
    END""",
    "CREATE UNIQUE INDEX records_by_path ON records (source, path)",
    "CREATE INDEX records_by_id ON records (id)",
    "CREATE INDEX records_by_key ON records (key) WHERE key IS NOT NULL",
    "CREATE INDEX records_by_kind ON records (kind, time)",
    "CREATE INDEX tally_lines_by_key ON tally_lines (key)",
    "CREATE INDEX tally_lines_by_record ON tally_lines (record)",
    "CREATE INDEX mentions_by_record ON mentions (record)",
    """CREATE TRIGGER records_added AFTER INSERT ON records BEGIN
    INSERT INTO texts (rowid, text, more) VALUES (new.number, new.text, new.more);
    END""",
    """CREATE TRIGGER records_removed AFTER DELETE ON records BEGIN
    INSERT INTO texts (texts, rowid, text, more) VALUES ('delete', old.number, old.text, old.more);
    DELETE FROM tally_lines WHERE record = old.number;
    DELETE FROM mentions WHERE record = old.number;
    DELETE FROM digest_lines WHERE record = old.number;
    END""",
)
_OUR_SCHEMA = {*_TABLES, *_LOOKUPS[2:]}
_COLUMNS = (
    "source", "path", "id", "kind", "version", "type", "time", "stored", "session", "project", "project_name", "key",
    "subject", "category", "trust", "machine", "confidence", "durable", "tags", "text", "more", "body",
)  # fmt: skip
_INSERT = f"INSERT INTO records ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"


class Hit(NamedTuple):
    """A record found by `search`, best first: its id, kind and time, and the words around the match."""

    id: str
    kind: str
    time: str
    snippet: str
    rank: float


class _RebuildNeeded(Exception):
    """The file must be replaced as a whole, because rows alone cannot be removed without a trace."""


class Index:
    """The store's records at one moment, as tables. See `_TABLES` for what `query` can select.

    `warning` says why the file could not be used; it is empty if it could. `parse_edited` reads records that a person
    edited. `show_progress` is called with the number of records read and of all to read.
    """

    def __init__(
        self, store: Store, parse_edited: Optional[RecordParser] = None,
        show_progress: Optional[Callable[[int, int], None]] = None,
    ) -> None:  # fmt: skip
        self._store = store
        self._parse_edited = parse_edited
        self._show_progress = show_progress
        self._path = get_path(store)
        self.warning = ""
        self.refs: dict[str, str] = {}
        self.pending: list[str] = []
        self._db = self._open()

    def query(self, sql: str, *values: Any) -> list[Any]:
        """Return all rows that a SELECT finds."""
        import sqlite3

        try:
            if self.warning:
                return self._db.execute(sql, values).fetchall()
            with _IndexLock(self._store):
                if not self._is_same_file():  # deleted by a purge, and perhaps built again
                    raise sqlite3.DatabaseError("the file was replaced")
                return self._db.execute(sql, values).fetchall()
        except (sqlite3.DatabaseError, OSError) as error:
            if _is_wrong_query(error):
                raise
        self.close()
        self._db = self._open()
        return self._db.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def get_record(self, record_id: str) -> Optional[dict[str, Any]]:
        """Return a record as it is in its file; None if there is none."""
        found = self.query("SELECT body FROM records WHERE id = ? ORDER BY source DESC LIMIT 1", record_id)
        return loads(found[0][0].encode("utf-8")) if found else None

    def list_records(self, kind: str, **equal: Any) -> list[dict[str, Any]]:
        """Return the records of a kind, oldest first: `list_records("DEC", type="muted")`. Newer versions are left out.

        Each keyword names a column of `records`. `since` and `until` limit the time.
        """
        limits = {"since": "time >= ?", "until": "time < ?"}
        tests = [limits.get(name) or f"{name} = ?" for name in equal]
        if not set(equal) <= {*_COLUMNS, *limits}:
            raise ValueError(f"unknown column in {sorted(equal)}")
        where = " AND ".join(["kind = ?", _IS_KNOWN, *tests])
        rows = self.query(f"SELECT id, body FROM records WHERE {where} ORDER BY time, id", kind, *equal.values())
        return [loads(body.encode("utf-8")) for body in dict(rows).values()]

    def list_ids(self) -> list[str]:
        """List the ids of all records."""
        return [record_id for (record_id,) in self.query("SELECT DISTINCT id FROM records ORDER BY id")]

    def find_mentions(self, *words: str, figures: bool = True) -> dict[str, Any]:
        """Return id → record of everything except signals that mentions one of these ids or keys.

        Without `figures`, session statistics are not searched.
        """
        if not words:
            return {}
        given = f"({', '.join('?' * len(words))})"
        found = (
            f"SELECT number FROM records WHERE id IN {given} UNION SELECT number FROM records WHERE key IN {given}"
            f" UNION SELECT record FROM mentions WHERE id IN {given}"
            f" UNION SELECT record FROM tally_lines WHERE key IN {given}"
        )
        values = words * 4
        if figures:
            tests = " OR ".join(["instr(body, ?)"] * len(words))
            found += f" UNION SELECT number FROM records WHERE kind = 'EXP' AND ({tests})"
            values += words
        rows = self.query(
            f"SELECT id, body FROM records WHERE number IN ({found}) AND kind <> 'SIG' AND {_IS_KNOWN}", *values
        )  # fmt: skip
        return {record_id: loads(body.encode("utf-8")) for record_id, body in rows}

    def get_signals(self, record_ids: Iterable[str]) -> list[dict[str, Any]]:
        """Return those of these signals that still exist, as captured, oldest first."""
        wanted = list(record_ids)
        given = ", ".join("?" * len(wanted))
        rows = self.query(
            f"SELECT id, body FROM records WHERE id IN ({given}) AND kind = 'SIG' AND {_IS_KNOWN} ORDER BY time, id",
            *wanted,
        )  # fmt: skip
        return [loads(body.encode("utf-8")) for body in dict(rows).values()]

    def find_by_keys(self, keys: Iterable[str]) -> list[tuple[str, str, str, Optional[dict[str, Any]]]]:
        """Return id, time, session and project of every signal with one of these keys."""
        wanted = list(keys)
        given = ", ".join("?" * len(wanted))
        rows = self.query(
            "SELECT id, time, session, project, project_name FROM records"
            f" WHERE key IN ({given}) AND kind = 'SIG' AND {_IS_KNOWN}", *wanted,
        )  # fmt: skip
        return [(*row[:3], None if row[3] is None else {"key": row[3], "name": row[4]}) for row in rows]

    def search(self, words: str, *, kinds: Sequence[str] = (), project: str = "", limit: int = 50) -> list[Hit]:
        """Return the records whose text has all of these words or their stems, the best first.

        `words` may contain OR, and "quoted phrases". `project` is a key or a name; texts without a project always fit.
        """
        tests, values = ["texts MATCH ?", schema.build_version_test("r.kind", "r.version")], [build_match(words)]
        if not values[0]:
            return []
        if kinds:
            tests.append(f"r.kind IN ({', '.join('?' * len(kinds))})")
            values += kinds
        if project:
            tests.append("(r.project IS NULL OR ? IN (r.project, r.project_name))")
            values.append(project)
        rows = self.query(
            "SELECT r.id, r.kind, r.time, snippet(texts, -1, '[', ']', '…', 12), bm25(texts, 2.0, 1.0) AS rank"
            f" FROM texts JOIN records r ON r.number = texts.rowid WHERE {' AND '.join(tests)}"
            " ORDER BY rank, r.time DESC LIMIT ?", *values, limit,
        )  # fmt: skip
        return list({row[0]: Hit(*row) for row in rows}.values())

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        why = ""
        for _ in range(2):
            try:
                with _IndexLock(self._store):
                    return self._open_file()
            except _RebuildNeeded:
                continue  # the file is deleted; the second attempt builds it
            except (sqlite3.DatabaseError, OSError) as error:
                why = why or str(error)
                try:
                    delete(self._store)
                except OSError:  # a read-only disk, or something that is not a file in its place
                    break
        self.warning = f"cannot use '{self._path}': {why or 'it changes all the time'}"
        db = _connect(":memory:")
        _create_tables(db)
        self._refresh(db)
        return db

    def _open_file(self) -> sqlite3.Connection:
        """Open the file and bring it up to date, or create it. The caller holds the lock."""
        _require_usable(self._path)
        db = _connect(self._path)
        try:
            if not _is_ours(db):
                raise _RebuildNeeded
            self._refresh(db)
        except _RebuildNeeded:
            db.close()
            delete_files(self._path)
            raise
        except BaseException:
            db.close()
            raise
        self._file = os.stat(self._path)
        return db

    def _is_same_file(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self._path), self._file)
        except OSError:
            return False

    def _refresh(self, db: sqlite3.Connection) -> None:
        """Bring the tables up to date in one transaction."""
        for attempt in (1, 2):
            # Before the branches: something that is committed meanwhile is then in both, not in neither.
            self.pending = pending.list_pending(self._store)
            self.refs = self._store.git.refs(INBOX, MAIN)
            try:
                return self._apply_changes(db)
            except GitError:  # another process purged a commit meanwhile
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if attempt == 2:
                    raise
        return None

    def _apply_changes(self, db: sqlite3.Connection) -> None:
        known = dict(db.execute("SELECT source, tip FROM tips"))
        listed = {path for (path,) in db.execute("SELECT path FROM records WHERE source = ?", (PENDING,))}
        retried = self._list_retried(db)
        if known == self.refs and listed == set(self.pending) and not retried:
            return
        changes = {ref: self._get_changes(known.get(ref), tip, ref) for ref, tip in self.refs.items()}
        lost = [ref for ref in known if ref not in self.refs] + [ref for ref, (_, gone) in changes.items() if gone]
        if any(ref.startswith(INBOX) for ref in lost):
            raise _RebuildNeeded  # expired or purged on another machine: no byte of it may stay in the file
        for ref, path in retried:
            changes[ref][0].setdefault(path, f"{self.refs[ref]}:{path}")
        faults.point("index", self._path)
        db.execute("BEGIN IMMEDIATE")
        self._write_changes(db, changes)
        self._write_pending(db, listed)
        for source in known.keys() - self.refs.keys():  # main itself: the user deleted or renamed it
            for table in ("records", "unreadable", "tips"):
                db.execute(f"DELETE FROM {table} WHERE source = ?", (source,))
        db.executemany("INSERT OR REPLACE INTO tips VALUES (?, ?)", self.refs.items())
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'records_added'").fetchone():
            for statement in _LOOKUPS:
                db.execute(statement)
        faults.point("index", self._path)
        db.execute("COMMIT")

    def _write_changes(self, db: sqlite3.Connection, changes: Mapping[str, tuple[dict[str, str], list[str]]]) -> None:
        total = sum(len(added) for added, _ in changes.values())
        done = 0
        for ref, (added, gone) in changes.items():
            db.executemany("DELETE FROM records WHERE source = ? AND path = ?", [(ref, path) for path in gone])
            outdated = [(ref, _encodable(path)) for path in (*gone, *added)]
            db.executemany("DELETE FROM unreadable WHERE source = ? AND path = ?", outdated)
            listed = list(added.items())
            for start in range(0, len(listed), _BATCH):
                batch = listed[start : start + _BATCH]
                self._insert(db, ref, read_records(self._store, batch, self._parse_edited))
                done += len(batch)
                if self._show_progress:
                    self._show_progress(done, total)

    def _list_retried(self, db: sqlite3.Connection) -> list[tuple[str, str]]:
        """List the unreadable files that a caller without a parser for edited files could not read."""
        if self._parse_edited is None:
            return []
        rows = db.execute("SELECT source, path FROM unreadable WHERE retry").fetchall()
        return [(source, path) for source, path in rows if source in self.refs and "\n" not in path]

    def _get_changes(self, old: Optional[str], tip: str, ref: str) -> tuple[dict[str, str], list[str]]:
        """Return path → blob of the files to read, and the paths whose rows are outdated."""
        folders = BRANCH_FOLDERS[MAIN if ref == MAIN else INBOX]
        if old == tip:
            return {}, []
        if old is None:
            added, gone = self._store.git.tree(tip, *folders), []
        else:
            try:
                changed = self._store.git.diff_entries(old, tip, *folders)
            except GitError:  # the commit that the index was built from was pruned
                raise _RebuildNeeded from None
            added = {path: after[1] for path, (_, after) in changed.items() if after}
            gone = [path for path, (before, _) in changed.items() if before]
        added.pop(SIGNALS_README, None)
        return added, [path for path in gone if path != SIGNALS_README]

    def _write_pending(self, db: sqlite3.Connection, listed: set[str]) -> None:
        """Insert pending records that no branch has; remove those that are no longer pending."""
        gone = listed.difference(self.pending)
        db.executemany("DELETE FROM records WHERE source = ? AND path = ?", [(PENDING, name) for name in gone])
        known = {
            name for name in self.pending if db.execute("SELECT 1 FROM records WHERE id = ?", (name[:-5],)).fetchone()
        }
        found = [(name, record) for name, record in read_pending(self._store, self.pending) if name not in known]
        self._insert(db, PENDING, found)

    def _insert(self, db: sqlite3.Connection, source: str, parsed: Iterable[Parsed]) -> None:
        rows, lines, mentions, digest_lines = [], [], [], []
        (last,) = db.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
        for path, record in parsed:
            if isinstance(record, ReflectError):
                retry = self._parse_edited is None
                unreadable = (source, _encodable(path), _encodable(record.message), retry)
                db.execute("INSERT OR REPLACE INTO unreadable VALUES (?, ?, ?, ?)", unreadable)
                continue
            rows.append(_build_row(source, path, record))
            number = last + len(rows)
            if not schema.is_newer(record["id"], record["version"]):
                lines += [(number, *line[:6]) for line in record["lines"]] if record["id"].startswith("TLY") else []
                digest_lines += _list_digest_lines(number, record) if record["id"].startswith("DIG") else []
                mentions += [(one, number) for one in _list_mentions(record, rows[-1][-1])]
        db.executemany(_INSERT, rows)
        db.executemany("INSERT INTO tally_lines VALUES (?, ?, ?, ?, ?, ?, ?)", lines)
        db.executemany("INSERT OR IGNORE INTO mentions VALUES (?, ?)", mentions)
        names = "record, section, key, trust, ids, text"
        db.executemany(f"INSERT INTO digest_lines ({names}) VALUES (?, ?, ?, ?, ?, ?)", digest_lines)


def build_match(words: str) -> str:
    """Return the FTS5 query for words that a person typed: each is quoted, except OR between two of them."""
    parts: list[str] = []
    for at, piece in enumerate(words.replace("\0", " ").split('"')):
        for word in [piece] if at % 2 else piece.split():
            if word == "OR" and parts and parts[-1] != "OR":
                parts.append(word)
            elif any(char.isalnum() for char in word):
                parts.append(f'"{word}"')
    return " ".join(parts[:-1] if parts[-1:] == ["OR"] else parts)


def get_path(store: Store) -> str:
    """Return the path of the index."""
    return store.private_path("cache", FILE)


def delete(store: Store) -> None:
    """Delete the index with its journals. The next command builds it again."""
    path = get_path(store)
    if os.path.lexists(path) or os.path.lexists(f"{path}-journal"):
        with _IndexLock(store):
            delete_files(path)


def delete_files(path: str) -> None:
    """Delete an index and the files that SQLite puts beside it. The caller holds the lock."""
    for name in (path, *(f"{path}{end}" for end in ("-journal", "-wal", "-shm"))):
        faults.point("unlink", name)
        try:
            os.unlink(name)
        except FileNotFoundError:
            pass
        except (IsADirectoryError, PermissionError):
            os.rmdir(name)


class _IndexLock:
    """A lock on the folder of private files, so that nobody replaces the index while it is read.

    SQLite finds its journal by name. A process that still has a deleted database open would use that of the new one.
    """

    def __init__(self, store: Store) -> None:
        self._folder = store.private_path()

    def __enter__(self) -> None:
        self._descriptor = files.lock_directory(self._folder, _LOCK_SECONDS)
        if self._descriptor < 0:
            raise OSError("another process has been using it for too long")

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _connect(path: str) -> sqlite3.Connection:
    import sqlite3

    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    for setting in ("temp_store = MEMORY", f"cache_size = -{_PAGES_KIB}", "secure_delete = ON", "trusted_schema = OFF"):
        db.execute(f"PRAGMA {setting}")
    return db


def _require_usable(path: str) -> None:
    """Create the file, private, unless there is one; raise an error for anything that is not a file of ours."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        files.make_private_dir(os.path.dirname(path))
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, files.PRIVATE_FILE))
        return
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
        raise OSError("something else is in its place")
    if found.st_mode & 0o077:
        os.chmod(path, files.PRIVATE_FILE)


def _is_ours(db: sqlite3.Connection) -> bool:
    """Return whether a file has our tables; create them in an empty one."""
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not tables:
        _create_tables(db)
        return True
    marks = db.execute("PRAGMA application_id").fetchone(), db.execute("PRAGMA user_version").fetchone()
    return marks == ((_APPLICATION_ID,), (_FORMAT,)) and all(
        sql in _OUR_SCHEMA or name.startswith(("texts_", "line_texts_"))
        for name, sql in db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    )


def _create_tables(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {_FORMAT}")
    for statement in _TABLES:
        db.execute(statement)
    db.execute("COMMIT")


def _is_wrong_query(error: Exception) -> bool:
    """Return whether a query itself is wrong, so that another database would not help."""
    import sqlite3

    return isinstance(error, sqlite3.ProgrammingError) or str(error).startswith(
        ("no such column", "near ", "fts5: syntax", "unterminated", "unknown special", "incomplete input")
    )


def read_records(
    store: Store, listed: Sequence[tuple[str, str]], parse_edited: Optional[RecordParser] = None
) -> Iterator[Parsed]:
    """Yield each file, given as path and blob, as a record or as the error.

    A blob that a power cut destroyed is read from its copy in `signals/`.
    """
    blobs = store.git.blobs([blob for _, blob in listed])
    whole = [(path, data or _read_copy(store, path)) for (path, _), data in zip(listed, blobs)]
    for (path, data), parsed in zip(whole, yaml_form.parse_many([data for _, data in whole])):
        record: Union[dict[str, Any], ReflectError] = parsed
        try:
            if isinstance(record, ReflectError):
                if parse_edited is None:
                    raise record
                record = parse_edited(data)
            yaml_form.check(record)
            if not get_record_id(path) or record.get("id") != get_record_id(path):
                raise ReflectError("its name is not its id")
        except ReflectError as error:
            record = error
        yield path, record


def read_pending(store: Store, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the pending records by file name. Those that cannot be read are about to be moved or quarantined."""
    for name in names:
        try:
            record = yaml_form.parse(files.read_regular(store.private_path(PENDING, name), yaml_form.MAX_BYTES + 1))
            yaml_form.check(record)
        except (ReflectError, OSError):
            continue
        if record.get("id") == name[:-5]:
            yield name, record


def _read_copy(store: Store, path: str) -> bytes:
    try:
        return files.read_regular(store.path(path), yaml_form.MAX_BYTES + 1)
    except OSError:
        return b""


def _build_row(source: str, path: str, record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of `_COLUMNS`. Of a record of a newer version only the id is understood."""
    kind, version = record["id"][:3], min(record["version"], _MAX_INTEGER)
    if schema.is_newer(kind, version):
        return (source, path, record["id"], kind, version, *[None] * (len(_COLUMNS) - 6), dumps(record).decode("utf-8"))
    get, project = record.get, record.get("project") or {"key": None, "name": None}
    is_signal = kind == "SIG"
    values = (
        source, path, record["id"], kind, version, get("type", get("kind")),
        get("timestamp") or get("start") or get("day"), get("stored"), get("session_id", get("session")),
        project["key"], project["name"], get("key"), get("subject", get("period")), get("category"),
        get("trust"), get("machine"), min(get("confidence", 0), _MAX_INTEGER),
        bool(get("meta", {}).get("durable", True)), dumps(get("tags", [])).decode("utf-8"),
        record["content"] if is_signal else get("text"),
        _get_other_text(record), dumps(_normalise(record) if is_signal else record).decode("utf-8"),
    )  # fmt: skip
    return tuple([_encodable(value) if type(value) is str else value for value in values])


def _normalise(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a signal in the order of its fields, without values for the fields that are computed."""
    fields = {name: record[name] for name in schema.SIGNAL_FIELDS}
    return {**fields, **record, "status": "captured", "related": [], "promoted_to": None}


def _get_other_text(record: Mapping[str, Any]) -> Optional[str]:
    """Return what a search finds besides the text itself: context, title, reason, root cause."""
    meta = record.get("meta", {})
    parts = [record.get(name) for name in ("title", "context", "reason")]
    parts += [meta.get(name) for name in ("what", "why", "change")]
    return "\n".join([part for part in parts if isinstance(part, str) and part]) or None


def _list_digest_lines(number: int, record: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return the values of `digest_lines`."""
    return [
        (number, line["section"], line["key"], line["trust"], " ".join(line["ids"]), _encodable(line["text"]))
        for line in record["lines"]
    ]


def _list_mentions(record: Mapping[str, Any], body: str) -> set[str]:
    """Return the ids that a learning or decision names. Figures of sessions name every rule, so they are left out."""
    import re

    if record["id"][:3] in ("SIG", "EXP", "EVL", "TLY"):
        return set()
    return set(re.findall(r'"([A-Z]{3}-[0-9]{8}-[0-9a-z]{8})"', body)) - {record["id"]}


def _encodable(text: str) -> str:
    """Return a text that SQLite can store. Half of a surrogate pair cannot be stored."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
