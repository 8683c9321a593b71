"""Ask a model one question: Claude in the client's print mode, or any program that reads and writes JSON.

`--safe-mode` keeps the user's hooks, CLAUDE.md and servers out of the call, but keeps the login. The client writes no
transcript. With REFLECT_GIT_OFF our own hooks ignore the call, in case a later client runs them anyway.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reflect_git.errors import ReflectError
from reflect_git.platform import faults
from reflect_git.platform.processes import is_client_variable
from reflect_git.records.named_tuple import NamedTuple

CLIENT_VARIABLE = "REFLECT_GIT_CLAUDE"  # path of the program if it is not on PATH
OFF_VARIABLE = "REFLECT_GIT_OFF"
MAX_OUTPUT = 1 << 20
_DEFAULT_LOCATIONS = (".local/bin/claude", ".claude/local/claude")
_POLL_SECONDS = 0.1
_KILL_GRACE_SECONDS = 2.0
# Without this the client retries a refused login or a broken server for more than 20 s.
_CALL_VARIABLES = {"CLAUDE_CODE_MAX_RETRIES": "0", OFF_VARIABLE: "1"}
_WRONG_FORM = "{who} did not answer in the form that was asked for"
_ERROR_MESSAGES = {
    "error_max_turns": _WRONG_FORM,
    "error_max_structured_output_retries": _WRONG_FORM,
    "error_max_budget_usd": "the answer would have cost more than one call may",
}
_LOGIN_ERRORS = ("not logged in", "/login", "invalid api key", "failed to authenticate", "oauth token")


class Usage(NamedTuple):
    """The cost of a call; all zero if the client did not report it."""

    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0


class Task(NamedTuple):
    """The purpose of a call, as errors name it: who is asked, what failed, and what a person can do instead.

    `timeout_key`: the setting that gives it more time.
    """

    who: str
    failed: str
    retry_hint: str
    other_hint: str
    timeout_key: str
    code: str


WORDING = Task(
    "Claude", "Claude worded nothing", "press c to try again, or e to word it yourself", "press e to word it yourself",
    "reflect.wording.timeout", "wording",
)  # fmt: skip


class Question(NamedTuple):
    """One call: prompt, expected JSON schema, model, and limits."""

    system: str
    prompt: str
    schema: dict[str, Any]
    model: str
    max_usd: float
    seconds: float
    folder: str  # working folder of the client; its path is part of the request
    task: Task = WORDING


class CallFailed(ReflectError):
    """The program ran but gave no usable answer; the call may have cost something. `usage` is None if unknown."""

    def __init__(self, message: str, hint: str, usage: Usage | None = None, code: str = "wording") -> None:
        super().__init__(message, hint, code)
        self.usage = usage


def find_client(env: Mapping[str, str]) -> str:
    """Return the path of the client; empty if it is not installed. Ignores relative entries of PATH."""
    if CLIENT_VARIABLE in env:
        return (
            env[CLIENT_VARIABLE]
            if os.path.isabs(env[CLIENT_VARIABLE]) and os.access(env[CLIENT_VARIABLE], os.X_OK)
            else ""
        )
    folders = [entry for entry in env.get("PATH", "").split(os.pathsep) if os.path.isabs(entry)]
    found = shutil.which("claude", path=os.pathsep.join(folders)) if folders else None
    usual = (
        [os.path.join(env["HOME"], name) for name in _DEFAULT_LOCATIONS] if os.path.isabs(env.get("HOME", "")) else []
    )
    return found or next((path for path in usual if os.access(path, os.X_OK)), "")


def require_client(env: Mapping[str, str], task: Task = WORDING) -> str:
    """Return the path of the client; raise an error if it is not installed."""
    found = find_client(env)
    if not found:
        hint = f"install Claude Code, or put it on PATH; {task.other_hint}"
        raise ReflectError("the program 'claude' was not found", hint, "no-client")
    return found


def ask(
    program: str, question: Question, env: Mapping[str, str], on_tick: Callable[[float], None] | None = None
) -> tuple[Any, Usage]:
    """Return Claude's answer as a JSON document, and its cost. `on_tick` is called with the seconds passed."""
    arguments = _build_arguments(program, question)
    return _parse_output(*_run(arguments, question.prompt, question, env, on_tick), question.task)


def ask_command(
    arguments: Sequence[str], question: Question, env: Mapping[str, str],
    on_tick: Callable[[float], None] | None = None,
) -> Any:  # fmt: skip
    """Return the JSON document that a program of the user prints; `question.prompt` is its input."""
    code, out, err = _run(arguments, question.prompt, question, env, on_tick)
    try:
        answer = json.loads(out)
    except (ValueError, RecursionError):
        answer = None
    if code or answer is None:
        said = _get_first_line(err)
        why = f"it ended with {code}" + (f": {said}" if said else "") if code else "its answer is no JSON"
        raise CallFailed(f"{question.task.failed}: {why}", question.task.retry_hint, code=question.task.code)
    return answer


