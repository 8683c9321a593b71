"""The seals work: what conftest.py promises about the real home, the environment and the store is true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import REAL_HOME, REPO, HomeWriteError, WriteBlocker, find_store_problems

# Sealed wherever the home is, even if it is the temporary folder itself.
PROBE = os.path.join(REAL_HOME, ".claude", f"reflect-git-seal-{os.getpid()}")


def _write(path: str) -> None:
    with open(path, "w"):
        pass


def _append(path: str) -> None:
    with open(path, "ab"):
        pass


def _create(path: str) -> None:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT))


def _rename_into(path: str) -> None:
    _write("here")
    os.rename("here", path)


def _link_into(path: str) -> None:
    _write("here")
    os.link("here", path)


def _copy_into(path: str) -> None:
    _write("here")
    shutil.copy("here", path)


def _move_into(path: str) -> None:
    _write("here")
    shutil.move("here", path)


def _remove_below_descriptor(path: str) -> None:
    # The home itself, because .claude may not exist.
    descriptor = os.open(REAL_HOME, os.O_RDONLY)
    try:
        os.remove(os.path.relpath(path, REAL_HOME), dir_fd=descriptor)
    finally:
        os.close(descriptor)


WAYS: list[Callable[[str], object]] = [
    _write,
    _append,
    _create,
    _rename_into,
    _link_into,
    _copy_into,
    _move_into,
    os.mkdir,
    os.makedirs,
    os.remove,
    os.rmdir,
    shutil.rmtree,
    lambda path: os.symlink("there", path),
    lambda path: os.rename(path, "here"),
    lambda path: os.truncate(path, 0),
    lambda path: Path(path).touch(),
    lambda path: Path(path).write_text("x"),
    lambda path: _write(os.path.relpath(path)),
    lambda path: _create(os.fsencode(path)),  # type: ignore[arg-type]
]


@pytest.fixture(autouse=True)
def _in_scratch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def forgiven(write_blocker: WriteBlocker) -> Iterator[WriteBlocker]:
    """Allow a deliberate breach, so that it does not fail the test."""
    yield write_blocker
    write_blocker.breaches.clear()


@pytest.mark.parametrize("way", WAYS)
def test_writing_below_the_real_home_raises(way: Callable[[str], object], forgiven: WriteBlocker) -> None:
    with pytest.raises(HomeWriteError):
        way(PROBE)
    assert forgiven.breaches
    assert not os.path.lexists(PROBE)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc: a descriptor does not tell its folder")
def test_writing_below_a_descriptor_of_the_real_home_raises(forgiven: WriteBlocker) -> None:
    with pytest.raises(HomeWriteError):
        _remove_below_descriptor(PROBE)
    assert forgiven.breaches


def test_writing_through_a_link_raises(tmp_path: Path, forgiven: WriteBlocker) -> None:
    link = tmp_path / "link"
    link.symlink_to(os.path.dirname(PROBE))
    with pytest.raises(HomeWriteError):
        _write(str(link / os.path.basename(PROBE)))
    assert forgiven.breaches


def test_a_link_into_the_real_home_can_be_removed(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(REAL_HOME)
    link.unlink()
    assert not os.path.lexists(link)


def test_a_swallowed_breach_is_remembered(forgiven: WriteBlocker) -> None:
    try:
        _write(PROBE)
    except Exception:
        pass
    assert forgiven.breaches == [f"open {PROBE}"]


def test_reading_the_real_home_is_no_breach(write_blocker: WriteBlocker) -> None:
    os.listdir(REAL_HOME)
    with pytest.raises(FileNotFoundError):
        open(PROBE).close()
    assert write_blocker.breaches == []


@pytest.mark.parametrize("folder", [str(REPO), sys.prefix, "/dev"])
def test_checkout_and_interpreter_stay_writable(folder: str, write_blocker: WriteBlocker) -> None:
    assert write_blocker.is_allowed(os.path.join(os.path.realpath(folder), "file"))


def test_the_deepest_rule_decides(write_blocker: WriteBlocker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_blocker, "rules", {"/": True, "/h": False, "/h/repo": True, "/h/repo/.claude": False})
    paths = ["/x", "/h/x", "/h/repo/x", "/h/repo/.claude/x", "/h", "/hx", "/h/.pyenv/__pycache__/x.pyc"]
    assert [write_blocker.is_allowed(path) for path in paths] == [True, False, True, False, False, True, True]


def test_environment_tells_nothing_about_the_machine(home: Path) -> None:
    foreign = {name for name in os.environ if name.startswith(("GIT_", "CLAUDE", "REFLECT_GIT_", "XDG_"))}
    assert foreign == {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "REFLECT_GIT_CLAUDE", "XDG_CONFIG_HOME"}
    assert "NO_COLOR" not in os.environ
    assert (os.environ["EDITOR"], os.environ["TERM"], os.environ["LC_ALL"]) == ("false", "dumb", "C.UTF-8")
    assert Path.home() == home
    assert time.tzname[0] == "UTC"


SEEN_HOMES: set[Path] = set()


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_has_a_home_of_its_own(turn: int, home: Path) -> None:
    assert home not in SEEN_HOMES
    assert [entry.name for entry in home.iterdir()] == [".gitconfig"]
    (home / f"left-behind-{turn}").touch()
    SEEN_HOMES.add(home)


def test_programs_write_into_the_sealed_home(home: Path) -> None:
    subprocess.run(["git", "config", "--global", "user.name", "Sealed"], check=True)
    assert "Sealed" in (home / ".gitconfig").read_text()


def _git(store: Path, *args: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(store), *identity, *args], check=True, capture_output=True)


def _make_store(store: Path) -> None:
    store.mkdir(parents=True)
    _git(store, "init", "-b", "main")
    (store / "README.md").write_text("a store\n")
    _git(store, "add", ".")
    _git(store, "commit", "-m", "init: a store")


def test_a_store_does_not_exist_yet(store_home: Path, home: Path) -> None:
    assert store_home == home / ".claude" / "reflections"
    assert not store_home.exists()


def test_a_clean_store_passes(store_home: Path) -> None:
    _make_store(store_home)
    assert find_store_problems(store_home) == []


@pytest.mark.dirty_store
def test_an_unclean_store_is_found(store_home: Path) -> None:
    _make_store(store_home)
    (store_home / "stray").touch()
    assert "?? stray" in "".join(find_store_problems(store_home))


@pytest.mark.dirty_store
def test_a_damaged_store_is_found(store_home: Path) -> None:
    _make_store(store_home)
    blob = next(path for path in (store_home / ".git" / "objects").glob("??/*"))
    blob.chmod(0o600)
    blob.write_bytes(b"damaged")
    assert "git fsck ended with" in "".join(find_store_problems(store_home))


CULPRITS = f"""
import os, pytest

def test_leaves_a_dirty_store(store_home):
    store_home.mkdir(parents=True)
    assert os.system(f"git init -q {{store_home}}") == 0
    (store_home / "stray").touch()

@pytest.mark.dirty_store
def test_says_so(store_home):
    test_leaves_a_dirty_store(store_home)

def test_swallows_a_breach():
    try:
        os.mkdir({PROBE!r})
    except Exception:
        pass
"""


def test_culprits_fail(tmp_path: Path) -> None:
    (tmp_path / "test_culprits.py").write_text(CULPRITS)
    options = f"-p tests.conftest -p no:cacheprovider --rootdir=. -c {os.devnull}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options.split()],
        env={**os.environ, "PYTHONPATH": str(REPO), "HOME": REAL_HOME},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search("3 passed,.* 2 errors", done.stdout), done.stdout + done.stderr
    assert "was left in disorder" in done.stdout
    assert "wrote into the real home" in done.stdout
