"""The front that Claude Code's hooks talk to: silent, exit 0 always, no network, nothing but the standard library."""

from __future__ import annotations

import os
import select
import sys
import time
from _signal import SIG_DFL, SIGALRM, SIGCHLD, alarm
from _signal import signal as on_signal  # `signal` makes enums of its numbers: 1.5 ms

from reflect_git import paths, workflow
from reflect_git.adapters import jsontext
from reflect_git.adapters.redact import redact
from reflect_git.capture.failure import facts_of
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any, Optional

    from reflect_git.store.repository import Store

    Event = Mapping[str, Any]

INPUT_LIMIT = 1 << 20
INPUT_SECONDS = 2.0
HOOK_SECONDS = 4


def main() -> int:
    """Read the event, do its work, never hurt the session."""
    env = os.environ
    on_signal(SIGCHLD, SIG_DFL)  # a parent that ignores it would take our children's exit codes
    on_signal(SIGALRM, _give_up)
    alarm(HOOK_SECONDS)
    os.umask(0o077)
    try:
        run(env)
    except (ReflectError, OSError, ValueError, RecursionError, MemoryError) as error:
        note(env, f"{type(error).__name__}: {error}")
    except BaseException as error:  # a bug of ours is ours to read, not the session's to suffer
        note(env, f"bug: {type(error).__name__}: {error}")
    return 0


def _give_up(_number: int, _frame: Optional[FrameType]) -> None:
    os._exit(0)


def run(env: Mapping[str, str]) -> None:
    event = parse(read_input(sys.stdin.fileno()))
    handle = HANDLERS.get(str(event.get("hook_event_name")))
    if handle is None or env.get("REFLECT_GIT_OFF") == "1":
        return
    store = workflow.open_store(env)
    here = str(event.get("cwd") or "")
    folder = env.get("CLAUDE_PROJECT_DIR") or here
    if workflow.is_capturing(store, env, folder, time.time()) and not workflow.is_ignored(store, here):
        handle(store, event, folder, env)


def read_input(descriptor: int) -> bytes:
    """All of stdin, but at most 1 MiB and two seconds of it."""
    chunks, size, deadline = [], 0, time.monotonic() + INPUT_SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while size <= INPUT_LIMIT:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            break
        chunk = os.read(descriptor, 65536)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    if size > INPUT_LIMIT:
        raise ReflectError("hook input is larger than 1 MiB")
    return b"".join(chunks)


def parse(data: bytes) -> dict[str, Any]:
    """One JSON object; a key given twice is refused, since two readers could see two events."""
    event = jsontext.loads(data.decode("utf-8", "replace"), _unique)
    if not isinstance(event, dict):
        raise ReflectError("hook input is not an object")
    return event


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ReflectError("hook input has a key twice")
    return found


def failure(store: Store, event: Event, folder: str, env: Mapping[str, str]) -> None:
    """PostToolUseFailure."""
    facts = facts_of(event, paths.home_dir(env))
    if facts is not None:
        workflow.capture(store, {**facts, "project": workflow.project_of(store, folder)}, env)


def note(env: Mapping[str, str], line: str) -> None:
    """A line for `doctor`: in the store's log, or beside the store where there is none."""
    try:
        root = workflow.locate_store(env)
    except (ReflectError, OSError):
        root = paths.store_home(env)
    log = os.path.join(root, ".git", "reflect", "log")
    if not os.path.isdir(os.path.dirname(log)):
        log = f"{root}.log"
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = f"{stamp} hook: {' '.join(redact(line).split())[:400]}\n"
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError:
        pass


HANDLERS: dict[str, Callable[[Store, Event, str, Mapping[str, str]], None]] = {"PostToolUseFailure": failure}
