"""Projects: the same key for every clone, work tree and subfolder, whatever the folder contains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reflect_git.platform.git import find_git
from reflect_git.platform.project import get_repository, identify_project, normalise_url
from tests.faults import git
from tests.store.store_checks import user_commit

GIT = find_git(os.environ["PATH"])


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Ada/App.git", "https://github.com/Ada/App", "https://github.com/Ada/App/",
        "https://ada:token@GitHub.com/Ada/App.git", "https://ada@github.com:443/Ada/App.git/", "HTTPS://github.com/Ada/App",
        "git@github.com:Ada/App.git", "github.com:Ada/App", "git@github.com:/Ada/App.git",
        "ssh://git@github.com/Ada/App.git", "ssh://git@github.com:22/Ada/App.git", "git://github.com:9418/Ada/App",
        "  https://github.com/Ada/App.git\n",
    ],
)  # fmt: skip
def test_all_urls_of_one_repository_give_one_key(url: str) -> None:
    assert normalise_url(url) == "github.com/Ada/App"


@pytest.mark.parametrize(
    "url, key",
    [
        ("https://git.example.com:8443/a/b.git", "git.example.com:8443/a/b"),
        ("/srv/git/app.git", "file:/srv/git/app"),
        ("file:///srv/git/app.git", "file:/srv/git/app"),
        ("../app", "file:../app"),
        ("ssh://git@[::1]:22/a/b", "[::1]/a/b"),
        ("", "file:"),
    ],
)
def test_other_urls(url: str, key: str) -> None:
    assert normalise_url(url) == key


@pytest.mark.parametrize("url", ["https://ada:s3cret@h/x", "ssh://ada:s3cret@h:2222/x", "https://s3cret@h/x"])
def test_no_password_is_left_in_a_key(url: str) -> None:
    assert "s3cret" not in normalise_url(url)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    git(tmp_path, "init", "-q", str(folder))
    return folder


def test_origin_wins_over_other_remotes(project: Path) -> None:
    git(project, "remote", "add", "fork", "https://example.com/fork/app.git")
    assert identify_project(GIT, str(project))["key"] == "example.com/fork/app"
    git(project, "remote", "add", "origin", "https://example.com/ada/app.git")
    assert identify_project(GIT, str(project)) == {"key": "example.com/ada/app", "name": "app"}


def test_two_remotes_without_origin_say_nothing(project: Path) -> None:
    for name in ("one", "two"):
        git(project, "remote", "add", name, f"https://example.com/{name}/app.git")
    user_commit(project, "a", "a")
    assert identify_project(GIT, str(project))["key"].startswith("root:")


def test_without_a_remote_it_is_the_root_commit_and_in_a_clone_the_same(project: Path, tmp_path: Path) -> None:
    user_commit(project, "a", "a")
    root = git(project, "rev-list", "--max-parents=0", "HEAD").strip()
    assert identify_project(GIT, str(project)) == {"key": f"root:{root}", "name": "app"}
    git(tmp_path, "clone", "-q", str(project), "clone")
    git(tmp_path / "clone", "remote", "remove", "origin")
    assert identify_project(GIT, str(tmp_path / "clone"))["key"] == f"root:{root}"


def test_without_a_commit_it_is_the_path(project: Path, tmp_path: Path) -> None:
    assert identify_project(GIT, str(project)) == {"key": f"path:{project}", "name": "app"}
    (tmp_path / "plain").mkdir()
    assert identify_project(GIT, str(tmp_path / "plain")) == {"key": f"path:{tmp_path / 'plain'}", "name": "plain"}


def test_subfolders_and_work_trees_are_one_project(project: Path, tmp_path: Path) -> None:
    user_commit(project, "a", "a")
    git(project, "remote", "add", "origin", "git@example.com:ada/app.git")
    (project / "src/deep").mkdir(parents=True)
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    keys = {identify_project(GIT, str(folder))["key"] for folder in (project, project / "src/deep", tmp_path / "tree")}
    assert keys == {"example.com/ada/app"}


def test_a_config_that_runs_programs_runs_none(project: Path, tmp_path: Path) -> None:
    user_commit(project, "a", "a")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.hooksPath", "alias.config", "alias.rev-list"):
        git(project, "config", key, f"!{trap}" if key.startswith("alias") else str(trap))
    identify_project(GIT, str(project))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "content", [b"", b"gitdir: /nowhere\n", b"gitdir: \xff\xfe\n", b"x" * 10000, b"gitdir: ../../../etc\n"]
)
def test_a_git_file_that_leads_nowhere_is_a_folder_like_any_other(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/.git").write_bytes(content)
    assert identify_project(GIT, str(tmp_path / "app"))["name"] == "app"


@pytest.mark.parametrize("config", [b"[remote", b"\xff\xfe", b'[remote "origin"]\n\turl\n'])
def test_a_broken_config_is_no_obstacle(project: Path, config: bytes) -> None:
    (project / ".git/config").write_bytes(config)
    assert identify_project(GIT, str(project))["name"] == "app"


def test_a_name_with_odd_bytes(tmp_path: Path) -> None:
    folder = os.path.join(os.fsencode(tmp_path), b"a\xff\nb")
    os.mkdir(folder)
    found = identify_project(GIT, os.fsdecode(folder))
    assert found["key"].startswith("path:")


def test_a_git_that_is_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    import signal

    (tmp_path / "app").mkdir()
    os.mkfifo(tmp_path / "app/.git")

    def stuck(_number: int, _frame: object) -> None:
        raise AssertionError("it waits for a FIFO")

    before = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(3)
    try:
        assert identify_project(GIT, str(tmp_path / "app"))["name"] == "app"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_all_work_trees_stand_for_one_repository(project: Path, tmp_path: Path) -> None:
    user_commit(project, "README", "one\n")
    git(project, "worktree", "add", "-q", str(tmp_path / "linked"))
    git(tmp_path, "clone", "-q", "--bare", str(project), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "of-bare"))
    names = {name: get_repository(str(tmp_path / name)) for name in ("app", "linked", "of-bare")}
    shared, bare = str(project / ".git" / "config"), tmp_path / "bare.git"
    assert names == {
        "app": (str(project), shared), "linked": (str(project), shared), "of-bare": (str(bare), str(bare / "config")),
    }  # fmt: skip
