"""Find the answered AskUserQuestion calls of a transcript, and what /keep printed; check that Claude Code wrote them.

Anybody can append a line to a transcript. Entries by Claude Code are linked: an answer names the entry of its call, and
the call follows an entry before it. Both belong to one prompt, and the conversation continues from the answer.

A command of a plugin leaves two rows: the command as typed, and what it printed. The model cannot run the command.
"""

from __future__ import annotations

import mmap
import os
from datetime import datetime

from reflect_git.capture.transcript.lines import LineReader, is_relevant, open_transcript, parse_line
from reflect_git.capture.transcript.turn import as_dict, as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Optional

    Fields = dict[str, Any]
    Place = tuple[int, int, Fields]  # start and end of an entry's line, and the entry

TOOL_NAME = "AskUserQuestion"
_RESULT_MARK = b'"tool_result"'
_REQUEST_MARK = b'"requestId":"'
_COMMAND_MARK = b'"commandRun"'
_MAX_PARENTS = 1000  # from a call to its prompt; Claude Code adds a dozen entries in between


class Dialog:
    """One answered call; `problem` is empty if Claude Code wrote it.

    `input` is what the model asked. `result` is what Claude Code reports as shown and answered.
    """

    __slots__ = ("call", "cwd", "input", "problem", "result", "timestamp")

    def __init__(self, call: str, asked: Fields, answered: Fields, trouble: str) -> None:
        self.call = call
        self.input = _get_input(asked, call)
        self.result = as_dict(answered.get("toolUseResult"))
        self.timestamp = as_text(answered.get("timestamp"))
        self.cwd = as_text(answered.get("cwd"))
        self.problem = trouble


def find_dialogs(path: str, projects: str = "") -> list[Dialog]:
    """Return every answered AskUserQuestion call of a transcript, in order, with its links checked."""
    descriptor = open_transcript(path, projects)
    try:
        calls, results = _collect_entries(descriptor)
        if not results:
            return []
        session = os.path.basename(path)[: -len(".jsonl")]
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
            transcript = _Transcript(descriptor, data, session)
            return [
                Dialog(call, calls[call][0][2], found[-1][2], transcript.find_problem(calls[call], found))
                for call, found in results.items()
            ]
    finally:
        os.close(descriptor)


class CommandOutput:
    """The output of a command of a plugin; `problem` is empty if Claude Code wrote it for a typed command."""

    __slots__ = ("cwd", "problem", "text", "timestamp")

    def __init__(self, entry: Fields, problem: str) -> None:
        self.text = as_text(entry.get("content"))
        self.timestamp = as_text(entry.get("timestamp"))
        self.cwd = as_text(entry.get("cwd"))
        self.problem = problem


def find_command_outputs(path: str, plugin: str, command: str, projects: str = "") -> list[CommandOutput]:
    """Return everything that a command of a plugin printed in a session, in order, with its links checked."""
    descriptor = open_transcript(path, projects)
    try:
        if not os.fstat(descriptor).st_size:
            return []
        session = os.path.basename(path)[: -len(".jsonl")]
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
            transcript = _Transcript(descriptor, data, session)
            return list(transcript.iter_outputs(plugin, command))
    finally:
        os.close(descriptor)


def find_last_time(path: str, projects: str = "") -> str:
    """Return the time of the last message of a transcript; empty if it has none."""
    descriptor = open_transcript(path, projects)
    try:
        times = [as_text((parse_line(line) or {}).get("timestamp")) for _, _, line in LineReader(descriptor, 0) if line]
    finally:
        os.close(descriptor)
    return max(times, default="")


def has_client_answer(path: str, call: str, projects: str = "") -> bool:
    """Return whether a transcript has an answer to this call that Claude Code wrote."""
    return any(dialog.call == call and not dialog.problem for dialog in find_dialogs(path, projects))


def _collect_entries(descriptor: int) -> tuple[dict[str, list[Place]], dict[str, list[Place]]]:
    """Return the entries of AskUserQuestion calls and of their answers, by call id."""
    calls: dict[str, list[Place]] = {}
    results: dict[str, list[Place]] = {}
    for offset, _, line in LineReader(descriptor, 0):
        if TOOL_NAME.encode() in line:
            entry = parse_line(line) or {}
            for call in _get_calls(entry):
                calls.setdefault(call, []).append((offset, offset + len(line), entry))
        if _RESULT_MARK in line and any(call.encode() in line for call in calls):
            entry = parse_line(line) or {}
            for call in _get_answered_calls(entry):
                if call in calls:
                    results.setdefault(call, []).append((offset, offset + len(line), entry))
    return calls, results


