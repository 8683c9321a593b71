"""The short path for every CI run: what a person gets on the first day, by each way to get it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from reflect_git.capture.sessions import WELCOME
from tests.conftest import REPO, RunCli
from tests.e2e.conftest import Signals, list_failures, list_messages, wait_until_idle
from tests.e2e.model import Model, Request, Turn, bash_call
from tests.e2e.session import Client
from tests.store.store_checks import inbox_ids

BROKEN = bash_call("echo 'no rule to make target docs' >&2; exit 2")
OURS = re.compile(r"hook (additional context|success|blocking error|stopped)|reflections|</?reflect-git", re.I)


def conversation(request: Request) -> list[str]:
    """Return what the model is given to read, without run-specific numbers."""
    return re.findall(r"\S+", re.sub(r"toolu_\w+", "toolu", request.text()))


def test_a_failing_tool_becomes_a_signal(client: Client, model: Model, signals: Signals, store_home: Path) -> None:
    model.turns = [Turn("I make it.", [BROKEN]), Turn("It cannot be made.")]
    run = client.run_print("make the docs")
    assert run.result["result"] == "It cannot be made."
    wait_until_idle(client.home)
    committed = inbox_ids(store_home)
    (found,) = signals()
    assert found["id"] in committed, "no command had to come after the hook"
    assert (found["trust"], found["session_id"], found["project"]["name"]) == ("tool_output", run.session, "project")
    assert "no rule to make target docs" in found["content"] + str(found["context"])


def test_hooks_welcome_the_person_and_cost_the_model_nothing(
    client: Client, plain_client: Client, model: Model
) -> None:
    """The conversation is identical with and without the plugin."""
    model.turns = [Turn("I make it.", [BROKEN]), Turn("It cannot be made.")] * 2
    run = client.run_print("make the docs")
    with_plugin = [conversation(request) for request in model.list_requests()]
    responses = run.list_hook_events("response")
    assert [hook["exit_code"] for hook in responses] == [0] * len(responses)
    assert [hook["output"] for hook in responses if hook["output"]] == [f"{json.dumps({'systemMessage': WELCOME})}\n"]
    assert not [request for request in model.requests if OURS.search(request.text())]
    plain_client.options.clear()
    plain_client.run_print("make the docs")
    assert [conversation(request) for request in model.list_requests()[len(with_plugin) :]] == with_plugin


def test_a_correction_typed_at_the_screen_becomes_a_signal(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say("no, don't use pip here. We always use uv in this repo.", "TWO")
        screen.exit_client()
    assert not [request for request in model.requests if OURS.search(request.text())]
    found = signals()
    assert ["uv" in said for said in list_messages(found)] == [True], found
    assert sorted(signal["type"] for signal in found) == ["convention", "summary"]


def test_the_plugin_from_its_marketplace_captures(plain_client: Client, model: Model, signals: Signals) -> None:
    plain_client.run("plugin", "marketplace", "add", str(REPO))
    plain_client.run("plugin", "install", "reflect-git@reflect-git")
    model.turns = [Turn("I make it.", [BROKEN])]
    plain_client.run_print("make the docs")
    assert len(list_failures(signals())) == 1


def test_entries_in_settings_capture(plain_client: Client, model: Model, signals: Signals, run_cli: RunCli) -> None:
    assert run_cli("enable").code == 0
    model.turns = [Turn("I make it.", [BROKEN])]
    plain_client.run_print("make the docs")
    assert len(list_failures(signals())) == 1
