"""Real transports: what is cut in the middle is done by the next sync, and nothing was half done."""

from __future__ import annotations

import os
import random
import resource
import socket
import struct
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import remote_git
from reflect_git.platform.git import Git, GitError, Result
from reflect_git.platform.remote_git import Limits, Remote, list_heads
from reflect_git.sync import exchange as syncing
from reflect_git.sync import remote_setup
from reflect_git.sync.exchange import SyncOptions
from reflect_git.sync.fetched import Incoming
from tests import counters
from tests.faults import git
from tests.sync.clones import Clone, create_bare_repository, sync_until_stable
from tests.sync.git_servers import CuttingProxy, run_daemon, run_http_backend


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    made = create_bare_repository(tmp_path / "srv" / "remote.git")
    git(made, "config", "http.receivepack", "true")
    return made


def exchange(tmp_path: Path, url: str) -> tuple[Clone, Clone]:
    laptop, desktop = Clone(tmp_path / "laptop", url), Clone(tmp_path / "desk", url)
    laptop.approve(1), desktop.approve(2)
    sync_until_stable(laptop, desktop, rounds=2)
    assert laptop.tip == desktop.tip
    for clone in (laptop, desktop):
        clone.require_sound()
    return laptop, desktop


def test_file(tmp_path: Path, remote: Path) -> None:
    exchange(tmp_path, f"file://{remote}")


def test_git_daemon(tmp_path: Path, remote: Path) -> None:
    with run_daemon(remote.parent) as port:
        exchange(tmp_path, f"git://127.0.0.1:{port}/remote.git")


def test_http(tmp_path: Path, remote: Path) -> None:
    with run_http_backend(remote.parent) as port:
        exchange(tmp_path, f"http://127.0.0.1:{port}/remote.git")


@pytest.mark.parametrize("count", [8, pytest.param(150, marks=pytest.mark.slow)])
def test_a_wire_that_is_cut_anywhere(tmp_path: Path, remote: Path, count: int) -> None:
    chance = random.Random(11)
    with run_daemon(remote.parent) as port:
        wire = CuttingProxy(port)
        url = f"git://127.0.0.1:{wire.port}/remote.git"
        laptop, desktop = exchange(tmp_path, url)
        made: set[str] = set()
        failures = 0
        for number in range(count):
            clone = (laptop, desktop)[number % 2]
            made.update(clone.approve(100 + number))
            wire.cut_after = chance.choice((10, 300, 700, 1000, 1500, 2200, 3000, 4000))
            try:
                clone.sync(SyncOptions(pause=lambda seconds: None, limits=Limits(seconds=20.0)))
            except ReflectError:
                failures += 1
            clone.require_sound()
            git(remote, "fsck", "--strict")
        wire.cut_after = None
        sync_until_stable(laptop, desktop, rounds=2)
        wire.close()
    assert failures > count // 4, "the wire was never cut"
    assert laptop.tip == desktop.tip and made <= laptop.list_paths()
    counters.count("connections cut in the middle of a sync", failures)


def test_a_remote_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        clone = Clone(tmp_path / "laptop", f"git://127.0.0.1:{silent.getsockname()[1]}/remote.git")
        began = time.monotonic()
        with pytest.raises(ReflectError) as stop:
            clone.sync(SyncOptions(limits=Limits(seconds=1.0)))
    assert stop.value.code == "unreachable", stop.value
    assert time.monotonic() - began < 120


@pytest.mark.parametrize("linger", [None, struct.pack("ii", 1, 0)], ids=["closed", "reset"])
def test_a_remote_that_hangs_up_cannot_be_reached(tmp_path: Path, linger: bytes | None) -> None:
    """git dies of the first and prints nothing."""

    def hang_up() -> None:
        met, _ = rude.accept()
        if linger:
            met.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        met.close()

    with socket.create_server(("127.0.0.1", 0)) as rude:
        clone = Clone(tmp_path / "laptop", f"git://127.0.0.1:{rude.getsockname()[1]}/remote.git")
        answering = threading.Thread(target=hang_up)
        answering.start()
        with pytest.raises(ReflectError) as stop:
            clone.sync()
        answering.join()
    assert (stop.value.code, stop.value.exit_code) == ("unreachable", 1), stop.value


@pytest.mark.parametrize(
    "said",
    [
        "error: RPC failed; HTTP 413 curl 22\nfatal: the remote end hung up unexpectedly",
        "fatal: write error: No space left on device\nfatal: early EOF",
        "remote: fatal: pack exceeds maximum allowed size\nfatal: the remote end hung up unexpectedly",
    ],
)
def test_why_a_conversation_was_cut_is_said_in_gits_words(said: str) -> None:
    error = remote_git._build_error(("push",), Result(128, b"", said.encode()))
    assert (error.code, said.partition("\n")[0] in error.message) == ("git", True)


