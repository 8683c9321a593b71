"""`reflect-git candidates` after sessions that hooks recorded."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunCli
from tests.sessions import Session, wait_until


class Now(Session):
    """A session of today: the hook dates a failure by the clock, the transcript by its entries."""

    def write(self, kind: str, **fields: Any) -> str:
        return super().write(kind, **{"timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()), **fields})

    def fails(self, command: str, output: str) -> None:
        call = self.begin_call("Bash", {"command": command})
        self.end_call(call, f"Exit code 1\n{output}", True)
        given: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
        self.run_hook("PostToolUseFailure", error=f"Exit code 1\n{output}", **given)


@pytest.mark.parametrize(
    ("tried", "output", "then", "text"),
    [
        (
            "npm test",
            'npm ERR! Missing script: "test"',
            ["pnpm test:unit"],
            "`npm test` fails here; use `pnpm test:unit`",
        ),
        (
            "cargo test",
            "error: could not find `Cargo.toml` in `/srv/shop` or any parent directory",
            ["cd core && cargo test"],
            "`cargo test` fails here; use `cd core && cargo test`",
        ),
        (
            "npm run e2e",
            "Error: Cannot find module 'playwright'",
            ["npm ci", "npm run e2e"],
            "Run `npm ci` first: without it `npm run e2e` fails here",
        ),
    ],
)
def test_a_failure_and_its_fix_in_one_session_are_one_proposed_rule(
    run_cli: RunCli, home: Path, store_home: Path, tried: str, output: str, then: list[str], text: str
) -> None:
    session = Now(home)
    session.run_hook("SessionStart", source="startup")
    session.say("is the build green?")
    session.fails(tried, output)
    time.sleep(1.1)  # records have seconds: the fix must be later
    for command in then:
        session.run_tool("Bash", output="12 passed", command=command)
    session.run_hook("SessionEnd", reason="exit")
    wait_until(lambda: "gotcha" in run_cli("signals").out, "the fix is captured")
    (found,) = run_cli("candidates", "--all", "--json").json()["data"]
    assert (found["text"], found["occurrences"], found["tier"]) == (text, 2, "strong")
    assert text in run_cli("candidates", "--all").out
