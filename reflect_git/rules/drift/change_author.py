"""Find out who changed an instruction file: the project's git, Claude, or the person.

Git is the author if HEAD has the same change; Claude if its transcripts show it; otherwise the person.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.capture.transcript import TranscriptReader
from reflect_git.capture.transcript.calls import MENTION_PREFIX, find_edits
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.project import top_of
from reflect_git.platform.project_git import Checkout
from reflect_git.records import json_form
from reflect_git.records.ids import parse_utc
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.redact import redact
from reflect_git.rules import project_files
from reflect_git.rules.drift import shell_writes

if TYPE_CHECKING:
    from reflect_git.capture.transcript import Turn
    from reflect_git.rules.project_files import Place
    from reflect_git.store.repository import Store
    from reflect_git.targets.plan import Finding

BRANCH, CLAUDE, YOU = "branch", "claude", "you"
# The state of one entry in a file; None if it is as approved.
State = Callable[["bytes | None"], "Finding | None"]


def explains_finding(call: EditCall, live: bytes | None, found: Finding, state: State) -> bool:
    """Tell whether this call brought the entry into the state in which it was found."""
    if call.texts:
        if found.live:
            return bool(call.match_line(found.live))
        return any(found.id in text for text in call.texts) or call.match_line(found.approved) == "certain"
    sides = call.get_before_and_after((live or b"").decode("utf-8", "replace"))
    if sides is None:
        return False
    before, after = (None if text is None else text.encode("utf-8", "surrogatepass") for text in sides)
    made, was = state(after), state(before)
    return made is not None and made.is_same(found) and not (was and was.is_same(made) and not call.is_new)


class HeadLookup:
    """The HEAD of each work tree, looked up once."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._checkouts: dict[str, Checkout | None] = {}

    def has_entry(self, path: str, live: bytes | None, found: Finding, state: State, is_global: bool) -> bool:
        """Tell whether HEAD has the entry as the file has it, so that a branch, a stash or a clone made the change.

        An existing file that git does not track is not git's; nor is a global file that is in no commit.
        """
        checkout = self._checkout(path)
        if checkout is None:
            return False
        committed = checkout.read_head_file(path)
        if committed is None and (live is not None or is_global):
            return live is not None and checkout.is_unmerged(path)
        there = state(committed)
        return bool(there and there.is_same(found)) or checkout.is_unmerged(path)

    def get_checkout_time(self, path: str) -> float | None:
        """Return when git last checked out other files there, or None if unknown."""
        checkout = self._checkout(path)
        return checkout.get_last_update_time() if checkout else None

    def _checkout(self, path: str) -> Checkout | None:
        folder = os.path.dirname(path)
        top = top_of(folder if os.path.isdir(folder) else _find_existing_folder(folder))
        if top is None:
            return None
        if top not in self._checkouts:
            checkout = Checkout(self._program, top)
            self._checkouts[top] = checkout if checkout.has_commit() else None
        return self._checkouts[top]