def _get_blocks(entry: Fields, kind: str) -> list[Fields]:
    content = as_dict(entry.get("message")).get("content")
    listed = content if type(content) is list else []
    return [block for block in map(as_dict, listed) if block.get("type") == kind]


def _get_calls(entry: Fields) -> list[str]:
    if entry.get("type") != "assistant":
        return []
    return [as_text(block.get("id")) for block in _get_blocks(entry, "tool_use") if block.get("name") == TOOL_NAME]


def _get_answered_calls(entry: Fields) -> list[str]:
    """Return the calls that an entry answers. A call that failed or was refused has no answer."""
    if entry.get("type") != "user" or type(as_dict(entry.get("toolUseResult")).get("answers")) is not dict:
        return []
    blocks = [block for block in _get_blocks(entry, "tool_result") if block.get("is_error") is not True]
    return [as_text(block.get("tool_use_id")) for block in blocks]


def _get_input(entry: Fields, call: str) -> Fields:
    return next((as_dict(b.get("input")) for b in _get_blocks(entry, "tool_use") if b.get("id") == call), {})


class _Transcript:
    """A transcript whose entries can be found by uuid."""

    def __init__(self, descriptor: int, data: mmap.mmap, session: str) -> None:
        self._descriptor = descriptor
        self._data = data
        self._session = session

    def find_problem(self, calls: list[Place], results: list[Place]) -> str:
        """Return why Claude Code cannot have written this call and its answer; empty if it can."""
        if len(calls) != 1 or len(results) != 1:
            return "is written there more than once"
        (asked_at, _, asked), (answered_at, answered_end, answered) = calls[0], results[0]
        if any(as_text(one.get("sessionId")) != self._session or one.get("isSidechain") for one in (asked, answered)):
            return "belongs to another session"
        if not _is_linked(asked, answered) or not self._has_request(asked, asked_at):
            return "is not linked to its question"
        if asked_at >= answered_at or not _is_in_order(asked, answered):
            return "is older than its question"
        if not self._belongs_to_prompt(asked, asked_at, as_text(answered["promptId"])):
            return "belongs to no prompt of the session"
        if not _is_answered_by_person(answered):
            return "was not given by a person"
        if not self._continues_after(asked, as_text(answered["uuid"]), answered_end):
            return "is not where the session went on"
        return ""

    def iter_outputs(self, plugin: str, command: str) -> Iterator[CommandOutput]:
        """Yield what a command of a plugin printed."""
        at = self._data.find(_COMMAND_MARK)
        while at >= 0:
            begin, end, entry = self._read_entry(self._data.rfind(b"\n", 0, at) + 1)
            run = as_dict(entry.get("commandRun"))
            is_ours = (run.get("plugin"), run.get("command")) == (plugin, command)
            if is_ours and (entry.get("type"), entry.get("subtype")) == ("system", "local_command"):
                yield CommandOutput(entry, self._find_output_problem(begin, end, entry, command))
            at = self._data.find(_COMMAND_MARK, end)

    def _find_output_problem(self, begin: int, end: int, output: Fields, command: str) -> str:
        """Return why Claude Code cannot have written this output of a typed command; empty if it can."""
        found = self._find_entry(as_text(output.get("parentUuid")), begin)
        typed = found[2] if found else {}
        said = typed.get("content") or as_dict(typed.get("message")).get("content")
        if not found or not as_text(said).startswith(f"<command-name>/{command}<"):
            return "does not follow the command"
        if any(as_text(one.get("sessionId")) != self._session or one.get("isSidechain") for one in (typed, output)):
            return "belongs to another session"
        if as_dict(typed.get("origin")).get("kind") not in (None, "human"):
            return "was not typed by a person"
        if self._has_open_call(found[0]):
            return "was written while a tool ran"
        identity = as_text(output.get("uuid"))
        if not identity or not self._continues_after({}, identity, end):
            return "is not where the session went on"
        return ""

    def _has_open_call(self, before: int) -> bool:
        """Return whether a call of the last message before an offset has no result yet.

        Claude Code runs a typed command only between two turns. So whoever writes these rows from a tool is found.
        """
        finished: set[str] = set()
        end, message = before, ""
        while end > 0:
            begin = self._data.rfind(b"\n", 0, end - 1) + 1
            line = self._data[begin:end]
            entry = (parse_line(line) or {}) if is_relevant(line, 0, len(line)) else {}
            finished.update(as_text(block.get("tool_use_id")) for block in _get_blocks(entry, "tool_result"))
            if entry.get("type") == "assistant" and not entry.get("isSidechain"):
                spoken = as_text(as_dict(entry.get("message")).get("id")) or as_text(entry.get("uuid"))
                if message and spoken != message:
                    return False
                message = spoken
                if any(as_text(block.get("id")) not in finished for block in _get_blocks(entry, "tool_use")):
                    return True
            end = begin
        return False

    def _has_request(self, asked: Fields, before: int) -> bool:
        """Return whether a request id is present if earlier entries have one: some gateways do not set them."""
        return bool(asked.get("requestId")) or self._data.find(_REQUEST_MARK, 0, before) < 0

    def _belongs_to_prompt(self, asked: Fields, before: int, prompt: str) -> bool:
        """Follow parents up from a call to the first entry that names a prompt, and compare it."""
        entry = asked
        for _ in range(_MAX_PARENTS):
            found = self._find_entry(as_text(entry.get("parentUuid") or entry.get("logicalParentUuid")), before)
            if found is None:
                return False
            before, _, entry = found
            if entry.get("type") == "user" and entry.get("promptId"):
                return bool(entry["promptId"] == prompt)
        return False

    def _find_entry(self, record_id: str, before: int) -> Optional[Place]:
        """Find the entry with this uuid that begins before an offset."""
        return next((one for one in self._find_mentions(record_id, before) if one[2].get("uuid") == record_id), None)

    def _find_mentions(self, record_id: str, before: int) -> Iterator[Place]:
        """Yield the entries before an offset that contain this uuid anywhere, nearest first."""
        needle, end = f'"{record_id}"'.encode(), before
        while record_id:
            found = self._data.rfind(needle, 0, end)
            if found < 0:
                return
            end = self._data.rfind(b"\n", 0, found) + 1
            yield self._read_entry(end)

    def _read_entry(self, begin: int) -> Place:
        cut = self._data.find(b"\n", begin)
        end = cut if cut >= 0 else len(self._data)
        return begin, end, parse_line(self._data[begin:end]) or {}

    def _continues_after(self, asked: Fields, answer: str, end: int) -> bool:
        """Return whether the session continues from the answer.

        A forged answer is a dead end: Claude Code continues from its own entry before it. Dialogs opened at once are
        answered one after the other, and the session continues from one of the answers.
        """
        for _, _, entry in self._find_mentions(answer, len(self._data)):
            if answer in (entry.get("parentUuid"), entry.get("logicalParentUuid")):
                return True
        message = as_dict(asked.get("message")).get("id")
        for _, _, line in LineReader(self._descriptor, end):
            entry = (parse_line(line) if line else None) or {}
            parent = as_text(entry.get("parentUuid"))
            if entry.get("type") not in ("user", "assistant") or entry.get("isSidechain") or not parent:
                continue
            found = self._find_entry(parent, end)
            if found is None:
                continue
            is_at_once = bool(message) and as_dict(found[2].get("message")).get("id") == message
            return is_at_once and bool(_get_calls(found[2]) and _get_blocks(entry, "tool_result"))
        return True


def _is_linked(asked: Fields, answered: Fields) -> bool:
    """Return whether the ids of call, answer and prompt exist and match."""
    names = [asked.get("uuid"), answered.get("uuid"), answered.get("promptId")]
    links = {answered.get("parentUuid"), answered.get("sourceToolAssistantUUID")}
    return all(type(name) is str and name for name in names) and links == {asked.get("uuid")}


def _is_in_order(asked: Fields, answered: Fields) -> bool:
    first, second = (_parse_time(as_text(entry.get("timestamp"))) for entry in (asked, answered))
    return first is not None and second is not None and first <= second


def _parse_time(timestamp: str) -> Optional[float]:
    try:
        return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _is_answered_by_person(answered: Fields) -> bool:
    """Return whether a person answered.

    A rule or a hook can answer instead, and Claude Code then names it. Older versions name nobody.
    """
    decision = as_dict(answered.get("permissionDecision"))
    if not decision:
        return True
    return decision.get("decision") == "accept" and as_text(decision.get("source")).startswith("user")
