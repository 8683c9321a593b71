"""Files that others also write: no edit is lost, and nothing is replaced that was not read before."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files, system
from tests.counters import count


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "project" / "CLAUDE.md"
    path.parent.mkdir()
    return path


def left_over(target: Path) -> list[str]:
    return [path.name for path in target.parent.iterdir() if path != target]


@pytest.mark.parametrize(
    "before, after", [(b"old\r\n", b"new\r\n"), (b"", b"x"), (None, b"x"), (b"x", None), (None, None), (b"a", b"a")]
)
def test_from_before_to_after(target: Path, before: bytes | None, after: bytes | None) -> None:
    if before is not None:
        target.write_bytes(before)
    instruction_files.replace(str(target), before, after)
    assert instruction_files.read(str(target)) == after and left_over(target) == []


@pytest.mark.parametrize("now", [b"edited", None])
@pytest.mark.parametrize("after", [b"new", None])
def test_what_was_changed_meanwhile_stays(target: Path, now: bytes | None, after: bytes | None) -> None:
    if now is not None:
        target.write_bytes(now)
    with pytest.raises(instruction_files.FileChanged):
        instruction_files.replace(str(target), b"read before", after)
    assert instruction_files.read(str(target)) == now and left_over(target) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES, errno.EROFS, errno.EBUSY])
def test_a_file_that_is_protected_is_refused_as_a_target(
    target: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    target.write_bytes(b"theirs")

    def refuse(_: str, other: str) -> bool:
        raise OSError(number, os.strerror(number), other)

    monkeypatch.setattr(system.current, "swap_names", refuse)
    with pytest.raises(ReflectError) as refused:
        instruction_files.replace(str(target), b"theirs", b"ours")
    assert refused.value.message == f"cannot write '{target}': {os.strerror(number).lower()}"
    assert (refused.value.code, "--store" in str(refused.value.hint)) == ("target", False)
    assert target.read_bytes() == b"theirs" and left_over(target) == []


def test_a_file_that_appeared_stays(target: Path) -> None:
    target.write_bytes(b"theirs")
    with pytest.raises(instruction_files.FileChanged):
        instruction_files.replace(str(target), None, b"ours")
    assert target.read_bytes() == b"theirs" and left_over(target) == []


def test_the_mode_stays_and_a_new_file_has_the_user_s(target: Path) -> None:
    target.write_bytes(b"x")
    target.chmod(0o640)
    instruction_files.replace(str(target), b"x", b"y")
    assert target.stat().st_mode & 0o777 == 0o640
    other = target.parent / ".claude" / "rules" / "a.md"
    previous = os.umask(0o022)
    try:
        instruction_files.replace(str(other), None, b"z")
    finally:
        os.umask(previous)
    assert other.stat().st_mode & 0o777 == 0o644 and other.parent.stat().st_mode & 0o777 == 0o755


def test_without_an_exchange_the_file_is_compared_right_before(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system.current, "swap_names", lambda one, other: False)
    target.write_bytes(b"x")
    instruction_files.replace(str(target), b"x", b"y")
    assert target.read_bytes() == b"y" and left_over(target) == []


def test_links_are_followed_inside_a_folder_only(target: Path, tmp_path: Path) -> None:
    inside, outside = target.parent / "docs.md", tmp_path / "bashrc"
    inside.write_bytes(b"x")
    outside.write_bytes(b"y")
    target.symlink_to(inside)
    assert instruction_files.resolve_path(str(target.parent), target.name, str(target.parent)) == str(inside.resolve())
    target.unlink()
    target.symlink_to(outside)
    with pytest.raises(ReflectError, match="outside"):
        instruction_files.resolve_path(str(target.parent), target.name, str(target.parent))


def test_what_is_no_file_is_refused(target: Path) -> None:
    target.mkdir()
    with pytest.raises(ReflectError, match="is not a file"):
        instruction_files.read(str(target))
    target.rmdir()
    os.mkfifo(target)
    with pytest.raises(ReflectError, match="is not a file"):
        instruction_files.read(str(target))


EDITOR = """
import os, sys, time
path, mode, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(count):
    text = f"edit {number}\\n".encode()
    if mode == "rename":
        with open(path + ".swp", "wb") as file:
            file.write(text)
        os.rename(path + ".swp", path)
    elif mode == "truncate":
        with open(path, "wb") as file:
            file.write(text)
    else:
        with open(path, "r+b") as file:
            file.read()
            file.seek(0)
            file.write(text)
            file.truncate()
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    sys.stdin.readline()
"""


def race(target: Path, mode: str, rounds: int) -> int:
    """Replace a file while an editor writes it; return how often we succeeded."""
    target.write_bytes(b"start\n")
    command = [sys.executable, "-I", "-S", "-c", EDITOR, str(target), mode, str(rounds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as editor:
        assert editor.stdin and editor.stdout
        won = 0
        for number in range(rounds):
            listener = threading.Thread(target=editor.stdout.readline)
            listener.start()
            while listener.is_alive():
                won += replaced(target)
            now = target.read_bytes()
            assert now.startswith(b"edit %d\n" % number), f"edit {number} was lost: {now!r}"
            editor.stdin.write(b"\n")
            editor.stdin.flush()
        editor.stdin.close()
    return won


def replaced(target: Path) -> bool:
    before = instruction_files.read(str(target))
    if not before:  # the editor has emptied the file and not written it yet
        return False
    try:
        instruction_files.replace(str(target), before, before.split(b"+")[0] + b"+ours\n")
    except instruction_files.FileChanged:
        return False
    return True


@pytest.mark.parametrize("mode", ["rename", "truncate", "in place"])
def test_no_edit_is_lost_in_a_race(target: Path, mode: str) -> None:
    assert race(target, mode, 60)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["rename", "truncate", "in place"])
def test_no_edit_is_lost_in_a_thousand_races(target: Path, mode: str) -> None:
    count("races with an editor: files replaced", race(target, mode, 1000))
    count("races with an editor: edits", 1000)
