"""Maintenance after a command: nobody waits for it, it prints nothing, and only one runs at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.cli import background
from reflect_git.store import maintenance
from reflect_git.store.main import journal
from reflect_git.store.repository import Store
from tests.conftest import REPO

RUN = """
import os, sys
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import service
from reflect_git.cli import background
sys.stdout.write("said once\\n")  # buffered: stdout is a pipe
print(background.start_background_work(service.open_store(os.environ)))
"""


@pytest.fixture
def store(store_home: Path) -> Store:
    store = service.open_store(os.environ)
    store.change_config({"reflect.born": "2026-01-01T00:00:00Z"})
    return store


def _run() -> str:
    """Return what `$(command)` sees, when the last descriptor is closed."""
    done = subprocess.run([sys.executable, "-c", RUN, str(REPO)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def _wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def _slow_git(store: Store, tmp_path: Path) -> Path:
    """Make the store use a git whose repack waits for a file; return that file."""
    slow, end = tmp_path / "git", tmp_path / "end"
    wait = f"until [ -e '{end}' ]; do sleep 0.05; done"
    slow.write_text(f'#!/bin/sh\ncase " $* " in *" repack "*) {wait};; esac\nexec {store.git.program} "$@"\n')
    slow.chmod(0o755)
    store.git.program = str(slow)
    store._cache_settings(None, store.config)
    store.reload()
    return end


def _is_repacking(store: Store) -> bool:
    """Tell whether upkeep has come to the step in which git waits."""
    return any(facts.get("kind") == "upkeep" for _, facts in journal.load_entries(store))


def test_it_runs_once_and_the_caller_does_not_wait(store: Store, tmp_path: Path) -> None:
    end = _slow_git(store, tmp_path)
    assert _run() == "said once\nTrue\n"
    assert _wait_until(lambda: bool(maintenance.load_state(store).get("began")) and _is_repacking(store))
    assert not store.lock.try_acquire(), "it is at work"
    end.touch()
    assert not background.is_maintenance_due(store, time.time())
    assert _wait_until(store.lock.try_acquire)
    store.lock.release()
    assert _run() == "said once\nFalse\n"


def test_it_can_be_switched_off(store: Store) -> None:
    store.change_config({"reflect.upkeep": "false"})
    assert background.start_background_work(store) is False


def test_a_young_store_is_left_alone(store: Store) -> None:
    store.change_config({"reflect.born": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
    assert not background.is_maintenance_due(store, time.time())
    assert background.is_maintenance_due(store, time.time() + 2 * 86400)


def test_it_never_waits_for_the_lock(store: Store) -> None:
    with store.locked(1.0):
        assert _run() == "said once\nTrue\n"
        time.sleep(0.5)
    assert maintenance.get_last_run(store) == 0.0


def test_what_goes_wrong_is_in_the_log(store: Store) -> None:
    packs = Path(store.git_dir, "objects", "pack")
    packs.rmdir()
    packs.touch()
    assert _run() == "said once\nTrue\n"
    log = Path(store.private_path("log"))
    assert _wait_until(lambda: log.exists() and b"upkeep: " in log.read_bytes())
