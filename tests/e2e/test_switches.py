"""The user decides what is captured and what is not."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import RunCli
from tests.e2e.conftest import Signals, list_failures, list_messages
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client

BROKEN = Turn("I make it.", [bash_call("echo broken >&2; exit 3")])
CORRECTION = "no, don't use pip here. We always use uv in this repo."


def test_switched_off_by_the_environment(client: Client, model: Model, store_home: Path) -> None:
    model.turns = [BROKEN]
    client.run_print("make the docs", env={"REFLECT_GIT_OFF": "1"})
    assert not store_home.exists()


def test_paused_and_on_again(client: Client, model: Model, signals: Signals, run_cli: RunCli) -> None:
    assert run_cli("disable", "--for", "1h").code == 0
    model.turns = [BROKEN, Turn("Broken."), BROKEN]
    client.run_print("make the docs")
    assert signals() == []
    assert run_cli("enable").code == 0
    client.run_print("make the docs")
    assert len(list_failures(signals())) == 1


def test_a_project_that_is_not_to_be_looked_at(client: Client, model: Model, signals: Signals, project: Path) -> None:
    (project / ".reflectignore").touch()
    model.turns = [BROKEN]
    client.run_print(CORRECTION)
    assert signals() == []


def test_of_an_unattended_session_only_failures(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [BROKEN, Turn("Broken.")]
    first = client.run_print("make the docs")
    client.run_print(CORRECTION, "--resume", first.session)
    found = signals()
    assert {signal["type"] for signal in found} == {"failure"}
    assert len(found) == 1


def test_of_an_unattended_session_everything(client: Client, model: Model, signals: Signals, run_cli: RunCli) -> None:
    assert run_cli("config", "capture.unattended", "all").code == 0
    model.turns = [BROKEN, Turn("I take pip."), Turn("Then uv.")]
    first = client.run_print("make the docs")
    client.run_print(CORRECTION, "--resume", first.session)
    found = signals()
    assert len(list_failures(found)) == 1
    assert any("uv" in signal["content"] for signal in found if signal["type"] in ("correction", "convention")), found


def test_the_plugin_and_entries_in_settings_capture_once(
    client: Client, model: Model, signals: Signals, run_cli: RunCli
) -> None:
    assert run_cli("enable").code == 0
    assert "launch.sh" in (client.home / ".claude/settings.json").read_text()
    model.turns = [BROKEN, Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("Going on. THREE")]
    with client.open_screen() as screen:
        screen.say("make the docs and add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.say("/compact", "Compacted")
        screen.say("go on", "THREE")
        screen.exit_client()
    assert model.list_requests()[-1].text().count("<reflect-git>") == 1
    found = signals()
    assert len(list_failures(found)) == 1
    assert len(list_messages(found)) == 1
    assert len([signal for signal in found if signal["type"] == "summary"]) <= 1