def _find_existing_folder(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


_PROMPT_BYTES = 1 << 20  # bytes searched for the person's words before a call
_MAX_RESULT_TURNS = 500  # turns searched for a call's result: calls can run in parallel
_MAX_TRANSCRIPTS = 2000
_CACHE_VERSION = 2  # format of the cached offsets; version 1 had no Bash calls
_EDIT_TOOLS = ("Edit", "Write", "MultiEdit")


class EditCall(NamedTuple):
    """A call by which Claude changed a file; `pieces` are (old, new) pairs.

    `before` and `after`: the whole file, as far as the client stored it. `is_new`: there was no file. `prompt`: what
    the person had typed last. `texts`: of a Bash call only, its command and the session's files it names.
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

    def match_line(self, line: str) -> str:
        """Return whether a Bash call certainly or probably wrote a line; "" for other tools."""
        return shell_writes.match_line(self.texts, line) if self.texts else ""

    def get_before_and_after(self, live: str) -> tuple[str | None, str] | None:
        """Return the file before and after; if the client stored no file, apply the edit backwards to the live one."""
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


class EditCache:
    """A cache of where each transcript has calls that change Markdown files, so that no byte is read twice.

    It holds offsets and file names, and is disposable.
    """

    def __init__(self, store: Store) -> None:
        self._path = store.private_path("cache", "edits")
        try:
            known = json_form.loads((files.read_if_exists(self._path, 1 << 24) or b"{}").decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            known = {}
        is_current = isinstance(known, dict) and known.get("version") == _CACHE_VERSION
        self._offsets: dict[str, Any] = known["transcripts"] if is_current else {}

    def find_edits(self, path: str, projects: str, deadline: float) -> list[tuple[int, str]]:
        upto, listed = self._get_cached(path)
        if upto < os.stat(path).st_size:
            more, upto = find_edits(path, upto, projects, deadline)
            listed += more
            self._offsets.pop(path, None)
            self._offsets[path] = [upto, listed]
        return listed

    def _get_cached(self, path: str) -> tuple[int, list[tuple[int, str]]]:
        """Return the cached offsets of a transcript; a transcript that became shorter is a new one."""
        try:
            upto, listed = self._offsets[path]
            found = [(int(offset), str(name)) for offset, name in listed]
            return (int(upto), found) if upto <= os.stat(path).st_size else (0, [])
        except (KeyError, TypeError, ValueError):
            return 0, []

    def write(self) -> None:
        kept = {path: found for path, found in list(self._offsets.items())[-_MAX_TRANSCRIPTS:] if redact(path) == path}
        data = json.dumps({"version": _CACHE_VERSION, "transcripts": kept}).encode()
        try:
            if data != files.read_if_exists(self._path, 1 << 24):
                files.write_atomic(self._path, data, sync=False)
        except OSError:  # read again next time
            pass


def find_edit_calls(
    store: Store, env: Mapping[str, str], place: Place, wanted: Collection[str], since: str, seconds: float,
    everywhere: bool = False,
) -> list[EditCall]:  # fmt: skip
    """Return the calls on these files after a moment, newest first, as far as they can be found in `seconds`.

    How far each transcript was read is cached, so the next run continues there.
    """
    deadline, projects, known = time.monotonic() + seconds, paths.projects_dir(env), EditCache(store)
    names = {os.path.basename(path) for path in wanted}
    found: list[EditCall] = []
    for path in _list_transcripts(projects, place, parse_utc(since), everywhere) if names else ():
        if time.monotonic() > deadline:
            break
        try:
            listed = known.find_edits(path, projects, deadline)
            offsets = [offset for offset, name in listed if name in names]
            found += _read_calls(path, projects, offsets, wanted, since.removesuffix("Z"), deadline)
            if any(name.startswith(MENTION_PREFIX) and name[1:] in names for _, name in listed):
                found += _find_bash_calls(path, projects, wanted, since.removesuffix("Z"))
        except (ReflectError, OSError):
            continue
    known.write()
    return sorted(found, key=lambda call: call.timestamp, reverse=True)


def _find_bash_calls(path: str, projects: str, wanted: Collection[str], since: str) -> Iterator[EditCall]:
    for one in shell_writes.find_bash_calls(path, projects, wanted, since):
        yield EditCall(one.path, (), None, None, False, one.session, one.timestamp, "", one.texts)


def _read_calls(
    path: str, projects: str, offsets: list[int], wanted: Collection[str], since: str, deadline: float
) -> Iterator[EditCall]:
    """Yield calls from the last one back, until one is older than `since`."""
    for offset in reversed(offsets):
        turn = _find_result(path, projects, offset) if time.monotonic() < deadline else None
        if turn is None:
            continue
        if turn.timestamp <= since:
            return
        call = _parse_call(turn, _find_prompt(path, projects, offset))
        if call is not None and call.path in wanted:
            yield call


def _find_result(path: str, projects: str, offset: int) -> Turn | None:
    """Return the result of the call on this line, or None if it failed, was refused or is unfinished."""
    for turn in TranscriptReader(path, offset, _MAX_RESULT_TURNS, projects=projects):
        if turn.kind == "tool" and turn.tool:
            return turn if turn.tool in _EDIT_TOOLS and not turn.is_error else None
    return None


def _find_prompt(path: str, projects: str, offset: int) -> str:
    """Return what the person had typed last, redacted."""
    last: Turn | None = None
    for turn in TranscriptReader(path, max(0, offset - _PROMPT_BYTES), projects=projects):
        if turn.offset >= offset:
            break
        if turn.kind == "user":
            last = turn
    return last.text if last else ""


def _list_transcripts(projects: str, place: Place, oldest: float, everywhere: bool) -> list[str]:
    """List transcripts of sessions in the project and below, or anywhere, and of their agents, newest first."""
    slug = os.path.basename(os.path.dirname(project_files.memory_dir(place)))
    listed: list[tuple[float, str]] = []
    for folder in _list_folders(projects):
        name = os.path.basename(folder)
        if everywhere or (place.root and (name == slug or name.startswith(f"{slug}-"))):
            listed += _list_transcript_files(folder)
            for session in _list_folders(folder):
                listed += _list_transcript_files(os.path.join(session, "subagents"))
    return [path for moment, path in sorted(listed, reverse=True) if moment >= oldest]


def _list_folders(path: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _list_transcript_files(folder: str) -> list[tuple[float, str]]:
    try:
        return [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.name.endswith(".jsonl")]
    except OSError:
        return []


def _parse_call(turn: Turn, prompt: str) -> EditCall | None:
    """Build the call from the turn with its result, or return None if it is malformed."""
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
        return EditCall(path, ((before or "", content),), before, content, is_new, turn.session, turn.timestamp, prompt)
    pieces = tuple(_get_pieces(turn.input))
    is_new = bool(pieces) and not pieces[0][0] and not before
    after = None if before is None else _apply_edits(before, turn.input)
    return EditCall(path, pieces, before, after, is_new, turn.session, turn.timestamp, prompt) if pieces else None


def _get_edits(given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    listed = given.get("edits")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else [given]


def _get_pieces(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for edit in _get_edits(given):
        old, new = edit.get("old_string"), edit.get("new_string")
        if isinstance(old, str) and isinstance(new, str):
            yield old, new


def _apply_edits(text: str, given: Mapping[str, Any]) -> str:
    for edit, (old, new) in zip(_get_edits(given), _get_pieces(given), strict=False):
        text = text.replace(old, new, -1 if edit.get("replace_all") else 1) if old else new
    return text
