"""`config` lists, reads and changes settings; a policy change is a commit, and some need a person."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

from reflect_git.cli import settings
from reflect_git.store import policy
from tests.conftest import REPO, RunCli


def _git(store: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(store), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def store(run_cli: RunCli, store_home: Path) -> Path:
    assert run_cli("init").code == 0
    return store_home


def test_every_policy_is_in_the_table_and_read_from_the_store_alone() -> None:
    for key in policy.POLICY_KEYS:
        assert settings.find_setting(key).scope == settings.STORE


def test_the_table_has_no_key_twice_and_its_defaults_are_valid() -> None:
    assert len(settings.BY_NAME) == len(settings.ALL_SETTINGS)
    for setting in settings.ALL_SETTINGS:
        assert not setting.default or settings.parse_value(setting, setting.default) == setting.default


def test_the_list_has_value_default_and_origin(run_cli: RunCli, store: Path, home: Path) -> None:
    run_cli("config", "reflect.ttl", "20")
    (home / ".gitconfig").write_text('[reflect]\n\tttl = 99\n\thome = \n[reflect "hint"]\n\tother = false\n')
    listed = {row["key"]: row for row in run_cli("config", "--json").json()["data"]}
    ttl = listed["reflect.ttl"]
    assert (ttl["value"], ttl["default"], ttl["origin"]) == ("20", "14", "store")
    assert (listed["reflect.capture"]["value"], listed["reflect.capture"]["origin"]) == ("true", "default")
    assert (listed["reflect.hint.other"]["value"], listed["reflect.hint.other"]["origin"]) == ("false", "global")
    assert listed["reflect.machine"]["read_only"]
    out = run_cli("config").out.splitlines()
    assert out[0].split() == ["setting", "value", "default", "from"]
    assert [line.split()[:4] for line in out if line.startswith("reflect.ttl ")] == [
        ["reflect.ttl", "20", "14", "store"]
    ]
    assert max(len(line) for line in out) <= 130


def test_without_a_store_the_defaults_are_listed_and_none_is_made(run_cli: RunCli, store_home: Path) -> None:
    assert "reflect.ttl" in run_cli("config").out
    assert run_cli("config", "ttl").out == "14\n"
    assert run_cli("config", "ttl", "20", "--dry-run").out == "would set reflect.ttl to 20\n"
    assert not store_home.exists()


def test_a_setting_is_set_read_and_unset(run_cli: RunCli, store: Path) -> None:
    main = _git(store, "rev-parse", "main")
    result = run_cli("config", "TTL", "020")
    assert (result.code, result.out) == (0, "set reflect.ttl to 20\n")
    assert result.err == "undo with: reflect-git config --unset reflect.ttl\n"
    assert _git(store, "config", "--local", "reflect.ttl") == "20"
    assert run_cli("config", "reflect.ttl", "20").out == "reflect.ttl is already 20\n"
    assert run_cli("config", "reflect.ttl", "30").err == "undo with: reflect-git config reflect.ttl 20\n"
    assert run_cli("config", "--unset", "reflect.ttl").out == "set reflect.ttl to the default (14)\n"
    assert run_cli("config", "reflect.ttl").out == "14\n"
    assert _git(store, "rev-parse", "main") == main


def test_a_policy_is_a_commit_of_its_own(run_cli: RunCli, store: Path) -> None:
    data = run_cli("config", "reflect.capture", "no", "--json").json()["data"]
    assert (data["from"], data["to"], data["changed"]) == (None, "false", True)
    assert data["commit"] == _git(store, "rev-parse", "main")
    assert _git(store, "log", "-1", "--format=%s", "main") == "policy: reflect.capture=false"
    again = run_cli("config", "reflect.capture", "false", "--json").json()["data"]
    assert (again["changed"], again["commit"]) == (False, None)


def test_a_policy_set_behind_its_back_is_decided_by_setting_it_again(run_cli: RunCli, store: Path) -> None:
    _git(store, "config", "reflect.capture", "false")
    assert run_cli("config", "reflect.capture", "false").out == "set reflect.capture to false\n"
    assert _git(store, "log", "-1", "--format=%s", "main") == "policy: reflect.capture=false"


def test_a_dry_run_changes_nothing(run_cli: RunCli, store: Path) -> None:
    before = (store / ".git" / "config").read_bytes(), _git(store, "rev-parse", "main")
    assert run_cli("config", "reflect.capture", "false", "--dry-run").out == "would set reflect.capture to false\n"
    assert ((store / ".git" / "config").read_bytes(), _git(store, "rev-parse", "main")) == before


def test_a_list_grows_and_shrinks(run_cli: RunCli, store: Path) -> None:
    run_cli("config", "ignore", "/a/*", "/b/")
    run_cli("config", "--add", "ignore", "/c")
    assert run_cli("config", "ignore").out == "/a/*\n/b\n/c\n"
    run_cli("config", "--unset", "ignore", "/b")
    assert run_cli("config", "ignore", "--json").json()["data"]["value"] == ["/a/*", "/c"]
    run_cli("config", "--unset", "ignore")
    assert run_cli("config", "ignore").out == ""


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("reflect.tll", "3"), 2, "did you mean 'reflect.ttl'?"),
        (("tll",), 2, "did you mean 'reflect.ttl'?"),
        (("zzzzzz", "3"), 2, "list them with 'reflect-git config'"),
        (("ttl", "0"), 2, "a number of days"),
        (("ttl", "soon"), 2, "a number of days"),
        (("ttl", "1", "2"), 2, "takes one value"),
        (("ttl", "2", "--add"), 2, "takes one value"),
        (("capture", "perhaps"), 2, "true or false"),
        (("ignore", "relative"), 2, "the absolute path"),
        (("pausedUntil", "tomorrow"), 2, "a UTC time"),
        (("approval", "always"), 2, "one of: ask, unattended"),
        (("--unset",), 2, "missing setting"),
        (("machine", "other"), 1, "it is set once"),
        (("--unset", "reflect.binding"), 1, "it is set once"),
        (("reflect.home", "/x"), 1, "git config --global reflect.home"),
    ],
)
def test_what_cannot_be_is_refused(run_cli: RunCli, store: Path, args: tuple[str, ...], code: int, said: str) -> None:
    before = (store / ".git" / "config").read_bytes()
    result = run_cli("config", *args)
    assert (result.code, said in result.err) == (code, True)
    assert (store / ".git" / "config").read_bytes() == before


GUARDED = [("reflect.approval", "unattended"), ("reflect.sync.apply", "auto"), ("reflect.sync.auto", "true")]


@pytest.mark.parametrize(("key", "value"), GUARDED)
def test_what_widens_rights_is_refused_inside_claude_code_whatever_is_said(
    run_cli: RunCli, store: Path, key: str, value: str
) -> None:
    inside = {"CLAUDECODE": "1"}
    for words in (("--yes", "config", key, value), ("config", key, value), ("config", key, value, "--dry-run")):
        result = run_cli(*words, env=inside)
        assert (result.code, "from inside Claude Code" in result.err) == (1, True)
    assert run_cli("config", key, "--json").json()["data"]["origin"] == "default"
    assert _git(store, "log", "--format=%s", "main").count("policy") == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--unset", "reflect.ignore"), ("--unset", "reflect.ignore", "/clients"), ("--add", "reflect.ignore", "/x"),
        ("capture", "on"), ("reflect.capture", "off"), ("capture.unattended", "all"), ("--unset", "reflect.approval"),
        ("pausedUntil", "2099-01-01T00:00:00Z"), ("--unset", "reflect.pausedUntil"),
    ],
)  # fmt: skip
def test_no_policy_and_no_pause_is_switched_inside_claude_code(
    run_cli: RunCli, store: Path, words: tuple[str, ...]
) -> None:
    assert run_cli("config", "reflect.ignore", "/clients", "/home/ada").code == 0
    before, history = (store / ".git" / "config").read_bytes(), _git(store, "rev-parse", "main")
    for more in ((), ("--dry-run",)):
        result = run_cli("--yes", "config", *words, *more, env={"CLAUDECODE": "1"})
        assert (result.code, "from inside Claude Code" in result.err) == (1, True)
        assert "hint: run 'reflect-git config " in result.err
    assert ((store / ".git" / "config").read_bytes(), _git(store, "rev-parse", "main")) == (before, history)
    assert run_cli("config", "reflect.ttl", "20", env={"CLAUDECODE": "1"}).code == 0  # not a policy


def test_a_refusal_names_the_store_and_makes_none(run_cli: RunCli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for words in (("config", "capture", "off"), ("remote", "set", str(tmp_path / "hub.git"))):
        refused = run_cli("--store", str(other), *words, env={"CLAUDECODE": "1"})
        assert (refused.code, f"run 'reflect-git --store {other} {words[0]} " in refused.err) == (1, True)
        assert not other.exists()


@pytest.mark.parametrize(("key", "value"), GUARDED)
def test_what_widens_rights_needs_a_yes(run_cli: RunCli, store: Path, key: str, value: str) -> None:
    for words in (("config", key, value), ("--yes", "config", key, value)):
        refused = run_cli(*words)
        assert (refused.code, "--yes is not enough" in refused.err) == (1, True)
    assert _git(store, "log", "--format=%s", "main").count("policy") == 0
    _git(store, "config", key, value)
    assert run_cli("config", "--unset", key).code == 0  # the safe value may be restored at any time


@pytest.mark.parametrize(("key", "strict"), [("reflect.sign", "ssh"), ("reflect.sync.requireSigned", "true")])
def test_what_proves_who_decided_is_dropped_by_a_person_only(
    run_cli: RunCli, store: Path, key: str, strict: str
) -> None:
    _git(store, "config", key, strict)
    refused = run_cli("config", "--unset", key, env={"CLAUDECODE": "1"})
    assert (refused.code, "from inside Claude Code" in refused.err) == (1, True)
    assert run_cli("config", "--unset", key).code == 1
    assert run_cli("config", key, "--json").json()["data"]["value"] == strict


def test_a_value_set_by_hand_inside_claude_code_cannot_be_made_a_decision_there(run_cli: RunCli, store: Path) -> None:
    _git(store, "config", "reflect.approval", "unattended")
    assert run_cli("--yes", "config", "approval", "unattended", env={"CLAUDECODE": "1"}).code == 1
    assert _git(store, "log", "--format=%s", "main").count("policy") == 0


def _at_terminal(home: Path, answer: str, *args: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the program on its own terminal and type an answer."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        program = [sys.executable, "-m", "reflect_git.cli.start", *args]
        os.execve(program[0], program, {**os.environ, "PYTHONPATH": str(REPO), **(env or {})})
    said, answered, deadline = b"", False, time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:
                break
            said += chunk
            if not chunk:
                break
        if not answered and b"[y/N]" in said:
            os.write(terminal, answer.encode() + b"\n")
            answered = True
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.decode("utf-8", "replace")


def test_what_is_neither_yes_nor_no_is_asked_again(home: Path, store: Path) -> None:
    code, said = _at_terminal(home, "maybe\nyes", "config", "reflect.approval", "unattended")
    assert (code, said.count("[y/N]"), "rror: invalid" in said) == (0, 2, False)
    assert "error: 'maybe' is not an answer" in click.unstyle(said)
    assert "hint: type y or n" in click.unstyle(said)


@pytest.mark.parametrize("words", [("undo",), ("config", "reflect.approval", "unattended")])
def test_who_pipes_the_output_is_told_that_it_is_that(
    run_cli: RunCli, home: Path, store: Path, words: tuple[str, ...]
) -> None:
    """The message names the pipe, not a missing terminal."""
    signal = run_cli("capture", "--type", "convention", "--content", "Use tabs", "--json").json()["data"]["id"]
    assert run_cli("dismiss", signal).code == 0
    primary, terminal = pty.openpty()
    program = [sys.executable, "-m", "reflect_git.cli.start", *words]
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(program, stdin=terminal, capture_output=True, text=True, cwd=home, env=env, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("hint: the output is not a terminal; run it without a pipe or file to answer\n")
    os.close(primary)
    os.close(terminal)


def test_a_person_at_a_terminal_is_asked(home: Path, store: Path) -> None:
    code, said = _at_terminal(home, "n", "config", "reflect.approval", "unattended")
    assert (code, "set reflect.approval to unattended?" in said) == (1, True)
    assert "\nnothing was changed\n" in said.replace("\r", ""), "a no is no error"
    code, said = _at_terminal(home, "y", "config", "reflect.approval", "unattended")
    assert code == 0, said
    assert "Approved-By: terminal" in _git(store, "log", "-1", "--format=%b", "main")


def test_a_terminal_inside_claude_code_proves_no_person(home: Path, store: Path) -> None:
    code, said = _at_terminal(home, "y", "config", "reflect.approval", "unattended", env={"CLAUDECODE": "1"})
    assert (code, "from inside Claude Code" in said) == (1, True)


def test_a_value_from_a_file_cannot_act_on_a_terminal(run_cli: RunCli, store: Path) -> None:
    _git(store, "config", "reflect.ignore", "/a\x1b[31mb")
    shown: Any = run_cli("config").out
    assert "\x1b" not in shown
    assert "<U+001B>" in shown


def test_what_was_set_by_hand_is_told_with_what_counts(store: Path, run_cli: RunCli) -> None:
    _git(store, "config", "reflect.approval", "unattended")
    assert run_cli("config", "approval").out == "ask\n"
    assert run_cli("config", "approval", "--json").json()["data"]["origin"] == "decision"
    assert "set by hand: reflect.approval" in " ".join(run_cli("status").out.split())
    assert run_cli("status", "--json").json()["data"]["undecided"] == ["reflect.approval"]
    doctor = run_cli("doctor")
    assert doctor.code == 4 and "no decision of this machine says so: ask counts" in " ".join(doctor.out.split())
    assert run_cli("config", "--unset", "approval").code == 0
    assert run_cli("status", "--json").json()["data"]["undecided"] == []


def test_the_commit_of_a_policy_that_is_unset_names_the_default(run_cli: RunCli, store: Path) -> None:
    assert run_cli("config", "reflect.capture", "false").code == 0
    assert run_cli("config", "--unset", "reflect.capture").code == 0
    assert _git(store, "log", "-1", "--format=%s", "main") == "policy: reflect.capture back to its default"
