"""Read the database of claude-mem: what its model observed in sessions, and its summaries of them.

An observation of a decision, a discovery or a fixed bug becomes a signal, and a summary becomes a session summary.
Observations that say what was built are left out: the summaries say so too.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from reflect_git import paths
from reflect_git.candidates.import_texts import Folders, ImportedText, ImportResult, to_utc
from reflect_git.errors import ReflectError
from reflect_git.records.ids import plural
from reflect_git.redact import join_redacted, redact

_FILE = "claude-mem.db"
_TYPES = {"decision": "convention", "discovery": "discovery", "bugfix": "gotcha"}
# The sessions of an observation, under the names that this column had.
_SESSION_COLUMNS = ("memory_session_id", "sdk_session_id")
_CLIENT_COLUMNS = ("content_session_id", "claude_session_id")


def get_usual_path(env: Mapping[str, str]) -> str:
    """Return where claude-mem keeps its database."""
    folder = env.get("CLAUDE_MEM_DATA_DIR") or os.path.join(paths.home_dir(env), ".claude-mem")
    return os.path.join(folder, _FILE)


def read_database(path: str, folders: Folders) -> ImportResult:
    """Read the observations and summaries whose project is known."""
    place = os.path.join(path, _FILE) if os.path.isdir(path) else path
    rows, summaries, sessions = _read_tables(place)
    texts: list[ImportedText] = []
    unknown: Counter[str] = Counter()
    built = 0
    for row, is_summary in [*((row, False) for row in rows), *((row, True) for row in summaries)]:
        if not is_summary and row.get("type") not in _TYPES:
            built += 1
            continue
        session = str(_get_first(row, _SESSION_COLUMNS) or "")
        name = str(row.get("project") or "")
        folder = folders.find(sessions.get(session, session), name)
        made = (_build_summary if is_summary else _build_observation)(row, place, folder)
        if made and not folder:
            unknown[name] += 1
        elif made:
            texts.append(made)
    return ImportResult(texts, list(_report(place, built, unknown)))


def _report(path: str, built: int, unknown: Counter[str]) -> Iterator[str]:
    if built:
        yield f"{plural(built, 'observation')} of '{path}' about what was built: its summaries say so too"
    for name, count in sorted(unknown.items()):
        entries = plural(count, "entry", "entries")
        yield f"{entries} of '{name}': the folder of this project is not known; run the import there"


def _read_tables(path: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, str]]:
    """Return observations, summaries, and session → the client's session."""
    import sqlite3

    try:
        with tempfile.TemporaryDirectory() as folder:
            with sqlite3.connect(_get_address(path, folder), uri=True) as database:
                database.row_factory = sqlite3.Row
                observations, summaries, sessions = (
                    [dict(row) for row in database.execute(f"SELECT * FROM {table} ORDER BY id")]
                    for table in ("observations", "session_summaries", "sdk_sessions")
                )
            database.close()
    except sqlite3.Error as error:
        hint = f"claude-mem keeps its database in '~/.claude-mem/{_FILE}'"
        raise ReflectError(f"'{path}' is not a claude-mem database: {error}", hint, "bad-source") from None
    client = {
        str(_get_first(row, _SESSION_COLUMNS)): str(_get_first(row, _CLIENT_COLUMNS))
        for row in sessions if _get_first(row, _SESSION_COLUMNS) and _get_first(row, _CLIENT_COLUMNS)
    }  # fmt: skip
    return observations, summaries, client


def _get_address(path: str, folder: str) -> str:
    """Return the address of a database that reading leaves unchanged: of a copy while its log has more."""
    log = f"{path}-wal"
    if os.path.exists(log) and os.path.getsize(log):
        for name in (path, log):
            shutil.copyfile(name, os.path.join(folder, os.path.basename(name)))
        path = os.path.join(folder, os.path.basename(path))
        return f"file:{_quote(path)}"
    return f"file:{_quote(path)}?mode=ro&immutable=1"


def _quote(path: str) -> str:
    from urllib.parse import quote

    return quote(os.fsencode(os.path.abspath(path)))


def _get_first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name)), None)


def _build_observation(row: Mapping[str, Any], path: str, folder: str) -> ImportedText | None:
    """Convert an observation: its title, with facts and narrative as the context; older ones have one text."""
    told = [str(row.get(name) or "").strip() for name in ("title", "subtitle", "narrative", "text")]
    kept = [redact(text) for text in [*told[:2], *_parse_list(row.get("facts")), *told[2:]] if text]
    if not kept:
        return None
    # Several were made in one session: the title alone may be short, such as "Auth fix".
    content = kept[0] if len(kept[0].split()) > _MIN_TITLE or len(kept) == 1 else join_redacted(": ", kept[:2])
    when = to_utc(row.get("created_at_epoch") or row.get("created_at"))
    return ImportedText(content, _TYPES[row["type"]], when, path, folder, join_redacted("\n", kept))


_MIN_TITLE = 2


def _parse_list(value: Any) -> list[str]:
    try:
        found = json.loads(value or "[]")
    except (ValueError, TypeError, RecursionError):
        return []
    return [one.strip() for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _build_summary(row: Mapping[str, Any], path: str, folder: str) -> ImportedText | None:
    """Convert a summary of a session: what was asked for, done, learned and left open."""
    told = {name: str(row.get(name) or "").strip() for name in ("request", "completed", "learned", "next_steps")}
    if not told["request"]:
        return None
    meta = {
        "outcome": told["completed"], "lessons": [text for text in (told["learned"],) if text],
        "todos": [text for text in (told["next_steps"],) if text],
    }  # fmt: skip
    when = to_utc(row.get("created_at_epoch") or row.get("created_at"))
    context = join_redacted("\n", [redact(text) for text in told.values() if text])
    return ImportedText(redact(told["request"]), "summary", when, path, folder, context, meta)
