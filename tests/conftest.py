"""Fixtures and seals: no test sees or touches the real home, git configuration or a running Claude Code session."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Protocol, Union

import pytest
from hypothesis import settings

from tests import counters, fork_server

REPO = Path(__file__).resolve().parent.parent
REAL_HOME = os.path.realpath(os.path.expanduser("~"))
REAL_GIT = shutil.which("git") or "git"

MEMORY_FOLDER = "/dev/shm"
MEMORY_NEEDED = 4 << 30


def _use_memory_folder() -> None:
    """Use a folder in memory if there is space: a store waits for the disk, and that was a third of a run."""
    if "TMPDIR" in os.environ or not os.access(MEMORY_FOLDER, os.W_OK | os.X_OK):
        return
    found = os.statvfs(MEMORY_FOLDER)
    if found.f_bavail * found.f_frsize >= MEMORY_NEEDED and not found.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = MEMORY_FOLDER
        tempfile.tempdir = None


_use_memory_folder()


def _receive_signals() -> None:
    """Stop ignoring what a background shell or nohup ignores: child processes inherit it, and tests interrupt them."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


_receive_signals()

# Deadlines measure the machine: a property that starts git misses them whenever the other core is busy. Properties use
# the same examples each time; HYPOTHESIS_PROFILE=random tries others.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.register_profile("deep", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

# event -> (index of a path that is written, index of the directory descriptor it is relative to)
WRITE_EVENTS: dict[str, tuple[tuple[int, Optional[int]], ...]] = {
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((1, 3),),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
    "shutil.chown": ((0, None),),
    "shutil.copyfile": ((1, None),),
    "shutil.copymode": ((1, None),),
    "shutil.copystat": ((1, None),),
    "shutil.copytree": ((1, None),),
    "shutil.make_archive": ((0, None),),
    "shutil.move": ((0, None), (1, None)),
    "shutil.rmtree": ((0, None),),
    "shutil.unpack_archive": ((1, None),),
    "sqlite3.connect": ((0, None),),
}
# These act on a link itself, all others on its target.
LINK_EVENTS = frozenset({"os.link", "os.remove", "os.rename", "os.rmdir", "os.symlink", "shutil.move", "shutil.rmtree"})


class HomeWriteError(RuntimeError):
    """A test wrote into the real home. Not an OSError: code under test handles those."""


def _get_path_rules() -> dict[str, bool]:
    """Map paths to whether tests may write below them.

    The deepest rule decides. So a checkout below the home stays writable, and a home below the temporary folder does
    not become writable.
    """
    homes = {REAL_HOME, os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)}
    closed = [os.path.join(home, name) for home in homes for name in ("", ".claude", ".config", ".gitconfig")]
    closed += [
        os.environ[name] for name in ("CLAUDE_CONFIG_DIR", "REFLECT_GIT_HOME", "XDG_CONFIG_HOME") if name in os.environ
    ]
    opened = ["/", str(REPO), tempfile.gettempdir(), sys.prefix, sys.base_prefix]
    rules = {os.path.realpath(path): False for path in closed}
    rules.update({os.path.realpath(path): True for path in opened})
    return rules


class WriteBlocker:
    """An audit hook that refuses writes into the real home and records them, since our hooks swallow every error."""

    def __init__(self) -> None:
        self.rules = _get_path_rules()
        self.breaches: list[str] = []

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            if flags & WRITE_FLAGS or (isinstance(mode, str) and set(mode) & set("wax+")):
                self.check(event, path, None)
        elif event in WRITE_EVENTS:
            for index, descriptor in WRITE_EVENTS[event]:
                self.check(event, args[index], None if descriptor is None else args[descriptor])

    def check(self, event: str, path: Any, descriptor: Optional[int]) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        if not self.is_allowed(resolve_path(path, descriptor, follow=event not in LINK_EVENTS)):
            self.breaches.append(f"{event} {os.fsdecode(path)}")
            raise HomeWriteError(f"'{os.fsdecode(path)}' is in the real home: {event} refused")

    def is_allowed(self, path: str) -> bool:
        # Bytecode belongs to the interpreter, wherever its packages are.
        if "__pycache__" in path.split(os.sep)[-2:]:
            return True
        while path not in self.rules:
            path = os.path.dirname(path)
        return self.rules[path]


def resolve_path(path: Union[str, bytes, os.PathLike[Any]], descriptor: Optional[int], follow: bool) -> str:
    """Resolve a path: links above it, with `follow` the path itself, relative to a directory descriptor."""
    name = os.fsdecode(path)
    if descriptor is not None and descriptor >= 0:
        name = os.path.join(f"/proc/self/fd/{descriptor}", name)
    if follow:
        return os.path.realpath(name)
    parent, last = os.path.split(name.rstrip(os.sep))
    return os.path.join(os.path.realpath(parent), last)


# An audit hook cannot be removed, so each process gets one.
WRITE_BLOCKER: WriteBlocker = getattr(sys, "_reflect_git_seal", None) or WriteBlocker()
if not hasattr(sys, "_reflect_git_seal"):
    sys._reflect_git_seal = WRITE_BLOCKER  # type: ignore[attr-defined]
    sys.addaudithook(WRITE_BLOCKER)


# Read before the seals remove it.
RELIABILITY = os.environ.get("RELIABILITY")
_STARTED = time.monotonic()


# Read before the seals remove it. `make macos` sets it.
PLATFORM = os.environ.get("REFLECT_GIT_PLATFORM", "")


def pytest_configure() -> None:
    from reflect_git.platform import system

    if PLATFORM and system.current.name != PLATFORM:
        pytest.exit(f"the product has no switch for the platform: run 'make {PLATFORM}'", returncode=2)


