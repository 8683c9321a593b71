"""Import what other tools have noted as signals for review. Their files are read and never written.

Nobody typed these texts to us, whoever wrote them, so the trust of all of them is `imported`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.candidates import import_memories
from reflect_git.candidates.import_memories import (
    Folders,
    ImportedText,
    ImportResult,
    find_session_folder,
    get_change_time,
    read_bytes,
    read_text,
    to_utc,
)
from reflect_git.candidates.statements import get_front_matter, parse_statements
from reflect_git.capture.new_signal import build_signal_from_input
from reflect_git.capture.service import get_project, is_ignored
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.project import top_of
from reflect_git.records.ids import plural, utc_precise
from reflect_git.redact import join_redacted, redact
from reflect_git.store import append
from reflect_git.store.local import projects

if TYPE_CHECKING:
    from reflect_git.records.schema import Project, Signal
    from reflect_git.redact import Redacted
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

CLAUDE_REFLECT, AUTO_MEMORY, LEARNINGS_MD = "claude-reflect", "auto-memory", "learnings-md"
CLAUDE_MEM, ECC = "claude-mem", "ecc"
KINDS = (CLAUDE_REFLECT, CLAUDE_MEM, ECC, AUTO_MEMORY, LEARNINGS_MD)
_COMMAND_HINTS = {
    AUTO_MEMORY: "reflect-git import auto-memory FILE",
    LEARNINGS_MD: "reflect-git import learnings-md FILE",
}
_QUEUE_FILE, _INDEX_FILE = "learnings-queue.json", "MEMORY.md"
_MEMORY_GLOBS = ("*/memory/*.md", "memory/*.md", "*.md")
_MIN_WORDS = 3
_MAX_NAMED, _MAX_NAMED_LENGTH = 3, 40  # of the texts that are too short: how many to name, and with how many characters
_LOCK_SECONDS = 10.0
# Metadata of an entry, such as its date and status. None of it is an instruction.
_METADATA = re.compile(
    r"(?:\*\*)?(?:Logged|Priority|Status|Area|Source|Pattern-Key|Recurrence-Count|First-Seen|Last-Seen|"
    r"Related Files|See Also|Tags)(?:\*\*)?:"
)
_STATUS_SUFFIX = re.compile(r"\s*\((?:confirmed|unconfirmed|verified)[^)]*\)\s*$", re.IGNORECASE)
_NOTE_LINK = re.compile(r"\[[^\]]*\]\([^)]*\.md\)")
_REASON = re.compile(r"[*_]*(?:why|how(?: to apply)?|reasons?|rationale)[*_]*:", re.IGNORECASE)
_NOTE_KIND = re.compile(r"^\s*type:\s*[\"']?(\w+)", re.MULTILINE)
_TYPES_BY_NOTE_KIND = {"feedback": "convention"}
_TYPES_BY_ENTRY_KIND = {
    "correction": "correction",
    "guardrail": "correction",
    "positive": "pattern",
    "explicit": "convention",
}


def read_source(kind: str, env: Mapping[str, str], path: str, store: Store | None, here: str = "") -> ImportResult:
    """Read the texts of another tool from its usual place or from `path`, without those of ignored projects.

    `here`: the folder that the user is in; it is known, like those with sessions.
    """
    got = _read(kind, env, path, store, here)
    short = [kept for kept in got.texts if _is_short(kept)]
    ignored = {folder for folder in {kept.folder for kept in got.texts} if store and is_ignored(store, folder)}
    left = [kept for kept in got.texts if kept.folder not in ignored and not _is_short(kept)]
    shown = [kept for kept in short if kept.folder not in ignored]
    return ImportResult(left, [*got.left_out, *_report_short(shown)])


def _read(kind: str, env: Mapping[str, str], path: str, store: Store | None, here: str) -> ImportResult:
    if kind == ECC:
        folders = [os.path.abspath(path)] if path else import_memories.list_ecc_folders(env)
        if folders and os.path.exists(folders[0]):
            return import_memories.read_ecc(folders)
        raise _missing_error(kind, path or "~/.local/share/ecc-homunculus")
    place = os.path.abspath(path or _get_usual_path(kind, env))
    if not os.path.exists(place):
        raise _missing_error(kind, place)
    if kind == CLAUDE_MEM:
        known = [*(projects.list_folders(store) if store else ()), *([top_of(here) or here] if here else ())]
        return import_memories.read_claude_mem(place, Folders(env, known))
    return _read_queue(place) if kind == CLAUDE_REFLECT else _read_markdown(kind, place)


def _missing_error(kind: str, place: str) -> ReflectError:
    return ReflectError(f"there is no '{place}'", f"give the path: reflect-git import {kind} PATH", "no-source")


def _is_short(kept: ImportedText) -> bool:
    return len(kept.text.split()) < _MIN_WORDS


def _report_short(short: list[ImportedText]) -> Iterator[str]:
    """Yield one line per file about texts that are too short."""
    for file in dict.fromkeys(kept.file for kept in short):
        texts = [f"'{_shorten(kept.text)}'" for kept in short if kept.file == file]
        more = f" and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
        yield f"too short, in '{file}': {', '.join(texts[:_MAX_NAMED])}{more}"


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_NAMED_LENGTH else f"{flat[:_MAX_NAMED_LENGTH]}…"


def _get_usual_path(kind: str, env: Mapping[str, str]) -> str:
    """Return the path where a tool keeps its notes."""
    if kind == LEARNINGS_MD:
        raise ReflectError("which file is to be imported?", f"reflect-git import {kind} PATH", "usage", EXIT_USAGE)
    if kind == AUTO_MEMORY:
        return paths.projects_dir(env)
    if kind == CLAUDE_MEM:
        return import_memories.get_claude_mem_path(env)
    # claude-reflect does not know CLAUDE_CONFIG_DIR.
    usual = [os.path.join(folder, _QUEUE_FILE) for folder in (paths.config_dir(env), f"{paths.home_dir(env)}/.claude")]
    return next(filter(os.path.exists, usual), usual[0])


def _read_queue(path: str) -> ImportResult:
    """Read a claude-reflect queue: a JSON list of matched messages, each with a kind, a time and a project."""
    try:
        items = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise _bad_queue_error(path, str(error)) from None
    if not isinstance(items, list):
        raise _bad_queue_error(path, "it is not a list")
    said = [item for item in items if isinstance(item, dict) and isinstance(item.get("message"), str)]
    odd = len(items) - len(said)
    left_out = [f"{odd} of {plural(len(items), 'entry', 'entries')} of '{path}': no message"] if odd else []
    return ImportResult([_parse_queue_entry(item, path) for item in said], left_out)


def _parse_queue_entry(item: Mapping[str, Any], path: str) -> ImportedText:
    """Convert one entry of the queue."""
    kind = _TYPES_BY_ENTRY_KIND.get(str(item.get("type"))) or _TYPES_BY_ENTRY_KIND.get(
        str(item.get("sentiment")), "correction"
    )
    return ImportedText(
        redact(item["message"].strip()), kind, to_utc(item.get("timestamp")), path, str(item.get("project") or "")
    )


def _bad_queue_error(path: str, why: str) -> ReflectError:
    """Return the error for a file that is not a claude-reflect queue."""
    hint = f"claude-reflect keeps it in '~/.claude/{_QUEUE_FILE}'"
    return ReflectError(f"'{path}' is not a claude-reflect queue: {why}", hint, code="bad-source")


def _read_markdown(kind: str, path: str) -> ImportResult:
    """Read one Markdown file, or all in a folder; in a folder, unreadable files are left out."""
    place = Path(path)
    read, patterns = (_read_memory, _MEMORY_GLOBS) if kind == AUTO_MEMORY else (_read_learnings, ("**/*.md",))
    if place.is_file():
        return ImportResult(list(read(place)), [])
    listed = {file for pattern in patterns for file in place.glob(pattern) if file.is_file() and not file.is_symlink()}
    if not listed:
        raise ReflectError(
            f"there is nothing to import in '{path}'", f"give a file of Markdown: {_COMMAND_HINTS[kind]}", "empty"
        )
    got = ImportResult([], [])
    for file in sorted(listed):
        try:
            got.texts.extend(read(file))
        except (ReflectError, OSError) as error:
            got.left_out.append(str(error))
    return got


def _read_memory(file: Path) -> Iterator[ImportedText]:
    """Yield the facts in one of Claude's memory notes, with their reasons; skip index lines that link to a note."""
    text, folder, when = redact(read_text(file)), find_session_folder(file.parent.parent), get_change_time(file)
    kind = _TYPES_BY_NOTE_KIND.get(_get_note_kind(text), "discovery")
    for said in _group_reasons(_list_texts(file, text)):
        if file.name != _INDEX_FILE or not _NOTE_LINK.search(said[0]):
            yield ImportedText(said[0], kind, when, str(file), folder, join_redacted("\n", said))


