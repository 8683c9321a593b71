"""Odd files in a project: a FIFO, a device, a folder, a socket or a huge file where git has a small one."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.platform.git import find_git
from reflect_git.platform.project import get_root_key, identify_project
from reflect_git.store.local import projects
from reflect_git.store.reading import reader
from tests.conftest import REAL_GIT
from tests.hooks.test_hook_surroundings import fire
from tests.store.store_checks import inbox_ids, open_store

GIT = find_git(os.environ["PATH"])
# How much longer than in an ordinary project a hook may take. The promise is 0.2 s; tests share the machine, and
# waiting for git would take two seconds.
PATIENCE = 1.0
_ALTERNATES = "objects/info/alternates"
Make = Callable[[Path], None]


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket may have 100 characters
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(4 << 30)


def _unreadable(path: Path) -> None:
    path.write_bytes(b"")
    path.chmod(0)


def _link_to_fifo(path: Path) -> None:
    os.mkfifo(f"{path}.pipe")
    path.symlink_to(f"{path.name}.pipe")


ODD: dict[str, Make] = {
    "fifo": os.mkfifo,
    "folder": lambda path: path.mkdir(),
    "socket": _socket,
    "huge": _huge,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "loop": lambda path: path.symlink_to(path.name),
    "unreadable": _unreadable,
    "link-to-fifo": _link_to_fifo,
}


def _git(folder: Path, *words: str) -> str:
    return subprocess.run([REAL_GIT, "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def _commit(folder: Path) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    _git(folder, *who, "commit", "-q", "--allow-empty", "-m", "one")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    subprocess.run([REAL_GIT, "init", "-q", "-b", "main", str(folder)], check=True)
    _commit(folder)
    return folder


def put(path: Path, make: Make) -> None:
    """Replace whatever is there by the odd file."""
    if path.is_dir() and not path.is_symlink():
        subprocess.run(["rm", "-r", str(path)], check=True)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)


def _timed(project: Path) -> float:
    began = time.monotonic()
    fire(project)
    return time.monotonic() - began


def require_captured_in_time(project: Path, store_home: Path, tmp_path: Path) -> str:
    """Run a hook in the project; return the key of the project in the capture."""
    plain = tmp_path / "plain"
    plain.mkdir(exist_ok=True)
    fire(plain)
    normal = max(_timed(plain), _timed(plain))
    known = inbox_ids(store_home)
    took = _timed(project)
    (new,) = inbox_ids(store_home) - known
    assert took < normal + PATIENCE, f"{took:.2f} s, and {normal:.2f} s in an ordinary folder"
    (signal,) = [one for one in reader.read(open_store(store_home)).signals if one["id"] == new]
    assert signal["project"] is not None
    return signal["project"]["key"]


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", [".git/config", ".git/HEAD", ".git"])
def test_captured_under_the_path(project: Path, store_home: Path, tmp_path: Path, name: str, kind: str) -> None:
    if kind == "unreadable" and os.geteuid() == 0:
        pytest.skip("root can read every file")
    put(project / name, ODD[kind])
    key = require_captured_in_time(project, store_home, tmp_path)
    assert key == f"path:{project}"


@pytest.mark.parametrize("kind", ["fifo", "socket", "huge", "device", "loop", "link-to-fifo"])
@pytest.mark.parametrize(
    "name", [f".git/{name}" for name in ("refs/heads/main", "packed-refs", "shallow", "info/grafts", _ALTERNATES)]
)
def test_other_files_that_git_reads(project: Path, store_home: Path, tmp_path: Path, name: str, kind: str) -> None:
    put(project / name, ODD[kind])
    key = require_captured_in_time(project, store_home, tmp_path)
    assert key.startswith(("path:", "root:"))


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", "CLAUDE.md", ".git/index", ".git/info/exclude"])
def test_a_fifo_that_no_hook_needs(project: Path, store_home: Path, tmp_path: Path, name: str) -> None:
    put(project / name, ODD["fifo"])
    assert require_captured_in_time(project, store_home, tmp_path).startswith("root:")


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_a_reflectignore_that_nobody_can_have_written_ignores_nothing(
    project: Path, store_home: Path, tmp_path: Path, kind: str
) -> None:
    put(project / ".reflectignore", ODD[kind])
    require_captured_in_time(project, store_home, tmp_path)


@pytest.mark.parametrize("kind", ["fifo", "huge", "device", "loop"])
@pytest.mark.parametrize("key", ["include.path", "includeIf.gitdir:/.path", "nested"])
def test_a_file_that_the_config_includes(project: Path, store_home: Path, tmp_path: Path, key: str, kind: str) -> None:
    if key == "nested":
        (tmp_path / "more").write_text("[include]\n\tpath = odd\n")
        _git(project, "config", "include.path", str(tmp_path / "more"))
        put(tmp_path / "odd", ODD[kind])
    else:
        _git(project, "config", key, "odd")
        put(project / ".git/odd", ODD[kind])
    assert require_captured_in_time(project, store_home, tmp_path) == f"path:{project}"


@pytest.mark.parametrize("name", [".git", "commondir", "gitdir", "HEAD"])
def test_a_linked_work_tree(project: Path, store_home: Path, tmp_path: Path, name: str) -> None:
    tree = tmp_path / "tree"
    _git(project, "worktree", "add", "-q", str(tree))
    put(tree / ".git" if name == ".git" else project / ".git/worktrees/tree" / name, ODD["fifo"])
    require_captured_in_time(tree, store_home, tmp_path)


def test_ordinary_projects_are_called_as_before(project: Path, tmp_path: Path) -> None:
    """Root commit, remote, work tree, submodule, includes, packed and shallow: the same answers as git."""
    root = f"root:{_git(project, 'rev-list', '--max-parents=0', 'HEAD').strip()}"
    (project / ".git/more").write_text('[remote "origin"]\n\turl = https://example.com/not/read.git\n')
    _git(project, "config", "include.path", "more")
    _git(project, "config", "includeIf.gitdir:/nowhere/.path", "absent")
    assert identify_project(GIT, str(project))["key"] == root, "what a config includes is not part of the key"
    _git(project, "pack-refs", "--all")
    _git(project, "gc", "-q")
    assert identify_project(GIT, str(project))["key"] == root
    _git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert identify_project(GIT, str(tmp_path / "tree"))["key"] == root
    _commit(project)
    _git(tmp_path, "clone", "-q", "--depth", "1", f"file://{project}", str(tmp_path / "shallow"))
    _git(tmp_path / "shallow", "remote", "remove", "origin")
    assert (
        identify_project(GIT, str(tmp_path / "shallow"))["key"] == f"root:{_git(project, 'rev-parse', 'HEAD').strip()}"
    )
    _git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(project), "inner")
    assert identify_project(GIT, str(project / "inner"))["key"] == f"file:{project}"
    (project / ".git/config").rename(tmp_path / "config")
    (project / ".git/config").symlink_to(tmp_path / "config")
    assert identify_project(GIT, str(project))["key"] == root, "a config behind a link"
    assert get_root_key(GIT, str(project)) == root


def test_a_detached_head_and_a_branch_below_a_branch(project: Path) -> None:
    root = identify_project(GIT, str(project))["key"]
    _git(project, "checkout", "-q", "-b", "feature/deep/one")
    assert identify_project(GIT, str(project))["key"] == root
    _git(project, "checkout", "-q", "--detach")
    assert identify_project(GIT, str(project))["key"] == root


def test_other_names_of_a_project_are_not_waited_for(project: Path, store_home: Path) -> None:
    store = open_store(store_home)
    _git(project, "remote", "add", "origin", "https://example.com/ada/app.git")
    assert projects.get_project(store, str(project))["key"] == "example.com/ada/app"
    put(project / ".git/HEAD", ODD["fifo"])
    began = time.monotonic()
    assert projects.list_other_keys(store, str(project)) == []
    assert time.monotonic() - began < PATIENCE
