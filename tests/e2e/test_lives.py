"""Sessions that are resumed, killed, cut off, or run in parallel."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Signals, failures, settle, words
from tests.e2e.model import Model, Turn, bash
from tests.e2e.session import Client, printed, until
from tests.store.probe import inbox_ids, require_promises

CORRECTION = "no, don't use pip here. We always use uv in this repo."


def ids(found: list[dict[str, Any]]) -> set[str]:
    return {one["id"] for one in found}


def test_a_resumed_session_gives_only_what_is_new(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("Moved. THREE")]
    with client.screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        screen.leave()
    before = signals()
    assert len(words(before)) == 1
    with client.screen("--continue") as screen:
        screen.say("no, tests always belong into spec/, never beside the code", "THREE")
        screen.leave()
    after = signals()
    assert ids(before) <= ids(after)
    assert len(words(after)) == 2
    assert len({one["session_id"] for one in after}) == len(client.transcripts()) == 1


def test_a_killed_session_is_picked_up_by_the_next(
    client: Client, model: Model, signals: Signals, store_home: Path
) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with client.screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
        os.kill(screen.pid(), signal.SIGKILL)
        screen.expect("client ended with 137")
    assert not inbox_ids(store_home)
    client.print("hello")
    (said,) = words(signals())
    assert "uv" in said


def test_a_closed_terminal(client: Client, model: Model, signals: Signals) -> None:
    """Nobody types /exit: the window closes, and the client with it."""
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with client.screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.say(CORRECTION, "TWO")
    (said,) = words(signals())
    assert "uv" in said


def test_two_sessions_at_once(client: Client, model: Model, signals: Signals, store_home: Path) -> None:
    """Each is in the middle of a turn while the other one works, fails and ends."""
    gate = threading.Event()
    broken = bash("echo broken >&2; exit 3")
    with Model([Turn("I try.", [broken, bash("ls /nowhere")], gate=gate), Turn("No.")]) as other:
        model.turns = [Turn("I take pip. ONE", [broken], gate=gate), Turn("Hm. TWO"), Turn("Then uv. THREE")]
        beside = replace(client, model=other)
        with client.screen() as screen:
            screen.say("add the requests library")
            process = beside.start_print("try it")
            until(lambda: model.asked() and other.asked(), 20, lambda: "one of the two was not asked")
            gate.set()
            screen.expect("TWO")
            screen.say(CORRECTION, "THREE")
            screen.leave()
        run = printed(process)
    found = signals()
    assert len(words(found)) == 1
    beside_ids = [failure["id"] for failure in failures(found) if failure["session_id"] == run.session]
    assert (len(failures(found)), len(beside_ids)) == (3, 2)
    settle(client.home)
    require_promises(store_home, ids(found))
