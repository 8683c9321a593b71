"""Nothing acknowledged is lost: many hooks at once, one of them killed every 50 ms."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Optional

import pytest

from reflect_git.platform.files import Lock
from tests.conftest import wait_for_background
from tests.faults import REPO, git
from tests.store.store_checks import inbox_ids, open_store, require_promises
from tests.stress.capture_stress import MODES, CaptureStress, find_children


@pytest.mark.parametrize("mode", MODES)
def test_a_small_storm(store_home: Path, tmp_path: Path, mode: str) -> None:
    open_store(store_home)
    storm = CaptureStress(store_home, 10, mode, 1, tmp_path)
    acknowledged = storm.run(8)
    assert len(acknowledged) >= 0.9 * 8 * 10, "a capture whose git is killed under it may fail, but few do"
    assert set(storm.codes) == {0}
    require_promises(store_home, acknowledged)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mode", MODES)
def test_a_storm(store_home: Path, tmp_path: Path, mode: str, seed: int) -> None:
    storm = CaptureStress(store_home, 50, mode, seed, tmp_path)
    acknowledged = storm.run(32)
    assert len(acknowledged) >= 0.95 * 32 * 50
    assert set(storm.codes) == {0}
    require_promises(store_home, acknowledged)
    assert storm.kills >= 8, "too few to speak of a storm"


def event(number: int) -> bytes:
    return json.dumps({
        "hook_event_name": "PostToolUseFailure", "session_id": "s", "tool_name": "Bash",
        "tool_use_id": f"toolu_{number}", "tool_input": {"command": f"make {number}"}, "error": "Exit code 2",
    }).encode()  # fmt: skip


def start_hook(number: int, *before: str, env: Optional[Mapping[str, str]] = None) -> subprocess.Popen[bytes]:
    command = [*before, sys.executable, "-I", "-S", str(REPO / "hooks/hook.py")]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
    assert process.stdin is not None
    with process.stdin:  # close it at once, not when its turn comes
        process.stdin.write(event(number))
    process.stdin = None
    return process


def test_thirty_two_first_hooks_make_one_store(home: Path, store_home: Path) -> None:
    running = [start_hook(number) for number in range(32)]
    for process in running:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, b"", b"")
    require_promises(store_home)
    log = store_home / ".git/reflect/log"
    assert len(inbox_ids(store_home)) == 32, log.read_text() if log.exists() else ""
    assert git(store_home, "for-each-ref", "--format=%(refname)", "refs/heads/inbox").count("\n") == 1
    assert [path.name for path in store_home.parent.iterdir()] == ["reflections"], "no draft is left"


COUNT = """
import sys
sys.path.insert(0, sys.argv[1])
from reflect_git.platform.files import Lock
for _ in range(25):
    lock = Lock(sys.argv[2])
    assert lock.acquire(30)
    with open(sys.argv[3]) as file:
        number = int(file.read())
    with open(sys.argv[3], "w") as file:
        file.write(str(number + 1))
    lock.release()
