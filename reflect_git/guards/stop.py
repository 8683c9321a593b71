"""Find out whether a turn may end: a guard can require a command after the last edit of a file.

    {"any": [{"paths": ["*.py"]}], "requires": [{"run": "ruff check"}]}

`any` and `except` say which edits count. One of the commands in `requires` has to run after the last of them.
"""

from __future__ import annotations

import os
import time

from reflect_git.guards.check import (
    find_firings,
    find_project,
    format_rule,
    get_log_path,
    log_firings,
    log_problem,
    make_printable,
)
from reflect_git.guards.match import EDITORS, Call, find_match
from reflect_git.guards.stored import load_likely
from reflect_git.platform import files
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, Optional

    Entry = Mapping[str, Any]
    Env = Mapping[str, str]

_AGENT_TOOLS = ("Agent", "Task")
_REFUSED = "<tool_use_error>"
_MAX_LOG_BYTES = 1 << 22
_WAIT_SECONDS, _PAUSE = 0.5, 0.02


def decide(
    event: Entry, data: bytes, root: str, env: Env, read_entries: Callable[[], Iterable[Entry]]
) -> dict[str, str]:
    """Return the answer to a Stop event, and log what fired; an empty answer lets the turn end.

    Claude is sent back once in a turn, and only if a person is present: it costs a request. If the command has still
    not run when the turn ends again, the log says that the guard was ignored.
    """
    prompt, is_again = event.get("prompt_id"), event.get("stop_hook_active")
    if event.get("hook_event_name") != "Stop" or not isinstance(is_again, bool) or not prompt:
        return {}
    if env.get("CLAUDE_CODE_SESSION_ATTENDED") == "0":
        return {}
    git_dir = os.path.join(root, ".git")
    likely, problem = load_likely(git_dir, data.decode("utf-8", "replace"))
    if problem:
        log_problem(root, env, problem)
    mine = [guard for guard in likely if guard.mode in ("watch", "deny") and not guard.agent]
    guards = [guard for guard in mine if "requires" in guard.matcher]
    turn = _find_turn(event, read_entries) if guards else None
    if turn is None or _has_fired(git_dir, event) is not is_again:
        return {}
    folder, top = find_project(event, env)
    fired = find_firings(guards, lambda guard: turn.find_unmet(guard.matcher, top), folder, root, env)
    for guard, path in fired:
        log_firings(git_dir, event, [(guard, path)], "ignored" if is_again else guard.mode, False, env)
    stopping = [guard for guard, _ in fired if guard.mode == "deny"]
    if is_again or not stopping:
        return {}
    rules = "\n".join(f"{format_rule(guard)}\nRun first: {format_required(guard.matcher)}" for guard in stopping)
    said = "Not done yet: files were edited, and a command that a rule of the user requires did not run after that."
    return {"decision": "block", "reason": f"{said}\n{rules}"}


def _find_turn(event: Entry, read_entries: Callable[[], Iterable[Entry]]) -> Optional[Turn]:
    """Return the turn that ends, once the transcript has its last words; None if they do not come.

    The client writes its transcript a moment late: a command that ran could be missing.
    """
    last, end = event.get("last_assistant_message"), time.monotonic() + _WAIT_SECONDS
    while True:
        turn = next((one for one in iter_turns(read_entries()) if one.prompt == event["prompt_id"]), None)
        if not isinstance(last, str) or not last.strip() or (turn and turn.text and turn.text in last):
            return turn
        if time.monotonic() > end:
            return None
        time.sleep(_PAUSE)


def _has_fired(git_dir: str, event: Entry) -> bool:
    """Return whether the session's log has a firing at the end of this turn."""
    try:
        lines = files.read_regular(get_log_path(git_dir, event), _MAX_LOG_BYTES).splitlines()
    except FileNotFoundError:
        return False
    mark = json_form.quote(str(event["prompt_id"])).encode()
    return any(mark in line and json_form.loads(line.decode()).get("tool") == "Stop" for line in lines)


def format_required(matcher: Mapping[str, Any]) -> str:
    """Return the required commands; any of them will do."""
    return " or ".join(make_printable(" ".join([one["run"], *one.get("flags", ())])) for one in matcher["requires"])


class Turn:
    """A prompt and the calls after it, in order. `failed` maps the calls that ended to whether they failed to run.

    `text` is what Claude said last.
    """

    __slots__ = ("cwd", "failed", "prompt", "session", "text", "timestamp", "uses")

    def __init__(self, prompt: str) -> None:
        self.prompt = prompt
        self.session = self.timestamp = self.cwd = self.text = ""
        self.uses: list[tuple[str, str, Mapping[str, Any], str]] = []  # id, tool, input, working folder
        self.failed: dict[str, bool] = {}

    def find_unmet(self, matcher: Mapping[str, Any], root: str) -> str:
        """Return the last edited file after which no required command ran; empty if none, or if it is not known.

        What a subagent ran is in a transcript of its own, so a subagent may have run the command.
        """
        edits = {name: value for name, value in matcher.items() if name != "requires"}
        required = {"any": matcher["requires"]}
        unmet = ""
        for use, tool, given, folder in self.uses:
            if self.failed.get(use, True):
                continue
            call = Call(tool, given, folder, root)
            if tool in EDITORS:
                unmet = _get_relative(find_match(edits, call), root) or unmet
            elif tool in _AGENT_TOOLS or find_match(required, call):
                unmet = ""
        return unmet


def _get_relative(path: str, root: str) -> str:
    """Return a path in the project; empty for others: notes and plans that Claude keeps elsewhere do not count."""
    if path[:1] in ("/", "~"):
        return path[len(root) + 1 :] if root and path.startswith(f"{root}/") else ""
    return path


def iter_turns(entries: Iterable[Entry]) -> Iterator[Turn]:
    """Yield the turns of a transcript. A user's entries name the prompt that their turn began with."""
    turn: Optional[Turn] = None
    for entry in entries:
        if entry.get("isSidechain"):
            continue
        prompt = entry.get("promptId")
        if entry.get("type") == "user" and isinstance(prompt, str) and (turn is None or prompt != turn.prompt):
            if turn is not None:
                yield turn
            turn = Turn(prompt)
        if turn is not None:
            _add_entry(turn, entry)
    if turn is not None:
        yield turn


def _add_entry(turn: Turn, entry: Entry) -> None:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        kind = (entry.get("type"), block.get("type")) if isinstance(block, dict) else ()
        if kind == ("assistant", "tool_use") and isinstance(block.get("input"), dict):
            turn.cwd, turn.timestamp = str(entry.get("cwd") or ""), str(entry.get("timestamp") or "")
            turn.session = str(entry.get("sessionId") or "")
            turn.uses.append((str(block.get("id")), str(block.get("name")), block["input"], turn.cwd))
        elif kind == ("assistant", "text"):
            turn.text = str(block.get("text")).strip()
        elif kind == ("user", "tool_result"):
            use, is_error = str(block.get("tool_use_id")), block.get("is_error") is True
            is_edit = any(use == each and tool in EDITORS for each, tool, _, _ in turn.uses)
            # A command that ends with an error has run; one that was refused has not.
            is_refused = bool(entry.get("toolDenialKind")) or str(block.get("content")).startswith(_REFUSED)
            turn.failed[use] = is_error and (is_edit or is_refused)
