"""A correction on the screen: noticed within a second, stored at once, and not sent to the model."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.conftest import RunCli
from tests.e2e.conftest import Signals, list_messages, wait_until_idle
from tests.e2e.model import Model, Turn, bash_call
from tests.e2e.session import Client, Screen, wait_until

CORRECTIONS = (
    "no, use uv here, not pip",
    "no, never push to main, always open a pull request",
    "no, tests belong into spec/, not next to the code",
)


def measure_notice(screen: Screen, text: str) -> float:
    """Send a correction; return the seconds until the notice is on the screen."""
    screen.write(text)
    started = time.monotonic()
    screen.press("Enter")
    words = re.escape(f'noted: "{text}"')
    wait_until(lambda: re.search(words, screen.text()), 20, screen.text)
    return time.monotonic() - started


def test_the_notice_comes_within_a_second(
    client: Client, model: Model, signals: Signals, record_property: Callable[[str, object], None]
) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO"), Turn("A request. THREE"), Turn("Moved. FOUR")]
    seconds = []
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        for text, answer in zip(CORRECTIONS, ("TWO", "THREE", "FOUR")):
            seconds.append(measure_notice(screen, text))
            screen.expect(answer)
        screen.say("thanks, that is all")
        screen.exit_client()
    record_property("seconds until the notice", [round(one, 2) for one in seconds])
    assert min(seconds) <= 1.0, seconds
    assert sorted(list_messages(signals())) == sorted(CORRECTIONS), "the miner adds none"
    assert all("noted:" not in request.text() for request in model.list_requests()), "nothing reaches the model"


def test_a_client_killed_right_after_enter_loses_nothing(client: Client, model: Model, signals: Signals) -> None:
    model.turns = [Turn("I take pip. ONE"), Turn("Then uv. TWO")]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.write(CORRECTIONS[0])
        screen.press("Enter")
        # As soon as the client took it: what it has not read from the terminal nobody can store.
        wait_until(lambda: CORRECTIONS[0] not in get_input_box(screen), 5, screen.text)
        os.kill(screen.get_pid(), signal.SIGKILL)
        screen.expect(r"client ended with 137")
    assert list_messages(signals()) == [CORRECTIONS[0]]


def test_a_correction_queued_while_the_model_works_is_one_signal(
    client: Client, model: Model, signals: Signals
) -> None:
    """The hook fires when the message is sent, and the client writes it as another kind of entry."""
    gate = threading.Event()
    model.turns = [Turn("I take pip. ONE", [bash_call("true")]), Turn("Working.", [bash_call("echo TWO")], gate=gate)]
    with client.open_screen() as screen:
        screen.say("add the requests library", "ONE")
        screen.write(CORRECTIONS[0])
        screen.press("Enter")
        gate.set()
        screen.expect(f'noted: "{CORRECTIONS[0]}"')
        screen.expect("done")
        screen.exit_client()
    assert list_messages(signals()) == [CORRECTIONS[0]]


def get_input_box(screen: Screen) -> str:
    return screen.text().rpartition("❯")[2]


def test_no_notice_in_print_mode(client: Client, model: Model, run_cli: RunCli, store_home: Path) -> None:
    model.turns = [Turn("Then uv.")]
    run = client.run_print(CORRECTIONS[0])
    wait_until_idle(client.home)
    assert not any("noted:" in str(event) for event in run.events)
