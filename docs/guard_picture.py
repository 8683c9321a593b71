"""Draw docs/guard.svg from a real guard: its test on past calls, a call that it stops, and its count.

`make docs` runs this. Every run draws the same picture unless the program prints something else.
Run it in a terminal of your own: inside Claude Code the program refuses the guard.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from docs.picture import HERE, PROGRAM, build_env, dim, draw, record_review, run_at_terminal

MAX_LINES = 18
_CALL = "cd web && npm install zod"
_LEFT_OUT = ("will sync", "deny: the call", "to take it back")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        printed = record_guard(Path(os.path.realpath(folder)))
    if printed.count("\n") >= MAX_LINES:
        sys.exit(f"the picture has {printed.count(chr(10)) + 1} lines, {MAX_LINES} are allowed")
    draw(printed, HERE / "guard.svg")
    return 0


def record_guard(home: Path) -> str:
    """Guard the rule of a review in a new home, let it stop a call, and return what a person and Claude see."""
    record_review(home)
    project, env = home / "webshop", build_env(home)
    guarded = run_at_terminal(["guard", "PROJ-001", "--mode", "deny"], project, env, "q to cancel:", "\n")
    shown = [line for line in guarded.strip("\n").split("\n") if not _plain(line).strip().startswith(_LEFT_OUT)]
    answer = _send_call(home, project, env)
    counted = subprocess.run(
        [*PROGRAM, "--color", "always", "guards"], cwd=project, env=env, check=True, capture_output=True, text=True
    )
    return replace_varying_parts("\n".join([
        dim("$ reflect-git guard PROJ-001 --mode deny"), *shown, "",
        dim(f"# Claude wants to run \x27{_CALL}\x27. It does not run, and Claude reads:"), *answer.split("\n"), "",
        dim("$ reflect-git guards"), counted.stdout.split("\n")[0],
    ]))  # fmt: skip


def _send_call(home: Path, project: Path, env: Mapping[str, str]) -> str:
    """Pass the call to the script that Claude Code runs before it; return what Claude reads."""
    event = {
        "hook_event_name": "PreToolUse", "session_id": "picture", "cwd": str(project), "tool_name": "Bash",
        "tool_input": {"command": _CALL}, "transcript_path": "",
    }  # fmt: skip
    script = home / ".claude" / "reflections" / ".git" / "reflect" / "guard"
    done = subprocess.run([script], input=json.dumps(event), env=env, check=True, capture_output=True, text=True)
    return str(json.loads(done.stdout)["hookSpecificOutput"]["permissionDecisionReason"])


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def replace_varying_parts(printed: str) -> str:
    """Replace ids, and everything that depends on the time of day."""
    printed = re.sub(r"LRN-\d{8}-[0-9a-z]{8}", "LRN-20260212-8ff3a4q2", printed).replace(" yesterday", " today")
    printed = re.sub(r"commit [0-9a-f]{10}", "commit 4f1c2ab90d", printed)
    return re.sub(r", last a moment ago \([^)]*\)", "", printed)


if __name__ == "__main__":
    sys.exit(main())
