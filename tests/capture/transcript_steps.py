"""One-line builders for parts of transcripts as the client records them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

from reflect_git.capture.detection import InMemoryRequestCounter, find_signals
from reflect_git.capture.transcript import TranscriptReader

Step = dict[str, Any]
EMPTY_GREP, EMPTY_GLOB = "No matches found", "No files found"
STRING_NOT_FOUND = "<tool_use_error>String to replace not found in file.\nString: {}</tool_use_error>"
FILE_NOT_READ = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"
CANCELLED = "<tool_use_error>Sibling tool call errored</tool_use_error>"
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). "
)


def build_call(tool: str, given: dict[str, Any], output: str, is_error: bool = False, **extra: Any) -> Step:
    return {"tool": tool, "input": given, "output": output, "is_error": is_error, **extra}


def bash_call(command: str, output: str = "ok") -> Step:
    return build_call("Bash", {"command": command}, output)


def failed_bash_call(command: str, output: str, code: int = 1) -> Step:
    return build_call("Bash", {"command": command}, f"Exit code {code}\n{output}", True)


def edit_call(path: str, old: str = "a", new: str = "b") -> Step:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return build_call("Edit", given, f"The file {path} has been updated successfully.")


def failed_edit_call(path: str, old: str = "a", new: str = "b") -> Step:
    return build_call(
        "Edit", {"file_path": path, "old_string": old, "new_string": new}, STRING_NOT_FOUND.format(old), True
    )


def glob_call(pattern: str, output: str = EMPTY_GLOB) -> Step:
    return build_call("Glob", {"pattern": pattern}, output)


def grep_call(pattern: str, output: str = EMPTY_GREP) -> Step:
    return build_call("Grep", {"pattern": pattern}, output)


def assistant_text(text: str) -> Step:
    return {"said": text}


def user_text(text: str) -> Step:
    return {"typed": text}


def build_entries(steps: list[Step], session: str = "s-1", **common: Any) -> list[dict[str, Any]]:
    """Return one entry per block, as the client writes them."""
    made: list[dict[str, Any]] = []

    def add(kind: str, content: Any, **extra: Any) -> None:
        number = len(made)
        made.append(
            {
                "type": kind, "uuid": f"{session}-{number}", "sessionId": session, "cwd": "/home/ada/lamp",
                "timestamp": f"2026-03-01T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z", "version": "2.1.300",
                "message": {"role": kind, "content": content}, **common, **extra,
            }
        )  # fmt: skip

    for step in steps:
        if "said" in step:
            add("assistant", [{"type": "text", "text": step["said"]}])
        elif "typed" in step:
            add("user", step["typed"])
        elif "row" in step:
            made.append({"sessionId": session, "uuid": f"{session}-{len(made)}", **step["row"]})
        else:
            name = step.get("id") or f"toolu_{session}_{len(made)}"
            add("assistant", [{"type": "tool_use", "id": name, "name": step["tool"], "input": step["input"]}])
            result = {"type": "tool_result", "tool_use_id": name, "content": step["output"]}
            details = {"toolUseResult": step["details"]} if "details" in step else {}
            add("user", [{**result, "is_error": True} if step["is_error"] else result], **details)
    return made


def write_transcript(folder: Path, steps: list[Step], session: str = "s-1", **common: Any) -> str:
    path = folder / f"{session}.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in build_entries(steps, session, **common)), encoding="utf-8"
    )
    return str(path)


def mine_steps(
    folder: Path, steps: list[Step], session: str = "s-1", past: Optional[InMemoryRequestCounter] = None, **common: Any
) -> list[dict[str, Any]]:
    return [
        {**facts}
        for facts in find_signals(
            TranscriptReader(write_transcript(folder, steps, session, **common), ended=True), past
        )
    ]


def find_failures(folder: Path, steps: list[Step]) -> list[str]:
    """Return what the detectors of this package found; messages have their own tests."""
    return [facts["family"] for facts in mine_steps(folder, steps) if facts["family"] != "message"]
