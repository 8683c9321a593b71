"""Remotes that never answer, or too slowly, or without end: stopped at the time limit, without leftovers."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import remote_git, system
from reflect_git.platform.git import Git, GitProcess, find_git
from reflect_git.platform.remote_git import Limits, Remote
from reflect_git.store import recover
from reflect_git.sync import exchange
from reflect_git.sync.exchange import SyncOptions
from tests.conftest import REPO
from tests.faults import git
from tests.stories.terminal import Terminal
from tests.sync.clones import Clone, create_bare_repository
from tests.sync.git_servers import run_daemon

GIT = find_git(os.environ["PATH"])
SECONDS = 2
# How long a command may take besides the time limit, on a shared machine.
PATIENCE = 15
Answer = Callable[[socket.socket], None]


@contextmanager
def server(answer: Answer) -> Iterator[int]:
    """Answer each loopback connection in its own thread; yield the port."""

    def serve() -> None:
        while True:
            try:
                met, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=_answered, args=(met,), daemon=True).start()

    def _answered(met: socket.socket) -> None:
        with met:
            try:
                answer(met)
            except OSError:  # the client hung up
                pass

    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()


def never(met: socket.socket) -> None:
    while met.recv(65536):
        pass


def byte_by_byte(met: socket.socket) -> None:
    met.recv(65536)
    while True:
        met.sendall(b"1")  # four of them announce 4369 bytes
        time.sleep(0.2)


def endless_page(met: socket.socket) -> None:
    """Send an endless http response, one chunk at a time."""
    met.recv(65536)
    met.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n")
    met.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        met.sendall(b"1\r\n0\r\n")
        time.sleep(0.02)


class Stalling:
    """A connection to a port that stops after so many bytes in one direction, and stays open."""

    def __init__(self, port: int, down: float = float("inf"), up: float = float("inf")) -> None:
        self._port, self._down, self._up = port, down, up

    def __call__(self, met: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as other:
            back = threading.Thread(target=self._copy, args=(other, met, self._down), daemon=True)
            back.start()
            self._copy(met, other, self._up)
            back.join()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket, most: float) -> None:
        try:
            while data := source.recv(65536):
                taken = data[: int(min(most, len(data)))]
                most -= len(taken)
                sink.sendall(taken)
                if most <= 0:
                    time.sleep(600)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def start(clone: Clone, *words: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start the program as a separate process, in a session without a terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "reflect_git.cli.start", *words], cwd=clone.env["HOME"],
        env={**clone.env, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1", **(env or {})},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def run(clone: Clone, *words: str, env: dict[str, str] | None = None) -> tuple[int, str, str, float]:
    began = time.monotonic()
    out, err = (child := start(clone, *words, env=env)).communicate(timeout=60)
    return child.returncode, out.decode(), err.decode(), time.monotonic() - began


def require_clean(clone: Clone) -> None:
    """Check that nothing is left over, and that the next command works."""
    private = Path(clone.store.private_path("incoming"))
    assert not private.exists(), "the throw-away repository is gone"
    assert not list(Path(clone.store.git_dir).rglob("*.lock")) and not list(
        Path(clone.store.git_dir).rglob("tmp_pack*")
    )
    clone.require_sound()
    assert run(clone, "status")[0] == 0


def living(word: str) -> list[str]:
    """Return processes with this word in their command line."""
    found = []
    for name in os.listdir("/proc"):
        try:
            line = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError, NotADirectoryError):
            continue
        if name.isdigit() and word in line and state != "Z" and int(name) != os.getpid():
            found.append(line)
    return found


def require_nobody(word: str) -> None:
    deadline = time.monotonic() + 5
    while living(word):
        assert time.monotonic() < deadline, f"left running: {living(word)}"
        time.sleep(0.05)


@pytest.fixture
def hanging_ssh(tmp_path: Path) -> Path:
    """Create an ssh that ignores all signals but SIGKILL, and so does the program it starts."""
    ssh, helper = tmp_path / "hanging-ssh", tmp_path / "hanging-ssh-helper"
    ssh.write_text(f"#!/bin/sh\ntrap '' TERM INT HUP PIPE\n{helper} &\nwait\n{helper}\n")
    helper.write_text("#!/bin/sh\ntrap '' TERM INT HUP PIPE\nwhile :; do sleep 0.2; done\n")
    ssh.chmod(0o700)
    helper.chmod(0o700)
    return ssh


@pytest.mark.parametrize("scheme", ["git", "http"])
@pytest.mark.parametrize("answer", [never, byte_by_byte, endless_page])
def test_a_remote_that_never_ends_is_left_at_the_limit(tmp_path: Path, scheme: str, answer: Answer) -> None:
    with server(answer) as port:
        clone = Clone(tmp_path / "laptop", f"{scheme}://127.0.0.1:{port}/remote.git")
        clone.approve(1)
        code, _, err, took = run(clone, "sync", "--timeout", str(SECONDS))
    assert code == 1 and "Traceback" not in err
    assert took < SECONDS + PATIENCE
    if answer is never:
        assert f"gave up waiting for '127.0.0.1:{port}' after {SECONDS} seconds" in err
        assert "hint: allow more time: reflect-git sync --timeout 300" in err
    require_clean(clone)


@pytest.mark.parametrize("way", ["down", "up"])
def test_a_remote_that_stalls_in_the_middle(tmp_path: Path, way: str) -> None:
    """In the middle of the incoming pack, and of the push; the next sync completes it."""
    remote = create_bare_repository(tmp_path / "srv" / "remote.git")
    with run_daemon(remote.parent) as port:
        good = f"git://127.0.0.1:{port}/remote.git"
        desktop = Clone(tmp_path / "desk", good)
        for number in range(10, 30):
            desktop.approve(number)
        desktop.sync()
        stalling = Stalling(port, down=2500) if way == "down" else Stalling(port, up=6000)
        with server(stalling) as slow:
            clone = Clone(tmp_path / "laptop", f"git://127.0.0.1:{slow}/remote.git")
            made = {path for number in range(40, 80) for path in clone.approve(number)}
            code, _, err, took = run(clone, "sync", "--timeout", str(SECONDS))
        # On a busy machine the daemon may close the connection before our time is up.
        assert (code, "gave up waiting" in err or "cannot be reached" in err) == (1, True), err
        assert took < 2 * SECONDS + PATIENCE
        require_clean(clone)
        git(remote, "fsck", "--strict")
        git(Path(clone.store.root), "config", "remote.origin.url", good)
        assert run(clone, "sync")[0] == 0
    assert made <= set(git(remote, "ls-tree", "-r", "--name-only", "main").split())


def test_the_error_document_and_the_configured_limit(tmp_path: Path) -> None:
    with server(never) as port:
        clone = Clone(tmp_path / "laptop", f"git://127.0.0.1:{port}/remote.git")
        assert run(clone, "config", "sync.timeout", "1")[0] == 0
        code, out, err, took = run(clone, "sync", "--json")
        document = json.loads(out or err)
    assert code == 1 and took < 1 + PATIENCE
    assert "after 1 seconds" in json.dumps(document) and "--timeout 300" in json.dumps(document)


@pytest.mark.parametrize("value", ["0", "-1", "soon", "1e9", "nan"])
def test_what_is_no_time_limit(tmp_path: Path, value: str) -> None:
    clone = Clone(tmp_path / "laptop", "ssh://example.com/notes")
    code, _, err, _ = run(clone, "sync", f"--timeout={value}")
    assert (code, f"'{value}' is not a time limit" in err) == (2, True)


def test_remote_set_has_the_limit_too(tmp_path: Path) -> None:
    with server(never) as port:
        clone = Clone(tmp_path / "laptop", "")
        url = f"git://127.0.0.1:{port}/remote.git"
        code, _, err, took = run(clone, "--yes", "remote", "set", url, "--timeout", "1")
    assert code == 1 and took < 1 + PATIENCE
    assert f"hint: allow more time: reflect-git remote set {url} --timeout 300" in err
    require_clean(clone)


def test_a_sync_that_nobody_asked_for_has_the_limit(tmp_path: Path) -> None:
    with server(never) as port:
        clone = Clone(tmp_path / "laptop", f"git://127.0.0.1:{port}/remote.git")
        clone.store.change_config({"reflect.sync.timeout": "1"})
        wishes = exchange._build_background_options(clone.store, 20.0)
        assert (wishes.limits.seconds, wishes.unattended) == (1.0, True)
        began = time.monotonic()
        with pytest.raises(ReflectError, match="after 1 seconds"):
            exchange.sync(clone.store, clone.env, wishes)
        assert time.monotonic() - began < 1 + PATIENCE


def test_the_limit_of_an_automatic_sync_is_never_longer_than_its_own(tmp_path: Path) -> None:
    clone = Clone(tmp_path / "laptop", "ssh://example.com/notes")
    clone.store.change_config({"reflect.sync.timeout": "3600"})
    assert exchange._build_background_options(clone.store, 5.0).limits.seconds == 5.0
    assert exchange.get_limits(clone.store).seconds == 3600.0


def test_an_ssh_that_ignores_signals_ends_at_the_limit(tmp_path: Path, hanging_ssh: Path) -> None:
    clone = Clone(tmp_path / "laptop", "ssh://example.com/notes")
    code, _, err, took = run(clone, "sync", "--timeout", "2", env={"GIT_SSH_COMMAND": str(hanging_ssh)})
    assert (code, "gave up waiting for 'example.com' after 2 seconds" in err) == (1, True)
    assert took < 2 + PATIENCE
    require_nobody(str(hanging_ssh))
    require_clean(clone)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("after", [0.7, 2.5])
def test_an_interrupt_leaves_nothing(tmp_path: Path, hanging_ssh: Path, number: int, after: float) -> None:
    clone = Clone(tmp_path / "laptop", "ssh://example.com/notes")
    clone.approve(1)
    child = start(clone, "sync", env={"GIT_SSH_COMMAND": str(hanging_ssh)})
    _wait_for(lambda: bool(living(str(hanging_ssh))))
    time.sleep(after)
    child.send_signal(number)
    out, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, out) == (130, b"") and b"Traceback" not in err and b"interrupted" in err
    require_nobody(str(hanging_ssh))
    require_clean(clone)


def _wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_at_a_terminal_it_says_for_whom_it_waits_and_ctrl_c_ends_all(tmp_path: Path, hanging_ssh: Path) -> None:
    """With a terminal ssh may ask for a passphrase: it stays in the terminal's process group, and still ends."""
    clone = Clone(tmp_path / "laptop", "ssh://example.com/notes")
    with Terminal("sync", cwd=tmp_path, env={**clone.env, "GIT_SSH_COMMAND": str(hanging_ssh)}) as terminal:
        terminal.passes("waiting for 'example.com' (2 s); Ctrl-C stops it, nothing is lost\n")
        terminal.sends("c")
        assert "interrupted" in terminal.ends(130)
    require_nobody(str(hanging_ssh))
    require_clean(clone)


