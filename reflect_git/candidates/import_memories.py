"""Read what other tools remember: claude-mem, and the continuous-learning skills of ECC (everything-claude-code).

What claude-mem observed becomes a signal if it is a decision, a discovery or a fixed bug; its summaries become session
summaries. Observations that say what was built are left out: the summaries say so too. An instinct of ECC is a file
with `trigger` in its front matter and a section `Action`; a learned skill is a page with a problem and its solution.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.ids import plural, utc
from reflect_git.redact import join_redacted, redact

if TYPE_CHECKING:
    import sqlite3

    from reflect_git.redact import Redacted

_MAX_BYTES = 16 << 20
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_MAX_FOLDERS = 2000  # looked at on the way to one project
_DATABASE = "claude-mem.db"
_TYPES = {"decision": "convention", "discovery": "discovery", "bugfix": "gotcha"}
_TABLES = ("observations", "session_summaries", "sdk_sessions")
# The sessions of an observation, under the names that this column had.
_SESSION_COLUMNS = ("memory_session_id", "sdk_session_id")
_CLIENT_COLUMNS = ("content_session_id", "claude_session_id")
_MIN_TITLE = 2
_ENDINGS = (".yaml", ".yml", ".md")
_INSTINCTS = ("instincts/personal/*", "instincts/inherited/*")
_FIELD = re.compile(r"^(\w+):\s*(.*?)\s*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
_STARTS = re.compile(r"^(?:when|before|after|if|while|whenever|on|for)\b", re.IGNORECASE)


@dataclass(frozen=True)
class ImportedText:
    """One text that another tool noted; `folder` is where it was said, empty for anywhere."""

    text: Redacted
    type: str
    timestamp: str
    file: str
    folder: str = ""
    context: Redacted | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ImportResult:
    """The texts in a source, and why some files or entries were left out."""

    texts: list[ImportedText]
    left_out: list[str]


def read_text(file: Path) -> str:
    """Read a file of text; raise if it is too large or not UTF-8."""
    try:
        return read_bytes(str(file)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReflectError(f"'{file}' is not UTF-8 text", "give a file of Markdown", code="bad-source") from None


def read_bytes(path: str) -> bytes:
    """Read a file up to the size limit."""
    if not os.path.isfile(path):
        raise ReflectError(f"'{path}' is not a file", "give one", code="bad-source")
    with open(path, "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ReflectError(f"'{path}' is larger than {_MAX_BYTES >> 20} MiB", "split it", code="bad-source")
    return data


def to_utc(value: Any) -> str:
    """Return a timestamp in UTC; the current time if it cannot be parsed. A number counts milliseconds."""
    try:
        if isinstance(value, (int, float)):
            return utc(min(value / 1000, time.time()))
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError):
        return utc()
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def get_change_time(file: Path) -> str:
    return utc(min(file.stat().st_mtime, time.time()))


def find_session_folder(project: Path) -> str:
    """Return the folder in which a project's sessions ran, from its transcripts, or else from the client's name for it.

    Transcripts are deleted after a month. The name alone is ambiguous, so it is compared with the folders that exist.
    """
    for transcript in sorted(project.glob("*.jsonl")):
        try:
            match = _CWD.search(files.read_regular(str(transcript), 1 << 16))
        except OSError:
            continue
        if match:
            try:
                return str(json.loads(match[1]))
            except ValueError:
                continue
    return _find_folder_by_name(project.name)


def _find_folder_by_name(name: str) -> str:
    """Return the existing folder that the client gives this name; empty if no folder has it, or several do."""
    waiting, found = ["/"], []
    for _ in range(_MAX_FOLDERS):
        if not waiting:
            break
        folder = waiting.pop()
        try:
            inside = [entry.path for entry in os.scandir(folder) if entry.is_dir()]
        except OSError:
            continue
        found += [path for path in inside if paths.sessions_folder(path) == name]
        waiting += [path for path in inside if name.startswith(f"{paths.sessions_folder(path)}-")]
    return found[0] if len(found) == 1 else ""


def _list_session_folders(projects: str) -> dict[str, str]:
    """Map the id of each session with a transcript to its folder."""
    return {
        transcript.stem: folder
        for project in Path(projects).glob("*") if (folder := find_session_folder(project))
        for transcript in project.glob("*.jsonl")
    }  # fmt: skip


class Folders:
    """Find the folder of a session, or of a project by its name, among those that are known. Ambiguous: none."""

    def __init__(self, env: Mapping[str, str], known: list[str]) -> None:
        self._sessions = _list_session_folders(paths.projects_dir(env))
        self._by_name: dict[str, set[str]] = {}
        for folder in {*self._sessions.values(), *known}:
            self._by_name.setdefault(os.path.basename(folder.rstrip("/")), set()).add(folder)

    def find(self, session: str, name: str) -> str:
        """Return the folder of a session, or else of the only project with this name."""
        named = self._by_name.get(name.rpartition("/")[2], set())
        return self._sessions.get(session) or (next(iter(named)) if len(named) == 1 else "")


def get_claude_mem_path(env: Mapping[str, str]) -> str:
    """Return where claude-mem keeps its database."""
    folder = env.get("CLAUDE_MEM_DATA_DIR") or os.path.join(paths.home_dir(env), ".claude-mem")
    return os.path.join(folder, _DATABASE)


def read_claude_mem(path: str, folders: Folders) -> ImportResult:
    """Read the observations and summaries whose project is known."""
    place = os.path.join(path, _DATABASE) if os.path.isdir(path) else path
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
            with sqlite3.connect(_get_database_address(path, folder), uri=True) as database:
                known = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                if known.isdisjoint(_TABLES):
                    raise sqlite3.DatabaseError(f"it has no table '{_TABLES[0]}'")
                # An old version, or one whose upgrade was interrupted, lacks some.
                observations, summaries, sessions = (
                    _read_table(database, table) if table in known else [] for table in _TABLES
                )
            database.close()
    except sqlite3.Error as error:
        hint = f"claude-mem keeps its database in '~/.claude-mem/{_DATABASE}'"
        raise ReflectError(f"'{path}' is not a claude-mem database: {error}", hint, "bad-source") from None
    client = {
        str(_get_first(row, _SESSION_COLUMNS)): str(_get_first(row, _CLIENT_COLUMNS))
        for row in sessions if _get_first(row, _SESSION_COLUMNS) and _get_first(row, _CLIENT_COLUMNS)
    }  # fmt: skip
    return observations, summaries, client


def _read_table(database: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, each with the names of its columns: versions have different ones."""
    found = database.execute(f"SELECT * FROM {table} ORDER BY id")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row)) for row in found]


