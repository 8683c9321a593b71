"""`claude -p` as measured: how the client is started, and one sentence for each way it fails."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import claude_call
from reflect_git.platform.claude_call import CallFailed, Question, Usage, ask, find_client
from tests.scripted_claude import ScriptedClaude, build_output

RULES = [{"n": 1, "rule": "Use uv."}]


@pytest.fixture
def claude(tmp_path: Path) -> ScriptedClaude:
    made = ScriptedClaude(tmp_path / "bin")
    made.set_rules(*RULES)
    return made


def question(tmp_path: Path, **more: Any) -> Question:
    given = {"system": "S", "prompt": "P\n", "schema": {"type": "object"}, "model": "haiku", "max_usd": 0.05,
             "seconds": 20.0, "folder": str(tmp_path), **more}  # fmt: skip
    return Question(**given)


def failure(claude: ScriptedClaude, tmp_path: Path, **more: Any) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        ask(str(claude.path), question(tmp_path, **more), os.environ)
    assert caught.value.hint and "e to word it yourself" in caught.value.hint
    return caught.value


def test_it_is_started_as_measured(claude: ScriptedClaude, tmp_path: Path) -> None:
    answer, used = ask(str(claude.path), question(tmp_path), os.environ)
    assert answer == {"rules": RULES} and used == Usage("claude-haiku-5-5", 1800, 200, 0.0042)
    (call,) = claude.calls
    assert call["argv"] == [
        "-p", "--safe-mode", "--model", "haiku", "--tools", "", "--strict-mcp-config", "--disable-slash-commands",
        "--no-session-persistence", "--system-prompt", "S", "--output-format", "json", "--json-schema",
        '{"type": "object"}', "--max-turns", "3", "--max-budget-usd", "0.0500",
    ]  # fmt: skip
    assert (call["stdin"], call["cwd"]) == ("P\n", str(tmp_path))


def test_the_call_is_marked_as_ours_and_belongs_to_no_open_session(claude: ScriptedClaude, tmp_path: Path) -> None:
    marks = dict.fromkeys(("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID"), "1")
    ask(str(claude.path), question(tmp_path), {**os.environ, **marks, "ANTHROPIC_API_KEY": "k"})
    env = claude.calls[0]["env"]
    assert not marks.keys() & env.keys() and env["ANTHROPIC_API_KEY"] == "k" and env["HOME"] == os.environ["HOME"]
    assert (env["REFLECT_GIT_OFF"], env["CLAUDE_CODE_MAX_RETRIES"], env["API_TIMEOUT_MS"]) == ("1", "0", "20000")


@pytest.mark.parametrize(
    ("reply", "message", "code"),
    [
        ({"out": "not json"}, "Claude worded nothing: its answer is no JSON", "wording"),
        ({"out": "[1]"}, "Claude worded nothing: its answer is no JSON", "wording"),
        (
            {"out": "", "err": "error: unknown option '--safe-mode'.\n", "code": 1},
            "Claude worded nothing: the client ended with 1: error: unknown option '--safe-mode'",
            "wording",
        ),
        ({"out": "", "code": 143}, "Claude worded nothing: the client ended with 143", "wording"),
        (
            {"out": build_output(is_error=True, result="Not logged in · Please run /login"), "code": 1},
            "Claude Code is not logged in",
            "no-login",
        ),
        (
            {"out": build_output(is_error=True, api_error_status=401, result="Failed to authenticate."), "code": 1},
            "Claude Code is not logged in",
            "no-login",
        ),
        (
            {
                "out": build_output(is_error=True, api_error_status=500, result="API Error: 500 broken. Try later."),
                "code": 1,
            },
            "Claude worded nothing: API Error: 500 broken. Try later",
            "wording",
        ),
        ({"out": build_output()}, "Claude did not answer in the form that was asked for", "wording"),
        (
            {"out": build_output(subtype="error_max_turns", is_error=True, result=None), "code": 1},
            "Claude did not answer in the form that was asked for",
            "wording",
        ),
        (
            {"out": build_output(subtype="error_max_budget_usd", is_error=True, result=None), "code": 1},
            "the answer would have cost more than one call may",
            "wording",
        ),
    ],
)
def test_each_failure_is_one_sentence_with_a_hint(
    claude: ScriptedClaude, tmp_path: Path, reply: dict[str, Any], message: str, code: str
) -> None:
    claude.set_outputs(reply)
    error = failure(claude, tmp_path)
    assert (error.message, error.code) == (message, code)
    costs = json.loads(reply["out"])["total_cost_usd"] if reply["out"].startswith("{") else None
    assert (error.usage.usd if error.usage else None) == costs


def test_a_client_that_hangs_is_stopped_with_all_that_it_started(claude: ScriptedClaude, tmp_path: Path) -> None:
    claude.path.write_text(f"#!/bin/sh\nsleep 300 &\necho $! > '{tmp_path}/child'\nsleep 300\n")
    begun = time.monotonic()
    error = failure(claude, tmp_path, seconds=0.5)
    assert time.monotonic() - begun < 10 and error.usage is None
    assert (error.message, error.code) == ("Claude did not answer within 0.5 seconds", "timeout")
    assert error.hint and "reflect-git config reflect.wording.timeout" in error.hint
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 5
    while _runs(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def test_a_client_that_prints_without_end_is_stopped(claude: ScriptedClaude, tmp_path: Path) -> None:
    claude.set_outputs({"out": "", "flood": True})
    assert failure(claude, tmp_path).message == "Claude's answer was dropped: it is longer than 1 MB"


def test_an_interrupt_stops_the_call(claude: ScriptedClaude, tmp_path: Path) -> None:
    claude.set_outputs({"out": "", "sleep": 60})

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(CallFailed, match="stopped: Claude worded nothing") as caught:
        ask(str(claude.path), question(tmp_path), os.environ, interrupt)
    assert caught.value.code == "interrupted"


def test_a_program_that_cannot_be_run_is_named(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/nonexistent/interpreter\n")
    program.chmod(0o755)
    with pytest.raises(ReflectError, match=f"cannot run '{program}': No such file"):
        ask(str(program), question(tmp_path), os.environ)


def test_the_client_is_found_on_the_path_and_in_its_usual_place(claude: ScriptedClaude, tmp_path: Path) -> None:
    env = {"PATH": f"bin:{tmp_path}/none", "HOME": str(tmp_path)}
    assert find_client(env) == ""
    with pytest.raises(ReflectError, match="the program 'claude' was not found"):
        claude_call.require_client(env)
    (tmp_path / ".local/bin").mkdir(parents=True)
    (tmp_path / ".local/bin/claude").symlink_to(claude.path)
    assert find_client(env) == f"{tmp_path}/.local/bin/claude"
    assert find_client({**env, "PATH": str(claude.folder)}) == str(claude.path)
    assert find_client({**env, "PATH": str(claude.folder), "REFLECT_GIT_CLAUDE": ""}) == ""


@pytest.mark.parametrize("usage", [None, "x", {"input_tokens": "9", "output_tokens": -1}, {"input_tokens": True}])
def test_figures_that_are_none_count_as_nothing(claude: ScriptedClaude, tmp_path: Path, usage: Any) -> None:
    claude.set_outputs({"out": build_output(RULES, usage=usage, total_cost_usd="free", modelUsage=[])})
    assert ask(str(claude.path), question(tmp_path), os.environ)[1] == Usage()
