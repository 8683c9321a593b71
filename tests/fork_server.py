"""Run the program without its start-up cost: a process that has loaded everything forks once for each run.

Each run is still a separate process, with the session, environment, folder and descriptors it is given, and nothing of
the test in it. Start-up is most of the cost of a run. A test of the start itself needs a fresh interpreter.
"""

from __future__ import annotations

import fcntl
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, Optional, Union

REPO = Path(__file__).resolve().parent.parent
LOCALE = "C.UTF-8"
CLOCK_VARIABLES = ("LD_PRELOAD", "FAKETIME", "FAKETIME_NO_CACHE")
_LENGTH = struct.Struct("!I")
_NUMBER = struct.Struct("!i")
# The environment a process was started with is visible in /proc; a run writes its HOME there.
_SHOWN_VARIABLE = "HOME"
_ENTRY_SIZE = 4000


class ForkedRun:
    """A run that was started, with the parts of `subprocess.Popen` that are needed."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self._status = status
        self.returncode: Optional[int] = None

    def poll(self) -> Optional[int]:
        return self._poll_exit_code(0)

    def wait(self, timeout: Optional[float] = None) -> int:
        code = self._poll_exit_code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("a run", timeout or 0.0)
        return code

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def _poll_exit_code(self, seconds: Optional[float]) -> Optional[int]:
        if self.returncode is None and select.select([self._status], [], [], seconds)[0]:
            told = os.read(self._status, _NUMBER.size)
            os.close(self._status)
            assert told, "the process that forks is gone"
            self.returncode = int(_NUMBER.unpack(told)[0])
        return self.returncode


class _ForkClient:
    """The forking process, as seen by the tests: requests go through a socket, one run at a time."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        # A clock that was set for the tests (`make clocks`) also applies to the runs.
        clock = {name: os.environ[name] for name in CLOCK_VARIABLES if name in os.environ}
        surroundings = {
            _SHOWN_VARIABLE: "/nonexistent".ljust(_ENTRY_SIZE, "/"), "PATH": os.environ["PATH"], "LC_ALL": LOCALE,
            "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1", **clock,
        }  # fmt: skip
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())], pass_fds=(theirs.fileno(),), cwd="/",
                env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip

    def start(self, asked: Mapping[str, Any], descriptors: Sequence[int]) -> ForkedRun:
        ours, theirs = os.pipe()
        try:
            with self._lock:
                data = json.dumps(asked).encode()
                socket.send_fds(self._socket, [_LENGTH.pack(len(data))], [*descriptors, theirs])
                self._socket.sendall(data)
                told = self._socket.recv(_NUMBER.size, socket.MSG_WAITALL)
        finally:
            os.close(theirs)
        assert told, f"the process that forks is gone: {self._process.poll()}"
        return ForkedRun(_NUMBER.unpack(told)[0], ours)


_fork_client: Optional[_ForkClient] = None


def start(
    work: Sequence[str], descriptors: Sequence[int], env: Mapping[str, str], cwd: Union[str, Path],
    terminal: bool = False,
) -> ForkedRun:  # fmt: skip
    """Start `("cli", *words)` or `("operation", module, name)`; with `terminal`, stdin becomes its terminal."""
    global _fork_client
    if _fork_client is None or _fork_client.owner != os.getpid():
        _fork_client = _ForkClient()
    umask = os.umask(0o077)
    os.umask(umask)
    asked = {"work": list(work), "env": dict(env), "cwd": str(cwd), "umask": umask, "terminal": terminal}
    return _fork_client.start(asked, descriptors)


