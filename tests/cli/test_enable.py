"""`enable` ends what `disable` began, and never changes settings that a person wrote for several projects.

Without the plugin it also adds our hooks to Claude Code's settings.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reflect_git.platform import claude_settings
from tests.conftest import REPO, RunCli

SETTINGS = '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}'
ADDED = "hooks added to '~/.claude/settings.json'; capture starts with the next session\n"


@pytest.fixture
def store(run_cli: RunCli, store_home: Path) -> Path:
    assert run_cli("init").code == 0
    return store_home


def _commits(store: Path) -> int:
    done = subprocess.run(["git", "-C", str(store), "rev-list", "--count", "main"], capture_output=True, check=True)
    return int(done.stdout)


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(SETTINGS)
    return path


def _hooks(settings: Path) -> dict[str, Any]:
    return dict(json.loads(settings.read_bytes())["hooks"])


def test_capture_is_on_from_the_start(run_cli: RunCli, store: Path) -> None:
    before = _commits(store)
    result = run_cli("enable")
    assert (result.code, result.out, result.err) == (0, ADDED, "")
    again = run_cli("enable")
    assert (again.code, again.out, again.err) == (0, "capture is already on\n", "")
    assert _commits(store) == before


def test_it_ends_a_disable_with_one_commit(run_cli: RunCli, store: Path) -> None:
    run_cli("disable")
    before = _commits(store)
    result = run_cli("enable")
    assert (result.out, "undo with: reflect-git disable\n" in result.err) == (f"capture is on\n{ADDED}", True)
    assert run_cli("enable").out == "capture is already on\n"
    assert _commits(store) == before + 1
    assert run_cli("status", "--json").json()["data"]["capture"] == "on"


def test_it_ends_a_pause_with_a_commit(run_cli: RunCli, store: Path) -> None:
    run_cli("disable", "--for", "2h")
    before = _commits(store)
    assert run_cli("enable").out == f"capture is on\n{ADDED}"
    assert _commits(store) == before + 1
    assert run_cli("status", "--json").json()["data"]["capture"] == "on"


def test_it_takes_a_project_back(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    other, here = tmp_path / "other", tmp_path / "here"
    for folder in (other, here):
        folder.mkdir()
        run_cli("disable", "--project", str(folder))
    assert run_cli("enable", "--project", "--dry-run", cwd=here).out == f"capture would be on in '{here}'\n"
    assert run_cli("enable", "--project", cwd=here).out == f"capture is on in '{here}'\n"
    assert run_cli("enable", "--project", cwd=here).out == f"capture is already on in '{here}'\n"
    assert run_cli("config", "ignore").out == f"{other}\n"


def test_what_a_person_ignored_is_not_taken_back_inside_claude_code(
    run_cli: RunCli, store: Path, tmp_path: Path
) -> None:
    inside = {"CLAUDECODE": "1"}
    assert run_cli("enable", "--project", str(tmp_path), env=inside).out == f"capture is already on in '{tmp_path}'\n"
    assert run_cli("disable", "--project", str(tmp_path), env=inside).code == 0, "less is captured"
    before, config = _commits(store), (store / ".git" / "config").read_bytes()
    for words in (("--yes",), ("--store", str(store))):
        refused = run_cli(*words, "enable", "--project", str(tmp_path), env=inside)
        assert (refused.code, "from inside Claude Code" in refused.err) == (1, True)
    assert f"hint: run 'reflect-git --store {store} enable --project {tmp_path}' in your own terminal" in refused.err
    assert (_commits(store), (store / ".git" / "config").read_bytes()) == (before, config)
    assert run_cli("enable", "--project", str(tmp_path)).code == 0


def test_capture_and_a_pause_are_switched_inside_claude_code_for_who_types_it(run_cli: RunCli, store: Path) -> None:
    for words, state in ((("disable", "--for", "2h"), "paused"), (("disable",), "off"), (("enable",), "on")):
        assert run_cli(*words, env={"CLAUDECODE": "1"}).code == 0
        assert run_cli("status", "--json").json()["data"]["capture"] == state


def test_a_reflectignore_is_named_and_left(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    (tmp_path / ".reflectignore").touch()
    result = run_cli("enable", "--project", str(tmp_path))
    assert (result.code, "has a .reflectignore" in result.err) == (1, True)
    assert (tmp_path / ".reflectignore").exists()


def test_a_wider_glob_is_named_and_left(run_cli: RunCli, store: Path, tmp_path: Path) -> None:
    run_cli("config", "ignore", f"{tmp_path}/*")
    (tmp_path / "inner").mkdir()
    result = run_cli("enable", "--project", str(tmp_path / "inner"))
    assert (result.code, f"is ignored by '{tmp_path}/*'" in result.err) == (1, True)
    assert run_cli("config", "ignore").out == f"{tmp_path}/*\n"


def test_a_dry_run_changes_nothing_and_makes_no_store(run_cli: RunCli, store_home: Path) -> None:
    assert run_cli("enable", "--dry-run").out.startswith("hooks would be added to ")
    assert not store_home.exists()


def test_the_hooks_of_the_plugin_are_added_and_those_of_others_stay(
    run_cli: RunCli, store: Path, settings: Path
) -> None:
    data = run_cli("enable", "--json").json()["data"]
    assert (data["hooks"], data["settings_file"], data["changed"]) == ("settings", str(settings), True)
    wanted = json.loads((REPO / "hooks" / "hooks.json").read_bytes())["hooks"]
    hooks = _hooks(settings)
    assert hooks.pop("Stop") == []
    assert {event: len(groups) for event, groups in hooks.items()} == {event: len(g) for event, g in wanted.items()}
    assert settings.read_text().startswith('{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": [],\n\t\t"')
    data = run_cli("enable", "--json").json()["data"]
    assert (data["hooks"], data["changed"]) == ("settings", False)


def test_a_failing_tool_is_captured_through_the_entry(run_cli: RunCli, store: Path, settings: Path) -> None:
    run_cli("enable")
    event = {
        "hook_event_name": "PostToolUseFailure", "session_id": "s1", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": "make widgets"}, "error": "no rule to make target", "cwd": "/",
    }  # fmt: skip
    command = _hooks(settings)["PostToolUseFailure"][0]["hooks"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", command], input=json.dumps(event).encode(), capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
    assert run_cli("status", "--json").json()["data"]["waiting"] == 1


def test_an_installation_that_moved_replaces_its_entries(run_cli: RunCli, store: Path, settings: Path) -> None:
    old = claude_settings.build_hooks((REPO / "hooks" / "hooks.json").read_bytes(), "/old/place/hooks/launch.sh")
    settings.write_bytes(claude_settings.add_hooks(SETTINGS.encode(), old, None)[0])
    assert run_cli("enable").out == ADDED
    assert "/old/place" not in settings.read_text()
    assert len(_hooks(settings)["PreCompact"]) == 1
    run_cli("disable")
    assert settings.read_text() == SETTINGS


def test_with_the_plugin_the_entries_go_so_that_nothing_runs_twice(
    run_cli: RunCli, store: Path, settings: Path
) -> None:
    run_cli("enable")
    there = json.loads(settings.read_bytes())
    settings.write_text(json.dumps({**there, "enabledPlugins": {"reflect-git@reflect-git": True}}))
    result = run_cli("enable")
    assert "hooks removed from '~/.claude/settings.json'; the plugin keeps its own\n" in result.out
    assert _hooks(settings) == {"Stop": []}
    data = run_cli("enable", "--json").json()["data"]
    assert (data["hooks"], data["changed"]) == ("plugin", False)


def test_a_plugin_of_one_session_is_known_by_its_program(run_cli: RunCli, store: Path, settings: Path) -> None:
    env = {"CLAUDECODE": "1", "REFLECT_GIT_PLUGIN_ROOT": "/plugins/reflect-git"}
    assert run_cli("enable", "--json", env=env).json()["data"]["hooks"] == "plugin"
    assert settings.read_text() == SETTINGS


def test_a_project_or_a_dry_run_leaves_the_settings(run_cli: RunCli, store: Path, settings: Path) -> None:
    assert run_cli("enable", "--project").code == 0
    result = run_cli("enable", "--dry-run")
    assert "hooks would be added to '~/.claude/settings.json'" in result.out
    assert '+        "PreCompact": [' in result.err
    assert settings.read_text() == SETTINGS
    assert run_cli("enable", "--dry-run", "--json").json()["data"]["hooks"] == "settings"
    assert run_cli("enable", "--project", "--json").json()["data"]["hooks"] == "none"


def test_a_file_with_a_comment_is_named_with_its_place_and_nothing_is_switched(
    run_cli: RunCli, store: Path, settings: Path
) -> None:
    run_cli("disable")
    before = _commits(store)
    settings.write_text('{\n  // mine\n  "model": "opus"\n}')
    result = run_cli("enable")
    assert result.code == 1
    assert f"error: '{settings}' cannot be read: expecting property name" in result.err
    assert "(line 2, column 3)" in result.err
    assert _commits(store) == before
    assert run_cli("enable", "--json").json()["error"]["code"] == "settings-malformed"
    assert settings.read_text() == '{\n  // mine\n  "model": "opus"\n}'


def test_a_file_that_is_not_ours_to_write_is_named(run_cli: RunCli, store: Path, settings: Path) -> None:
    settings.chmod(0o444)
    result = run_cli("enable")
    assert (result.code, f"error: '{settings}' is read-only" in result.err) == (1, True)
    assert settings.read_text() == SETTINGS


def test_claude_config_dir_is_honoured(run_cli: RunCli, store_home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "claude's own"
    env = {"CLAUDE_CONFIG_DIR": str(elsewhere)}
    assert f"hooks added to '{elsewhere}/settings.json'" in run_cli("enable", env=env).out
    assert "PreCompact" in _hooks(elsewhere / "settings.json")
    assert not store_home.parent.exists()


@pytest.mark.parametrize("mode", ["kill", "fail"])
def test_struck_anywhere_the_file_is_the_old_or_the_new_one(
    run_cli: RunCli, store: Path, settings: Path, home: Path, mode: str
) -> None:
    run_cli("enable")
    new, seen = settings.read_text(), set()
    for number in range(1, 60):
        settings.write_text(SETTINGS)  # capture stays on, so that only the settings matter
        trace = home / "trace"
        trace.unlink(missing_ok=True)
        env = {
            "TMPDIR": str(home), "REFLECT_GIT_FAULT": f"{mode}:{number}", "REFLECT_GIT_FAULT_TRACE": str(trace)
        }  # fmt: skip
        struck = run_cli("enable", env=env)
        assert settings.read_text() in (SETTINGS, new), f"{mode} at {number}"
        seen.add(settings.read_text())
        assert sorted(os.listdir(settings.parent)) in (
            ["reflections", "settings.json"], [".settings.json.reflect-git", "reflections", "settings.json"]
        )  # fmt: skip
        if len(trace.read_text().splitlines()) < number:
            break
        assert struck.code != 0 or mode == "fail"
    else:
        pytest.fail("it does not come through")
    assert seen == {SETTINGS, new}
    assert run_cli("enable").code == 0
    assert settings.read_text() == new
    run_cli("disable")
    assert settings.read_text() == SETTINGS
    assert sorted(os.listdir(settings.parent)) == ["reflections", "settings.json"]
