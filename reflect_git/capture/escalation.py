"""Find out whether Claude should stop trying: a third different attempt at one problem has failed.

Attempts are commands with the same purpose or the same program and action. A success of one of them, or a message of
the user, starts the count again. Nothing is stored: the transcript says what was tried.
"""

from __future__ import annotations

import os
import time

from reflect_git.capture.detectors.shell import Command, parse_command
from reflect_git.capture.transcript.reader import TranscriptReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.capture.transcript.turn import Turn

ATTEMPTS = 3
_MAX_BYTES = 4 << 20
_SECONDS = 1.0
_WAIT_SECONDS, _PAUSE = 0.5, 0.02
_TAIL = 1 << 18
_MAX_SHOWN = 200


def build_hint(event: Mapping[str, Any], projects: str) -> str:
    """Return the hint for Claude after a failed command; empty unless it is the third different attempt."""
    given = event.get("tool_input")
    if event.get("tool_name") != "Bash" or event.get("is_interrupt") or not isinstance(given, dict):
        return ""
    command = parse_command(given.get("command"))
    if not _get_problems(command):
        return ""
    path, call = _find_transcript(event), str(event.get("tool_use_id"))
    _wait_for_call(path, call)
    tried = find_attempts(_read_last_turns(path, projects), command, call)
    return _format_hint([*tried, command]) if len(tried) == ATTEMPTS - 1 and _is_new(command, tried) else ""


def find_attempts(turns: Iterable[Turn], command: Command, call: str) -> list[Command]:
    """Return the different earlier attempts that failed, oldest first. `call` is the id of the present one."""
    found: list[Command] = []
    for turn in turns:
        if turn.kind in ("user", "interrupt"):
            found = []
        elif turn.kind == "tool" and turn.tool == "Bash" and turn.tool_use_id != call:
            other = parse_command(turn.input.get("command"))
            if turn.refused or turn.invalid or turn.interrupted or not is_same_problem(other, command):
                continue
            if not turn.is_error:
                found = []
            elif _is_new(other, found):
                found.append(other)
    return found


def is_same_problem(one: Command, other: Command) -> bool:
    """Return whether two commands were run for the same reason."""
    return bool(_get_problems(one) & _get_problems(other))


def _get_problems(command: Command) -> set[str]:
    """Return what a command may be an attempt at; empty if it only looks around."""
    if command.is_read_only:
        return set()
    return {name for name in (command.purpose and f"to {command.purpose}", command.family) if name}


def _is_new(command: Command, tried: list[Command]) -> bool:
    return all(command.essence != other.essence for other in tried)


def _find_transcript(event: Mapping[str, Any]) -> str:
    """Return the transcript that the call is in: a subagent has one of its own."""
    path, agent = str(event.get("transcript_path") or ""), event.get("agent_id")
    if not agent:
        return path
    name = "".join(char for char in str(agent) if char.isalnum() or char in "-_")
    return os.path.join(path[: -len(".jsonl")], "subagents", f"agent-{name}.jsonl")


def _wait_for_call(path: str, call: str) -> None:
    """Wait a moment until the transcript has the present call, and so everything before it: the client writes late."""
    wanted, end = call.encode("utf-8", "replace"), time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < end:
        with open(path, "rb") as file:
            file.seek(max(0, os.stat(path).st_size - _TAIL))
            if wanted in file.read(_TAIL):
                return
        time.sleep(_PAUSE)


def _read_last_turns(path: str, projects: str) -> list[Turn]:
    """Return the turns at the end of a transcript; none if they cannot all be read in time."""
    start = max(0, os.stat(path).st_size - _MAX_BYTES)
    reader = TranscriptReader(path, start, projects=projects, deadline=time.monotonic() + _SECONDS)
    turns = list(reader)
    return turns if reader.finished else []


def _format_hint(tried: list[Command]) -> str:
    """Return the text for the model. It has commands only: what a tool printed must not become an instruction."""
    listed = "\n".join(f"{at}. {_format_command(command)}" for at, command in enumerate(tried, 1))
    return (
        f"Stop here. {len(tried)} different attempts at one problem failed, and the user asked not to go on after "
        f"that:\n{listed}\nDo not try again. List for the user what you tried and why each attempt failed, propose "
        "the most promising option that is left, and ask the user how to go on."
    )


def _format_command(command: Command) -> str:
    flat = " ".join(command.get_redacted().text.split())
    shown = flat if len(flat) <= _MAX_SHOWN else flat[: _MAX_SHOWN - 1] + "…"
    return "".join(char if char.isprintable() else "?" for char in shown)
