"""Rules that hold, in the real client: what one agent is told, and every way past a guard that a call may take."""

from __future__ import annotations

import json
import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from reflect_git.guards import entry
from reflect_git.records.ids import utc_precise
from reflect_git.store import policy
from reflect_git.store.repository import Store
from tests.e2e.model import Call, Model, Turn, bash_call
from tests.e2e.session import Client
from tests.e2e.test_guards import list_results
from tests.guards.guarded_store import make_guard, make_store, read_firings, write_guards
from tests.rules.queues import BY
from tests.store.store_checks import open_store
from tests.stories.terminal import Terminal

REVIEWER = "---\nname: reviewer\ndescription: Reviews changes\n---\n\nYou review changes.\n"
RULE = "Name the file and the line of every finding"


def delegate(prompt: str, agent: str) -> Turn:
    asked = {"description": "Look", "prompt": prompt, "subagent_type": agent, "run_in_background": False}
    return Turn("I delegate.", [Call("Agent", asked)])


def test_a_rule_of_an_agent_reaches_that_agent_alone(
    client: Client, model: Model, project: Path, store_home: Path
) -> None:
    file = project / ".claude" / "agents" / "reviewer.md"
    file.parent.mkdir(parents=True)
    file.write_text(REVIEWER)
    with Terminal("capture", "--type", "convention", "--content", RULE, cwd=project) as terminal:
        signal = terminal.ends().split()[1]
    with Terminal("approve", signal, "--to", "agent:reviewer", cwd=project) as terminal:
        said = terminal.ends()
    rule = said[said.index("approved LRN-") :].split()[1]

    def ask_both() -> dict[str, str]:
        """Return what the main model and both agents were given to read."""
        model.requests.clear()
        model.turns = [
            Turn("Reviewed.", to="review the change"), Turn("Explored.", to="explore the folder"),
            delegate("review the change", "reviewer"), delegate("explore the folder", "general-purpose"),
            Turn("Both did."),
        ]  # fmt: skip
        assert client.run_print("let both look").result["result"] == "Both did."
        found = {}
        for request in model.list_requests():
            opening = str(request.body["messages"][0])
            names = ("review the change", "explore the folder", "let both look")
            name = next(one for one in names if one in opening)
            found[name] = request.text()
        return found

    told = ask_both()
    assert len(told) == 3
    assert "You review changes." in told["review the change"]
    assert [name for name, text in told.items() if f"- {RULE}" in text] == ["review the change"]
    with Terminal("revert", rule, cwd=project) as terminal:
        terminal.ends()
    assert file.read_text() == REVIEWER
    assert not [name for name, text in ask_both().items() if RULE in text]


def switch_on(store_home: Path) -> None:
    policy.set_policies(open_store(store_home), {"reflect.escalate": "hint"}, BY, utc_precise())


STOP = "Stop here. 3 different attempts at one problem failed"


def test_the_third_different_failure_brings_a_hint(client: Client, model: Model, store_home: Path) -> None:
    commands = ["make docs", "make -B docs", "make docs V=1", "make docs JOBS=1"]
    told = run_attempts(client, model, commands)
    assert told == [False, False, False, False], "it is off by default"
    switch_on(store_home)
    assert run_attempts(client, model, commands) == [False, False, True, True]
    assert model.list_requests()[-1].text().count(STOP) == 1
    for command in commands[:3]:
        assert f". {command}\n" in model.list_requests()[-1].text()
    assert run_attempts(client, model, [*commands[:2], "true || make docs", commands[2]]) == [False] * 4


def run_attempts(client: Client, model: Model, commands: list[str]) -> list[bool]:
    """Let the model run these; return whether it had been told to stop after each."""
    model.requests.clear()
    model.turns = [Turn("", [bash_call(command)]) for command in commands] + [Turn("I give up.")]
    client.run_print("make the docs")
    return [STOP in request.text() for request in model.list_requests()[1:]]


def test_a_message_starts_the_count_again(client: Client, model: Model, store_home: Path) -> None:
    switch_on(store_home)
    model.turns = [
        Turn("", [bash_call("make docs")]), Turn("", [bash_call("make -B docs")]), Turn("Hm. ONE"),
        Turn("", [bash_call("make docs V=1")]), Turn("", [bash_call("make docs V=2")]), Turn("Hm. TWO"),
    ]  # fmt: skip
    with client.open_screen() as screen:
        screen.say("make the docs", "ONE")
        screen.say("try it again", "TWO")
        assert STOP not in model.list_requests()[-1].text()
        model.turns = [Turn("", [bash_call("make docs V=3")]), Turn("I ask you. THREE")]
        screen.say("go on", "THREE")
        model.turns = [
            Turn("", [bash_call("make docs V=4")]), Turn("", [bash_call("make docs V=5")]), Turn("Hm. FOUR"),
        ]  # fmt: skip
        screen.say("and now", "FOUR")
        assert STOP not in model.list_requests()[-1].text()
        screen.say("/exit")  # `exit_client` would take the errors on the screen for those of a hook
        screen.expect("client ended with 0")


MODES = ["default", "acceptEdits", "auto", "bypassPermissions"]
FD, YARN = "Use fd, not find.", "Never run yarn."


