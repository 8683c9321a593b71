"""`show` prints the history of a record or a commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.platform import commit_reader
from tests.cli import old_store
from tests.conftest import REAL_GIT, REPO, RunCli
from tests.rules.project_edits import make_project
from tests.store.store_checks import allow_unattended, open_store


def _store(home: Path, *words: str) -> Any:
    command = [sys.executable, "-I", "-S", str(REPO / "hooks" / "store.py"), *words]
    done = subprocess.run(command, env=dict(os.environ), cwd=home, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout
    return json.loads(done.stdout)["data"]


@pytest.fixture
def approved(run_cli: RunCli, home: Path, store_home: Path) -> dict[str, Any]:
    """Approve a signal by a script that is allowed to; return the learning."""
    (home / ".gitconfig").write_text("[user]\n\tname = Zoë\n\temail = zoe@example.org\n")
    fields = '{"type": "correction", "content": "use pnpm", "source": {"hook": "Stop", "turn": 3, "entry": "toolu_9"}}'
    made = _store(home, "append", fields)
    allow_unattended(store_home)
    learning: dict[str, Any] = _store(home, "promote", made["id"], "CLAUDE.md", "Use pnpm, not npm")
    return learning


def test_the_story_of_a_signal(run_cli: RunCli, approved: dict[str, Any]) -> None:
    identity = approved["signals"][0]
    data = run_cli("show", identity, "--json").json()["data"]
    assert (data["record"]["status"], data["record"]["promoted_to"]) == ("promoted", "CLAUDE.md")
    assert data["commit"]["subject"] == "capture: 1 signal"
    assert data["commit"]["trailers"]["Signal-Id"] == [identity]
    assert [Path(file).stem for file in data["commit"]["files"]] == [identity]
    assert [decision["kind"] for decision in data["decisions"]] == ["approved"]
    told = run_cli("show", identity).out
    for words in (
        f"{identity}  correction, promoted, confidence 4 (approved)",
        "    use pnpm\n",
        "Stop, turn 3, entry toolu_9",
        "never expires",
        "approved a moment ago",
        "Zoë by a script",
        "Use pnpm, not npm",
    ):
        assert words in told


def test_the_story_of_a_learning_and_its_decision(run_cli: RunCli, approved: dict[str, Any]) -> None:
    learning = run_cli("show", approved["id"], "--json").json()["data"]
    assert learning["record"] == approved
    assert learning["commit"]["subject"] == "approve: Use pnpm, not npm"
    assert [decision["id"] for decision in learning["decisions"]] == [approved["decision"]]
    assert "CLAUDE.md (project)" in run_cli("show", approved["id"]).out
    decision = run_cli("show", approved["decision"])
    assert f"{approved['decision']}  decision: approved" in decision.out
    assert f"about         {approved['id']}" in decision.out


def test_the_story_of_a_commit(run_cli: RunCli, approved: dict[str, Any]) -> None:
    commit = run_cli("show", approved["id"], "--json").json()["data"]["commit"]
    for length in (40, 12):
        data = run_cli("show", commit["id"][:length], "--json").json()["data"]
        assert (data["record"], data["commit"]) == (None, commit)
        assert [decision["id"] for decision in data["decisions"]] == [approved["decision"]]
    assert "approve: Use pnpm, not npm" in run_cli("show", commit["id"][:12]).out


@pytest.mark.parametrize("cut", [slice(0, None), slice(13, None), slice(13, 17)])
def test_the_beginning_of_an_id_is_enough(run_cli: RunCli, approved: dict[str, Any], cut: slice) -> None:
    part = approved["id"][cut]
    assert run_cli("show", part, "--json").json()["data"]["record"]["id"] == approved["id"]
    assert run_cli("show", part.upper(), "--json").json()["data"]["record"]["id"] == approved["id"]


@pytest.mark.parametrize("name", ["nothing", "SIG-20200101-00000000", "deadbeef", "--", "HEAD", "-x", "\x1b[31m"])
def test_an_unknown_name_is_told(run_cli: RunCli, store_home: Path, name: str) -> None:
    assert "there is no store" in run_cli("show", "--", name).err
    assert not store_home.exists(), "a command that reads made a store"
    run_cli("init")
    result = run_cli("show", "--", name)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: no record '")
    assert "\x1b" not in result.err


@pytest.mark.parametrize("name, verb", [("LRN-1", "rules --all"), ("dec-1", "log"), ("SIG-1", "signals")])
def test_an_unknown_id_is_told_with_what_lists_its_kind(
    run_cli: RunCli, store_home: Path, name: str, verb: str
) -> None:
    run_cli("init")
    assert run_cli("show", name).err == f"error: no record '{name}'\nhint: list them with 'reflect-git {verb}'\n"


def test_an_unknown_commit_is_told_with_what_lists_commits(run_cli: RunCli, store_home: Path) -> None:
    run_cli("init")
    told = "error: no record '947e3baecf'\nhint: list commits with 'reflect-git log'\n"
    assert run_cli("show", "947e3baecf").err == told


def test_an_ambiguous_name_lists_what_it_could_be(run_cli: RunCli, store_home: Path) -> None:
    for word in ("one", "two"):
        run_cli("capture", "--type", "gotcha", "--content", word)
    error = run_cli("show", "SIG", "--json").json()["error"]
    assert (error["code"], error["message"]) == ("ambiguous-id", "'SIG' is the beginning of 2 ids")
    assert error["hint"].count("SIG-") == 2


@pytest.mark.dirty_store
def test_a_hostile_commit_message_never_acts_on_a_terminal(run_cli: RunCli, home: Path, store_home: Path) -> None:
    run_cli("init")
    (home / "message").write_bytes(b"evil \x1b]52;c;eA==\x07\r\n\nApproved-By: terminal \x1b[31m\n")
    author = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x", "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x"}
    git = [REAL_GIT, "-C", str(store_home)]
    subprocess.run(
        [*git, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", str(home / "message")],
        env={**os.environ, **author}, check=True,
    )  # fmt: skip
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    shown = run_cli("show", head).out
    assert [char for char in shown if not char.isprintable() and char != "\n"] == []
    assert "evil <U+001B>]52" in shown


def test_a_commit_is_read_from_our_repository_alone(
    run_cli: RunCli, home: Path, store_home: Path, approved: dict[str, Any]
) -> None:
    """GIT_DIR of another repository, or a `git` in the current folder, has no effect."""
    subprocess.run([REAL_GIT, "init", "-q", str(home / "other")], check=True)
    trap = home / "git"
    trap.write_text(f"#!/bin/sh\ntouch '{home}/sprung'\nexec '{REAL_GIT}' \"$@\"\n")
    trap.chmod(0o755)
    other = str(home / "other" / ".git")
    env = {
        "GIT_DIR": other, "GIT_OBJECT_DIRECTORY": f"{other}/objects", "GIT_COMMON_DIR": other,
        "GIT_WORK_TREE": "/nowhere", "PATH": f".:{os.environ['PATH']}",
    }  # fmt: skip
    data = run_cli("show", approved["id"], "--json", env=env, cwd=home).json()["data"]
    assert data["commit"]["trailers"]["Learning-Id"] == [approved["id"]]
    assert not (home / "sprung").exists()


def _commit(folder: Path, message: str) -> str:
    git = [REAL_GIT, "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", message], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()


def test_files_of_a_commit_are_those_that_git_names(tmp_path: Path) -> None:
    folder = tmp_path / "with $HOME and %PATH%"
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    (folder / "a" / "b").mkdir(parents=True)
    for name in ("a/b/one", "a/two", "three", "becomes-a-folder"):
        (folder / name).write_text(name)
    first = _commit(folder, "first")
    (folder / "a" / "b" / "one").unlink()
    (folder / "three").chmod(0o755)
    (folder / "becomes-a-folder").unlink()
    (folder / "becomes-a-folder").mkdir()
    (folder / "becomes-a-folder" / "größe").write_text("x")
    second = _commit(folder, "second\n\nbody: no trailer\n\nSignal-Id: SIG-1\nSignal-Id: SIG-2\nMachine: m")
    story = commit_reader.read_commit(str(folder), REAL_GIT, second)
    told = ["-C", str(folder), "diff-tree", "-r", "-z", "--name-only", "--no-renames", first, second]
    names = subprocess.run([REAL_GIT, *told], capture_output=True, text=True, check=True).stdout.split("\0")
    assert story.files == sorted(filter(None, names))
    assert (story.subject, story.trailers) == ("second", {"Signal-Id": ["SIG-1", "SIG-2"], "Machine": ["m"]})
    assert commit_reader.read_commit(str(folder), REAL_GIT, first).files == [
        "a/b/one",
        "a/two",
        "becomes-a-folder",
        "three",
    ]


@pytest.mark.parametrize("sha", ["HEAD", "--output=x", "0" * 40, "abc"])
def test_only_whole_commit_ids_are_read(tmp_path: Path, sha: str) -> None:
    subprocess.run([REAL_GIT, "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(ReflectError):
        commit_reader.read_commit(str(tmp_path), REAL_GIT, sha)


def test_a_reworded_learning_says_what_it_says_now(run_cli: RunCli, home: Path, store_home: Path) -> None:
    shop = make_project(home / "shop")
    store = open_store(store_home)
    rule = old_store.approve(store, shop, "use pnpm, not npm")
    old_store.reword(store, shop, rule, "Use pnpm for everything.", "npm is gone")
    data = run_cli("show", rule, "--json").json()["data"]
    assert (data["record"]["text"], data["story"]["state"]) == ("Use pnpm for everything.", "in force")
    assert [made["kind"] for made in data["decisions"]] == ["approved", "amended"]
    told = old_store.replace_varying_parts(run_cli("show", rule).out, store)
    assert told.startswith("LRN-1  rule, in force: Use pnpm for everything.\n\n    Use pnpm for everything.\n\n")
    for words in (
        '\nearlier text  "Use pnpm, not npm"\n',
        "\nrevert it     reflect-git revert LRN-1\n",
        "\ntarget        CLAUDE.md (project)\n",
        "\nDEC-2  amended WHEN, Ada at a terminal\ntext          Use pnpm for everything.\nreason        npm is gone\n",
    ):
        assert words in told


def test_the_story_of_a_signal_goes_on_with_what_it_became(run_cli: RunCli, home: Path, store_home: Path) -> None:
    shop = make_project(home / "shop")
    store = open_store(store_home)
    rule = old_store.approve(store, shop, "use pnpm, not npm")
    old_store.reword(store, shop, rule, "Use pnpm for everything.")
    signal = run_cli("show", rule, "--json").json()["data"]["record"]["signals"][0]
    data = run_cli("show", signal, "--json").json()["data"]
    assert [made["kind"] for made in data["decisions"]] == ["approved", "amended"]
    assert data["story"] is None