"""


def test_one_holder_of_the_lock_at_a_time(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-I", "-S", "-c", COUNT, str(REPO), str(tmp_path / "lock"), str(counter)]
    for process in [subprocess.Popen(command) for _ in range(4)]:
        assert process.wait(60) == 0
    assert counter.read_text() == "100"


def test_sixty_four_hooks_at_once_take_little_more_than_their_interpreters(home: Path, store_home: Path) -> None:
    """At most a second on two idle cores, which `make bench ARGS='--only concurrency'` measures.

    Other processes may run here, so only the ratio counts.
    """
    start_hook(0).communicate(timeout=60)  # byte code and store exist
    bare = burst(lambda number: subprocess.Popen([sys.executable, "-I", "-S", "-c", "import json, re"]))
    hooks = burst(start_hook)
    assert hooks < 3 * bare, f"{hooks:.2f} s, the interpreters alone {bare:.2f} s"
    require_promises(store_home)
    assert len(inbox_ids(store_home)) == 65


def test_the_first_sixty_four_hooks_wait_for_one_store(home: Path, store_home: Path, tmp_path: Path) -> None:
    """When each created a store of its own, they took twice as long."""
    made = tmp_path / "made"
    git_program = tmp_path / "bin" / "git"
    git_program.parent.mkdir()
    git_program.write_text(
        f'#!/bin/sh\ncase " $* " in *" init "*) echo init >>"{made}" ;; esac\nexec "{shutil.which("git")}" "$@"\n'
    )
    git_program.chmod(0o755)
    env = {**os.environ, "PATH": f"{git_program.parent}:{os.environ['PATH']}"}
    running = [start_hook(number, env=env) for number in range(64)]
    for process in running:
        assert process.communicate(timeout=60) == (b"", b"")
    assert made.read_text().count("init") <= 8, "one makes the store, and at most a few that waited too long for it"
    require_promises(store_home)
    assert len(inbox_ids(store_home)) == 64


def burst(begin: Callable[[int], subprocess.Popen[bytes]]) -> float:
    """Return the seconds until 64 processes that were started together have ended."""
    started = time.monotonic()
    for process in [begin(number) for number in range(1, 65)]:
        process.communicate(timeout=120)
    return time.monotonic() - started


def test_a_hook_under_nice_acknowledges_and_commits_when_its_caller_has_gone(home: Path, store_home: Path) -> None:
    store = open_store(store_home)
    process = start_hook(1, "nice", "-n", "19")
    lock = Lock(store.lock.path)
    assert lock.acquire(10)
    second = start_hook(2, "nice", "-n", "19")
    for one in (process, second):
        assert one.communicate(timeout=60) == (b"", b"")
    wait_for_background(home)
    assert len(os.listdir(store.private_path("pending"))) >= 1, "acknowledged, and nobody could commit it"
    lock.release()
    third = start_hook(3, "nice", "-n", "19")
    assert third.communicate(timeout=60) == (b"", b"")
    wait_for_background(home)
    assert len(inbox_ids(store_home)) == 3, "what is committed later has what waited with it"


def test_a_hook_under_nice_does_not_wait_for_git(home: Path, store_home: Path) -> None:
    store = open_store(store_home)
    slow, gate = home / "slow", home / "gate"
    slow.write_text(f'#!/bin/sh\nwhile [ ! -e "{gate}" ]; do sleep .05; done\nexec "{shutil.which("git")}" "$@"\n')
    slow.chmod(0o755)
    settings = Path(store.private_path("cache", "settings.json"))
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "git": str(slow)}))
    try:
        assert start_hook(1, "nice", "-n", "19").communicate(timeout=60) == (b"", b"")
        assert os.listdir(store.private_path("pending"))
    finally:
        gate.touch()
    wait_for_background(home)
    expected = 1
    if os.listdir(store.private_path("pending")):  # the machine is busy and git was stopped: the next hook commits both
        assert start_hook(2).communicate(timeout=60) == (b"", b"")
        wait_for_background(home)
        expected = 2
    assert len(inbox_ids(store_home)) == expected


SLOW = """
import os, sys
sys.path.insert(0, sys.argv[1])
from reflect_git.capture import service
from tests.store import operations as o
o.print_acknowledged()
store = service.open_store(os.environ)
store.git.program = sys.argv[2]
service.capture_signal(store, o.facts("slowly"), os.environ)
"""


def test_the_lock_lives_as_long_as_the_git_of_a_killed_hook(home: Path, store_home: Path) -> None:
    store = open_store(store_home)
    slow = home / "slow"
    slow.write_text(f'#!/bin/sh\nsleep 1\nexec "{shutil.which("git")}" "$@"\n')
    slow.chmod(0o755)
    env = {**os.environ, "REFLECT_GIT_HOME": str(store_home)}
    command = [sys.executable, "-I", "-S", "-c", SLOW, str(REPO), str(slow)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = process.stdout.readline().strip()
    deadline = time.monotonic() + 10
    while not find_children(process.pid) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not Lock(store.lock.path).try_acquire(), "a second hook has the lock while the first one's git still runs"
    lock = Lock(store.lock.path)
    assert lock.acquire(10), "and it is free when that git is dead"
    lock.release()
    require_promises(store_home, [acknowledged])


def test_a_holder_that_is_killed_frees_the_lock_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    script = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\nfrom reflect_git.platform.files import Lock\n"
        "lock = Lock(sys.argv[2]); assert lock.try_acquire(); print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(REPO), path]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    assert not Lock(path).try_acquire()
    assert Path(path).read_text().split()[0] == str(process.pid), "it says who has it"
    process.kill()
    process.wait()
    process.stdout.close()
    assert Lock(path).acquire(1)