@pytest.fixture
def guarded(client: Client, home: Path, request: pytest.FixtureRequest) -> Store:
    """Provide three guards, each in another mode, and the programs that they are about."""
    client.mode = request.param
    client.env["IS_SANDBOX"] = "1"  # root may not skip permissions otherwise
    (home / "bin").mkdir()
    for name in ("npm", "find", "yarn"):
        program = home / "bin" / name
        program.write_text(f'#!/bin/sh\necho "$*" >> {home}/{name}.log\necho done by {name}\n')
        program.chmod(0o755)
    client.env["PATH"] = f"{home}/bin:/usr/local/bin:/usr/bin:/bin"
    store = make_store([
        make_guard(), make_guard(FD, "hint", "LRN-20261104-00000002", instead="fd"),
        make_guard(YARN, "ask", "LRN-20261104-00000003", instead=""),
    ])  # fmt: skip
    entry.install_entry(os.environ)
    return store


@pytest.mark.parametrize("guarded", MODES, indirect=True)
def test_guards_hold_in_every_mode_of_a_print_run(client: Client, model: Model, guarded: Store, home: Path) -> None:
    model.turns = [Turn("", [bash_call(command)]) for command in ("npm i zod", "find . -name x", "yarn add zod")]
    run = client.run_print("add zod")
    assert not (home / "npm.log").exists()
    said = model.list_requests()[-1].text()
    assert "Not run, because a rule of the user forbids it." in said and "Use instead: pnpm" in said
    assert FD in said and YARN in said, "without a person, ask is a hint"
    assert [one["outcome"] for one in read_firings(guarded, run.session)] == ["denied", "hinted", "hinted"]


@pytest.mark.parametrize("guarded", MODES, indirect=True)
def test_guards_hold_in_every_mode_at_the_screen(client: Client, model: Model, guarded: Store, home: Path) -> None:
    model.turns = [
        Turn("", [bash_call("npm i zod")]), Turn("", [bash_call("find . -name x")]),
        Turn("", [bash_call("yarn add zod")]), Turn("Finished. ONE"),
    ]  # fmt: skip
    with client.open_screen() as screen:
        screen.say("add zod", YARN)
        assert not (home / "npm.log").exists() and not (home / "yarn.log").exists()
        assert FD in model.list_requests()[-1].text()
        screen.press_until("Enter", "ONE")
        screen.say("/exit")  # `exit_client` would take the denial on the screen for an error
        screen.expect("client ended with 0")
    assert (home / "yarn.log").read_text() == "add zod\n"
    assert "Use instead: pnpm" in model.list_requests()[-1].text()


SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    schema = {"type": "object", "properties": {"branch": {"type": "string"}}}
    merged = "merged " + str(asked.get("params", {}).get("arguments"))
    server = {"capabilities": {"tools": {}}, "serverInfo": {"name": "forge", "version": "1"}}
    answers = {
        "initialize": {"protocolVersion": "2025-03-26", **server},
        "tools/list": {"tools": [{"name": "merge", "description": "Merge", "inputSchema": schema}]},
        "tools/call": {"content": [{"type": "text", "text": merged}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {})}), flush=True)
"""


def test_a_tool_of_an_mcp_server_is_caught(client: Client, model: Model, home: Path) -> None:
    server, config = home / "forge.py", home / "mcp.json"
    server.write_text(SERVER)
    config.write_text(json.dumps({"mcpServers": {"forge": {"command": sys.executable, "args": [str(server)]}}}))
    client.options += ["--mcp-config", str(config)]
    client.mode, client.env["IS_SANDBOX"] = "bypassPermissions", "1"
    matcher = {"any": [{"tool": "mcp__forge__merge", "text": "^main$"}]}
    make_store([make_guard("Never merge into main.", matcher=matcher, instead="")])
    entry.install_entry(os.environ)
    model.turns = [Turn("", [Call("mcp__forge__merge", {"branch": branch})]) for branch in ("main", "topic")]
    client.run_print("merge it")
    *_, denied, merged = list_results(model)
    assert "Never merge into main." in denied and "merged" not in denied
    assert "merged" in merged and "topic" in merged


CALLS, GUARDS, RUNS, CEILING = 40, 40, 3, 1.25


@pytest.mark.parametrize("command", ["true step {}", 'for n in {}; do true "$n" $(true); done'])
def test_forty_guards_slow_forty_calls_down_by_a_quarter_at_most(
    plain_client: Client, model: Model, store_home: Path, command: str
) -> None:
    """The best of three runs for each call, in turns. On a busy machine, starting a hook takes several times longer."""
    if os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
        pytest.skip("the machine is too busy for a ratio of times")
    guards = []
    for number in range(GUARDS):
        matcher = {"any": [{"run": f"tool{number}"}]}
        guards.append(make_guard("Never use it.", learning=f"LRN-20261104-{number:08}", matcher=matcher))
    store = make_store(guards)
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    for _ in range(RUNS):
        for is_guarded, measured in times.items():
            write_guards(store, guards if is_guarded else [])
            if is_guarded:
                entry.install_entry(os.environ)
            else:
                entry.remove_entry(os.environ)
            model.turns = [Turn("", [bash_call(command.format(number))]) for number in range(CALLS)] + [Turn("Done.")]
            run = plain_client.run_print("do forty steps")
            results = [event["arrived"] for event in run.events if event["type"] == "user"]
            assert len(results) == CALLS
            measured.append([after - before for before, after in pairwise(results)])
    best = {is_guarded: sum(map(min, zip(*measured, strict=True))) for is_guarded, measured in times.items()}
    assert best[True] <= CEILING * best[False], best