def _group_reasons(texts: Iterator[Redacted]) -> list[list[Redacted]]:
    """Group each fact with the following paragraphs that say why it is so or how to apply it."""
    found: list[list[Redacted]] = []
    for text in texts:
        if found and _REASON.match(text):
            found[-1].append(text)
        else:
            found.append([text])
    return found


def _get_note_kind(text: str) -> str:
    """Return the `type` in a note's front matter."""
    match = _NOTE_KIND.search("\n".join(get_front_matter(text.splitlines())))
    return match[1] if match else ""


def _read_learnings(file: Path) -> Iterator[ImportedText]:
    """Yield the learnings in a Markdown file."""
    for text in _list_texts(file, redact(read_text(file))):
        if _METADATA.match(text):
            continue
        yield ImportedText(
            redact(_STATUS_SUFFIX.sub("", text)), "convention", get_change_time(file), str(file), str(file.parent)
        )


def _list_texts(file: Path, text: Redacted) -> Iterator[Redacted]:
    """Yield each bullet and paragraph in full, because its sentences belong together.

    The page was redacted as a whole before, because code and tables are left out here.
    """
    seen = set()
    for said in parse_statements(str(file), text):
        if said.line not in seen:
            seen.add(said.line)
            yield redact(said.text)


def build_signals(
    kind: str, kept: list[ImportedText], store: Store | None, scan: Scan | None, env: Mapping[str, str]
) -> list[Signal]:
    """Return the signals to store, without those imported before: the file may have been saved again since."""
    known = _load_known_keys(scan, kind) if scan else set()
    made = []
    for one in kept:
        signal = _build_signal(kind, one, store, env)
        if signal["key"] not in known:
            known.add(signal["key"])
            made.append(signal)
    return made


