"""A compaction forgets; what the user typed in this session is added again, and nothing else."""

from __future__ import annotations

import json
import re

from tests.conftest import RunCli
from tests.e2e.conftest import Signals, list_failures, list_messages
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client, Screen

PIP = "no, don't use pip here. We always use uv in this repo."
TESTS = "no, tests always belong into spec/, never beside the code"
FENCED = re.compile(r"<reflect-git>\n.*\n([0-9a-f]{16})\n(.*?)\n\1\n</reflect-git>", re.S)
# More than the context window of any model the client knows.
FULL = 990_000


def correct_and_compact(screen: Screen, model: Model) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("Moved. THREE"), Turn("Going on. FOUR")]
    screen.say("add the requests library", "ONE")
    screen.say(PIP, "TWO")
    screen.say(TESTS, "THREE")
    screen.say("/compact", "Compacted")
    screen.say("go on", "FOUR")
    screen.exit_client()


def test_what_the_user_typed_survives(client: Client, model: Model, signals: Signals) -> None:
    with client.open_screen() as screen:
        correct_and_compact(screen, model)
    (summariser,) = model.list_requests("summary")
    assert "Additional Instructions" not in summariser.text()
    (told,) = FENCED.findall(model.list_requests()[-1].text())
    newest, oldest = [json.loads(line) for line in told[1].splitlines()]
    assert "spec/" in newest
    assert "uv" in oldest
    assert sorted(list_messages(signals())) == sorted([newest, oldest]), "our own words were mined back"


def test_nothing_is_said_when_nothing_was_learned(client: Client, model: Model) -> None:
    model.turns = [Turn("Five files. ONE"), Turn("Going on. TWO")]
    with client.open_screen() as screen:
        screen.say("how many files are there?", "ONE")
        screen.say("/compact", "Compacted")
        screen.say("and folders?", "TWO")
        screen.exit_client()
    told = model.list_requests()[-1].text()
    assert "<reflect-git>" not in told
    assert "hook additional context" not in told
    # The client itself shows the model and the person that a hook ran; its output would follow a colon.
    assert told.count("PreCompact [") == 1
    assert "completed successfully:" not in told


def test_the_summary_is_asked_to_keep_corrections_if_the_user_wants_it(
    client: Client, model: Model, run_cli: RunCli
) -> None:
    assert run_cli("config", "compact.keep", "true").code == 0
    with client.open_screen() as screen:
        correct_and_compact(screen, model)
    (summariser,) = model.list_requests("summary")
    wanted = summariser.text().partition("Additional Instructions:\n")[2]
    assert "spec/" in wanted
    assert "uv" in wanted


def test_a_compaction_that_nobody_asked_for(client: Client, model: Model, signals: Signals) -> None:
    """In a print run, in the middle of a turn: it continues, and its failures are captured."""
    model.turns = [
        Turn("First.", [bash_call("echo broken >&2; exit 3")], tokens=30_000),
        Turn("Second.", [bash_call("echo on")], tokens=FULL), Turn("Done after all.", tokens=20_000),
    ]  # fmt: skip
    run = client.run_print("try it")
    assert run.result["result"] == "Done after all."
    (summariser,) = model.list_requests("summary")
    assert "Additional Instructions" not in summariser.text()
    assert len(list_failures(signals())) == 1
