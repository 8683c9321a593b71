"""One person, one home, one project, the real client, a scripted model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL_GIT, REPO, RunCli
from tests.e2e import client as client_program
from tests.e2e.model import Model
from tests.e2e.session import Client, wait_until

# Read before the seals remove it.
DEVELOPER_ENV = dict(os.environ)
SETTLE_SECONDS = 20.0

Signals = Callable[[], list[dict[str, Any]]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test in this folder before `-m` selects: each starts the client."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the measurements, which are worth reading even when within bounds."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


@pytest.fixture(scope="session")
def binary() -> Path:
    if not sys.platform.startswith("linux"):
        pytest.skip("the processes of a session are followed through /proc")
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    done = subprocess.run(
        [sys.executable, client_program.__file__], env=DEVELOPER_ENV, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no client: {done.stderr.strip()}")
    return Path(done.stdout.strip())


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        yield model


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    subprocess.run([REAL_GIT, "init", "-q", "-b", "main", str(folder)], check=True)
    return folder


@pytest.fixture
def plain_client(binary: Path, model: Model, home: Path, project: Path, store_home: Path) -> Iterator[Client]:
    """Provide the client without reflect-git; at the end no process started in this home may be left."""
    client = Client(binary, model, home, project)
    client.prepare()
    yield client
    client.stop()
    wait_until_idle(home)


@pytest.fixture
def client(plain_client: Client) -> Client:
    """Provide the client with the plugin from this repository."""
    plain_client.options += ["--plugin-dir", str(REPO)]
    return plain_client


@pytest.fixture
def signals(run_cli: RunCli, home: Path) -> Signals:
    """Return every signal in the store, once all background processes of hooks have ended."""

    def read() -> list[dict[str, Any]]:
        wait_until_idle(home)
        found: list[dict[str, Any]] = run_cli("signals", "--json").json()["data"]
        return found

    return read


def list_messages(found: list[dict[str, Any]]) -> list[str]:
    """Return what a person said, from a store's signals; session summaries are left out."""
    own = ("user_typed", "user_feedback")
    return [signal["content"] for signal in found if signal["trust"] in own and signal["type"] != "summary"]


def list_failures(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [signal for signal in found if signal["type"] == "failure"]


def wait_until_idle(home: Path) -> None:
    """Wait for background processes: there is no daemon, so they end by themselves."""
    wait_until(lambda: not list_processes(home), SETTLE_SECONDS, lambda: f"still running: {list_processes(home)}")


def list_processes(home: Path) -> list[str]:
    """Return every process that was started in this home."""
    mark = f"HOME={home}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0") and folder.name != str(os.getpid()):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200])
        except OSError:  # it has ended, or is not ours
            continue
    return found
