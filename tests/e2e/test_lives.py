"""Sessions that are resumed, killed, cut off, or run in parallel."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Signals, list_failures, list_messages, wait_until_idle
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client, collect_output, wait_until
from tests.store.store_checks import inbox_ids, require_promises

CORRECTION = "no, don't use pip here. We always use uv in this repo."


def ids(found: list[dict[str, Any]]) -> set[str]:
    return {one["id"] for one in found}


def test_a_resumed_session_gives_only_what_is_new(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("Moved. THREE")]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.exit_client()
    before = signals()
    assert len(list_messages(before)) == 1
    with client.open_screen("--continue") as screen:
        screen.say("no, tests always belong into spec/, never beside the code", "THREE")
        screen.exit_client()
    after = signals()
    assert ids(before) <= ids(after)
    assert len(list_messages(after)) == 2
    assert len({one["session_id"] for one in after}) == len(client.transcripts()) == 1


def test_a_killed_session_is_picked_up_by_the_next(
    client: Client, model: Model, signals: Signals, store_home: Path
) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        os.kill(screen.get_pid(), signal.SIGKILL)
        screen.expect("client ended with 137")
    noticed = inbox_ids(store_home)
    assert len(noticed) == 1, "the correction was stored when it was sent"
    client.run_print("hello")
    (said,) = list_messages(signals())
    assert "uv" in said
    assert inbox_ids(store_home) > noticed, "the next session stores the summary of the killed one"


def test_a_closed_terminal(client: Client, model: Model, signals: Signals) -> None:
    """Nobody types /exit: the window closes, and the client with it."""
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
    (said,) = list_messages(signals())
    assert "uv" in said


def test_two_sessions_at_once(client: Client, model: Model, signals: Signals, store_home: Path) -> None:
    """Each is in the middle of a turn while the other one works, fails and ends."""
    gate = threading.Event()
    broken = bash_call("echo broken >&2; exit 3")
    with Model([Turn("I try.", [broken, bash_call("ls /nowhere")], gate=gate), Turn("No.")]) as other:
        model.turns = [Turn("I take pip. ONE", [broken], gate=gate), Turn("Hm. TWO"), Turn("Then uv. THREE")]
        beside = replace(client, model=other)
        with client.open_screen() as screen:
            screen.say("add the requests library")
            process = beside.start_print("try it")
            wait_until(
                lambda: model.list_requests() and other.list_requests(), 20, lambda: "one of the two was not asked"
            )
            gate.set()
            screen.expect("TWO")
            screen.say(CORRECTION, "THREE")
            screen.exit_client()
        run = collect_output(process)
    found = signals()
    assert len(list_messages(found)) == 1
    beside_ids = [failure["id"] for failure in list_failures(found) if failure["session_id"] == run.session]
    assert (len(list_failures(found)), len(beside_ids)) == (3, 2)
    wait_until_idle(client.home)
    require_promises(store_home, ids(found))
