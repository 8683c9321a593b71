"""What Claude's sessions ran near a moment, from the client's transcripts: those of agents included.

A transcript is opened only if a decision was made between its first line and a day after its last change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.adapters import files, jsontext
from reflect_git.adapters.transcript import open_transcript
from reflect_git.adapters.transcript.calls import ToolCall, result_of, tool_calls
from reflect_git.errors import ReflectError
from reflect_git.model.ids import seconds_of
from reflect_git.sitting.audit import commands
from reflect_git.sitting.audit.invocations import RUNS, Suspicion
from reflect_git.sitting.written import Written, command_of, note_edit

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

DAY = 86400
# The longest that the client lets a Bash call run. What a call left behind has to wait for nobody: it decides soon.
NEAR = 600
# A call that runs the program directly ends with it; the clock of a transcript and ours may differ a little.
SOON = 60
EARLY = 2
_KEPT_DAYS = 30  # the client deletes older transcripts, unless its settings say otherwise
_HEAD = 1 << 16
EDITORS = frozenset(("Write", "Edit", "MultiEdit"))
_TIME = re.compile(rb'"timestamp": ?"(\d{4}-[^"]{15,30})"')
_LATE = re.compile(r"reflect|\bat\b|batch|crontab|systemd-run|sleep")
_WRITES = re.compile(r">|\btee\b|\bcp\b|\bmv\b|\bln\b|\balias\b|\binstall\b")


@dataclass(frozen=True)
class Suspect:
    """A call that could have decided something."""

    call: ToolCall
    command: str
    start: float
    reasons: tuple[Suspicion, ...]
    projects: str

    @cached_property
    def result(self) -> tuple[float, bool]:
        """When it ended and whether it failed. Without a result it may run as long as a call can."""
        try:
            found = result_of(self.call, self.projects)
        except (ReflectError, OSError):
            found = None
        return (seconds_of(found[0]), found[1]) if found else (self.start + NEAR, False)

    def is_near(self, reason: Suspicion, moment: float) -> bool:
        """Tell whether what this call started can have decided something at a moment."""
        if moment < self.start - EARLY:
            return False
        if reason.is_scheduled and reason.kind == RUNS:
            return moment <= self.start + DAY
        if moment > self.start + 2 * NEAR + SOON:
            return False
        end, has_failed = self.result
        if reason.is_plain:
            return not has_failed and moment <= end + SOON
        return moment <= max(end, self.start) + NEAR


def find_suspects(store: Store, env: Mapping[str, str], moments: Sequence[float]) -> list[Suspect]:
    """Return the calls near these moments that could have decided something, oldest first."""
    projects = paths.projects_dir(env)
    listed: list[ToolCall] = []
    for path in transcripts(projects, moments):
        try:
            listed += (call for call in tool_calls(path, projects) if call.timestamp)
        except (ReflectError, OSError):
            continue
    listed.sort(key=lambda call: call.timestamp)
    return list(_suspects(store, projects, listed, sorted(moments)))


def _suspects(store: Store, projects: str, listed: Sequence[ToolCall], moments: Sequence[float]) -> Iterator[Suspect]:
    written, armed = Written(), False
    folders = (store.root, os.path.realpath(store.root), ".claude/reflections")
    for call in listed:
        note_edit(call, written)
        text = command_of(call)
        armed = armed or any(commands.is_armed(path, written.files[path]) for path in written.take_new())
        start = seconds_of(call.timestamp)
        place = commands.Place(folders, (projects, ".claude/projects"), call.cwd)
        if not text:
            path = call.input.get("file_path")
            if isinstance(path, str) and call.tool in EDITORS:
                begun = commands.starts_by_itself(path, written.files.get(path, ""))
                edited = (*commands.writes_into(path, place), *begun)
                if edited:
                    yield Suspect(call, f"{call.tool} {path}", start, edited, projects)
            continue
        following = [moment for moment in moments if start - EARLY <= moment <= start + DAY]
        is_soon = any(moment <= start + 2 * NEAR + SOON for moment in following)
        if is_soon or (following and _LATE.search(text)):
            reasons = commands.suspicions(text, written, place)
            armed = armed or written.is_armed
            armed = armed or any(commands.is_armed(path, written.files[path]) for path in written.take_new())
            if armed and is_soon and not reasons and commands.runs_anything(text, written.arms_git):
                reasons = [Suspicion(RUNS)]
            if reasons:
                yield Suspect(call, text, start, tuple(reasons), projects)
        elif _WRITES.search(text) or _LATE.search(text):
            commands.suspicions(text, written, place)  # for what it leaves behind
        armed = armed or any(commands.is_armed(path, written.files[path]) for path in written.take_new())


def transcripts(projects: str, moments: Sequence[float]) -> list[str]:
    """Return the transcripts that can tell of these moments, those of agents included."""
    return [path for path, first, last in spans(projects) if any(first - EARLY <= one <= last + DAY for one in moments)]


def spans(projects: str) -> Iterator[tuple[str, float, float]]:
    """Yield each transcript with the time of its first entry and of its last change.

    The change of the inode counts, too: `touch` can set the other time back.
    """
    for folder, _, names in os.walk(projects):
        for name in names:
            path = os.path.join(folder, name)
            if not name.endswith(".jsonl"):
                continue
            try:
                descriptor = open_transcript(path, projects)
            except (ReflectError, OSError):
                continue
            try:
                status, first = os.fstat(descriptor), _TIME.search(os.read(descriptor, _HEAD))
            finally:
                os.close(descriptor)
            begun = seconds_of(first[1].decode("ascii", "replace")) if first else 0.0
            yield path, begun, max(status.st_mtime, status.st_ctime)


def kept_since(env: Mapping[str, str], now: float) -> float:
    """Return since when the client keeps every transcript, as its settings say."""
    try:
        data = files.read_if_there(os.path.join(paths.config_dir(env), "settings.json"), 4 << 20)
        days = jsontext.loads((data or b"{}").decode("utf-8", "replace")).get("cleanupPeriodDays")
    except (OSError, ValueError, RecursionError, AttributeError):
        days = None
    return now - DAY * (days if isinstance(days, int) and days > 0 else _KEPT_DAYS)
