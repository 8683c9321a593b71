"""`doctor` on Claude Code, git and older installations."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.capture import service
from reflect_git.cli.doctor_env import find_advisories
from reflect_git.store import remotes
from reflect_git.store.repository import Store
from reflect_git.targets import block
from tests.conftest import REPO, RunCli
from tests.sessions import Session


@pytest.fixture
def store(store_home: Path) -> Store:
    return service.open_store(os.environ)


def told(run_cli: RunCli, check: str, *options: str) -> list[dict[str, Any]]:
    """Return the lines of one check; every problem must come with a hint."""
    findings = run_cli("doctor", *options, "--json").json()["data"]["findings"]
    assert [
        one for one in findings if one["level"] not in ("ok", "fixed") and not (one["hint"] or one["fixable"])
    ] == []
    return [finding for finding in findings if finding["check"] == check]


def settings(home: Path, **given: Any) -> None:
    path = home / ".claude" / "settings.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **given}))


def test_hooks_that_were_called_say_when(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    assert told(run_cli, "hooks")[0]["message"].endswith("settings.json', not run yet")
    cursor = Path(store.private_path("cursors", "open", "x.json"))
    cursor.parent.mkdir(parents=True)
    cursor.write_text("{}")
    assert told(run_cli, "hooks")[0]["message"].endswith(", last run just now")


def test_sessions_without_a_call_are_noticed(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    Session(home).say("hello there")
    (_, silent) = told(run_cli, "hooks")
    assert (silent["level"], "no hook ran" in silent["message"]) == ("warning", True)
    run_cli("disable")
    assert [finding["level"] for finding in told(run_cli, "hooks")] == ["note"]


def test_without_a_store_it_is_said_why_no_hook_made_one(run_cli: RunCli, home: Path, store_home: Path) -> None:
    assert told(run_cli, "hooks")[0]["message"] == "not installed"
    (home / ".claude").mkdir()
    settings(home, enabledPlugins={"reflect-git@reflect-git": True})
    Session(home).say("hello there")
    stand, silent = told(run_cli, "hooks")
    assert stand["message"] == "installed by the plugin, not run yet"
    assert (silent["level"], "no hook ran" in silent["message"]) == ("warning", True)
    left = home / ".claude" / ".settings.json.reflect-git"
    left.write_text("{}")
    assert [one["level"] for one in told(run_cli, "leftovers", "--fix")] == ["fixed"]
    assert not left.exists() and not store_home.exists()


def test_hooks_that_the_client_disables_are_noticed(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    settings(home, disableAllHooks=True)
    assert told(run_cli, "hooks")[0]["message"] == "Claude Code's settings.json disables all hooks"


def test_plugin_and_settings_at_once_are_told_and_mended(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    settings(home, enabledPlugins={"reflect-git@reflect-git": True})
    (found,) = told(run_cli, "hooks")
    assert (found["level"], "by the plugin and in '" in found["message"]) == ("note", True)
    assert [finding["level"] for finding in told(run_cli, "hooks", "--fix")] == ["fixed"]
    assert "hooks" not in json.loads((home / ".claude" / "settings.json").read_text())
    assert told(run_cli, "hooks")[0]["message"] == "installed by the plugin, not run yet"


@pytest.mark.parametrize(("scope", "file"), [("project", "settings.json"), ("local", "settings.local.json")])
def test_a_plugin_of_some_projects_is_told(
    run_cli: RunCli, store: Store, home: Path, tmp_path: Path, scope: str, file: str
) -> None:
    project = tmp_path / "ada's shop"
    own = project / ".claude" / file
    own.parent.mkdir(parents=True)
    listed = home / ".claude" / "plugins" / "installed_plugins.json"
    listed.parent.mkdir()
    installed = [{"scope": scope, "projectPath": str(project)}, "odd", {"scope": "user"}]
    listed.write_text(json.dumps({"version": 2, "plugins": {"reflect-git@reflect-git": installed}}))
    assert told(run_cli, "hooks")[0]["level"] == "note"
    own.write_text(json.dumps({"enabledPlugins": {"reflect-git@reflect-git": True}}))
    (found,) = told(run_cli, "hooks")
    assert (found["level"], found["message"].startswith(f"installed by the plugin, only in {str(project)!r}")) == (
        "ok",
        True,
    )
    assert "only in some projects" in run_cli("status").out
    left = run_cli("uninstall", "--dry-run", "--json").json()["data"]["left"]
    words = ["cd", str(project), "&&", "claude", "plugin", "uninstall", "--scope", scope, "reflect-git@reflect-git"]
    assert shlex.split(left[0]) == words


@pytest.mark.parametrize("project", [{}, {"projectPath": None}, {"projectPath": "shop"}])
def test_a_plugin_of_no_project_in_particular_is_none(
    run_cli: RunCli, store: Store, home: Path, tmp_path: Path, project: dict[str, Any]
) -> None:
    for folder in (tmp_path, tmp_path / "shop"):
        (folder / ".claude").mkdir(parents=True)
        (folder / ".claude" / "settings.json").write_text('{"enabledPlugins": {"reflect-git@reflect-git": true}}')
    listed = home / ".claude" / "plugins" / "installed_plugins.json"
    listed.parent.mkdir()
    listed.write_text(json.dumps({"plugins": {"reflect-git@reflect-git": [{"scope": "project", **project}]}}))
    left = run_cli("uninstall", "--dry-run", "--json", cwd=tmp_path).json()["data"]["left"]
    assert not [line for line in left if "--scope" in line]


def test_a_plugin_whose_folder_is_gone_is_told(run_cli: RunCli, store: Store, home: Path, tmp_path: Path) -> None:
    market = {"reflect-git": {"source": {"source": "directory", "path": str(tmp_path / "clone")}}}
    settings(home, enabledPlugins={"reflect-git@reflect-git": True}, extraKnownMarketplaces=market)
    (found,) = told(run_cli, "hooks")
    assert (found["level"], "the plugin is missing from" in found["message"]) == ("warning", True)
    (tmp_path / "clone").symlink_to(REPO)
    assert told(run_cli, "hooks")[0]["level"] == "ok"


def test_hooks_of_another_place_are_told_and_mended(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    path = home / ".claude" / "settings.json"
    right = path.read_text()
    path.write_text(right.replace("/hooks/launch.sh", "/gone/hooks/launch.sh"))
    (found,) = told(run_cli, "hooks")
    assert (found["level"], found["hint"]) == ("warning", "update it with 'reflect-git enable'")
    assert [finding["level"] for finding in told(run_cli, "hooks", "--fix")] == ["fixed"]
    assert path.read_text() == right


def test_settings_that_cannot_be_read_are_named(run_cli: RunCli, store: Store, home: Path) -> None:
    (home / ".claude" / "settings.json").write_text('{"hooks": {')
    (found,) = told(run_cli, "hooks")
    assert (found["level"], "settings.json' cannot be read" in found["message"], bool(found["hint"])) == (
        "warning",
        True,
        True,
    )


def test_a_folder_of_the_client_that_is_not_there(
    run_cli: RunCli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFLECT_GIT_HOME", store.root)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other"))
    assert told(run_cli, "client")[0]["hint"] == "start Claude Code once"
    (tmp_path / "other").mkdir()
    assert told(run_cli, "client")[0]["message"].startswith(f"'{tmp_path}/other' (CLAUDE_CONFIG_DIR)")


def test_a_store_at_the_usual_place_is_pointed_out_where_another_is_looked_for(
    run_cli: RunCli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "other"))
    (found,) = told(run_cli, "store")
    assert (found["level"], f"but one at '{store.root}'" in found["message"]) == ("note", True)


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


def test_a_transcript_that_is_a_link_is_no_reason_to_give_up(run_cli: RunCli, store: Store, home: Path) -> None:
    run_cli("enable")
    folder = home / ".claude" / "projects" / "-srv-shop"
    folder.mkdir(parents=True)
    (folder / "gone.jsonl").symlink_to(home / "nowhere")
    assert told(run_cli, "transcripts")[0]["level"] == "ok"
    (home / "elsewhere.jsonl").write_text("{}\n")
    (folder / "linked.jsonl").symlink_to(home / "elsewhere.jsonl")
    (found,) = told(run_cli, "transcripts")
    assert (found["level"], "not a regular file of yours" in found["message"]) == ("warning", True)
    (folder / "second.jsonl").symlink_to(home / "elsewhere.jsonl")
    assert told(run_cli, "transcripts")[0]["message"].startswith("not a regular file of yours: '")


def test_a_long_instruction_file_is_noticed(run_cli: RunCli, store: Store, home: Path) -> None:
    path = home / ".claude" / "CLAUDE.md"
    path.write_text("- be brief\n" * 10)
    assert told(run_cli, "instructions")[0]["level"] == "ok"
    path.write_text("- be brief\n" * 300)
    (found,) = told(run_cli, "instructions")
    assert (found["level"], "300 lines, about 825 tokens" in found["message"]) == ("note", True)
    assert ".claude/rules" in found["hint"]
    path.write_text("<!-- a comment that the client leaves out -->\n\n" * 9 + "- be brief\n")
    assert "19 lines, about 2 tokens" in told(run_cli, "instructions")[0]["message"]
    path.write_text("- be brief\n" * 300)
    path.write_bytes(b"\xff" + path.read_bytes())
    assert ".claude/rules" in told(run_cli, "instructions")[0]["hint"]


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"])
def test_how_many_rules_a_file_has_is_told(run_cli: RunCli, store: Store, tmp_path: Path, name: str) -> None:
    path, data = tmp_path / name, b"mine\n"
    path.parent.mkdir(exist_ok=True)
    for number, level in [(2, "ok"), (50, "note")]:
        for one in range(data.count(b"Rule"), number):
            data = block.add(data, f"LRN-20260211-{one:0>8}", f"Rule number {one}.", "command")
        path.write_bytes(data)
        findings = run_cli("doctor", "--json", cwd=tmp_path).json()["data"]["findings"]
        (found,) = [finding for finding in findings if finding["check"] == "instructions"]
        assert (found["level"], f" has {number} of at most 150 rules, " in found["message"]) == (level, True)
    assert "reflect-git edit LRN --to rules" in found["hint"]


def test_a_store_inside_a_repository_of_dotfiles(run_cli: RunCli, store: Store, home: Path) -> None:
    assert told(run_cli, "nested") == []
    subprocess.run(["git", "init", "-q", home / ".claude"], check=True)
    (found,) = told(run_cli, "nested")
    assert (found["level"], "add '/reflections/'" in found["hint"]) == ("warning", True)
    (home / ".claude" / ".gitignore").write_text("/reflections/\n")
    assert told(run_cli, "nested")[0]["level"] == "ok"
    git = ["git", "-C", str(home / ".claude")]
    subprocess.run([*git, "-c", "advice.addEmbeddedRepo=false", "add", "--force", "reflections"], check=True)
    (found,) = told(run_cli, "nested")
    assert (found["level"], "tracks the store" in found["message"]) == ("warning", True)
    subprocess.run(shlex.split(found["hint"].removeprefix("untrack it: ")), check=True)
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


def test_what_a_killed_run_left_is_removed(run_cli: RunCli, store: Store, home: Path) -> None:
    left = home / ".claude" / ".settings.json.reflect-git"
    left.write_text("{}")
    (found,) = told(run_cli, "leftovers")
    assert (found["level"], found["details"], found["fixable"]) == ("note", [str(left)], True)
    assert [finding["level"] for finding in told(run_cli, "leftovers", "--fix")] == ["fixed"]
    assert not left.exists()


def test_what_cannot_be_mended_around_the_store_says_why_and_what_to_do(
    run_cli: RunCli, store: Store, home: Path
) -> None:
    run_cli("enable")
    path = home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace(str(REPO), "/elsewhere"))
    (home / ".claude" / ".settings.json.reflect-git").mkdir()
    failed, left = told(run_cli, "hooks", "--fix")
    assert (failed["level"], failed["message"].startswith("cannot repair: ")) == ("error", True)
    assert ("run it again" in failed["hint"], left["level"], left["fixable"]) == (True, "warning", True)
    assert run_cli("doctor", "--fix").code == 1


def test_what_a_killed_run_left_is_known_by_its_name_and_place(run_cli: RunCli, store: Store, home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles" / "claude.json").write_text("{}")
    (home / ".claude" / "settings.json").symlink_to("../dotfiles/claude.json")
    foreign = [home / ".claude" / name for name in (".notes.reflect-git", ".settings.json.reflect-git")]
    for path in foreign:
        path.write_text("mine")
    assert told(run_cli, "leftovers") == []
    left = home / "dotfiles" / ".claude.json.reflect-git"
    left.symlink_to(foreign[0])
    assert told(run_cli, "leftovers") == []
    left.unlink()
    left.write_text("{}")
    assert [finding["details"] for finding in told(run_cli, "leftovers")] == [[str(left)]]
    run_cli("doctor", "--fix")
    assert not left.exists() and all(path.read_text() == "mine" for path in foreign)


def test_copies_that_the_client_left_are_named(run_cli: RunCli, store: Store, home: Path) -> None:
    for version in ("0.0.8", "0.0.9"):
        (home / ".claude" / "plugins" / "cache" / "reflect-git" / "reflect-git" / version).mkdir(parents=True)
    assert told(run_cli, "leftovers") == []
    old = home / ".claude" / "plugins" / "cache" / "reflect-git" / "reflect-git" / "0.0.8"
    (old / ".orphaned_at").write_text("1794878383864")
    (found,) = told(run_cli, "leftovers")
    assert (found["level"], found["details"], "rm -r" in found["hint"]) == ("note", [str(old)], True)


def test_a_status_line_of_an_older_place_is_told(run_cli: RunCli, store: Store, home: Path) -> None:
    settings(home, **json.loads("{" + run_cli("status", "--format", "statusline-setup").out + "}"))
    assert told(run_cli, "leftovers") == []
    settings(home, statusLine={"type": "command", "command": "python3 -I -S '/gone by/hooks/statusline.py'"})
    (found,) = told(run_cli, "leftovers")
    assert (found["level"], "'/gone by/hooks/statusline.py'" in found["message"]) == ("warning", True)


_NEW = ["CVE-2026-111760", "CVE-2026-113408"]


@pytest.mark.parametrize(
    ("version", "weak"),
    [
        ((2, 34, 1), ["CVE-2024-32002", "CVE-2025-48384", *_NEW]),
        ((2, 39, 5), ["CVE-2025-48384", *_NEW]),
        ((2, 45, 1), ["CVE-2025-48384", *_NEW]),
        ((2, 45, 4), _NEW),
        ((2, 50, 0), ["CVE-2025-48384", *_NEW]),
        ((2, 51, 0), _NEW),
        ((2, 56, 0), _NEW),
        ((2, 56, 1), []),
        ((2, 57, 0), []),
        ((3, 0), []),
    ],
)
def test_advisories_go_by_the_line_of_releases(version: tuple[int, ...], weak: list[str]) -> None:
    assert find_advisories(version) == weak


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
    assert told(run_cli, "remote")[0]["message"] == "reachable and up to date"
    run_cli("config", "capture.unattended", "all")
    (unsent,) = told(run_cli, "remote")
    assert (unsent["level"], unsent["message"]) == ("note", "reachable; 1 decision not sent yet")
    run_cli("config", "capture", "off")
    assert told(run_cli, "remote")[0]["message"] == "reachable; 2 decisions not sent yet"
    assert run_cli("sync").code == 0
    subprocess.run(["git", "-C", far, "update-ref", "refs/heads/main", "main~1"], check=True)
    (rewritten,) = told(run_cli, "remote")
    assert (rewritten["level"], "changed since the last sync" in rewritten["message"]) == ("note", True)
    far.rename(tmp_path / "gone.git")
    (lost,) = told(run_cli, "remote")
    assert (lost["level"], lost["message"].startswith("the remote is not there: ")) == ("warning", True)
    assert ("\n" in lost["message"], "reflect-git remote set URL" in lost["hint"]) == (False, True)


def test_a_remote_that_does_not_get_a_file_of_ones_own_has_every_decision_all_the_same(
    run_cli: RunCli, store: Store, tmp_path: Path
) -> None:
    """The remote has a commit that this store does not have."""
    far, author = tmp_path / "far.git", ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", "init", "-q", "--bare", far], check=True)
    Path(store.root, "notes.txt").write_text("mine")
    subprocess.run(["git", "-C", store.root, "add", "notes.txt"], check=True)
    subprocess.run(["git", "-C", store.root, *author, "commit", "-qm", "notes"], check=True)
    assert run_cli("--yes", "remote", "set", str(far)).code == 0
    assert told(run_cli, "remote")[0]["message"] == "reachable and up to date"
    run_cli("config", "capture", "off")
    assert told(run_cli, "remote")[0]["message"] == "reachable; 1 decision not sent yet"
    assert run_cli("sync").code == 0
    assert told(run_cli, "remote")[0]["message"] == "reachable and up to date"


def test_a_purge_that_was_not_sent_is_told(run_cli: RunCli, store: Store, tmp_path: Path) -> None:
    """The last commit sent is no longer in this store."""
    far = tmp_path / "far.git"
    subprocess.run(["git", "init", "-q", "--bare", far], check=True)
    assert run_cli("--yes", "remote", "set", str(far)).code == 0
    remotes.update_state(store, main="1" * 40)
    (found,) = told(run_cli, "remote")
    assert (found["level"], "rewritten" in found["message"], found["hint"]) == ("note", True, "run 'reflect-git sync'")


def test_whose_name_stands_under_decisions(run_cli: RunCli, store: Store, home: Path) -> None:
    (found,) = told(run_cli, "identity")
    assert (found["level"], "git config --global user.name" in found["hint"]) == ("note", True)
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n")
    (found,) = told(run_cli, "identity")
    assert (found["level"], found["message"]) == ("ok", "decisions are recorded as 'Ada'")
