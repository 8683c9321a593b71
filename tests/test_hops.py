"""The three main paths are short: few calls lie between the entry point and the effect. With `-s` they are printed.

A hop is a call from one of our functions to the next. The last is the call into the adapter that starts git or
replaces the file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPO, RunCli
from tests.stories.terminal import Terminal

MAX_FAILURE, MAX_APPROVAL, MAX_REVERT = 8, 14, 13

# Runs the program, and notes our functions on the call stack at the first effect of a kind on such a file.
TRACE = """
import json, os, sys
from reflect_git.platform import faults
effect, name, trace = sys.argv[1:4]
def note(passed, subject):
    if passed != effect or not subject.endswith(name) or os.path.exists(trace):
        return
    calls, frame = [], sys._getframe(1)
    while frame:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("reflect_git."):
            calls.append(f"{module[12:]}.{frame.f_code.co_name}")
        frame = frame.f_back
    with open(trace, "w") as file:
        json.dump(calls[::-1], file)
faults.point = note
if sys.argv[4] == "hook":
    from reflect_git.hook import main
else:
    from reflect_git.cli.start import main
    sys.argv[1:] = sys.argv[5:]
sys.exit(main())
"""


def _trace_hops(tmp_path: Path, effect: str, name: str, *words: str, cwd: Path, data: str = "") -> list[str]:
    """Run the program, at a terminal if it gets no input; return the calls after `main`, up to the adapter."""
    script, trace = tmp_path / "trace.py", tmp_path / "calls.json"
    script.write_text(TRACE, encoding="utf-8")
    command = [sys.executable, str(script), effect, name, str(trace), *words]
    if not data:
        command = [sys.executable, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)", *command]
    env = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        command, input=data, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert trace.exists(), done.stdout + done.stderr
    calls: list[str] = json.loads(trace.read_text(encoding="utf-8"))
    trace.unlink()
    adapter = next(number for number, call in enumerate(calls) if call.startswith("platform."))
    sys.stdout.write(f"\n{adapter} hops to the {effect} of '{name}': {' → '.join(calls[: adapter + 1])}\n")
    return calls[1 : adapter + 1]


def test_a_failing_tool_is_few_hops_from_its_commit(run_cli: RunCli, tmp_path: Path) -> None:
    assert run_cli("init").code == 0
    event = {
        "hook_event_name": "PostToolUseFailure", "session_id": "s", "cwd": str(tmp_path), "tool_name": "Bash",
        "tool_input": {"command": "npm run build"}, "tool_use_id": "t", "error": "Exit code 1", "is_interrupt": False,
    }  # fmt: skip
    hops = _trace_hops(tmp_path, "spawn", "git", "hook", cwd=tmp_path, data=json.dumps(event))
    assert "store.inbox.commit_pending" in hops
    assert len(hops) <= MAX_FAILURE


def test_an_approval_and_its_revert_are_few_hops_from_the_file(home: Path, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / "CLAUDE.md").write_text("# Shop\n", encoding="utf-8")
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n", encoding="utf-8")
    with Terminal("capture", "--type", "correction", "--content", "use pnpm, not npm", cwd=project) as terminal:
        signal = terminal.ends().split()[1]
    approval = _trace_hops(tmp_path, "rename", "shop/CLAUDE.md", "cli", "approve", signal, cwd=project)
    assert "rules.write_change.commit_change" in approval
    assert len(approval) <= MAX_APPROVAL
    revert = _trace_hops(tmp_path, "rename", "shop/CLAUDE.md", "cli", "undo", cwd=project)
    assert "rules.write_change.commit_change" in revert
    assert len(revert) <= MAX_REVERT