def _load_known_keys(scan: Scan, kind: str) -> set[str]:
    """Return the keys of what was imported from this kind of source, and of all imports that expired."""
    rows = scan.get_signals(row for row in scan.rows if scan.columns["trust"][row] == "imported")
    live = {signal["key"] for signal in rows if signal["meta"].get("imported") == kind}
    return live | {line[0] for line in scan.history.tally_lines if line[5] == "imported"}


def _build_signal(kind: str, kept: ImportedText, store: Store | None, env: Mapping[str, str]) -> Signal:
    facts = {
        "type": kept.type, "content": kept.text, "context": kept.context or kept.text, "timestamp": kept.timestamp,
        "trust": "imported", "confidence": 1, "source": {"hook": "import", "file": kept.file},
        "project": _find_project(store, kept.folder), "tags": [kind],
        "meta": {**kept.meta, "imported": kind, "durable": True},
    }  # fmt: skip
    return build_signal_from_input(facts, store.machine if store else "", utc_precise(), paths.home_dir(env))


def _find_project(store: Store | None, folder: str) -> Project | None:
    return get_project(store, folder) if store and folder else None


def store_signals(store: Store, made: list[Signal]) -> list[str]:
    """Store all signals of a source in one commit; return their ids."""
    return append.append_new(store, made, _LOCK_SECONDS)
