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
from tests.e2e.conftest import Signals, failures, settle
from tests.e2e.model import Model, Turn, bash
from tests.e2e.session import KEY, PATH, Client, Printed
from tests.faults import git

CORRECTION = "no, don't use pip here. We always use uv in this repo."
# A hook may add 100 ms to a tool call; a busy machine gets more.
LOADED_SECONDS = 0.4
INSTALLED = str(Path(sys.executable).parent)


def durations(run: Printed, event: str) -> Iterator[float]:
    begun = {hook["hook_id"]: hook["arrived"] for hook in run.hooks("started") if hook["hook_event"] == event}
    for hook in run.hooks("response"):
        if hook["hook_id"] in begun:
            yield hook["arrived"] - begun[hook["hook_id"]]


def test_hooks_are_fast(
    client: Client, model: Model, signals: Signals, record_property: Callable[[str, object], None]
) -> None:
    model.turns = [Turn(f"Try {number}.", [bash(f"ls /nowhere/{number}")]) for number in range(15)]
    run = client.print("try it")
    taken = list(durations(run, "PostToolUseFailure"))
    median = statistics.median(taken)
    record_property("failure hook", f"median {median * 1000:.0f} ms, most {max(taken) * 1000:.0f} ms")
    assert len(taken) == 15
    assert median <= LOADED_SECONDS
    assert len([one for one in failures(signals()) if one["source"]["hook"] == "PostToolUseFailure"]) == 15


def test_a_key_that_a_tool_prints_is_not_stored(
    client: Client, model: Model, signals: Signals, store_home: Path
) -> None:
    model.turns = [Turn("I look.", [bash('echo "the key was $ANTHROPIC_API_KEY" >&2; exit 4')])]
    client.print("look")
    assert KEY in model.asked()[-1].text()
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
    with client.screen() as screen:
        screen.say("hello", "ONE")
        screen.say("hello again", "TWO")
        screen.expect("✎ 1")
        screen.leave()


def test_the_reminder_comes_once_a_day_and_to_the_person_alone(client: Client, model: Model) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("Hello. THREE"), Turn("Hello. FOUR")]
    with client.screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.leave()
    settle(client.home)
    with client.screen() as screen:
        assert "review with" in screen.expect("reflect-git: 1 thing you said")
        screen.say("hello", "THREE")
        screen.leave()
    with client.screen() as screen:
        screen.say("hello", "FOUR")
        assert "reflect-git" not in screen.text()
        screen.leave()
    assert not [request for request in model.requests if "you said may be" in request.text()]


def test_the_toggle(client: Client, model: Model, run_cli: RunCli) -> None:
    """By its short name, and without a question: its commands are allowed."""
    client.env["PATH"] = f"{INSTALLED}:{PATH}"
    model.turns = [Turn("Off it goes.", [bash("reflect-git disable --for 2h")]), Turn("It is paused. ONE")]
    with client.screen(tools="Read") as screen:
        screen.say("/reflect-toggle off 2h", "ONE")
        screen.leave()
    assert 'What they typed: "off 2h"' in model.asked()[0].text()
    assert run_cli("status", "--json").json()["data"]["capture"] == "paused"


def test_a_user_who_has_nothing_but_the_plugin(bare: Client, model: Model) -> None:
    """No reflect-git on the PATH: from a correction to a visible signal."""
    bare.run("plugin", "marketplace", "add", str(REPO))
    bare.run("plugin", "install", "reflect-git@reflect-git")
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with bare.screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.leave()
    program = REPO / "bin" / "reflect-git"
    done = subprocess.run(
        [program, "signals", "--json"], env={"HOME": str(bare.home), "PATH": PATH, "LANG": "C.UTF-8"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "could not be fetched" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert any("uv" in signal["content"] for signal in json.loads(done.stdout)["data"])
