"""The texts of other tools, and what reading any of them needs: files, times, and the folder of a session."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.ids import utc

if TYPE_CHECKING:
    from reflect_git.redact import Redacted

_MAX_BYTES = 16 << 20
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_MAX_FOLDERS = 2000  # looked at on the way to one project


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
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except (ValueError, OverflowError):
        return utc()
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


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
    """Return the one existing folder that has this name in the client; empty if there is none, or several."""
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
