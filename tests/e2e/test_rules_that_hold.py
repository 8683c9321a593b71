"""Rules that hold, in the real client: what one agent is told, and every way past a guard that a call may take."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.model import Call, Model, Turn
from tests.e2e.session import Client
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