def _get_database_address(path: str, folder: str) -> str:
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


def list_ecc_folders(env: Mapping[str, str]) -> list[str]:
    """Return where ECC keeps what it learned, the newest place first."""
    home = paths.home_dir(env)
    data = env.get("XDG_DATA_HOME") or ""
    base = data if os.path.isabs(data) else os.path.join(home, ".local", "share")
    override = env.get("CLV2_HOMUNCULUS_DIR") or ""
    first = override if os.path.isabs(override) else os.path.join(base, "ecc-homunculus")
    claude = paths.config_dir(env)
    found = [first, os.path.join(claude, "homunculus"), os.path.join(claude, "skills", "learned")]
    return [folder for folder in found if os.path.isdir(folder)]


def read_ecc(folders: list[str]) -> ImportResult:
    """Read every instinct and learned skill; files that cannot be read are left out."""
    got = ImportResult([], [])
    for folder in map(Path, folders):
        for file, root in _list_ecc_files(folder):
            try:
                got.texts.extend(_read_ecc_file(file, root))
            except (ReflectError, OSError) as error:
                got.left_out.append(str(error))
    return got


def _list_ecc_files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file and the folder of its project; empty if it is for all."""
    if folder.is_file():
        yield folder, ""
        return
    places = [(folder / pattern, "") for pattern in _INSTINCTS]
    roots = _read_registry(folder / "projects.json")
    for project in sorted(folder.glob("projects/*")):
        if project.name in roots:  # else its folder is unknown
            places += [(project / pattern, roots[project.name]) for pattern in _INSTINCTS]
    if folder.name == "learned":
        places += [(folder / "*.md", ""), (folder / "*" / "SKILL.md", "")]
    for pattern, root in places:
        for file in sorted(folder.glob(str(pattern.relative_to(folder)))):
            if file.suffix.lower() in _ENDINGS and file.is_file() and not file.is_symlink():
                yield file, root


def _read_registry(path: Path) -> dict[str, str]:
    """Return the folder of each project that ECC knows."""
    try:
        found = json.loads(read_bytes(str(path)))
    except (ReflectError, ValueError, RecursionError):
        return {}
    listed = found.items() if isinstance(found, dict) else ()
    return {name: str(one["root"]) for name, one in listed if isinstance(one, dict) and one.get("root")}


def _read_ecc_file(file: Path, root: str) -> Iterator[ImportedText]:
    text, when = redact(read_text(file)), get_change_time(file)
    parts = re.split(r"^---[ \t]*$", text, flags=re.MULTILINE)
    documents = list(zip(parts[1::2], parts[2::2]))
    instincts = [(dict(_FIELD.findall(head)), body) for head, body in documents if "trigger" in head]
    if not instincts:
        if made := _build_skill(documents[0][1] if documents else text, file, root, when):
            yield made
        return
    for fields, body in instincts:
        if said := _join_instinct(fields, body):
            yield ImportedText(said, "convention", when, str(file), root, redact(body.strip()))


def _join_instinct(fields: Mapping[str, str], body: str) -> Redacted | None:
    """Return trigger and action as one sentence: `When writing tests: use fixtures`."""
    sections = _split_sections(body)
    action = sections.get("action") or next((text for text in sections.values() if text), "") or _get_title(body)
    trigger = fields.get("trigger", "").strip("\"' ")
    if not action:
        return None
    lead = trigger if _STARTS.match(trigger) else f"when {trigger}" if trigger else ""
    return redact(f"{lead[0].upper()}{lead[1:]}: {action}" if lead else action)


def _build_skill(text: str, file: Path, root: str, when: str) -> ImportedText | None:
    """Convert a learned skill: its title and the first paragraph of its solution."""
    title, sections = _get_title(text), _split_sections(text)
    solution = sections.get("solution") or sections.get("pattern") or ""
    if not title or not solution:
        return None
    return ImportedText(redact(f"{title}: {solution}"), "discovery", when, str(file), root, redact(text.strip()))


def _get_title(text: str) -> str:
    match = _HEADING.search(text)
    return match[1] if match else ""


def _split_sections(text: str) -> dict[str, str]:
    """Map each heading, in lower case, to the first paragraph below it, on one line."""
    parts = _HEADING.split(text)
    return {
        heading.lower(): " ".join(body.strip().split("\n\n")[0].split())
        for heading, body in zip(parts[1::2], parts[2::2])
    }