def _run(
    arguments: Sequence[str], given_text: str, question: Question, env: Mapping[str, str],
    on_tick: Callable[[float], None] | None,
) -> tuple[int, bytes, str]:  # fmt: skip
    """Run a program within the limits of the question; return its exit code, output and error text."""
    program, task = arguments[0], question.task
    faults.point("spawn", program)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(given_text.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                arguments, stdin=given, stdout=out, stderr=err, cwd=question.folder,
                env=build_environment(env, question.seconds), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            hint = f"run '{os.path.basename(program)} --version' in a terminal; {task.other_hint}"
            raise ReflectError(f"cannot run '{program}': {error.strerror}", hint, "no-client") from None
        _wait_for_process(process, question, lambda: os.fstat(out.fileno()).st_size, on_tick)
        out.seek(0)
        err.seek(0)
        return process.returncode, out.read(MAX_OUTPUT), err.read(4096).decode("utf-8", "replace")


def build_environment(env: Mapping[str, str], seconds: float) -> dict[str, str]:
    """Return the environment for the call: the user's own, without the variables of an open session."""
    kept = {name: value for name, value in env.items() if not is_client_variable(name)}
    return {**kept, **_CALL_VARIABLES, "API_TIMEOUT_MS": str(int(seconds * 1000))}


def _build_arguments(program: str, question: Question) -> list[str]:
    return [
        program, "-p", "--safe-mode", "--model", question.model, "--tools", "", "--strict-mcp-config",
        "--disable-slash-commands", "--no-session-persistence", "--system-prompt", question.system,
        "--output-format", "json", "--json-schema", json.dumps(question.schema), "--max-turns", "3",
        "--max-budget-usd", f"{question.max_usd:.4f}",
    ]  # fmt: skip


def _wait_for_process(
    process: subprocess.Popen[bytes], question: Question, written: Callable[[], int],
    on_tick: Callable[[float], None] | None,
) -> None:  # fmt: skip
    """Wait for the process. Stop it at the time limit, at the output limit, and on Ctrl-C."""
    begun, task, seconds = time.monotonic(), question.task, question.seconds
    try:
        while True:
            try:
                process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            if written() > MAX_OUTPUT:
                message = f"{task.who}'s answer was dropped: it is longer than 1 MB"
                raise CallFailed(message, task.retry_hint, code=task.code)
            if process.returncode is not None:
                return
            passed = time.monotonic() - begun
            if passed > seconds:
                hint = f"give it more time: reflect-git config {task.timeout_key} {int(seconds) * 2}; {task.other_hint}"
                raise CallFailed(f"{task.who} did not answer within {seconds:g} seconds", hint, code="timeout")
            if on_tick is not None:
                on_tick(passed)
    except KeyboardInterrupt:
        raise CallFailed(f"stopped: {task.failed}", task.retry_hint, code="interrupted") from None
    finally:
        _stop_process(process)


def _stop_process(process: subprocess.Popen[bytes]) -> None:
    """Stop the process and its children: SIGTERM first, so that it can clean up, then SIGKILL."""
    for number, seconds in ((signal.SIGTERM, _KILL_GRACE_SECONDS), (signal.SIGKILL, _KILL_GRACE_SECONDS)):
        if process.poll() is None:
            try:
                os.killpg(process.pid, number)
                process.wait(seconds)
            except (ProcessLookupError, PermissionError, subprocess.TimeoutExpired):
                continue


def _parse_output(code: int, out: bytes, err: str, task: Task) -> tuple[Any, Usage]:
    try:
        reply = json.loads(out)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict):
        said = _get_first_line(err)
        why = f"the client ended with {code}" + (f": {said}" if said else "") if code else "its answer is no JSON"
        hint = f"update Claude Code with 'claude update'; {task.other_hint}"
        raise CallFailed(f"{task.failed}: {why}", hint, code=task.code)
    usage = _parse_usage(reply)
    answer = reply.get("structured_output")
    if reply.get("is_error") or code or answer is None:
        raise _build_error(reply, usage, task)
    return answer, usage


def _build_error(reply: Mapping[str, Any], usage: Usage, task: Task) -> CallFailed:
    said = str(reply.get("result") or "")
    if reply.get("api_error_status") == 401 or any(mark in said.lower() for mark in _LOGIN_ERRORS):
        hint = f"run 'claude' in a terminal and type /login; {task.other_hint}"
        return CallFailed("Claude Code is not logged in", hint, usage, "no-login")
    message = _ERROR_MESSAGES.get(str(reply.get("subtype")), "" if reply.get("is_error") else _WRONG_FORM)
    if not message:
        message = f"{task.failed}: {_get_first_line(said) or 'the client does not say why'}"
    return CallFailed(message.replace("{who}", task.who), task.retry_hint, usage, task.code)


def _get_first_line(text: str) -> str:
    """Return the first line, shortened and without its full stop."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return (line if len(line) <= 160 else f"{line[:159]}…").rstrip(".")


def _parse_usage(reply: Mapping[str, Any]) -> Usage:
    used = reply.get("usage")
    used = used if isinstance(used, dict) else {}
    models = reply.get("modelUsage")
    names = [name for name in models if isinstance(name, str)] if isinstance(models, dict) else []
    read = sum(
        _parse_number(used.get(name))
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )  # fmt: skip
    return Usage(
        names[0][:80] if names else "", int(read), int(_parse_number(used.get("output_tokens"))),
        _parse_number(reply.get("total_cost_usd")),
    )  # fmt: skip


def _parse_number(value: Any) -> float:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e9 else 0.0
