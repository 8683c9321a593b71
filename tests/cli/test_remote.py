"""`remote` and `sync`: the first contact, what is printed before anything is sent, and both directions."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Result, RunCli, find_store_problems
from tests.faults import git
from tests.sync.clones import Clone, create_bare_repository
from tests.sync.hostile_remote import FILE, commit_to_remote
from tests.sync.sample_records import build_files, build_learning

Run = Callable[..., Result]


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return create_bare_repository(tmp_path / "remote.git")


@pytest.fixture
def laptop(store_home: Path) -> Clone:
    clone = Clone(store_home)
    clone.approve(1)
    return clone


@pytest.fixture
def desktop(tmp_path: Path, run_cli: RunCli) -> tuple[Clone, Run]:
    """Provide another machine, and a function that runs commands on it."""
    clone = Clone(tmp_path / "desk")

    def run(*words: str) -> Result:
        return run_cli(*words, env={"REFLECT_GIT_HOME": str(clone.root)})

    return clone, run


def data(result: Result) -> Any:
    assert result.code == 0, result.out + result.err
    return result.json()["data"]


def commit_to(remote: Path, tmp_path: Path, branch: str = "main", **files: str) -> None:
    """Commit files as a host does that creates a repository which is not empty."""
    work = tmp_path / "work"
    git(tmp_path, "init", "-q", "-b", branch, str(work))
    for name, text in files.items():
        (work / name).write_text(text)
    git(work, "add", "-f", ".")
    git(work, "-c", "user.name=H", "-c", "user.email=h@example.com", "commit", "-qm", "Initial commit")
    git(work, "push", "-q", str(remote), branch)


@pytest.mark.parametrize("given", ["../remote.git", "remote.git"])
def test_a_relative_path_is_answered_with_the_whole_one(
    run_cli: RunCli, laptop: Clone, remote: Path, given: str
) -> None:
    refused = run_cli("remote", "set", given, cwd=remote.parent)
    whole = os.path.abspath(remote.parent / given)
    assert refused.code == 2
    assert refused.err == (f"error: '{given}' is a relative path\nhint: run 'reflect-git remote set {whole}'\n")


def test_without_a_remote_it_says_so(run_cli: RunCli, laptop: Clone) -> None:
    assert run_cli("remote").out == "no remote\n"
    assert data(run_cli("remote", "--json"))["url"] is None
    assert (failed := run_cli("sync")).code == 1 and "remote set URL" in failed.err
    assert run_cli("remote", "remove").code == 1


def test_setting_it_tells_what_will_be_sent_and_asks(run_cli: RunCli, laptop: Clone, remote: Path) -> None:
    refused = run_cli("remote", "set", str(remote))
    assert refused.code == 1 and "without a terminal" in refused.err
    assert git(remote, "for-each-ref") == "" and run_cli("remote").out == "no remote\n"
    said = refused.out
    assert "the repository is empty" in said and "3 files would be sent" in said
    assert "1 " in said and "rules, as you approved them" in said and "bytes" in said
    examples = [line for line in said.partition("for example:")[2].splitlines() if line.startswith("    ")]
    assert len(examples) == 3 and "Rule number 1." in examples[0]
    assert "a private repository of your own" in said and "list every file with" not in said, "three are all"
    laptop.approve(2)
    said = run_cli("--no-input", "remote", "set", str(remote)).out
    (command,) = [line.partition(": reflect-git ")[2] for line in said.splitlines() if "every file with" in line]
    sends = data(run_cli(*shlex.split(command)))["sends"]
    assert set(sends) == {path for path in laptop.list_paths() if not path.startswith("signals/")}
    assert all(size == (laptop.root / path).stat().st_size for path, size in sends.items())


def test_the_first_machine_sends_and_the_second_joins(
    run_cli: RunCli, laptop: Clone, desktop: tuple[Clone, Run], remote: Path
) -> None:
    sent = data(run_cli("--yes", "remote", "set", str(remote), "--json"))
    assert (sent["pulled"], sent["pushed"], sent["refused"]) == (0, 4, [])
    clone, on_desk = desktop
    clone.approve(2)
    joined = on_desk("--yes", "remote", "set", f"file://{remote}")
    assert joined.code == 0 and "a reflect-git store; 3 files would be received" in joined.out
    assert "3 files received, 3 sent" in joined.out
    got = data(run_cli("sync", "--json"))
    assert (got["pulled"], got["pushed"]) == (3, 0)
    assert [one["machine"] for one in got["waiting"]] == [clone.store.machine]
    assert laptop.tip == clone.tip
    shown = data(run_cli("remote", "--json"))
    assert shown["url"] == str(remote) and shown["error"] is None and shown["machines"] == [laptop.store.machine]
    status = data(run_cli("status", "--json"))
    assert (status["ahead"], status["behind"]) == (0, 0)


def test_a_new_repository_of_a_host_keeps_its_history(
    run_cli: RunCli, laptop: Clone, desktop: tuple[Clone, Run], remote: Path, tmp_path: Path
) -> None:
    commit_to(remote, tmp_path, **{"README.md": "# notes\n", "LICENSE": "MIT\n", ".gitignore": "*.o\n"})
    first = git(remote, "rev-parse", "main").strip()
    done = run_cli("--yes", "remote", "set", str(remote))
    assert done.code == 0 and "only .gitignore, LICENSE, README.md" in done.out
    assert first in git(remote, "rev-list", "main").split()
    assert git(remote, "show", "main:README.md").startswith("# reflections")
    assert "LICENSE" not in git(remote, "ls-tree", "--name-only", "main").split()
    clone, on_desk = desktop
    assert on_desk("--yes", "remote", "set", str(remote)).code == 0
    assert run_cli("sync").code == 0
    assert clone.tip == laptop.tip and not find_store_problems(clone.root)
    assert clone.list_paths() == laptop.list_paths() and not (clone.root / ".gitignore").exists()


@pytest.mark.parametrize(
    "branch, files", [("main", {"setup.py": "print()\n", "README.md": "# shop\n"}), ("trunk", {"a": "b"})]
)
def test_the_home_of_something_else_is_refused(
    run_cli: RunCli, laptop: Clone, remote: Path, tmp_path: Path, branch: str, files: dict[str, str]
) -> None:
    commit_to(remote, tmp_path, branch, **files)
    before = git(remote, "for-each-ref"), laptop.tip
    refused = run_cli("--yes", "remote", "set", str(remote))
    assert refused.code == 1 and "home of something else" in refused.err
    assert (git(remote, "for-each-ref"), laptop.tip) == before
    assert run_cli("remote").out == "no remote\n"


def test_it_is_not_set_from_inside_claude_code(run_cli: RunCli, laptop: Clone, remote: Path) -> None:
    refused = run_cli("--yes", "remote", "set", str(remote), env={"CLAUDECODE": "1"})
    assert refused.code == 1 and "your own terminal" in refused.err and git(remote, "for-each-ref") == ""


def test_a_password_in_the_address_is_not_kept(run_cli: RunCli, laptop: Clone) -> None:
    refused = run_cli("--yes", "remote", "set", "https://ada:pa55word@example.com/notes")
    assert refused.code == 2 and "credential helper" in refused.err
    assert b"pa55word" not in (laptop.root / ".git" / "config").read_bytes()


def test_a_remote_that_is_not_there_is_not_set(run_cli: RunCli, laptop: Clone, tmp_path: Path) -> None:
    refused = run_cli("--yes", "remote", "set", str(tmp_path / "nowhere.git"))
    assert refused.code == 1 and run_cli("remote").out == "no remote\n"


def test_removing_it_leaves_everything_where_it_is(run_cli: RunCli, laptop: Clone, remote: Path) -> None:
    run_cli("--yes", "remote", "set", str(remote))
    before = git(remote, "for-each-ref"), set(laptop.list_paths())
    inside = run_cli("--yes", "remote", "remove", env={"CLAUDECODE": "1"})
    assert inside.code == 1 and "your own terminal" in inside.err and run_cli("remote").out.startswith(str(remote))
    assert "would remove" in run_cli("remote", "remove", "--dry-run").out
    left = run_cli("remote", "remove")
    assert left.code == 0 and str(remote) in left.err
    assert git(remote, "for-each-ref") == before[0] and before[1] < set(laptop.list_paths())
    assert run_cli("remote").out == "no remote\n"
    assert (
        "origin" not in git(laptop.root, "config", "--list") and git(laptop.root, "for-each-ref", "refs/remotes") == ""
    )


def test_setting_and_removing_are_decisions_that_name_the_host_and_no_address(
    run_cli: RunCli, laptop: Clone, remote: Path
) -> None:
    commit = data(run_cli("--yes", "remote", "set", str(remote), "--json"))["commit"]
    again = data(run_cli("--yes", "remote", "set", str(remote), "--json"))["commit"]
    assert again is None, "the address is the same"
    git(laptop.root, "config", "remote.origin.url", "ssh://git@git.example.com/ada/private.git")
    removed = data(run_cli("remote", "remove", "--json"))["commit"]
    told = data(run_cli("log", "--type", "remote", "--json"))
    assert [(one["commit"], one["subject"]) for one in told] == [
        (removed, "remote: removed git.example.com"),
        (commit, "remote: set to a folder of this machine"),
    ]
    history = git(laptop.root, "log", "-p", "main")
    assert str(remote) not in history and "private.git" not in history
    refused = run_cli("revert", told[0]["decisions"][0])
    assert refused.code == 1 and "hint: see 'reflect-git remote'" in refused.err


def test_a_dry_run_sends_nothing(run_cli: RunCli, laptop: Clone, remote: Path) -> None:
    foretold = data(run_cli("remote", "set", str(remote), "--dry-run", "--json"))
    assert foretold["remote"] == "empty" and set(foretold["sends"]) == laptop.list_paths()
    assert git(remote, "for-each-ref") == ""
    run_cli("--yes", "remote", "set", str(remote))
    laptop.approve(5)
    before = git(remote, "rev-parse", "main")
    assert data(run_cli("sync", "--dry-run", "--json"))["pushed"] == 2
    assert "2 would be sent" in run_cli("sync", "--dry-run").out
    assert git(remote, "rev-parse", "main") == before


def test_refusals_are_named_and_the_rest_goes_on(
    run_cli: RunCli, laptop: Clone, desktop: tuple[Clone, Run], remote: Path
) -> None:
    run_cli("--yes", "remote", "set", str(remote))
    clone, _ = desktop
    clone.connect(str(remote))
    made = clone.approve(2)
    clone.sync()
    os.symlink("/etc/passwd", clone.root / "learnings" / "x.yaml")
    git(clone.root, "add", "-f", "learnings/x.yaml")
    git(clone.root, "-c", "user.name=E", "-c", "user.email=e@example.com", "commit", "-qm", "evil\x1b[31m")
    git(clone.root, "push", "-q", str(remote), "main")
    said = run_cli("sync")
    assert said.code == 0 and "refused: 'learnings/x.yaml': it is a symbolic link" in said.err
    assert set(made) <= laptop.list_paths() and "\x1b" not in said.out + said.err
    named = [{"path": "learnings/x.yaml", "reason": "it is a symbolic link", "side": "remote"}]
    assert data(run_cli("sync", "--json"))["refused"] == named == data(run_cli("remote", "--json"))["refused"]


def test_another_wording_is_told(run_cli: RunCli, laptop: Clone, remote: Path) -> None:
    run_cli("--yes", "remote", "set", str(remote))
    [(path, data)] = build_files(build_learning(1, "Something else.")).items()
    commit_to_remote(remote, {path: (FILE, data)})
    assert f"'{path}' differs on the remote" in run_cli("sync").err


def test_a_sync_that_fails_is_told_by_remote(run_cli: RunCli, laptop: Clone, remote: Path) -> None:
    run_cli("--yes", "remote", "set", str(remote))
    remote.rename(remote.with_name("away.git"))
    laptop.approve(9)
    assert run_cli("sync").code == 1
    assert "the last sync failed" in run_cli("remote").err
    remote.with_name("away.git").rename(remote)
    assert run_cli("sync").code == 0 and "failed" not in run_cli("remote").err
