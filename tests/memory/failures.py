"""Read the labelled failures of failures.txt, and store failures in a test's store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reflect_git.capture.new_signal import build_signal_from_input
from reflect_git.records.ids import utc_precise
from reflect_git.store import pending, recover
from reflect_git.store.repository import Store

if TYPE_CHECKING:
    from reflect_git.records.schema import Signal

_FILE = Path(__file__).parent / "failures.txt"


class Failure(NamedTuple):
    """A failed call with its label; noise has an empty cluster."""

    tool: str
    given: dict[str, Any]
    error: str
    cluster: str


def labelled() -> list[Failure]:
    """Read all failures. A block is a label, a call and the error; blocks end with `---`."""
    found = []
    for block in _FILE.read_text(encoding="utf-8").split("\n---\n"):
        label, call, *error = block.strip("\n").split("\n")
        tool, _, given = call.partition(": ")
        parsed = {"command": given} if tool == "Bash" else json.loads(given)
        found.append(Failure(tool, parsed, "\n".join(error), label[2:].replace("noise", "")))
    return found


def fail(store: Store, session: str, error: str, command: str = "npm run dev", **more: Any) -> Signal:
    """Store a failed command as the hook does."""
    return fail_all(store, [(session, error)], command, **more)[0]


def fail_all(
    store: Store, failures: Iterable[tuple[str, str]], command: str = "npm run dev", **more: Any
) -> list[Signal]:  # fmt: skip
    """Store a failed command for each session and error, in one commit."""
    made = []
    for session, error in failures:
        facts = {"type": "failure", "trust": "tool_output", "tags": ["Bash"], "session_id": session, "confidence": 1}
        facts |= {"content": f"Bash failed: {command}", "context": error, **more}
        made.append(build_signal_from_input(facts, store.machine, utc_precise()))
        pending.write_record(store, made[-1])
    recover.recover_store(store)
    return made
