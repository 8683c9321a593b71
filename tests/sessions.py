"""A Claude Code session as our hooks see it: a growing transcript, and events about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import REPO

HOOK = [sys.executable, "-I", "-S", str(REPO / "hooks" / "hook.py")]
CORRECTION = "no, never use npm in this project, always use pnpm instead"


class Session:
    """A session. `say`, `run_tool` and `answer` write what the client would write; `run_hook` runs ours."""

    def __init__(self, home: Path, name: str = "", entrypoint: str = "cli", cwd: str = "/srv/shop") -> None:
        self.name = name or str(uuid.uuid4())
        self.path = home / ".claude" / "projects" / "-srv-shop" / f"{self.name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.entrypoint, self.cwd = entrypoint, cwd
        self.count = 0
        self.last = self.prompt = ""

    def write(self, kind: str, **fields: Any) -> str:
        """Write one line, linked to the previous one as the client does; return its uuid."""
        self.count += 1
        minute, second = divmod(self.count, 60)
        identity = f"{self.name[:8]}-{self.count}"
        named = {"user": {"promptId": self.prompt}, "assistant": {"requestId": f"req_{self.count}"}}.get(kind, {})
        entry = {
            "parentUuid": self.last or None, **named,
            "type": kind, "uuid": identity, "sessionId": self.name, "isSidechain": False,
            "timestamp": f"2026-02-11T10:{minute % 60:02d}:{second:02d}.000Z", "cwd": self.cwd, "version": "2.1.325",
            "entrypoint": self.entrypoint, **fields,
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
        os.utime(self.path)  # by this process's clock, which `make clocks` sets; the kernel has another one
        if kind in ("user", "assistant") and not entry["isSidechain"]:
            self.last = identity
        return identity

    def say(self, text: str, **more: Any) -> None:
        source = {"promptSource": "typed", "origin": {"kind": "human"}} if self.entrypoint == "cli" else {}
        self.prompt = f"{self.name[:8]}-prompt-{self.count}"
        self.write("user", message={"role": "user", "content": text}, **source, **more)

    def queue(self, text: str) -> None:
        """Write a message typed while the model worked, not delivered yet."""
        self.write("queue-operation", operation="enqueue", content=text, uuid=None)

    def answer(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        self.write("assistant", message={"role": "assistant", "model": "claude-x", "content": content})

    def run_tool(self, tool: str, output: str = "ok", error: bool = False, **given: Any) -> None:
        self.end_call(self.begin_call(tool, given), output, error)

    def begin_call(self, tool: str, given: dict[str, Any]) -> str:
        call = f"toolu_{self.name[:8]}_{self.count}"
        block = {"type": "tool_use", "id": call, "name": tool, "input": given}
        self.write("assistant", message={"role": "assistant", "model": "claude-x", "content": [block]})
        return call

    def end_call(self, call: str, output: str, error: bool, **more: Any) -> None:
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": error}
        links = {"sourceToolAssistantUUID": self.last}
        self.write("user", message={"role": "user", "content": [result]}, **{**links, **more})

    def answer_question(self, question: str, options: list[str], answer: str) -> None:
        """Write an AskUserQuestion call and what the person chose or typed."""
        labels = [{"label": option, "description": ""} for option in options]
        questions = [{"question": question, "header": "Setup", "options": labels, "multiSelect": True}]
        call = self.begin_call("AskUserQuestion", {"questions": questions})
        answered = {"questions": questions, "answers": {question: answer}}
        self.end_call(call, "answered", False, toolUseResult=answered)

    def reject_tool(self, words: str, **given: Any) -> None:
        """Write a command that the person rejects, with the reason."""
        self.end_call(
            self.begin_call("Bash", given), f"The user doesn't want to proceed with this tool use. {words}", True,
            toolDenialKind="user-rejected", userFeedback=words,
            permissionDecision={"decision": "reject", "source": "user_reject"},
        )  # fmt: skip

    def write_sample_work(self) -> None:
        """Write a request, some steps, and a message after them."""
        self.say("please add a date picker to the checkout page")
        self.run_tool("Bash", command="npm install")
        self.run_tool("Edit", file_path=f"{self.cwd}/checkout.tsx")
        self.answer("I installed the picker with npm and added it.")

    def build_event(self, name: str, **more: Any) -> dict[str, Any]:
        return {
            "hook_event_name": name, "session_id": self.name, "transcript_path": str(self.path), "cwd": self.cwd,
            "prompt_id": f"prompt-{self.count}", **more,
        }  # fmt: skip

    def run_hook(self, name: str, env: dict[str, str] | None = None, **more: Any) -> str:
        """Run a hook as the client does; return its output. It must exit with 0 and print nothing on stderr."""
        data = json.dumps(self.build_event(name, **more)).encode()
        surroundings = {**os.environ, **(env or {})}
        done = subprocess.run(HOOK, input=data, env=surroundings, capture_output=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()


def load_signals(root: Path) -> list[dict[str, Any]]:
    """Return every signal from the copies in signals/, parsed with the standard library alone."""
    found = []
    for path in sorted((root / "signals").rglob("SIG-*.yaml")):
        lines = path.read_bytes().decode("utf-8").splitlines()
        found.append({key: json.loads(value) for key, _, value in (line.partition(": ") for line in lines)})
    return found


def list_lessons(root: Path) -> list[str]:
    """Return the contents of the signals that can become rules."""
    return [signal["content"] for signal in load_signals(root) if signal["type"] != "summary"]


def wait_until(is_so: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Wait until a background process has done its work."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.02)
