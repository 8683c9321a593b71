"""`disable` switches capture off: for good, for a while, or for a project; hooks obey."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO, RunCli


@pytest.fixture
def store(run_cli: RunCli, store_home: Path) -> Path:
    assert run_cli("init").code == 0
    return store_home


def _subjects(store: Path) -> list[str]:
    done = subprocess.run(["git", "-C", str(store), "log", "--format=%s", "main"], capture_output=True, check=True)
    return done.stdout.decode().splitlines()


def _fails_in(folder: Path, entry: str) -> None:
    """Record a failing tool call in a session of Claude Code in this folder."""
    event = {
        "hook_event_name": "PostToolUseFailure", "session_id": "s1", "tool_name": "Bash", "tool_use_id": entry,
        "tool_input": {"command": "make widgets"}, "error": "no rule to make target", "cwd": str(folder),
    }  # fmt: skip
    command = [sys.executable, "-I", "-S", str(REPO / "hooks" / "hook.py")]
    subprocess.run(command, input=json.dumps(event).encode(), cwd=folder, check=True)


def _waiting(run_cli: RunCli) -> int:
    return int(run_cli("status", "--json").json()["data"]["waiting"])


def test_capture_goes_off_with_one_commit_and_stays_off(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    result = run_cli("disable")
    assert (result.code, result.out) == (0, "capture is off\n")
    assert "undo with: reflect-git enable\n" in result.err
    assert _subjects(store)[0] == "policy: reflect.capture=false"
    assert run_cli("disable").out == "capture is already off\n"
    assert run_cli("disable", "--for", "1h").out == "capture is already off\n"
    assert len(_subjects(store)) == 2
    _fails_in(tmp_path, "toolu_1")
    assert _waiting(run_cli) == 0
    run_cli("enable")
    _fails_in(tmp_path, "toolu_2")
    assert _waiting(run_cli) == 1


@pytest.mark.parametrize("words", [("disable", "--for", "2h"), ("pause", "2h")])
def test_a_pause_is_a_decision_and_ends_by_itself(
    run_cli: RunCli, store: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    data = run_cli(*words, "--json").json()["data"]
    assert (data["capture"], data["changed"]) == ("paused", True)
    assert run_cli("config", "pausedUntil").out.strip() == data["until"]
    assert _subjects(store)[:-1] == [f"pause: capture until {data['until']}"]
    made = run_cli("log", "--type", "paused", "--json").json()["data"]
    assert [one["commit"] for one in made] == [data["commit"]]
    _fails_in(tmp_path, "toolu_1")
    assert _waiting(run_cli) == 0
    run_cli("config", "pausedUntil", "2026-01-01T00:00:00Z")
    _fails_in(tmp_path, "toolu_2")
    assert _waiting(run_cli) == 1


def test_resume_ends_a_pause_and_says_so_in_the_log(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    until = run_cli("pause", "2h", "--json").json()["data"]["until"]
    done = run_cli("resume")
    assert (done.code, done.out) == (0, "capture is on\n")
    assert "undo with: reflect-git pause\n" in done.err
    assert "hint: no hooks installed; run: reflect-git enable" in done.err
    assert _subjects(store)[:-1] == ["resume: capture", f"pause: capture until {until}"]
    assert run_cli("resume").out == "capture is already on\n"
    _fails_in(tmp_path, "toolu_1")
    assert _waiting(run_cli) == 1
    told = run_cli("log", "--oneline").out.splitlines()
    assert [line.split("  ", 1)[1] for line in told] == ["resumed  capture", f"paused  capture until {until}"]


def test_a_pause_without_a_time_lasts_until_resume(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    done = run_cli("pause")
    assert (done.code, done.out) == (0, "capture is off\n")
    assert "undo with: reflect-git resume\n" in done.err
    _fails_in(tmp_path, "toolu_1")
    assert _waiting(run_cli) == 0
    run_cli("resume")
    _fails_in(tmp_path, "toolu_2")
    assert _waiting(run_cli) == 1
    assert _subjects(store)[:-1] == ["policy: reflect.capture=true", "policy: reflect.capture=false"]


def test_a_pause_that_is_over_needs_no_decision_to_end(run_cli: RunCli, store: Path) -> None:
    run_cli("config", "pausedUntil", "2026-01-01T00:00:00Z")
    before = _subjects(store)
    assert run_cli("resume").code == 0
    assert _subjects(store) == before


def test_undo_and_revert_leave_a_pause_to_its_own_command(run_cli: RunCli, store: Path) -> None:
    run_cli("pause", "2h")
    (made,) = run_cli("log", "--json").json()["data"]
    refused = run_cli("revert", made["decisions"][0])
    assert refused.code == 1 and "hint: see 'reflect-git resume'" in refused.err
    assert run_cli("undo").code == 1
    assert run_cli("status", "--json").json()["data"]["capture"] == "paused"


def test_a_project_is_ignored_from_its_top_to_its_subfolders(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    project, other = tmp_path / "a [draft]*", tmp_path / "a d"
    for folder in (project / "src", other):
        folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    result = run_cli("disable", "--project", cwd=project / "src")
    assert result.out == f"capture is off in '{project}'\n"
    assert run_cli("disable", "--project", str(project)).out == f"capture is already off in '{project}'\n"
    for number, folder in enumerate((project, project / "src")):
        _fails_in(folder, f"toolu_{number}")
    assert _waiting(run_cli) == 0
    _fails_in(other, "toolu_9")
    assert _waiting(run_cli) == 1
    assert run_cli("status", "--json", cwd=project / "src").json()["data"]["capture"] == "ignored"
    assert run_cli("status", "--json", cwd=other).json()["data"]["capture"] == "on"


@pytest.mark.parametrize(
    "args",
    [
        ("disable", "--for", "soon"), ("disable", "--for", "0h"), ("disable", "--for", "9999w"), ("pause", "soon"),
        ("disable", "--for", "2h", "--project"), ("disable", "--project", "/none"), ("pause", "0h"),
    ],
)  # fmt: skip
def test_nonsense_is_refused(run_cli: RunCli, store: Path, args: tuple[str, ...]) -> None:
    before = (store / ".git" / "config").read_bytes()
    assert run_cli(*args).code == 2
    assert (store / ".git" / "config").read_bytes() == before


def test_a_dry_run_changes_nothing_and_makes_no_store(run_cli: RunCli, store_home: Path) -> None:
    assert run_cli("disable", "--dry-run").out == "capture would be off\n"
    assert not store_home.exists()
    run_cli("init")
    before = (store_home / ".git" / "config").read_bytes()
    for args in (
        ("disable", "--dry-run"),
        ("disable", "--project", "--dry-run"),
        ("disable", "--for", "1h", "--dry-run"),
    ):
        assert "would be" in run_cli(*args).out
    assert (store_home / ".git" / "config").read_bytes() == before


def test_without_a_store_it_makes_one_to_remember(run_cli: RunCli, store_home: Path) -> None:
    assert run_cli("disable").out == "capture is off\n"
    assert run_cli("status", "--json").json()["data"]["capture"] == "off"


def test_it_takes_our_hooks_out_of_the_settings_and_gives_the_bytes_back(
    run_cli: RunCli, store: Path, home: Path
) -> None:
    settings = home / ".claude" / "settings.json"
    settings.write_bytes(b'{"model":"opus", "hooks":{ } }\r\n')
    settings.chmod(0o640)
    run_cli("enable")
    result = run_cli("disable")
    assert "hooks removed from '~/.claude/settings.json'; add them again with: reflect-git enable\n" in result.out
    assert settings.read_bytes() == b'{"model":"opus", "hooks":{ } }\r\n'
    assert settings.stat().st_mode & 0o777 == 0o640
    assert not (store / ".git" / "reflect" / "settings.json").exists()
    assert run_cli("disable", "--json").json()["data"]["hooks"] == "none"


def test_a_settings_file_that_we_made_goes_again(run_cli: RunCli, store: Path, home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    run_cli("enable")
    assert settings.stat().st_mode & 0o777 == 0o600
    run_cli("disable", "--dry-run")
    assert settings.exists()
    run_cli("disable")
    assert not settings.exists()


def test_a_pause_or_a_project_leaves_the_hooks(run_cli: RunCli, store: Path, home: Path) -> None:
    run_cli("enable")
    settings = home / ".claude" / "settings.json"
    before = settings.read_bytes()
    assert run_cli("disable", "--for", "1h", "--json").json()["data"]["hooks"] == "settings"
    assert run_cli("disable", "--project", "--json").json()["data"]["hooks"] == "settings"
    assert settings.read_bytes() == before


def test_capture_goes_off_even_if_the_hooks_cannot_be_taken_out(run_cli: RunCli, store: Path, home: Path) -> None:
    run_cli("enable")
    settings = home / ".claude" / "settings.json"
    settings.write_bytes(settings.read_bytes() + b"}")
    result = run_cli("disable")
    assert (result.code, f"error: capture is off, but '{settings}' cannot be read" in result.err) == (1, True)
    assert run_cli("status", "--json").json()["data"]["capture"] == "off"


def test_a_forgotten_manifest_loses_no_hook_of_others(run_cli: RunCli, store: Path, home: Path) -> None:
    settings = home / ".claude" / "settings.json"
    settings.write_text('{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "true"}]}]}}')
    before = settings.read_bytes()
    run_cli("enable")
    (store / ".git" / "reflect" / "settings.json").unlink()
    run_cli("disable")
    assert settings.read_bytes() == before
