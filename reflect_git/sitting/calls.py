"""Calls by which Claude changed instruction files, as the client's transcripts have them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.adapters import files, jsontext
from reflect_git.adapters.redact import redact
from reflect_git.adapters.transcript import Reader
from reflect_git.adapters.transcript.mentions import IN_TEXT, edits_in
from reflect_git.errors import ReflectError
from reflect_git.model.ids import seconds_of
from reflect_git.model.tuples import NamedTuple
from reflect_git.sitting import bash_writes, places

if TYPE_CHECKING:
    from reflect_git.adapters.transcript import Turn
    from reflect_git.sitting.places import Place
    from reflect_git.store.repository import Store

_BEFORE = 1 << 20  # in which the person's words before a call are looked for
_TURNS = 500  # in which its result is: calls run side by side
_KEPT = 2000
_VERSION = 2  # of the remembered offsets; the first knew no Bash calls
_EDITORS = ("Edit", "Write", "MultiEdit")


class Call(NamedTuple):
    """A call by which Claude changed a file: `pieces` are what it put in the place of what.

    `before` and `after` are the whole file, as far as the client kept it; `is_new`: there was no file. `prompt` is what
    the person had typed last. Of a Bash call only `texts` is known: its command, and the files of the session it names.
    """

    path: str
    pieces: tuple[tuple[str, str], ...]
    before: str | None
    after: str | None
    is_new: bool
    session: str
    timestamp: str
    prompt: str
    texts: tuple[str, ...] = ()

    def shows(self, line: str) -> str:
        """Return whether a Bash call certainly or probably wrote a line; empty for other tools."""
        return bash_writes.shows(self.texts, line) if self.texts else ""

    def sides(self, live: str) -> tuple[str | None, str] | None:
        """The file before and after; of an edit that the client kept no file of, as it stands in the live one."""
        if self.after is not None:
            return self.before, self.after
        if self.texts:
            return None
        before = live
        for old, new in reversed(self.pieces):
            if not new or new not in before:
                return None
            before = before.replace(new, old, 1)
        return before, live


class Known:
    """Where each transcript has calls that change Markdown files, remembered: no byte is looked at twice.

    It holds offsets and names of files, and may be thrown away.
    """

    def __init__(self, store: Store) -> None:
        self._path = store.private_path("cache", "edits")
        try:
            known = jsontext.loads((files.read_if_there(self._path, 1 << 24) or b"{}").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            known = {}
        is_current = isinstance(known, dict) and known.get("version") == _VERSION
        self._known: dict[str, Any] = known["transcripts"] if is_current else {}

    def edits(self, path: str, projects: str, deadline: float) -> list[tuple[int, str]]:
        upto, listed = self._recall(path)
        if upto < os.stat(path).st_size:
            more, upto = edits_in(path, upto, projects, deadline)
            listed += more
            self._known.pop(path, None)
            self._known[path] = [upto, listed]
        return listed

    def _recall(self, path: str) -> tuple[int, list[tuple[int, str]]]:
        """A transcript that is shorter than it was is another one."""
        try:
            upto, listed = self._known[path]
            found = [(int(offset), str(name)) for offset, name in listed]
            return (int(upto), found) if upto <= os.stat(path).st_size else (0, [])
        except (KeyError, TypeError, ValueError):
            return 0, []

    def keep(self) -> None:
        kept = {path: found for path, found in list(self._known.items())[-_KEPT:] if redact(path) == path}
        data = json.dumps({"version": _VERSION, "transcripts": kept}).encode()
        try:
            if data != files.read_if_there(self._path, 1 << 24):
                files.write_whole(self._path, data, sync=False)
        except OSError:  # looked at again next time
            pass


def calls(
    store: Store, env: Mapping[str, str], place: Place, wanted: Collection[str], since: str, seconds: float,
    everywhere: bool = False,
) -> list[Call]:  # fmt: skip
    """The calls on these files after a moment, newest first; as many as can be found within some seconds.

    What was not reached is reached the next time: how far each transcript was looked through is remembered.
    """
    deadline, projects, known = time.monotonic() + seconds, paths.projects_dir(env), Known(store)
    names = {os.path.basename(path) for path in wanted}
    found: list[Call] = []
    for path in _transcripts(projects, place, seconds_of(since), everywhere) if names else ():
        if time.monotonic() > deadline:
            break
        try:
            listed = known.edits(path, projects, deadline)
            offsets = [offset for offset, name in listed if name in names]
            found += _read(path, projects, offsets, wanted, since.removesuffix("Z"), deadline)
            if any(name.startswith(IN_TEXT) and name[1:] in names for _, name in listed):
                found += _bash_calls(path, projects, wanted, since.removesuffix("Z"))
        except (ReflectError, OSError):
            continue
    known.keep()
    return sorted(found, key=lambda call: call.timestamp, reverse=True)


def _bash_calls(path: str, projects: str, wanted: Collection[str], since: str) -> Iterator[Call]:
    for one in bash_writes.find_bash_calls(path, projects, wanted, since):
        yield Call(one.path, (), None, None, False, one.session, one.timestamp, "", one.texts)


def _read(
    path: str, projects: str, offsets: list[int], wanted: Collection[str], since: str, deadline: float
) -> Iterator[Call]:
    """From the last call back, until one is older than the moment."""
    for offset in reversed(offsets):
        turn = _result(path, projects, offset) if time.monotonic() < deadline else None
        if turn is None:
            continue
        if turn.timestamp <= since:
            return
        call = _call(turn, _prompt(path, projects, offset))
        if call is not None and call.path in wanted:
            yield call


def _result(path: str, projects: str, offset: int) -> Turn | None:
    """What came of the call in this line; nothing if it failed, was refused or is under way."""
    for turn in Reader(path, offset, _TURNS, projects=projects):
        if turn.kind == "tool" and turn.tool:
            return turn if turn.tool in _EDITORS and not turn.is_error else None
    return None


def _prompt(path: str, projects: str, offset: int) -> str:
    """Return what the person had typed last, redacted."""
    last: Turn | None = None
    for turn in Reader(path, max(0, offset - _BEFORE), projects=projects):
        if turn.offset >= offset:
            break
        if turn.kind == "user":
            last = turn
    return last.text if last else ""


def _transcripts(projects: str, place: Place, oldest: float, everywhere: bool) -> list[str]:
    """Of sessions in the project and its subfolders, or anywhere, and of their agents, newest first."""
    slug = os.path.basename(os.path.dirname(places.memory_dir(place)))
    listed: list[tuple[float, str]] = []
    for folder in _folders(projects):
        name = os.path.basename(folder)
        if everywhere or (place.root and (name == slug or name.startswith(f"{slug}-"))):
            listed += _files_in(folder)
            for session in _folders(folder):
                listed += _files_in(os.path.join(session, "subagents"))
    return [path for moment, path in sorted(listed, reverse=True) if moment >= oldest]


def _folders(path: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _files_in(folder: str) -> list[tuple[float, str]]:
    try:
        return [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.name.endswith(".jsonl")]
    except OSError:
        return []


def _call(turn: Turn, prompt: str) -> Call | None:
    name = turn.input.get("file_path")
    if not isinstance(name, str) or "\0" in name:
        return None
    path = os.path.realpath(os.path.join(turn.cwd or os.sep, name))
    kept = turn.details.get("originalFile", turn.details.get("originalFileContents"))
    before = kept if isinstance(kept, str) else None
    content = turn.input.get("content")
    if turn.tool == "Write":
        if not isinstance(content, str):
            return None
        is_new = turn.details.get("type") == "create"
        return Call(path, ((before or "", content),), before, content, is_new, turn.session, turn.timestamp, prompt)
    pieces = tuple(_pieces(turn.input))
    is_new = bool(pieces) and not pieces[0][0] and not before
    after = None if before is None else _applied(before, turn.input)
    return Call(path, pieces, before, after, is_new, turn.session, turn.timestamp, prompt) if pieces else None


def _edits(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = given.get("edits")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else [given]


def _pieces(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for edit in _edits(given):
        old, new = edit.get("old_string"), edit.get("new_string")
        if isinstance(old, str) and isinstance(new, str):
            yield old, new


def _applied(text: str, given: Mapping[str, Any]) -> str:
    for edit, (old, new) in zip(_edits(given), _pieces(given), strict=False):
        text = text.replace(old, new, -1 if edit.get("replace_all") else 1) if old else new
    return text
