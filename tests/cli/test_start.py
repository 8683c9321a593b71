"""How the program starts and ends: what is done ahead, and left undone at the end, is seen by nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from reflect_git.cli import ahead
from reflect_git.store import journal
from reflect_git.store.repository import Store
from tests.cli.past import approve, say_no
from tests.conftest import REPO, RunCli
from tests.sitting.shopkeeper import make_project
from tests.store.probe import opened

ENDED = """
import atexit, os, sys, threading, time
from reflect_git.cli import app, start
{before}
def main(**_):
    sys.stdout.write("told")
    sys.exit({code})
app.main, start.asked_ahead = main, lambda: {ahead}
start.main()
"""


def ended(
    code: object = 0, before: str = "", stdout: int | IO[bytes] = subprocess.PIPE, ahead: str = "'a look'"
) -> subprocess.CompletedProcess[str]:
    program = ENDED.format(code=code, before=before, ahead=ahead)
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    return subprocess.run(
        [sys.executable, "-c", program], env=env, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False
    )


@pytest.mark.parametrize(("code", "seen"), [(0, 0), (4, 4), (130, 130), (None, 0)])
def test_the_exit_code_and_what_was_said_go_out(code: object, seen: int) -> None:
    done = ended(code)
    assert (done.returncode, done.stdout, done.stderr) == (seen, "told", "")


@pytest.mark.parametrize(("ahead", "taken_apart"), [("'a look'", False), ("None", True)])
def test_only_a_look_ends_without_taking_the_interpreter_apart(ahead: str, taken_apart: bool) -> None:
    """A module's own names are let go of when the interpreter is taken apart, and only then."""
    part = "class Part:\n    def __del__(self): os.write(2, b'gone')\npart = Part()"
    assert (ended(0, part, ahead=ahead).stderr == "gone") is taken_apart


def test_what_is_to_be_done_at_the_end_is_done(tmp_path: Path) -> None:
    left = tmp_path / "left"
    done = ended(3, f"atexit.register(lambda: open({str(left)!r}, 'w').close())")
    assert (done.returncode, left.exists()) == (3, True)


def test_a_thread_is_waited_for(tmp_path: Path) -> None:
    left = tmp_path / "left"
    late = f"threading.Timer(0.2, lambda: open({str(left)!r}, 'w').close()).start()"
    assert (ended(3, late).returncode, left.exists()) == (3, True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_an_answer_that_cannot_be_written_is_a_failure() -> None:
    with open("/dev/full", "wb") as full:
        done = ended(0, stdout=full)
    assert done.returncode != 0
    assert "No space left" in done.stderr


@pytest.fixture
def shop(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, shop: Path) -> Store:
    store = opened(store_home)
    approve(store, shop, "use pnpm, not npm")
    say_no(store, shop, "tests live beside the code")
    return store


def told(run_cli: RunCli, *words: str) -> Any:
    return run_cli(*words).json()["data"]


@pytest.mark.parametrize("words", [(), ("-n", "1"), ("--type", "approved"), ("--captures",), ("--since", "2001-01-01")])
def test_what_is_asked_ahead_is_what_would_be_asked(run_cli: RunCli, store: Store, words: Sequence[str]) -> None:
    """With a global option first, nothing is asked ahead."""
    assert told(run_cli, "log", "--json", *words) == told(run_cli, "--json", "log", *words) != []


@pytest.mark.parametrize(
    "words", [("--since", "3d"), ("--until=2026-01-01",), ("--captures",), ("--type", "policy"), ("--help",)]
)
def test_another_question_is_not_guessed(store: Store, words: Sequence[str]) -> None:
    assert ahead.ask(words, os.environ) is None


def test_nothing_is_asked_of_a_store_that_is_not_there(store_home: Path) -> None:
    assert ahead.ask((), os.environ) is None
    assert not store_home.exists()


@pytest.mark.dirty_store
def test_nothing_is_asked_of_a_store_that_has_to_be_swept(store: Store) -> None:
    found = ahead.ask(("-n", "20"), os.environ)
    assert found is not None
    found.asked.log.drop()
    journal.begin(store, "main", (), {})
    assert ahead.ask(("-n", "20"), os.environ) is None


def test_a_word_that_is_not_understood_is_refused_as_ever(run_cli: RunCli, store: Store) -> None:
    done = run_cli("log", "--json", "--nonsense")
    assert (done.code, json.loads(done.out)["error"]["code"]) == (2, "usage")
