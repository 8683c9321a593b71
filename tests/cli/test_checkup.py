"""What `doctor` says of Claude Code, of git and of older installations."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git import workflow
from reflect_git.cli.checkup import advisories
from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.sessions import Session


@pytest.fixture
def store(store_home: Path) -> Store:
    return workflow.open_store(os.environ)


def told(run_cli: RunCli, check: str) -> list[dict[str, Any]]:
    findings = run_cli("doctor", "--json").json()["data"]["findings"]
    return [finding for finding in findings if finding["check"] == check]


def settings(home: Path, **given: Any) -> None:
    path = home / ".claude" / "settings.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **given}))


def test_hooks_that_were_called_say_when(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    assert told(run_cli, "hooks")[0]["message"].endswith("settings.json', not yet")
    cursor = Path(store.private_path("cursors", "open", "x.json"))
    cursor.parent.mkdir(parents=True)
    cursor.write_text("{}")
    assert told(run_cli, "hooks")[0]["message"].endswith(", last a moment ago")


def test_sessions_without_a_call_are_noticed(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    Session(home).say("hello there")
    (_, silent) = told(run_cli, "hooks")
    assert (silent["level"], "no hook was called" in silent["message"]) == ("warning", True)
    run_cli("disable")
    assert [finding["level"] for finding in told(run_cli, "hooks")] == ["note"]


def test_hooks_that_the_client_disables_are_noticed(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    settings(home, disableAllHooks=True)
    assert told(run_cli, "hooks")[0]["message"] == "Claude Code's settings.json disables all hooks"


def test_plugin_and_settings_at_once_are_told(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    settings(home, enabledPlugins={"reflect-git@reflect-git": True})
    (found,) = told(run_cli, "hooks")
    assert (found["level"], "through the plugin, and through" in found["message"]) == ("note", True)


def test_transcripts_that_go_before_the_signals_do(run_cli: RunCli, store: Store, home: Path) -> None:
    assert told(run_cli, "client")[0]["level"] == "ok"
    settings(home, cleanupPeriodDays=3)
    (found,) = told(run_cli, "client")
    assert (found["level"], "kept for 3 days, signals for 14" in found["message"]) == ("warning", True)


def test_a_transcript_in_another_form_is_noticed(run_cli: RunCli, store: Store, home: Path) -> None:
    session = Session(home)
    session.say("hello there")
    assert told(run_cli, "transcripts")[0]["level"] == "ok"
    with session.path.open("a") as file:
        file.write('{"type":"user","message":{"text":"a form of tomorrow"},"version":"9.0.0"}\n' * 5)
        file.write("half a li")
    (found,) = told(run_cli, "transcripts")
    assert (found["level"], "5 of 6 entries cannot be read" in found["message"]) == ("warning", True)
    assert "9.0.0" in found["message"]


def test_a_long_instruction_file_is_noticed(run_cli: RunCli, store: Store, home: Path) -> None:
    path = home / ".claude" / "CLAUDE.md"
    path.write_text("- be brief\n" * 10)
    assert told(run_cli, "instructions")[0]["level"] == "ok"
    path.write_text("- be brief\n" * 300)
    (found,) = told(run_cli, "instructions")
    assert (found["level"], "300 lines, about 825 tokens" in found["message"]) == ("note", True)


def test_a_store_inside_a_repository_of_dotfiles(run_cli: RunCli, store: Store, home: Path) -> None:
    assert told(run_cli, "nested") == []
    subprocess.run(["git", "init", "-q", home / ".claude"], check=True)
    (found,) = told(run_cli, "nested")
    assert (found["level"], "add '/reflections/'" in found["hint"]) == ("warning", True)
    (home / ".claude" / ".gitignore").write_text("/reflections/\n")
    assert told(run_cli, "nested")[0]["level"] == "ok"


def test_two_programs_on_the_path(
    run_cli: RunCli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "reflect-git").write_text("#!/bin/sh\n")
        (tmp_path / name / "reflect-git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/one:{tmp_path}/two:/usr/bin:/bin")
    (found,) = told(run_cli, "leftovers")
    assert found["details"] == [f"{tmp_path}/one/reflect-git", f"{tmp_path}/two/reflect-git"]


@pytest.mark.parametrize(
    ("version", "weak"),
    [
        ((2, 34, 1), ["CVE-2024-32002", "CVE-2025-48384"]),
        ((2, 39, 5), ["CVE-2025-48384"]),
        ((2, 45, 1), ["CVE-2025-48384"]),
        ((2, 45, 4), []),
        ((2, 50, 0), ["CVE-2025-48384"]),
        ((2, 51, 0), []),
        ((3, 0), []),
    ],
)
def test_advisories_go_by_the_line_of_releases(version: tuple[int, ...], weak: list[str]) -> None:
    assert advisories(version) == weak


def test_what_nobody_touched_lately_is_no_alarm(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    session = Session(home)
    session.say("hello there")
    os.utime(session.path, (time.time() - 30 * 86400,) * 2)
    assert len(told(run_cli, "hooks")) == 1


def test_a_remote_answers_or_not_and_lacks_what_was_not_sent(run_cli: RunCli, store: Store, tmp_path: Path) -> None:
    assert told(run_cli, "remote") == []
    far = tmp_path / "far.git"
    subprocess.run(["git", "init", "-q", "--bare", far], check=True)
    assert run_cli("--yes", "remote", "set", str(far)).code == 0
    assert told(run_cli, "remote")[0]["message"] == "it answers, and has every decision"
    run_cli("config", "capture.unattended", "all")
    (unsent,) = told(run_cli, "remote")
    assert (unsent["level"], unsent["message"]) == ("note", "it answers; a decision was not sent yet")
    far.rename(tmp_path / "gone.git")
    (lost,) = told(run_cli, "remote")
    assert lost["level"] == "warning" and lost["hint"]
