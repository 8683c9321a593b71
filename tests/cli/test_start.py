"""How the program starts and exits: shortcuts at the start and the end are never noticeable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from reflect_git.cli import fast_start
from reflect_git.records import yaml_form
from reflect_git.store import remotes
from reflect_git.store.main import journal
from reflect_git.store.repository import Store, get_record_path
from tests.cli.old_store import approve, dismiss_signal
from tests.conftest import REPO, RunCli
from tests.rules.project_edits import make_project
from tests.store.store_checks import open_store
from tests.sync.clones import Clone, create_bare_repository
from tests.sync.sample_records import build_decision

ENDED = """
import atexit, os, sys, threading, time
from reflect_git.cli import fast_start, app, start
{before}
def main(**_):
    sys.stdout.write("told")
    sys.exit({code})
app.main, start.start_prefetch = main, lambda: {ahead}
start.main()
"""


def ended(
    code: object = 0,
    before: str = "",
    stdout: int | IO[bytes] = subprocess.PIPE,
    ahead: str = "fast_start.Prefetch(None)",
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


@pytest.mark.parametrize(("ahead", "taken_apart"), [("fast_start.Prefetch(None)", False), ("None", True)])
def test_only_a_look_ends_without_taking_the_interpreter_apart(ahead: str, taken_apart: bool) -> None:
    """Only a full interpreter shutdown releases a module's own names."""
    part = "class Part:\n    def __del__(self): os.write(2, b'gone')\npart = Part()"
    assert (ended(0, part, ahead=ahead).stderr == "gone") is taken_apart


def test_an_interrupt_of_what_is_asked_ahead_ends_as_any_other() -> None:
    script = (
        "import sys\nfrom reflect_git.cli import start\ndef interrupted():\n    raise KeyboardInterrupt\n"
        "start.start_prefetch, sys.argv = interrupted, ['reflect-git', 'sync', '--json']\nstart.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=REPO, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
    assert json.loads(done.stdout)["error"]["code"] == "interrupted"


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
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    store = open_store(store_home)
    approve(store, project, "use pnpm, not npm")
    dismiss_signal(store, project, "tests live beside the code")
    return store


def told(run_cli: RunCli, *words: str) -> Any:
    return run_cli(*words).json()["data"]


@pytest.mark.parametrize("words", [(), ("-n", "1"), ("--type", "approved"), ("--captures",), ("--since", "2001-01-01")])
def test_what_is_asked_ahead_is_what_would_be_asked(run_cli: RunCli, store: Store, words: Sequence[str]) -> None:
    """With a global option first, nothing is prefetched."""
    assert told(run_cli, "log", "--json", *words) == told(run_cli, "--json", "log", *words) != []


@pytest.mark.parametrize(
    "words", [("--since", "3d"), ("--until=2026-01-01",), ("--captures",), ("--type", "policy"), ("--help",)]
)
def test_another_question_is_not_guessed(store: Store, words: Sequence[str]) -> None:
    assert fast_start.start_log_query(words, os.environ) is None


def test_nothing_is_asked_of_a_store_that_is_not_there(store_home: Path) -> None:
    assert fast_start.start_log_query((), os.environ) is None
    assert not store_home.exists()


@pytest.mark.dirty_store
def test_nothing_is_asked_of_a_store_that_has_to_be_swept(store: Store) -> None:
    found = fast_start.start_log_query(("-n", "20"), os.environ)
    assert found is not None
    assert found.log_query is not None
    found.log_query.log.drop()
    journal.begin(store, "main", (), {})
    assert fast_start.start_log_query(("-n", "20"), os.environ) is None


def test_a_word_that_is_not_understood_is_refused_as_ever(run_cli: RunCli, store: Store) -> None:
    done = run_cli("log", "--json", "--nonsense")
    assert (done.code, json.loads(done.out)["error"]["code"]) == (2, "usage")


PLAIN = {
    ("sync",): fast_start.PlainSyncOptions(),
    ("sync", "--json"): fast_start.PlainSyncOptions(json=True),
    ("--json", "sync", "--dry-run"): fast_start.PlainSyncOptions(json=True, dry_run=True),
    ("--store", "sync", "--no-input", "sync"): fast_start.PlainSyncOptions("sync", no_input=True),
    ("--store=/a", "--store=/b", "--yes", "sync"): fast_start.PlainSyncOptions("/b", yes=True),
}


@pytest.mark.parametrize("words", PLAIN)
def test_a_plain_sync_is_understood_at_first_sight(words: Sequence[str]) -> None:
    found, wanted = fast_start.parse_sync_options(words), PLAIN[tuple(words)]
    assert found is not None
    assert [getattr(found, name) for name in found.__slots__] == [getattr(wanted, name) for name in found.__slots__]


@pytest.mark.parametrize(
    "words",
    [(), ("sync", "--help"), ("sync", "sync"), ("remote", "sync"), ("--store",), ("--store", "sync"),
     ("--color", "never", "sync"), ("--json=1", "sync"), ("show", "--json", "sync")],
)  # fmt: skip
def test_what_is_no_plain_sync_is_read_by_click(words: Sequence[str]) -> None:
    assert fast_start.parse_sync_options(words) is None


@pytest.fixture
def shared(store: Store, tmp_path: Path) -> Clone:
    return Clone(Path(store.root), str(create_bare_repository(tmp_path / "remote.git")))


@pytest.mark.parametrize("words", [("sync",), ("sync", "--dry-run"), ("sync", "--json")])
def test_a_plain_sync_tells_what_any_sync_tells(
    run_cli: RunCli, shared: Clone, tmp_path: Path, words: Sequence[str]
) -> None:
    """If colours are requested, click parses the arguments."""
    said = []
    for number, given in enumerate((words, ("--color", "never", *words))):
        shared.connect(str(create_bare_repository(tmp_path / f"remote-{number}.git")))
        remotes.delete_state(shared.store)
        done = run_cli(*given)
        said.append((done.code, done.out, done.err))
    assert said[0] == said[1]
    shared.require_sound()


def test_a_plain_sync_that_fails_says_so_as_ever(run_cli: RunCli, shared: Clone, tmp_path: Path) -> None:
    shared.connect(str(tmp_path / "nowhere.git"))
    plain, read = run_cli("--json", "sync"), run_cli("--json", "--color", "never", "sync")
    assert (plain.code, plain.json()["error"]["code"]) == (read.code, "remote-absent")
    assert plain.out == read.out
    shared.require_sound()


def test_a_plain_sync_sweeps_first(run_cli: RunCli, shared: Clone) -> None:
    made = build_decision(7, shared.store.machine)
    path, text = get_record_path(made["id"]), yaml_form.emit(made).decode()
    standing = journal.begin(shared.store, "main", (), {"message": "dismiss: x\n", "files": {path: text}})
    assert run_cli("sync").code == 0
    assert not os.path.exists(standing) and path in shared.list_paths()


def test_a_plain_sync_loads_no_click(run_cli: RunCli, shared: Clone) -> None:
    program = "import sys; from reflect_git.cli import start; sys.argv[1:] = ['sync']; start.run_program(start.start_prefetch())"
    tells = f"import atexit, sys; atexit.register(lambda: print('click' in sys.modules)); {program}"
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run([sys.executable, "-c", tells], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "False"), done.stderr
