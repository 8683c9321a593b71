"""Decide about one tool call before it runs: match it against the guards, log what fired, and answer Claude Code.

A guard never blocks by accident: without an answer from here the call runs. Only the text of the rule and what to use
instead reach the model; both were approved by a person.
"""

from __future__ import annotations

import os
import time

from reflect_git.guards.stored import CANARY, MODES, load_likely, load_table
from reflect_git.platform import files
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Optional

    from reflect_git.guards.stored import StoredGuard

    Env = Mapping[str, str]
    Event = Mapping[str, Any]
    Firing = tuple[StoredGuard, str]

_MAX_INPUT = 8 << 20
_SECONDS = 1.0  # for all guards together; the rest of them is skipped
_MAX_SHOWN = 3  # rules in one answer
_MAX_REASON = 6000  # characters; the client cuts from 10,000 on
_MAX_MATCHED = 200
_MAX_LOG_BYTES = 1 << 20
_OUTCOMES = {"watch": "watched", "hint": "hinted", "ask": "asked", "deny": "denied", "ignored": "ignored"}


def main(root: str) -> None:
    """Read the event from stdin, decide, log and answer."""
    os.umask(0o077)
    data = _read_input(0)
    event = json_form.loads(data.decode("utf-8", "replace"))
    answer = decide(event, data, root, os.environ)
    if answer:
        os.write(1, json_form.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}) + b"\n")