def test_without_a_terminal_nothing_is_said_while_it_waits(tmp_path: Path) -> None:
    with server(never) as port:
        clone = Clone(tmp_path / "laptop", f"git://127.0.0.1:{port}/remote.git")
        _, out, err, _ = run(clone, "sync", "--timeout", "3")
    assert "Ctrl-C" not in err + out


def test_what_a_killed_sync_left_is_removed_by_the_next_command(tmp_path: Path, hanging_ssh: Path) -> None:
    clone = Clone(tmp_path / "laptop", "ssh://example.com/notes")
    child = start(clone, "sync", env={"GIT_SSH_COMMAND": str(hanging_ssh)})
    folder = Path(clone.store.private_path("incoming"))
    _wait_for(lambda: bool(living(str(hanging_ssh))) and folder.exists())
    recover.recover_store(clone.store)
    assert folder.exists(), "a sync that runs keeps what it fetches"
    started = remote_git.find_children(child.pid)
    child.kill()
    remote_git.kill_processes(started)
    child.communicate()
    require_nobody(str(hanging_ssh))
    assert run(clone, "status")[0] == 0
    assert not folder.exists()


def test_many_small_files_are_refused_while_they_arrive(tmp_path: Path) -> None:
    """The system limits the size of one file; here something writes many of them, without end."""
    program = tmp_path / "git"
    program.write_text(
        '#!/bin/sh\nn=0\nwhile :; do n=$((n+1)); head -c 65536 /dev/zero > "$GIT_DIR/$n"; sleep 0.01; done\n'
    )
    program.chmod(0o700)
    folder = tmp_path / "incoming"
    folder.mkdir()
    fake = Git(str(program), str(tmp_path), git_dir=str(folder), user=dict(os.environ))
    limits = Limits(size=2 << 20, seconds=30.0)
    with pytest.raises(ReflectError) as stop:
        remote_git.start_fetch(fake, Remote("https://example.com/x"), {}, limits).wait()
    assert stop.value.code == "too-much"
    assert remote_git.get_disk_usage(str(folder)) < 2 * limits.size
    count = len(os.listdir(folder))
    time.sleep(0.2)
    assert len(os.listdir(folder)) == count, "nobody writes any more"


