"""Somebody deletes or replaces `.git/reflect`, or a part of it: the next hook still stores its signal.

THREATS: `.git/reflect` deleted between two hooks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.capture import service
from reflect_git.platform import files
from reflect_git.store import inbox, pending
from reflect_git.store.purge import purge_marks
from tests.conftest import RunCli
from tests.hooks.test_hook_surroundings import fire, project
from tests.store.operations import facts
from tests.store.store_checks import capture, inbox_ids, require_promises

__all__ = ["project"]
FOLDERS = ("", "pending", "journal", "cache", "corpses", "quarantine")
FILES = ("lock", "log", "names", "policies.json", "purged", "cache/inbox", "cache/settings.json")


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def _folder(path: Path) -> None:
    _remove(path)
    path.mkdir()
    (path / "something").write_text("")


def _file(path: Path) -> None:
    _remove(path)
    path.write_text("no folder\n")


def _link_to_nothing(path: Path) -> None:
    _remove(path)
    path.symlink_to("/nonexistent/place")


def _link_to_a_folder(path: Path) -> None:
    _remove(path)
    elsewhere = path.parent / f"elsewhere-{path.name}"
    elsewhere.mkdir()
    path.symlink_to(elsewhere)


def _fifo(path: Path) -> None:
    _remove(path)
    os.mkfifo(path)


def require_captures_after(fault_run: Callable[[], None], project: Path, store_home: Path, run_cli: RunCli) -> None:
    """Capture once, damage the store, and capture twice more: nothing may be lost."""
    fire(project)
    fault_run()
    for number in (2, 3):
        fire(project)
        assert len(inbox_ids(store_home)) == number
    require_promises(store_home, inbox_ids(store_home))
    assert len(json.loads(run_cli("signals", "--json").out)["data"]) == 3


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("fault_run", [_remove, _file, _link_to_nothing, _link_to_a_folder, _fifo])
def test_a_hook_makes_a_folder_again(
    project: Path, store_home: Path, run_cli: RunCli, fault_run: Callable[[Path], None], name: str
) -> None:
    require_captures_after(lambda: fault_run(store_home / ".git" / "reflect" / name), project, store_home, run_cli)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("fault_run", [_remove, _folder, _link_to_nothing, _link_to_a_folder, _fifo])
def test_a_hook_makes_a_file_again(
    project: Path, store_home: Path, run_cli: RunCli, fault_run: Callable[[Path], None], name: str
) -> None:
    require_captures_after(lambda: fault_run(store_home / ".git" / "reflect" / name), project, store_home, run_cli)


@pytest.mark.parametrize(
    "step", [pending.write_record, inbox.commit_pending, inbox._write_commit, inbox._move_to_copies, files.rename]
)
def test_the_folder_is_deleted_while_a_capture_is_stored(
    store_home: Path, monkeypatch: pytest.MonkeyPatch, step: Callable[..., object]
) -> None:
    """Delete it once before each of these steps."""
    store = service.open_store(os.environ)
    capture(store, "the first one")
    struck: list[str] = []

    def fault_run(*args: object, **more: object) -> object:
        if not struck:
            struck.append("it")
            shutil.rmtree(store.private)
        return step(*args, **more)

    monkeypatch.setattr(f"{step.__module__}.{step.__name__}", fault_run)
    capture(store, "the second one")
    assert struck and len(inbox_ids(store_home)) == 2
    assert len(list((store_home / "signals").rglob("SIG-*.yaml"))) == 2


def test_it_is_deleted_again_and_again(store_home: Path) -> None:
    """Another process deletes it as fast as it can; every acknowledged capture must be in the inbox."""
    store = service.open_store(os.environ)
    stop = threading.Event()

    def delete() -> None:
        while not stop.is_set():
            subprocess.run(["rm", "-rf", store.private], check=False, capture_output=True)
            time.sleep(0.05)

    thread = threading.Thread(target=delete)
    thread.start()
    try:
        made = [service.capture_signal(store, facts(f"number {number}"), os.environ)[1] for number in range(20)]
    finally:
        stop.set()
        thread.join()
    assert len(inbox_ids(store_home)) >= sum(one is not None for one in made) >= 1


def test_who_waits_gets_the_lock_of_the_file_that_is_there(tmp_path: Path) -> None:
    first, second = files.Lock(str(tmp_path / "lock")), files.Lock(str(tmp_path / "lock"))
    waiting = files.Lock(str(tmp_path / "lock"))
    assert first.try_acquire()
    (tmp_path / "lock").unlink()
    assert second.try_acquire() and not waiting.try_acquire()
    first.release()
    assert not waiting.try_acquire(), "the lock of the new file is held"


def test_what_was_purged_stays_away_where_the_list_is_deleted(store_home: Path) -> None:
    from tests.sync.clones import Clone, purge_squashed

    clone = Clone(store_home)
    path = clone.dismiss(1)[0]
    purge_squashed(clone, [path])
    shutil.rmtree(clone.store.private)
    store = service.open_store(os.environ)
    assert purge_marks.find_purged(store, [Path(path).stem]) == {Path(path).stem}
