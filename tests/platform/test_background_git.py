"""A git in the background continues, however much it prints."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from reflect_git.platform.background_git import PendingResult
from reflect_git.platform.git import Git, GitProcess
from tests.conftest import REAL_GIT
from tests.faults import git

LONG = b"x" * (1 << 20)


@pytest.fixture
def repository(tmp_path: Path) -> Git:
    git(tmp_path, "init", "-q", "-b", "main")
    return Git(REAL_GIT, str(tmp_path))


def is_running(child: GitProcess) -> bool:
    try:
        os.kill(child.pid, 0)
    except ProcessLookupError:
        return False
    return True


def asked(repository: Git, data: bytes) -> tuple[GitProcess, bytes]:
    """Start a query whose answer is far longer than a pipe."""
    blob = repository.run("hash-object", "-w", "--stdin", stdin=data).out
    return repository.start("cat-file", "--batch"), blob


def test_what_is_longer_than_a_pipe_needs_no_reader(repository: Git) -> None:
    child, blob = asked(repository, LONG)
    heard = PendingResult(child, blob * 3)
    deadline = time.monotonic() + 20
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)
    assert heard.result().out.count(LONG) == 3


def test_more_than_is_allowed_is_not_heard_out(repository: Git) -> None:
    child, blob = asked(repository, LONG)
    assert PendingResult(child, blob * 100, most=1000).result().code == -9


def test_who_is_not_needed_stops(repository: Git) -> None:
    child = repository.start("cat-file", "--batch-command")
    heard = PendingResult(child, LONG)  # an unknown command without an end
    heard.drop()
    assert not is_running(child)


def test_what_fails_while_it_is_heard_is_the_callers_to_meet(
    repository: Git, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def fails(*_: object, **__: object) -> None:
        raise MemoryError("too much to hold")

    child = repository.start("version")
    monkeypatch.setattr(child, "communicate", fails)
    with pytest.raises(MemoryError):
        PendingResult(child).result()
    monkeypatch.undo()
    child.communicate()