def test_a_large_pack_is_stopped_while_it_arrives(tmp_path: Path) -> None:
    remote = create_bare_repository(tmp_path / "remote.git")
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(remote), str(work))
    (work / "large").write_bytes(os.urandom(24 << 20))
    git(work, "add", "large")
    git(work, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "x")
    git(work, "push", "-q", "origin", "HEAD:main")
    clone = Clone(tmp_path / "laptop", str(remote))
    folder, most = Path(clone.store.private_path("incoming")), [0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.005):
            most[0] = max(most[0], remote_git.get_disk_usage(str(folder)))

    watching = threading.Thread(target=look)
    watching.start()
    with pytest.raises(ReflectError) as stop:
        clone.sync(SyncOptions(limits=Limits(size=4 << 20)))
    done.set()
    watching.join()
    assert stop.value.code == "too-much" and most[0] <= 2 * (4 << 20)
    require_clean(clone)


def test_a_remote_that_talks_without_end_is_left_too(tmp_path: Path) -> None:
    """Its output always has something to read, and the time limit is still checked."""
    child = GitProcess(["/bin/sh", "-c", "while :; do echo remote: and on and on; done >&2"], dict(os.environ))
    began = time.monotonic()
    assert child.communicate(seconds=0.5).code == -9
    assert time.monotonic() - began < PATIENCE


def test_processes_below_a_process_are_found_and_ended() -> None:
    mark = f"sleep 61{os.getpid()}"
    child = subprocess.Popen(["/bin/sh", "-c", f"trap '' TERM; sh -c '{mark}; :'; :"])
    _wait_for(lambda: len(remote_git.find_children(child.pid)) >= 2)
    found = remote_git.find_children(child.pid)
    assert set(system.System().read_process_table()) & set(found) == set(found), "ps tells the same"
    child.kill()
    child.wait()
    remote_git.kill_processes(dict.fromkeys(found, "another start"))
    assert living(mark), "another process that has the number by now is left alone"
    remote_git.kill_processes(found)
    require_nobody(mark)


@pytest.mark.parametrize(
    ("url", "is_here", "name"),
    [
        ("https://ada@example.com:8443/a.git", False, "'example.com:8443'"),
        ("git@example.com:a/b", False, "'example.com'"),
        ("/srv/a.git", True, "'/srv/a.git'"), ("file:///srv/a.git", True, "'/srv/a.git'"),
    ],
)  # fmt: skip
def test_what_a_remote_is_called(url: str, is_here: bool, name: str) -> None:
    assert Remote(url, (), is_here).name == name
