"""Messages a person sends on the screen, by each way the client offers."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from tests.conftest import RunCli
from tests.e2e.conftest import Signals, list_failures, list_messages
from tests.e2e.model import Call, Model, Turn, bash_call
from tests.e2e.session import Client, wait_until

CORRECTION = "no, don't use pip here. We always use uv in this repo."


def test_a_message_typed_while_the_model_works(client: Client, model: Model, signals: Signals) -> None:
    gate = threading.Event()
    model.turns = [Turn("I look.", [bash_call("echo looked")], gate=gate), Turn("Understood. ONE")]
    with client.open_screen() as screen:
        screen.say("write the importer")
        wait_until(model.list_requests, 20, lambda: "the model was not asked")
        screen.say("no, never use tabs, always indent with four spaces")
        gate.set()
        screen.expect("ONE")
        screen.exit_client()
    assert "four spaces" in model.list_requests()[-1].text()
    (said,) = list_messages(signals())
    assert "four spaces" in said


def test_a_refusal_with_words(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I clean up.", [bash_call("rm -rf build")]), Turn("As you wish. ONE")]
    with client.open_screen(tools="Read") as screen:
        screen.say("clean up")
        screen.expect("Do you want to proceed")
        screen.choose("No")
        screen.press("Tab")
        screen.expect("tell Claude what to do differently")
        screen.say("use make clean instead, never rm", "ONE")
        screen.exit_client()
    found = signals()
    refused = [signal for signal in found if signal["trust"] == "user_feedback"]
    assert [signal["type"] for signal in refused] == ["correction"]
    assert "make clean" in refused[0]["content"]
    assert not list_failures(found), "a refusal is no failure"


def test_an_interruption_and_what_was_said_then(client: Client, model: Model, signals: Signals, project: Path) -> None:
    model.turns = [Turn("I build.", [bash_call("touch started; tail -f /dev/null")]), Turn("With ninja, then. ONE")]
    with client.open_screen() as screen:
        screen.say("build it")
        wait_until((project / "started").exists, 20, screen.text)
        screen.press("Escape")
        screen.expect("Interrupted")
        screen.say("no, always build with ninja, never with the script", "ONE")
        screen.exit_client()
    found = signals()
    assert ["ninja" in said for said in list_messages(found)] == [True]
    assert not list_failures(found), "what a person stopped did not fail"


def test_clear_ends_a_session_and_begins_another(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("A test. THREE"), Turn("Moved. FOUR")]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.say("/clear")
        wait_until(lambda: "TWO" not in screen.text(), 20, screen.text)
        screen.say("write a test", "THREE")
        screen.say("no, tests always belong into spec/, never beside the code", "FOUR")
        screen.exit_client()
    found = [signal for signal in signals() if signal["trust"] == "user_typed" and signal["type"] != "summary"]
    assert sorted("spec/" in signal["content"] for signal in found) == [False, True]
    assert len({signal["session_id"] for signal in found}) == len(client.transcripts()) == 2


def test_what_a_subagent_is_told_is_not_what_the_user_said(
    client: Client, model: Model, signals: Signals, run_cli: RunCli
) -> None:
    assert run_cli("config", "capture.unattended", "all").code == 0
    told = "No, never use grep here. Always use rg instead, and list the folder."
    asked = {"description": "Look", "prompt": told, "subagent_type": "general-purpose", "run_in_background": False}
    model.turns = [
        Turn("I look.", [bash_call("ls /nowhere-at-all")], to=told), Turn("Nothing there.", to=told),
        Turn("I delegate.", [Call("Agent", asked)]), Turn("That was all."),
    ]  # fmt: skip
    run = client.run_print("look into the folder")
    assert run.result["result"] == "That was all."
    found = signals()
    assert not [signal for signal in found if "rg" in signal["content"].split()]
    (failed,) = list_failures(found)
    assert "/nowhere-at-all" in failed["content"] + str(failed["context"])
    assert failed["meta"]["agent"]


def test_the_answer_to_a_question_is_kept(client: Client, model: Model, store_home: Path) -> None:
    question = "Learning 1 of 1 [SIG-20260211-7k3v9q2m]\n---\nUse `uv`, not `pip`.\n---\nKeep it?"
    options = [{"label": label, "description": label} for label in ("Project CLAUDE.md", "Not now")]
    asked = {"question": question, "header": "Learning", "multiSelect": False, "options": options}
    model.turns = [Turn("One thing.", [Call("AskUserQuestion", {"questions": [asked]})]), Turn("Noted. ONE")]
    with client.open_screen() as screen:
        screen.say("review what you learned")
        screen.expect("Project CLAUDE.md")
        screen.choose("Not now")
        screen.press_until("Enter", "ONE")
        screen.exit_client()
    (kept,) = (store_home / ".git/reflect/answers").glob("*.json")
    (answer,) = json.loads(kept.read_text())["answers"]
    assert (answer["subject"], answer["label"]) == ("SIG-20260211-7k3v9q2m", "Not now")