def run(
    work: Sequence[str], env: Mapping[str, str], cwd: Union[str, Path], stdin: bytes = b"", timeout: float = 60
) -> subprocess.CompletedProcess[bytes]:
    """Run like `subprocess.run` with pipes; kill the whole session on a timeout."""
    feed, out, err = os.pipe(), os.pipe(), os.pipe()
    try:
        begun = start(work, (feed[0], out[1], err[1]), env, cwd)
    finally:
        for descriptor in (feed[0], out[1], err[1]):
            os.close(descriptor)
    told = _communicate(feed[1], (out[0], err[0]), stdin, time.monotonic() + timeout)
    if told is None:
        os.killpg(begun.pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(list(work), timeout)
    return subprocess.CompletedProcess(list(work), begun.wait(timeout), *told)


def _communicate(feed: int, sources: Sequence[int], data: bytes, deadline: float) -> Optional[list[bytes]]:
    """Write to one descriptor and read the others to their end; None if the deadline passes first."""
    chunks: dict[int, list[bytes]] = {source: [] for source in sources}
    view = memoryview(data)
    os.set_blocking(feed, False)
    with selectors.DefaultSelector() as selector:
        selector.register(feed, selectors.EVENT_WRITE)
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready and time.monotonic() > deadline:
                break
            for key, _ in ready:
                if key.fd == feed:
                    view = _write_some(feed, view)
                    is_over = not view
                else:
                    chunks[key.fd].append(os.read(key.fd, 1 << 16))
                    is_over = not chunks[key.fd][-1]
                if is_over:
                    selector.unregister(key.fd)
                    os.close(key.fd)
        late = [key.fd for key in selector.get_map().values()]
    for descriptor in late:
        os.close(descriptor)
    return None if late else [b"".join(chunks[source]) for source in sources]


def _write_some(feed: int, view: memoryview) -> memoryview:
    try:
        return view[os.write(feed, view) :] if view else view
    except BlockingIOError:
        return view
    except BrokenPipeError:
        return view[len(view) :]


class _ForkServer:
    """The process that forks."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        self._running: dict[int, int] = {}
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)

    def serve(self) -> None:
        """Serve requests until the client has disconnected."""
        while True:
            asking = self._socket.fileno()
            ready, _, _ = select.select([asking, self._wake], [], [])
            if self._wake in ready:
                os.read(self._wake, 4096)
            if asking in ready and not self._handle_request():
                return
            self._reap()

    def _handle_request(self) -> bool:
        head, descriptors, _, _ = socket.recv_fds(self._socket, _LENGTH.size, 4)
        if not head:
            return False
        asked = json.loads(self._socket.recv(_LENGTH.unpack(head)[0], socket.MSG_WAITALL))
        *streams, status = descriptors
        if asked["work"][0] == "operation":  # once, not in each of its runs
            import_module(asked["work"][1])
        pid = os.fork()
        if not pid:
            _run_child(asked, streams)
        self._running[pid] = status
        for stream in streams:
            os.close(stream)
        self._socket.sendall(_NUMBER.pack(pid))
        return True

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            teller = self._running.pop(pid)
            try:
                os.write(teller, _NUMBER.pack(os.waitstatus_to_exitcode(status)))
            except BrokenPipeError:  # nobody waits for it any more
                pass
            os.close(teller)


def _run_child(asked: dict[str, Any], streams: Sequence[int]) -> NoReturn:
    """In the child: take on the requested environment, do the work, and exit."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background process is started with SIGINT ignored
        os.setsid()
        if asked["terminal"]:
            fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, 256)
        os.chdir(asked["cwd"])
        os.umask(asked["umask"])
        os.environ.clear()
        os.environ.update(asked["env"])
        time.tzset()
        tempfile.tempdir = None
        _write_home(asked["env"].get(_SHOWN_VARIABLE, ""))
        _open_streams()
        code = _run_work(asked["work"])
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _open_streams() -> None:
    """Open the standard streams as a new interpreter does: they remember whether they are a terminal and seekable."""
    lines = 1 if os.isatty(1) else -1
    sys.stdin = open(0, encoding="utf-8", errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", lines, encoding="utf-8", errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors=sys.stderr.errors, closefd=False)  # noqa: SIM115


def _write_home(home: str) -> None:
    """Write HOME into the first, deliberately long entry of the environment, so that `_background` finds it."""
    if not os.path.exists("/proc/self/mem"):
        return
    start = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[47])
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        memory.write(f"{_SHOWN_VARIABLE}={home}\0".encode("utf-8", "surrogateescape")[:_ENTRY_SIZE])


def _run_work(work: Sequence[str]) -> int:
    kind, *words = work
    try:
        _KINDS[kind](words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _run_cli(words: Sequence[str]) -> None:
    from reflect_git.cli import start

    sys.argv = [str(start.__file__), *words]
    start.run_program(start.start_prefetch())


def _run_operation(words: Sequence[str]) -> None:
    from reflect_git.capture import service
    from reflect_git.errors import ReflectError

    module, name = words
    operation = getattr(import_module(module), name)
    try:
        operation(service.open_store(os.environ), os.environ)
    except (ReflectError, OSError) as error:
        sys.stderr.write(f"refused: {type(error).__name__}: {error}\n")
        sys.exit(3)


_KINDS: dict[str, Callable[[Sequence[str]], None]] = {"cli": _run_cli, "operation": _run_operation}


def _import_everything() -> None:
    import gc

    import reflect_git

    for module in pkgutil.walk_packages(reflect_git.__path__, "reflect_git."):
        import_module(module.name)
    gc.freeze()


if __name__ == "__main__":
    server = _ForkServer(int(sys.argv[1]))
    _import_everything()
    server.serve()