def test_what_a_sync_that_nobody_watches_started_ends_with_it(tmp_path: Path) -> None:
    """A hanging ssh would hang forever, and another one half an hour later."""
    ssh, started = tmp_path / "ssh", tmp_path / "pid"
    ssh.write_text(f"#!/bin/sh\necho $$ > {started}.new; mv {started}.new {started}\nexec sleep 600\n")
    ssh.chmod(0o700)
    clone = Clone(tmp_path / "laptop", "ssh://example.com/notes")
    env = {**clone.env, "GIT_SSH_COMMAND": str(ssh)}
    for seconds in (2.0, 10.0, 50.0):  # a busy machine may not get that far in the first
        with pytest.raises(ReflectError) as stop:
            syncing.sync(clone.store, env, SyncOptions(unattended=True, limits=Limits(seconds=seconds)))
        assert stop.value.code == "unreachable"
        if started.exists():
            break
    asked = ["ps", "-o", "stat=", "-p", started.read_text().strip()]
    for _ in range(100):
        if subprocess.run(asked, capture_output=True, check=False).stdout.strip()[:1] in (b"", b"Z"):
            return
        time.sleep(0.05)
    pytest.fail("ssh lives on")


def test_the_limits_are_those_of_git_and_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours would be those of a long-running process, with all its threads and later children."""
    monkeypatch.delattr(resource, "setrlimit")
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexec >&2\nulimit -f; ulimit -v; ulimit -t; ulimit -t unlimited\nexit 1\n")
    program.chmod(0o700)
    with pytest.raises(GitError) as told:
        list_heads(
            Git(str(program), str(tmp_path)), Remote("https://example.com"), Limits(1 << 20, 1 << 30, seconds=7.5)
        )
    size, memory, seconds, *refused = told.value.result.err.decode().splitlines()
    assert (size, memory, seconds) == ("2048", "1048576", "8") and refused


@pytest.mark.parametrize("scheme", ["git", "http"])
def test_nobody_there_is_said_plainly(tmp_path: Path, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    clone = Clone(tmp_path / "laptop", f"{scheme}://127.0.0.1:{port}/remote.git")
    with pytest.raises(ReflectError) as stop:
        clone.sync()
    assert stop.value.code == "unreachable" and stop.value.hint == "try again when you are online"


def test_a_repository_that_is_gone_is_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(ReflectError) as stop:
        Clone(tmp_path / "laptop", str(tmp_path / "gone.git")).sync()
    assert stop.value.code == "remote-absent" and "reflect-git remote set URL" in str(stop.value.hint)


def test_five_clones_at_once_against_a_shared_repository(tmp_path: Path) -> None:
    """As created by `git init --bare --shared`: nothing but fast-forwards."""
    remote = create_bare_repository(tmp_path / "shared.git", "--shared")
    assert git(remote, "config", "receive.denyNonFastForwards").strip() == "true"
    clones = [Clone(tmp_path / f"machine-{number}", str(remote)) for number in range(5)]
    made: set[str] = set()
    for number, clone in enumerate(clones):
        made.update(clone.approve(number))
    barrier = threading.Barrier(len(clones))

    def sync(clone: Clone) -> int:
        barrier.wait()
        return clone.sync(SyncOptions(pause=lambda seconds: time.sleep(min(seconds, 1.0)))).tries

    with ThreadPoolExecutor(len(clones)) as pool:
        tries = list(pool.map(sync, clones))
    assert max(tries) > 1, "nobody met anybody"
    sync_until_stable(*clones, rounds=1)
    assert {clone.tip for clone in clones} == {clones[0].tip} and made <= clones[0].list_paths()


def test_who_never_gets_through_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 64."""
    from reflect_git.platform import remote_git

    clone = Clone(tmp_path / "laptop", str(create_bare_repository(tmp_path / "remote.git")))
    waited: list[float] = []
    monkeypatch.setattr(Incoming, "start_push", lambda *arguments: None)
    monkeypatch.setattr(Incoming, "finish_push", lambda incoming: remote_git.BEHIND)
    with pytest.raises(ReflectError) as stop:
        clone.sync(SyncOptions(pause=waited.append))
    assert stop.value.code == "race" and len(waited) == 7 and max(waited) <= 30
    assert len(set(waited)) == 7, "each waits another time"


def test_a_first_look_that_ends_early_leaves_nothing_behind(tmp_path: Path, remote: Path) -> None:
    desktop, laptop = Clone(tmp_path / "desk", str(remote)), Clone(tmp_path / "laptop")
    for number in range(4):
        desktop.approve(number)
    desktop.sync()
    before = sorted(os.listdir("/dev/fd"))
    with pytest.raises(ReflectError) as stop:
        remote_setup.inspect_remote(laptop.store, laptop.env, str(remote), SyncOptions(limits=Limits(entries=5)))
    assert (stop.value.code, sorted(os.listdir("/dev/fd"))) == ("too-much", before)