def pytest_report_header() -> list[str]:
    """Say why terminal tests fail below Claude Code: a terminal below it is not a person's, even in tests."""
    from reflect_git.platform import processes

    below = processes.has_client_parent()
    return ["a process above is Claude Code: tests that need a person's terminal fail here"] if below else []


def pytest_sessionstart(session: pytest.Session) -> None:
    if RELIABILITY and not hasattr(session.config, "workerinput"):
        shutil.rmtree(REPO / RELIABILITY, ignore_errors=True)  # from an earlier run


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the counters for the bench; the main process also records how the run ended."""
    if not RELIABILITY or session.config.option.collectonly:
        return
    facts: dict[str, Any] = {}
    if not hasattr(session.config, "workerinput"):
        told = getattr(session.config.pluginmanager.get_plugin("terminalreporter"), "stats", {})
        facts = {name: len(told.get(name, ())) for name in ("passed", "skipped")}
        facts["failed"] = len(told.get("failed", ())) + len(told.get("error", ()))
        facts["seconds"] = round(time.monotonic() - _STARTED)
        facts["ended"] = time.strftime("%Y-%m-%d", time.gmtime())
    counters.write_counts(REPO / RELIABILITY, facts)


@pytest.fixture
def write_blocker() -> WriteBlocker:
    return WRITE_BLOCKER


FOREIGN_PREFIXES = ("GIT_", "CLAUDE", "REFLECT_GIT_", "XDG_", "SSH_")
COLOURS = {"CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "NO_COLOR"}
FOREIGN_NAMES = {"COLUMNS", "EMAIL", "LANG", "LANGUAGE", "LESS", "PAGER", "VISUAL"} | COLOURS


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide a HOME for this test alone, with an environment that reveals nothing about the machine."""
    home = tmp_path_factory.mktemp("home")
    (home / ".gitconfig").touch()
    for name in list(os.environ):
        if name.startswith(FOREIGN_PREFIXES) or name in FOREIGN_NAMES:
            monkeypatch.delenv(name)
    sealed = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "TZ": os.environ.get("TEST_TZ", "UTC"),
        "LC_ALL": "C.UTF-8",
        "EDITOR": "false",
        "TERM": "dumb",
        "REFLECT_GIT_CLAUDE": "/nonexistent/claude",  # otherwise every review would offer the developer's own client
    }
    for name, value in sealed.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    WRITE_BLOCKER.breaches.clear()
    yield home
    if WRITE_BLOCKER.breaches:
        pytest.fail("wrote into the real home:\n" + "\n".join(WRITE_BLOCKER.breaches))


class SetZone(Protocol):
    def __call__(self, name: str) -> None: ...


@pytest.fixture
def set_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[SetZone]:
    """Move this test, and the programs it runs, to another time zone."""

    def move(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def _run_git(store: Path, *args: str) -> subprocess.CompletedProcess[str]:
    # Nothing from the test's environment: it may contain another git, or a GIT_DIR.
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    command = [REAL_GIT, "--no-optional-locks", "-C", str(store), *args]
    return subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False)


def find_store_problems(store: Path) -> list[str]:
    """Return git's complaints about a store; empty if it is sound and clean."""
    fsck = _run_git(store, "fsck", "--strict", "--no-dangling", "--no-progress")
    status = _run_git(store, "status", "--porcelain")
    faults = [f"git fsck ended with {fsck.returncode}:\n{fsck.stdout}{fsck.stderr}"] if fsck.returncode else []
    if status.returncode or status.stdout:
        faults.append(f"git status is not clean:\n{status.stdout}{status.stderr}")
    return faults


def _find_background_processes(home: Path) -> list[int]:
    """Return the background processes that commands or hooks of this test started."""
    mark, found = f"HOME={home}\0".encode(), []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit() and int(name) != os.getpid():
            try:
                environ = Path("/proc", name, "environ").read_bytes()
            except OSError:
                continue
            if mark in environ + b"\0":
                found.append(int(name))
    return found


def wait_for_background(home: Path, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while _find_background_processes(home) and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.fixture
def store_home(home: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Provide the path of this test's store; at the end it must be sound and clean."""
    store = home / ".claude" / "reflections"
    yield store
    wait_for_background(home)
    if (store / ".git").exists() and not request.node.get_closest_marker("dirty_store"):
        faults = find_store_problems(store)
        if faults:
            pytest.fail(f"the store '{store}' was left in disorder\n" + "\n".join(faults))


@dataclass(frozen=True)
class Result:
    """The result of a run of the console program."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class RunCli(Protocol):
    def __call__(
        self,
        *args: str,
        stdin: str = "",
        cwd: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: float = 60,
    ) -> Result: ...


@pytest.fixture
def run_cli(home: Path) -> RunCli:
    """Provide a function that runs the console program in its own process; `env` is added to the sealed environment.

    A test of the interpreter's own environment variables needs a fresh interpreter, which costs ten times as much.
    """

    def run(
        *args: str,
        stdin: str = "",
        cwd: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        timeout: float = 60,
    ) -> Result:
        surroundings = {**os.environ, "PYTHONPATH": str(REPO), "PYTHONSAFEPATH": "1", **(env or {})}
        data = stdin.encode("utf-8", "surrogateescape")
        if any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env or {}):
            done = subprocess.run(
                [sys.executable, "-m", "reflect_git.cli.start", *args], input=data, cwd=cwd or home, env=surroundings,
                capture_output=True, timeout=timeout, check=False,
                # Without its own session it would find the developer's terminal in /dev/tty.
                start_new_session=True,
            )  # fmt: skip
        else:
            done = fork_server.run(("cli", *args), surroundings, cwd or home, data, timeout)
        out, err = (stream.decode("utf-8", "surrogateescape") for stream in (done.stdout, done.stderr))
        return Result(done.returncode, out, err)

    return run
