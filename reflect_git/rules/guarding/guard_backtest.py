"""Try a guard on the tool calls of past sessions, before it is switched on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.candidates.session_events import BY_HITS
from reflect_git.capture.transcript.calls import iter_tool_calls, list_transcripts, read_past_calls
from reflect_git.capture.transcript.lines import LineReader, open_transcript, parse_line
from reflect_git.errors import ReflectError
from reflect_git.guards.form import build_prefilter
from reflect_git.guards.literals import find_texts
from reflect_git.guards.match import Call, find_match
from reflect_git.guards.stop import Turn, iter_turns
from reflect_git.records.ids import parse_utc
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import project_files
from reflect_git.rules.guarding.guards import derive

if TYPE_CHECKING:
    from reflect_git.capture.transcript.calls import ToolCall
    from reflect_git.records.schema import Learning
    from reflect_git.rules.context import Context

_DAY = 86400
_BASELINE_SECONDS = 2.0
_CALL_MARK = b'"tool_use"'
_SECOND_LENGTH = len("2026-02-11T10:00:00")


class PastMatch(NamedTuple):
    """A distinct command or file that a guard would have matched, and the last call with it.

    For the end of a turn: the last edited file.
    """

    text: str
    times: int
    sessions: int
    last: str
    call: Call


class Backtest(NamedTuple):
    """Past calls that a guard would have matched, newest first. `since`: the oldest call that was examined."""

    matches: tuple[PastMatch, ...]
    sessions: int
    hits: int
    since: str
    days: int

    @property
    def calls(self) -> int:
        return sum(match.times for match in self.matches)

    @property
    def figures(self) -> dict[str, Any]:
        """Return what a decision stores: figures only, since session text must not sync."""
        return {"sessions": self.sessions, "hits": self.hits, "since": self.since[:10]}

    def as_json(self) -> dict[str, Any]:
        listed = [
            {"text": match.text, "count": match.times, "sessions": match.sessions, "last": match.last}
            for match in self.matches
        ]
        return {**self.figures, "calls": self.calls, "days": self.days, "matches": listed}


def run_backtest(
    ctx: Context, rule: Learning, matcher: Mapping[str, Any], on_file: Callable[[int, int], None] | None = None
) -> Backtest:
    """Try a matcher on every call of every transcript that still exists, where the rule applies.

    `on_file`: called with the number of transcripts that were read, and of all.
    """
    projects = paths.projects_dir(ctx.env)
    transcripts = sorted(list_transcripts(projects))
    scopes = _Scopes(ctx, rule)
    may_match = build_prefilter(matcher)
    sessions: set[str] = set()
    hits: dict[str, list[tuple[ToolCall | Turn, Call]]] = {}
    first = last = ""
    for number, path in enumerate(transcripts):
        if on_file:
            on_file(number, len(transcripts))
        for made in _read_turns(path, projects) if "requires" in matcher else read_past_calls(path, projects):
            root = scopes.find_root(made.cwd)
            if root is None:
                continue
            moment = made.timestamp
            first, last = min(first or moment, moment), max(last, moment)
            sessions.add(made.session)
            if isinstance(made, Turn):
                found = made.find_unmet(matcher, root)
                call = Call("Edit", {"file_path": found}, made.cwd, root)
            elif may_match(made.tool, made.input):
                call = Call(made.tool, made.input, made.cwd, root)
                found = find_match(matcher, call)
            else:
                continue
            if found:
                hits.setdefault(found, []).append((made, call))
    matches = [_build_match(text, listed) for text, listed in hits.items()]
    matches.sort(key=lambda match: match.last, reverse=True)
    hit_sessions = {made.session for listed in hits.values() for made, _ in listed}
    return Backtest(tuple(matches), len(sessions), len(hit_sessions), first, _count_days(first, last))


def _build_match(text: str, listed: list[tuple[ToolCall | Turn, Call]]) -> PastMatch:
    made, call = max(listed, key=lambda one: one[0].timestamp)
    return PastMatch(text, len(listed), len({one.session for one, _ in listed}), made.timestamp, call)


def find_stored_matcher(text: str, former: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """Return the matcher to store with a rule: as a guard of this text would have, else a `former` kind of pattern."""
    return derive(text) or former


def count_baseline(ctx: Context, rule: Learning) -> dict[str, Any] | None:
    """Count past sessions where the rule applies, and those with a call that its matcher matches.

    None if the rule has no matcher for calls, or if no call matched. The newest transcripts come first; what cannot be
    read in time is left out, so that the counts are right for the sessions that they cover.
    """
    matcher = rule["matcher"] or {}
    if "any" not in matcher or "requires" in matcher:
        return None
    found = find_texts(matcher)
    marks = [text.encode() for text in found.texts] if found and not found.any_case else [_CALL_MARK]
    projects, scopes, deadline = paths.projects_dir(ctx.env), _Scopes(ctx, rule), time.monotonic() + _BASELINE_SECONDS
    sessions: dict[str, str] = {}
    broken: set[str] = set()
    for path in _list_newest(projects):
        if time.monotonic() > deadline:
            break
        try:
            session = _read_session(path, projects, marks, matcher, scopes)
        except (ReflectError, OSError):
            continue
        if session is None:
            continue
        name, start, is_broken = session
        if os.path.basename(path) == f"{name}.jsonl":  # not the transcript of a subagent
            sessions[name] = start
        if is_broken:
            broken.add(name)
    broken &= sessions.keys()
    if not broken:
        return None
    since = min(sessions.values())
    return {"since": f"{since[:_SECOND_LENGTH]}Z", "sessions": len(sessions), "events": len(broken), "by": BY_HITS}


def _list_newest(projects: str) -> list[str]:
    """List the transcripts, newest first."""
    dated = []
    for path in list_transcripts(projects):
        try:
            dated.append((os.stat(path, follow_symlinks=False).st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(dated, reverse=True)]


def _read_session(
    path: str, projects: str, marks: Sequence[bytes], matcher: Mapping[str, Any], scopes: _Scopes
) -> tuple[str, str, bool] | None:
    """Return a session's id, its start, and whether a call matched; None if the rule does not count in it.

    It counts where a person was present and the rule applies.
    """
    descriptor = open_transcript(path, projects)
    head: dict[str, Any] | None = None
    try:
        for _, _, line in LineReader(descriptor, 0):
            if head is None and line:
                head = parse_line(line)
                if head is None or not (head.get("cwd") and head.get("timestamp") and head.get("sessionId")):
                    head = None
                    continue
                if scopes.find_root(str(head["cwd"])) is None or str(head.get("entrypoint", "")).startswith("sdk"):
                    return None
            if _CALL_MARK in line and any(mark in line for mark in marks):
                entry = parse_line(line) or {}
                for made in iter_tool_calls(path, entry):
                    root = scopes.find_root(made.cwd)
                    if root is not None and find_match(matcher, Call(made.tool, made.input, made.cwd, root)):
                        return str(made.session), str((head or entry)["timestamp"]), True
    finally:
        os.close(descriptor)
    return (str(head["sessionId"]), str(head["timestamp"]), False) if head else None


def _count_days(first: str, last: str) -> int:
    """Count days by the time that passed: ten minutes around midnight are one day."""
    if not first:
        return 0
    passed = parse_utc(f"{last[:_SECOND_LENGTH]}Z") - parse_utc(f"{first[:_SECOND_LENGTH]}Z")
    return max(0, int(passed // _DAY)) + 1


def _read_turns(path: str, projects: str) -> Iterator[Turn]:
    """Yield the turns of a transcript that have calls."""
    try:
        descriptor = open_transcript(path, projects)
    except (ReflectError, OSError):
        return
    try:
        entries = (parse_line(line) for _, _, line in LineReader(descriptor, 0) if line)
        yield from (turn for turn in iter_turns(entry for entry in entries if entry) if turn.timestamp)
    finally:
        os.close(descriptor)


class _Scopes:
    """Find out for each working folder whether the rule applies there; each folder is looked up once."""

    def __init__(self, ctx: Context, rule: Learning) -> None:
        self._ctx = ctx
        self._rule = rule
        self._roots: dict[str, str | None] = {}

    def find_root(self, folder: str) -> str | None:
        """Return the project's root; None if the rule does not apply in this folder."""
        if folder not in self._roots:
            place = project_files.find_place(self._ctx.store, self._ctx.env, folder) if folder else None
            is_here = place.is_in_scope(self._rule) if place else self._rule["scope"] == "global"
            self._roots[folder] = (place.root if place else "") if is_here else None
        return self._roots[folder]