def _read_input(descriptor: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while size <= _MAX_INPUT:
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
    raise ValueError("the call is too large")


def decide(event: Event, data: bytes, root: str, env: Env) -> dict[str, str]:
    """Return the answer for Claude Code, and log what fired; an empty answer lets the call run."""
    git_dir = os.path.join(root, ".git")
    tool, given = event.get("tool_name"), event.get("tool_input")
    if event.get("hook_event_name") != "PreToolUse" or not isinstance(tool, str) or not isinstance(given, dict):
        return {}
    if tool == "Bash" and given.get("command") == CANARY:
        guards, problem = load_table(git_dir)
        return {"permissionDecision": "deny", "permissionDecisionReason": problem or f"{CANARY}: {len(guards)}"}
    likely, problem = load_likely(git_dir, data.decode("utf-8", "replace"))
    if problem:
        log_problem(root, env, problem)
    likely = [guard for guard in likely if not guard.agent or guard.agent == event.get("agent_type")]
    likely.sort(key=lambda guard: -MODES.index(guard.mode))
    fired = _find_call_firings(likely, event, root, env) if likely else []
    if not fired:
        return {}
    strongest = max((guard.mode for guard, _ in fired), key=MODES.index)
    is_alone = strongest == "ask" and env.get("CLAUDE_CODE_SESSION_ATTENDED") == "0"
    acts_as = "hint" if is_alone else strongest
    try:
        log_firings(git_dir, event, fired, acts_as, is_alone, env)
    except OSError:  # a full disk does not switch a guard off
        pass
    return _build_answer([guard for guard, _ in fired if guard.mode == strongest], acts_as)


def _find_call_firings(guards: Sequence[StoredGuard], event: Event, root: str, env: Env) -> list[Firing]:
    from reflect_git.guards.match import Call, find_match

    cwd = event.get("cwd")
    cwd = cwd if isinstance(cwd, str) else ""
    folder, top = find_project(event, env)
    call = Call(str(event["tool_name"]), event["tool_input"], cwd, top, _read_branch(top))
    return find_firings(guards, lambda guard: find_match(guard.matcher, call), folder, root, env)


def find_project(event: Event, env: Env) -> tuple[str, str]:
    """Return the folder of the session and the top of its project; empty if not known."""
    from reflect_git.paths import find_top

    cwd = event.get("cwd")
    folder = env.get("CLAUDE_PROJECT_DIR") or (cwd if isinstance(cwd, str) else "")
    return folder, (find_top(folder) or folder) if folder else ""


def find_firings(
    guards: Sequence[StoredGuard], find: Callable[[StoredGuard], str], folder: str, root: str, env: Env
) -> list[Firing]:
    """Return the guards that apply here, with what `find` says that they match."""
    deadline, found = time.monotonic() + _SECONDS, []
    here: Optional[_Project] = None
    for guard in guards:
        if time.monotonic() > deadline:
            break
        try:
            matched = find(guard)
        except Exception:  # a damaged or hostile matcher matches nothing, and does not stop the other guards
            continue
        if matched and guard.project is not None:
            here = here or _Project(root, folder, env)
            matched = matched if here.has_key(guard.project) else ""
        if matched:
            found.append((guard, matched))
    return found


def _read_branch(top: str) -> str:
    """Return the branch that is checked out; empty if it is not known."""
    try:
        git_dir = os.path.join(top, ".git")
        if not os.path.isdir(git_dir):  # a linked work tree
            target = os.fsdecode(files.read_regular(git_dir, 4096).partition(b"gitdir:")[2].strip())
            git_dir = os.path.normpath(os.path.join(top, target))
        head = files.read_regular(os.path.join(git_dir, "HEAD"), 4096).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return head[len("ref: refs/heads/") :] if head.startswith("ref: refs/heads/") else ""


class _Project:
    """The project of the call, under all of its keys; subfolders and work trees have the keys of their project."""

    def __init__(self, root: str, folder: str, env: Env) -> None:
        from reflect_git import paths
        from reflect_git.platform.project import top_of
        from reflect_git.store.local import projects
        from reflect_git.store.repository import Store

        self.home = paths.home_dir(env)
        self.keys: list[str] = []
        top = top_of(folder) or folder
        if folder and paths.is_project(env, top):
            store = Store(root, env)
            own = projects.get_project(store, folder)["key"]
            self.keys = [own, f"path:{os.path.realpath(top)}", *projects.list_other_keys(store, folder)]
        self._redacted: Optional[list[str]] = None

    def has_key(self, key: str) -> bool:
        """Return whether a key is one of the project's, as it is or as a record has it."""
        if key in self.keys:
            return True
        if self._redacted is None:
            from reflect_git.redact import redact

            self._redacted = [redact(each, self.home) for each in self.keys]
        return key in self._redacted


def _build_answer(guards: Sequence[StoredGuard], mode: str) -> dict[str, str]:
    """Return the answer for the rules that apply: they all have the same mode."""
    rules = "\n".join(format_rule(guard) for guard in guards[:_MAX_SHOWN])[:_MAX_REASON]
    if mode == "deny":
        said = f"Not run, because a rule of the user forbids it.\n{rules}"
        return {"permissionDecision": "deny", "permissionDecisionReason": said}
    if mode == "ask":
        return {"permissionDecision": "ask", "permissionDecisionReason": f"A rule says otherwise.\n{rules}"}
    if mode == "hint":
        return {"additionalContext": f"A rule of the user applies to this call. Follow it from now on.\n{rules}"}
    return {}


def format_rule(guard: StoredGuard) -> str:
    """Return a rule as the model reads it."""
    name, text, instead = map(make_printable, (guard.number or guard.learning, guard.text, guard.instead))
    return f"Rule {name}: {text}" + (f"\nUse instead: {instead}" if instead else "")


def make_printable(text: str) -> str:
    """Return a text on one line, with control, direction and other invisible characters as escapes."""
    flat = " ".join(text.split())
    if flat.isascii() and flat.isprintable():
        return flat
    return "".join(
        char if char.isprintable() else f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
        for char in flat
    )


def log_firings(git_dir: str, event: Event, fired: Sequence[Firing], acts_as: str, is_alone: bool, env: Env) -> None:
    """Add a line for every guard that fired to the session's log."""
    from reflect_git.paths import home_dir
    from reflect_git.redact import redact

    made, home = [], home_dir(env)
    tool = str(event.get("tool_name") or event.get("hook_event_name"))[:_MAX_MATCHED]
    call = str(event.get("tool_use_id") or event.get("prompt_id") or "")[:80]
    for guard, matched in fired:
        stronger = acts_as if acts_as in ("deny", "ask", "ignored") else guard.mode
        outcome = _OUTCOMES["hint" if is_alone and guard.mode == "ask" else stronger]
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "learning": guard.learning, "mode": guard.mode,
            "tool": tool, "matched": redact(matched, home)[:_MAX_MATCHED],
            "outcome": outcome, "call": call, "prompt": str(event.get("prompt_id") or "")[:80],
        }  # fmt: skip
        made.append({**line, "note": "no person present"} if is_alone and guard.mode == "ask" else line)
    path = get_log_path(git_dir, event)
    folder = os.path.dirname(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.mkdir(folder, 0o700)
        descriptor = os.open(path, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size < _MAX_LOG_BYTES:
            os.write(descriptor, b"".join(json_form.dumps(each) + b"\n" for each in made))
    finally:
        os.close(descriptor)


def get_log_path(git_dir: str, event: Event) -> str:
    """Return the path of a session's log; the session's id comes from outside and must not become another path."""
    name = str(event.get("session_id"))
    if not (0 < len(name) <= 64 and name.replace("-", "").replace("_", "").isalnum() and name.isascii()):
        from reflect_git.records.ids import digest

        name = digest(name)[:20]
    return os.path.join(git_dir, "reflect", "firings", f"{name}.jsonl")


def log_problem(root: str, env: Env, problem: str) -> None:
    """Tell `doctor` about a table that cannot be used."""
    try:
        from reflect_git.store.repository import Store

        Store(root, env).log(f"guards: {problem}")
    except Exception:  # the log is a help, the call is what matters
        pass
