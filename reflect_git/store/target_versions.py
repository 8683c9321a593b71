"""List the versions of targets, and find the one that a session loaded by its text.

A version is a snapshot of our part of an instruction file: `targets/<machine>/<project or global>/<file>` on main.
"""

from __future__ import annotations

import os
import re
import time

from reflect_git.records import json_form
from reflect_git.records.ids import digest
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Optional

    from reflect_git.store.repository import Store

FOLDER, GLOBAL_FOLDER = "targets", "global"
GLOBAL_PREFIX = f"{GLOBAL_FOLDER}/"  # of global files in the figures of a session
MAX_VERSION = 10**9
_COMMIT_PREFIX = "\x01"
_SECOND = len("2026-02-11T10:00:00")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ENTRY_ID = re.compile(r"<!--\s*(LRN-[0-9]{8}-[0-9a-z]{8})\s*-->")
_FRONT_MATTER = re.compile(r"---\r?\n(.*?\n)---\r?\n", re.DOTALL)
_FRONT_ID = re.compile(r"^id: *(LRN-[0-9]{8}-[0-9a-z]{8})\s*$", re.MULTILINE)


class Version(NamedTuple):
    """One commit that changed a target on this machine: `time` in UTC, `blob` is the snapshot it left."""

    number: int
    commit: str
    time: str
    subject: str
    blob: str


class LoadedTarget(NamedTuple):
    """A target as a session loaded it: its path, its name in session figures, the version, and the rules in it."""

    path: str
    name: str
    number: int
    rules: tuple[str, ...]


def get_folder_suffix(key: str) -> str:
    """Return the suffix of a project's snapshot folder; it does not depend on the project's name."""
    return digest("project", key)[:8]


def parse_header(data: bytes) -> dict[str, Any]:
    """Parse the header: version, sha256 of the file, learning, change, and the number of folders we created."""
    found: dict[str, Any] = {}
    for line in data.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(": ")
        try:
            found[name] = json_form.loads(value)
        except (ValueError, RecursionError):
            return {}
    return found


def parse_version(data: bytes) -> int:
    """Return the version number of a snapshot, or 0 if it is not one: a person or a remote may change a snapshot."""
    number = parse_header(data).get("version")
    return number if type(number) is int and 0 < number < MAX_VERSION else 0


def list_versions(store: Store, path: str) -> list[Version]:
    """List the versions of a snapshot, newest first, with two git processes in total."""
    asked = ("log", "--raw", "--no-abbrev", "--no-renames", f"--format={_COMMIT_PREFIX}%H %ct %s", MAIN, "--")
    listed = store.git.run(*asked, f":(top,literal){path}").out.decode("utf-8", "replace").split("\n")
    found, head = [], ""
    for line in listed:
        if line.startswith(_COMMIT_PREFIX):
            head = line[1:]
        elif line.startswith(":") and line.split()[4] != "D":
            commit, _, rest = head.partition(" ")
            seconds, _, subject = rest.partition(" ")
            found.append((commit, int(seconds), subject, line.split()[3]))
    numbers = map(parse_version, store.git.blobs([blob for *_, blob in found]))
    return [
        Version(number, commit, _format_time(seconds), subject, blob)
        for number, (commit, seconds, subject, blob) in zip(numbers, found)
        if number
    ]


def _format_time(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def normalize_text(text: str) -> str:
    """Normalize a text for comparison: formatters may wrap it and change its emphasis."""
    return " ".join(text.replace("`", "").replace("*", "").split()).casefold()


def parse_texts(body: bytes) -> dict[str, str]:
    """Map the rules of a snapshot to their normalized texts, without the comments, which the client removes."""
    text = body.decode("utf-8", "replace")
    front = _FRONT_MATTER.match(text)
    if front:
        identity = _FRONT_ID.search(front[1])
        return {identity[1]: _normalize_entry(text[front.end() :])} if identity else {}
    pieces = _ENTRY_ID.split(text)
    return {identity: _normalize_entry(piece) for identity, piece in zip(pieces[1::2], pieces[2::2])}


def _normalize_entry(piece: str) -> str:
    text = normalize_text(_COMMENT.sub("", piece).strip().lstrip("*"))
    return text[2:] if text.startswith(("- ", "+ ")) else text


class TargetVersions:
    """The versions of the targets that a session in one project may load. Git is asked when a file needs it."""

    def __init__(self, store: Store, roots: Mapping[str, str]) -> None:
        """Take the folders in which targets are: `roots` maps the suffix of a project, or "global", to its folder."""
        self._store = store
        self._roots = roots
        self._paths: Optional[dict[str, str]] = None
        self._known: dict[str, list[tuple[Version, dict[str, str]]]] = {}

    def find(self, path: str, content: str, moment: str) -> Optional[LoadedTarget]:
        """Return the target at this path and the version that its content has; None if no version fits.

        Of the versions until then, the one with the most text of ours that is in the content; then the newest.
        """
        if self._paths is None:
            self._paths = dict(self._list_paths())
        snapshot = self._paths.get(path) or self._paths.get(os.path.realpath(path))
        if snapshot is None:
            return None
        if snapshot not in self._known:
            self._known[snapshot] = self._load(snapshot)
        text = normalize_text(content)
        best: Optional[tuple[int, Version, dict[str, str]]] = None
        for version, texts in self._known[snapshot]:
            if version.time[:_SECOND] <= moment[:_SECOND] and all(each in text for each in texts.values()):
                size = sum(map(len, texts.values()))
                if best is None or size > best[0]:
                    best = size, version, texts
        if best is None:
            return None
        folder, _, inside = snapshot.split("/", 2)[2].partition("/")
        name = f"{GLOBAL_PREFIX}{inside}" if folder == GLOBAL_FOLDER else inside
        return LoadedTarget(inside, name, best[1].number, tuple(best[2]))

    def _list_paths(self) -> Iterable[tuple[str, str]]:
        """Yield each file that we wrote and its snapshot."""
        prefix = f"{FOLDER}/{self._store.machine}"
        for path in self._store.git.tree(MAIN, prefix):
            folder, _, inside = path[len(prefix) + 1 :].partition("/")
            root = self._roots.get(folder if folder == GLOBAL_FOLDER else folder.rpartition("-")[2])
            if root and inside:
                whole = os.path.join(root, *inside.split("/"))
                yield whole, path
                yield os.path.realpath(whole), path

    def _load(self, snapshot: str) -> list[tuple[Version, dict[str, str]]]:
        """Return the versions of a target with their texts, newest first."""
        listed = list_versions(self._store, snapshot)
        bodies = [data.partition(b"\n\n")[2] for data in self._store.git.blobs([one.blob for one in listed])]
        return [(version, parse_texts(body)) for version, body in zip(listed, bodies)]
