"""Around a session: the time hooks take, the status line, the switch, a user who has only the plugin."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import REPO, RunCli
from tests.e2e.conftest import Signals, list_failures, wait_until_idle
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import KEY, PATH, Client, PrintResult
from tests.faults import git

CORRECTION = "no, don't use pip here. We always use uv in this repo."
# A hook may add 100 ms to a tool call; a busy machine gets more.
LOADED_SECONDS = 0.4
INSTALLED = str(Path(sys.executable).parent)


def durations(run: PrintResult, event: str) -> Iterator[float]:
    begun = {
        hook["hook_id"]: hook["arrived"] for hook in run.list_hook_events("started") if hook["hook_event"] == event
    }
    for hook in run.list_hook_events("response"):
        if hook["hook_id"] in begun:
            yield hook["arrived"] - begun[hook["hook_id"]]


def test_hooks_are_fast(
    client: Client, model: Model, signals: Signals, record_property: Callable[[str, object], None]
) -> None:
    model.turns = [Turn(f"Try {number}.", [bash_call(f"ls /nowhere/{number}")]) for number in range(15)]
    run = client.run_print("try it")
    taken = list(durations(run, "PostToolUseFailure"))
    median = statistics.median(taken)
    record_property("failure hook", f"median {median * 1000:.0f} ms, most {max(taken) * 1000:.0f} ms")
    assert len(taken) == 15
    assert median <= LOADED_SECONDS
    assert len([one for one in list_failures(signals()) if one["source"]["hook"] == "PostToolUseFailure"]) == 15


def test_a_key_that_a_tool_prints_is_not_stored(
    client: Client, model: Model, signals: Signals, store_home: Path
) -> None:
    model.turns = [Turn("I look.", [bash_call('echo "the key was $ANTHROPIC_API_KEY" >&2; exit 4')])]
    client.run_print("look")
    assert KEY in model.list_requests()[-1].text()
    (found,) = signals()
    assert "the key was [REDACTED" in found["context"]
    assert KEY not in git(store_home, "log", "-p", "--all")
    assert not [path for path in store_home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_the_status_line(client: Client, model: Model, run_cli: RunCli, home: Path) -> None:
    for session in ("one", "two"):
        said = ("--type", "gotcha", "--content", "Ports below 1024 need root", "--session", session)
        assert run_cli("capture", *said).code == 0
    assert run_cli("status").code == 0
    setup = run_cli("status", "--format", "statusline-setup").out
    (home / ".claude" / "settings.json").write_text(f"{{{setup}}}")
    model.turns = [Turn("Hello. ONE"), Turn("Hello. TWO")]
    with client.open_screen() as screen:
        screen.say("hello", "ONE")
        screen.say("hello again", "TWO")
        screen.expect("✎ 1")
        screen.exit_client()


def test_the_reminder_comes_once_a_day_and_to_the_person_alone(client: Client, model: Model) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("Hello. THREE"), Turn("Hello. FOUR")]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.exit_client()
    wait_until_idle(client.home)
    with client.open_screen() as screen:
        screen.expect("reflect-git: 1 correction noted; /reflect or 'reflect-git review'")
        screen.say("hello", "THREE")
        screen.exit_client()
    with client.open_screen() as screen:
        screen.say("hello", "FOUR")
        assert "reflect-git" not in screen.text()
        screen.exit_client()
    assert not [request for request in model.requests if "correction noted" in request.text()]


def test_the_toggle(client: Client, model: Model, run_cli: RunCli) -> None:
    """By its short name, and without a question: its commands are allowed."""
    client.env["PATH"] = f"{INSTALLED}:{PATH}"
    model.turns = [Turn("Off it goes.", [bash_call("reflect-git disable --for 2h")]), Turn("It is paused. ONE")]
    with client.open_screen(tools="Read") as screen:
        screen.say("/reflect-toggle off 2h", "ONE")
        screen.exit_client()
    assert 'What they typed: "off 2h"' in model.list_requests()[0].text()
    assert run_cli("status", "--json").json()["data"]["capture"] == "paused"


def test_a_user_who_has_nothing_but_the_plugin(plain_client: Client, model: Model) -> None:
    """No reflect-git on the PATH: from a correction to a visible signal."""
    plain_client.run("plugin", "marketplace", "add", str(REPO))
    plain_client.run("plugin", "install", "reflect-git@reflect-git")
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with plain_client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.exit_client()
    program = REPO / "bin" / "reflect-git"
    done = subprocess.run(
        [program, "signals", "--json"], env={"HOME": str(plain_client.home), "PATH": PATH, "LANG": "C.UTF-8"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "could not be fetched" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert any("uv" in signal["content"] for signal in json.loads(done.stdout)["data"])
