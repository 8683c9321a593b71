"""Tool calls are found without their results, and match those in turns."""

from __future__ import annotations

import json
from pathlib import Path

from reflect_git.capture.transcript import TranscriptReader
from reflect_git.capture.transcript.calls import read_calls
from tests.sessions import Session


def listed(path: Path) -> list[tuple[str, object]]:
    return [(tool, given) for _, tool, given in filter(None, read_calls(str(path)))]


def test_calls_are_those_that_turns_tell_of(home: Path) -> None:
    session = Session(home, "one")
    session.say('run the tests, and mind the "tool_use"')
    session.run_tool("Bash", command="npm test")
    session.run_tool(
        "Write", file_path="notes.md", content='{"type":"tool_use","name":"Bash","input":{"command":"rm"}}'
    )
    told = [(turn.tool, turn.input) for turn in TranscriptReader(str(session.path)) if turn.kind == "tool"]
    assert listed(session.path) == told and len(told) == 2


def test_what_is_no_call_is_passed_over(home: Path) -> None:
    path = Session(home, "odd").path
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    entries = [
        {"type": "user", "message": {"content": [call]}}, {"type": "assistant", "message": {"content": "tool_use"}},
        {"type": "assistant", "message": {"content": [{**call, "name": ""}, "tool_use", None]}}, ["tool_use"],
        {"type": "assistant", "message": {"content": [call, {**call, "input": "none"}]}},
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries) + '{"type":"assistant","tool_use"\n')
    assert listed(path) == [("Bash", {"command": "ls"}), ("Bash", {})]
