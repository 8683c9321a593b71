"""Read the rules and calls of tests/guards/rules.txt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

RULES = Path(__file__).with_name("rules.txt")


class Case(NamedTuple):
    """Say whether a rule applies to a call."""

    rule: str
    tool: str
    given: dict[str, Any]
    applies: bool


def load_cases() -> Iterator[Case]:
    """Yield the cases: `# rule`, then `+` or `-` for each call, with a tool's name behind it or a command."""
    rule = ""
    for line in RULES.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            rule = line[2:]
        elif line:
            tool, _, rest = line[1:].partition(" ")
            parts = [part.strip().replace("\\n", "\n") for part in rest.split(" | ")]
            path = "/home/pat/shop/" + parts[0]
            given: dict[str, Any] = {"command": rest.replace("\\n", "\n")}
            if tool == "Edit":
                given = {"file_path": path, "old_string": parts[1], "new_string": parts[2]}
            elif tool == "Write":
                given = {"file_path": path, "content": parts[1]}
            elif tool == "Read":
                given = {"file_path": path}
            yield Case(rule, tool or "Bash", given, line[0] == "+")
