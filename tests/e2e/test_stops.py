"""Turns that did not finish: the server failed, or the turns were used up."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Signals, list_failures
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client

AT_ONCE = {"CLAUDE_CODE_MAX_RETRIES": "0"}
# The client always tries again.
DOWN = [Turn(error=500)] * 20


def stops(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [signal for signal in list_failures(found) if "loop stopped" in signal["content"]]


def test_a_server_that_fails_in_a_print_run(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I try.", [bash_call("echo on")]), *DOWN]
    assert client.run_print("go", env=AT_ONCE).result["terminal_reason"] == "api_error"
    assert len(stops(signals())) == 1


def test_a_server_that_fails_at_the_screen(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I try.", [bash_call("echo on")]), *DOWN]
    with client.open_screen(env=AT_ONCE) as screen:
        screen.say("go", "API Error: 500")
        screen.exit_client()
    assert len(stops(signals())) == 1


def test_turns_that_are_used_up(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("Again.", [bash_call(f"echo {number}")]) for number in range(6)]
    assert client.run_print("go", "--max-turns", "2").result["terminal_reason"] == "max_turns"
    assert len(stops(signals())) == 1


def test_a_tool_that_fails_five_times(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("Again.", [bash_call("make docs")]) for _ in range(5)]
    client.run_print("make the docs")
    found = signals()
    assert len(stops(found)) == 1
    assert [signal["source"]["hook"] for signal in list_failures(found)].count("PostToolUseFailure") == 5
