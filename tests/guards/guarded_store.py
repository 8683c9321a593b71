"""A store with guards, and calls that go through its script as Claude Code would send them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from reflect_git.capture import service
from reflect_git.guards import entry, table
from reflect_git.guards.derivation.derive import derive_matcher
from reflect_git.guards.table import Guard
from reflect_git.store.repository import MAIN, Store
from tests.sessions import Session

NPM = "Use pnpm, not npm."
RULE = "LRN-20261104-3k7v9q2m"


def make_guard(
    text: str = NPM, mode: str = "deny", learning: str = RULE, project: Optional[str] = None, **more: Any
) -> Guard:
    matcher = more.get("matcher") or derive_matcher(text)
    assert matcher is not None, text
    return Guard(learning, mode, matcher, text, more.get("instead", "pnpm"), project, more.get("number", ""))


def make_store(guards: Sequence[Guard] = ()) -> Store:
    """Open the store and write its table, with the stamp that keeps a session from building it from the decisions."""
    store = service.open_store(os.environ)
    write_guards(store, guards)
    return store


def write_guards(store: Store, guards: Sequence[Guard]) -> None:
    table.write_table(store, guards, store.git.resolve(MAIN) or "")


def build_event(tool: str = "Bash", cwd: str = "/", session: str = "5e55", **given: Any) -> bytes:
    event = {
        "session_id": session, "transcript_path": f"/home/pat/.claude/projects/-home-pat-shop/{session}.jsonl",
        "cwd": cwd, "prompt_id": "b3eb", "permission_mode": "default", "effort": {"level": "medium"},
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "tool_use_id": "toolu_17",
    }  # fmt: skip
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def send(data: bytes, shell: Sequence[str] = (), command: Optional[list[str]] = None, **env: str) -> dict[str, Any]:
    """Send an event through the entry of the settings, or through the script under another shell."""
    words = command or entry.get_entry_command(os.environ)
    words = words if not shell else [*shell, table.get_script_path(f"{service.locate_store(os.environ)}/.git")]
    done = subprocess.run(words, input=data, env={**os.environ, **env}, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    answer: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
    return answer


def send_stop(session: Session, more_env: Optional[dict[str, str]] = None, **more: Any) -> dict[str, Any]:
    """Send the Stop event of a session's turn through the entry of the settings; return the answer."""
    given = {"prompt_id": session.prompt, "stop_hook_active": False, **more}
    data = json.dumps(session.build_event("Stop", **given), separators=(",", ":")).encode() + b"\n"
    env = {**os.environ, "CLAUDE_PROJECT_DIR": session.cwd, **(more_env or {})}
    words = entry.get_entry_command(os.environ, event="Stop")
    done = subprocess.run(words, input=data, env=env, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return answer


def read_firings(store: Store, session: str = "5e55") -> list[dict[str, Any]]:
    path = Path(store.private_path("firings", f"{session}.jsonl"))
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
