"""What other tools kept, as signals to be answered like any other. Their files are read and never written.

Whatever wrote them, a person has not said it to us: the trust of all of it is `imported`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.capture.draft import draft
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.ids import utc, utc_precise
from reflect_git.review.baseline import statements
from reflect_git.store import append
from reflect_git.workflow import project_of

if TYPE_CHECKING:
    from reflect_git.model.schema import Project, Signal
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

CLAUDE_REFLECT, AUTO_MEMORY, LEARNINGS_MD = "claude-reflect", "auto-memory", "learnings-md"
KINDS = (CLAUDE_REFLECT, AUTO_MEMORY, LEARNINGS_MD)
_LIMIT = 16 << 20
_FEWEST_WORDS = 3
_WAIT = 10.0
_KEPT_TAIL = re.compile(r"\s*\((?:confirmed|unconfirmed|verified)[^)]*\)\s*$", re.IGNORECASE)
_POINTER = re.compile(r"\[[^\]]*\]\([^)]*\.md\)")
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_TYPES = {"correction": "correction", "guardrail": "correction", "positive": "pattern", "explicit": "convention"}


@dataclass(frozen=True)
class Kept:
    """One thing that a tool kept; `folder` is where it was said, empty for anywhere."""

    text: str
    type: str
    timestamp: str
    file: str
    folder: str = ""


def found(kind: str, env: Mapping[str, str], path: str = "") -> list[Kept]:
    """What a tool kept, from where it usually keeps it or from `path`."""
    read: Callable[[str], Iterator[Kept]] = {
        CLAUDE_REFLECT: _queue, AUTO_MEMORY: _memories, LEARNINGS_MD: _learnings,
    }[kind]  # fmt: skip
    place = os.path.abspath(path or _usual(kind, env))
    if not os.path.exists(place):
        raise ReflectError(f"there is no '{place}'", f"give the path: reflect-git import {kind} PATH", "no-source")
    return [kept for kept in read(place) if len(kept.text.split()) >= _FEWEST_WORDS]


def _usual(kind: str, env: Mapping[str, str]) -> str:
    config = paths.config_dir(env)
    if kind == LEARNINGS_MD:
        raise ReflectError("which file is to be imported?", f"reflect-git import {kind} PATH", "usage", EXIT_USAGE)
    return os.path.join(config, "learnings-queue.json") if kind == CLAUDE_REFLECT else paths.projects_dir(env)


def _queue(path: str) -> Iterator[Kept]:
    """A JSON list of messages that were matched, each with its kind, time and project."""
    try:
        items = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise ReflectError(f"'{path}' is no queue of claude-reflect: {error}", code="bad-source") from None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(item.get("message"), str):
            kind = _TYPES.get(str(item.get("type"))) or _TYPES.get(str(item.get("sentiment")), "correction")
            yield Kept(item["message"].strip(), kind, _utc(item.get("timestamp")), path, str(item.get("project") or ""))


def _memories(path: str) -> Iterator[Kept]:
    """The client's own notes: of every project, of one, or one file. The index says again what its files say."""
    for file in _markdown(path, "*/memory/*.md", "memory/*.md", "*.md"):
        folder = _folder_of(file.parent.parent)
        for text in _texts(file):
            if not (file.name == "MEMORY.md" and _POINTER.search(text)):
                yield Kept(text, "discovery", _changed(file), str(file), folder)


def _learnings(path: str) -> Iterator[Kept]:
    for file in _markdown(path, "**/*.md"):
        for text in _texts(file):
            yield Kept(_KEPT_TAIL.sub("", text), "convention", _changed(file), str(file), str(file.parent))


def _markdown(path: str, *patterns: str) -> list[Path]:
    place = Path(path)
    if place.is_file():
        return [place]
    listed = {file for pattern in patterns for file in place.glob(pattern) if file.is_file() and not file.is_symlink()}
    return sorted(listed)


def _texts(file: Path) -> Iterator[str]:
    """Each bullet and paragraph, whole: the sentences of one belong together."""
    seen = set()
    for said in statements(str(file), _read(str(file)).decode("utf-8", "replace")):
        if said.line not in seen:
            seen.add(said.line)
            yield said.text


def _folder_of(project: Path) -> str:
    """Where the sessions of one folder of transcripts ran: its name alone does not say it."""
    for transcript in sorted(project.glob("*.jsonl")):
        with transcript.open("rb") as file:
            match = _CWD.search(file.read(1 << 16))
        if match:
            try:
                return str(json.loads(match[1]))
            except ValueError:
                continue
    return ""


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_LIMIT + 1)
    if len(data) > _LIMIT:
        raise ReflectError(f"'{path}' is larger than {_LIMIT >> 20} MiB", "split it", code="bad-source")
    return data


def _utc(value: Any) -> str:
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return utc()
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _changed(file: Path) -> str:
    return utc(min(file.stat().st_mtime, time.time()))


def signals(
    kind: str, kept: list[Kept], store: Store | None, scan: Scan | None, env: Mapping[str, str]
) -> list[Signal]:
    """As they would be stored, without those that were imported before: the file may have been saved again since."""
    known = _known(scan, kind) if scan else set()
    made = []
    for one in kept:
        signal = _signal(kind, one, store, env)
        if signal["key"] not in known:
            known.add(signal["key"])
            made.append(signal)
    return made


def _known(scan: Scan, kind: str) -> set[str]:
    rows = scan.whole(row for row in scan.rows if scan.columns["trust"][row] == "imported")
    return {signal["key"] for signal in rows if signal["meta"].get("imported") == kind}


def _signal(kind: str, kept: Kept, store: Store | None, env: Mapping[str, str]) -> Signal:
    facts = {
        "type": kept.type, "content": kept.text, "context": kept.text, "timestamp": kept.timestamp, "trust": "imported",
        "confidence": 1, "source": {"hook": "import", "file": kept.file}, "project": _project(store, kept.folder),
        "meta": {"imported": kind, "durable": True}, "tags": [kind],
    }  # fmt: skip
    return draft(facts, store.machine if store else "", utc_precise(), paths.home_dir(env))


def _project(store: Store | None, folder: str) -> Project | None:
    return project_of(store, folder) if store and folder and os.path.isdir(folder) else None


def take(store: Store, made: list[Signal]) -> list[str]:
    """All of a source in one commit; returns the ids."""
    return append.append_new(store, made, _WAIT)
