"""Rules that hold, in the real client: what one agent is told, and every way past a guard that a call may take."""

from __future__ import annotations

from pathlib import Path

from reflect_git.records.ids import utc_precise
from reflect_git.store import policy
from tests.e2e.model import Call, Model, Turn, bash_call
from tests.e2e.session import Client
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
