"""The entry in Claude Code's settings: there while a guard exists, and every other byte of the file stays as it was."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reflect_git.errors import ReflectError
from reflect_git.guards import entry, rebuild, stored, table
from reflect_git.platform import claude_settings
from reflect_git.rules import derived_files
from reflect_git.store.reading import reader
from tests.conftest import RunCli, wait_for_background
from tests.guards.guarded_store import build_event, make_guard, make_store, send
from tests.sessions import Session
from tests.stories.terminal import Terminal

SCRIPT = "/home/pat o'neil/.claude/reflections/.git/reflect/guard"
OURS = claude_settings.build_hooks(
    b'{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sh \\"$CLAUDE_PLUGIN_ROOT/hooks/launch.sh\\" Stop"}]}],'
    b'"PreToolUse":[{"matcher":"AskUserQuestion","hooks":[{"type":"command",'
    b'"command":"sh \\"$CLAUDE_PLUGIN_ROOT/hooks/launch.sh\\" x"}]}]}}',
    "/opt/reflect-git/hooks/launch.sh",
)


def build_settings(rng: random.Random) -> dict[str, Any]:
    """Return settings as people have them: with other hooks, empty lists, long and odd values."""
    values: dict[str, Any] = {
        "model": "opus", "$schema": "https://json.schemastore.org/x.json", "env": {"A": "ü\\n\u2028", "B": ""},
        "permissions": {"allow": ["Bash(npm *)", "Read"], "deny": []}, "cleanupPeriodDays": 30, "statusLine": None,
        "// comment": "people write comments as keys", "nested": {"hooks": {"PreToolUse": []}},
    }  # fmt: skip
    handler = {"type": "command", "command": rng.choice(["true", "sh -c 'guard'", "/opt/x/.git/reflect/guardian"])}
    group = {"matcher": rng.choice(["Bash", "*", ""]), "hooks": [handler] * rng.randrange(3)}
    hooks: dict[str, Any] = {
        event: [group] * rng.randrange(3) for event in ("PreToolUse", "PostToolUse", "Stop") if rng.random() < 0.5
    }
    chosen = rng.sample(sorted(values), rng.randrange(len(values)))
    made = {name: values[name] for name in chosen}
    if rng.random() < 0.7:
        made["hooks"] = hooks
    return dict(rng.sample(sorted(made.items()), len(made)))


def write_settings(rng: random.Random, settings: dict[str, Any]) -> bytes:
    """Return settings in one of the forms in which editors and people leave them."""
    indent: Any = rng.choice([None, None, 0, 1, 2, 3, 4, 8, "\t", " \t"])
    separators = rng.choice([(",", ":"), (", ", ": "), (" ,", " : ")]) if indent is None else None
    text = json.dumps(settings, indent=indent, separators=separators, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.3:
        text = text.replace("[]", "[ ]").replace("{}", "{\n}")
    if rng.random() < 0.3:
        text = text.replace("\n", "\r\n")
    text = rng.choice(["", "", "\n", "  "]) + text + rng.choice(["", "\n", "\r\n", "\n\n"])
    return (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + text.encode()


@pytest.mark.parametrize("part", range(4))
def test_200_settings_files_come_back_byte_for_byte(part: int) -> None:
    for seed in range(part * 50, part * 50 + 50):
        rng = random.Random(seed)
        before = write_settings(rng, build_settings(rng))
        with_ours, made = claude_settings.add_hooks(before, OURS, None) if seed % 3 == 0 else (before, [])
        added, after_made = claude_settings.add_guard_entry(with_ours, SCRIPT, made)
        assert claude_settings.list_guard_entries(added) == [("PreToolUse", ["/bin/sh", "-c", build_line()])], seed
        assert claude_settings.add_guard_entry(added, SCRIPT, after_made) == (added, after_made)
        json.loads(added.decode("utf-8-sig"))
        assert claude_settings.remove_guard_entry(added, after_made, None) == with_ours, (seed, before)
        if seed % 3 == 0:  # whichever goes first
            left = claude_settings.remove_hooks(added, after_made, None)
            assert claude_settings.remove_guard_entry(left, after_made, None) == before, (seed, before)
            assert claude_settings.remove_hooks(with_ours, made, None) == before
        elif seed % 3 == 1:  # our hooks come after the guard and stay longer
            both, both_made = claude_settings.add_hooks(added, OURS, after_made)
            left = claude_settings.remove_guard_entry(both, both_made, None)
            assert claude_settings.remove_hooks(left, both_made, None) == before, (seed, before)


def build_line() -> str:
    line: str = claude_settings.build_guard_hooks(SCRIPT)["PreToolUse"][0]["hooks"][0]["args"][1]
    return line


@pytest.mark.parametrize("before", [None, b"", b"\n", b"{}", b"{ }\r\n", b"\xef\xbb\xbf{}"])
def test_a_file_without_settings_comes_back(store_home: Path, home: Path, before: bytes | None) -> None:
    make_store([make_guard()])
    path = home / ".claude" / "settings.json"
    if before is not None:
        path.write_bytes(before)
    assert entry.install_entry(os.environ)
    assert entry.entry_state(os.environ) == entry.PRESENT
    assert not entry.install_entry(os.environ)
    assert entry.remove_entry(os.environ)
    assert (path.read_bytes() if path.exists() else None) == before
    assert not entry.remove_entry(os.environ)


@pytest.mark.parametrize("text", ['{"a": 1} // hello', "[]", '{"hooks": 5}', "{", '{"hooks": {"PreToolUse": 1}}'])
def test_settings_that_are_not_plain_json_stay_as_they_are(store_home: Path, home: Path, text: str) -> None:
    make_store([make_guard()])
    path = home / ".claude" / "settings.json"
    path.write_text(text)
    with pytest.raises(ReflectError):
        entry.install_entry(os.environ)
    assert path.read_text() == text


def test_the_switches_add_and_remove_everything(run_cli: RunCli, store_home: Path, home: Path) -> None:
    before = b'{\n\t"model": "opus"\n}'
    path = home / ".claude" / "settings.json"
    store = make_store([make_guard()])
    path.write_bytes(before)
    for command in ("disable", "uninstall"):
        assert run_cli("enable").code == 0
        table.write_table(store, [make_guard()])
        assert entry.install_entry(os.environ)
        assert run_cli(command).code == 0
        assert path.read_bytes() == before
        assert not os.path.exists(table.get_script_path(store.git_dir))
        assert table.read_table(store.git_dir) == []


def test_a_guard_that_goes_after_enable_leaves_only_the_hooks(run_cli: RunCli, store_home: Path, home: Path) -> None:
    path = home / ".claude" / "settings.json"
    make_store([make_guard()])
    entry.install_entry(os.environ)
    alone = path.read_bytes()
    with_guard = json.loads(alone)
    assert run_cli("enable").code == 0
    # Main has no decision about this guard, so `enable` removes its entry.
    assert entry.entry_state(os.environ) == entry.MISSING
    assert "launch.sh" in path.read_text()
    assert run_cli("disable").code == 0
    assert not path.exists(), (with_guard, path.read_text())


def test_doctor_sends_a_call_through_the_entry(run_cli: RunCli, store_home: Path, home: Path) -> None:
    store = make_store([make_guard()])
    entry.install_entry(os.environ)
    assert "1 guard, tested with a call that must be refused" in run_cli("doctor").out
    assert not os.path.exists(store.private_path("firings"))
    assert "-canary" in send(build_event(command=stored.CANARY))["permissionDecisionReason"]
    script = Path(table.get_script_path(store.git_dir))
    script.write_text("#!/bin/sh\nexit 0\n")
    assert "must be refused was not: no answer" in run_cli("doctor").out
    Path(stored.get_table_path(store.git_dir)).write_text("[]")
    assert "has another form: its guards do not work" in run_cli("doctor").out


def test_a_missing_entry_is_reported(run_cli: RunCli, store_home: Path, home: Path) -> None:
    make_store([make_guard()])
    status = run_cli("status")
    assert "1, entry in settings.json missing: reflect-git enable" in status.out
    audit = run_cli("audit")
    assert (audit.code, "guard-entry" in audit.out) == (4, True)
    entry.install_entry(os.environ)
    assert run_cli("audit").code == 0
    assert run_cli("status", "--json").json()["data"]["guard_entry"] == "present"
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("exec ", "true "))
    assert run_cli("status", "--json").json()["data"]["guard_entry"] == "outdated"


def test_a_session_rebuilds_an_outdated_table(store_home: Path, home: Path) -> None:
    store = make_store()
    table.write_table(store, [make_guard()])
    entry.install_entry(os.environ)
    assert rebuild.is_outdated(store)
    assert derived_files.refresh_guards(store, os.environ, reader.scan(store)) == 0  # main has no guards
    assert not rebuild.is_outdated(store)
    assert entry.entry_state(os.environ) == entry.MISSING
    tip = store.git.resolve("refs/heads/main") or ""
    table.write_table(store, [make_guard()], tip)
    assert not rebuild.is_outdated(store)
    script = Path(table.get_script_path(store.git_dir))
    script.write_text(script.read_text().replace("hooks/guard.py", "old/guard.py"))
    assert rebuild.is_outdated(store)


def test_from_the_decision_to_the_call_and_back(run_cli: RunCli, store_home: Path, home: Path, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    subprocess.run(["git", "init", "-q", project], check=True)

    def run_at_terminal(*words: str) -> str:
        with Terminal(*words, cwd=project) as terminal:
            return terminal.ends(0)

    def is_denied() -> bool:
        event = build_event(cwd=str(project / "web"), command="npm ci")
        return bool(send(event, CLAUDE_PROJECT_DIR=str(project)))

    signal = run_at_terminal("capture", "--type", "correction", "--content", "use pnpm, not npm").split()[1]
    said = run_at_terminal("approve", signal, "--to", "project")
    rule = said[said.index("approved LRN-") :].split()[1]
    assert not (home / ".claude" / "settings.json").exists()
    run_at_terminal("guard", rule, "--mode", "deny")
    assert entry.entry_state(os.environ) == entry.PRESENT
    assert is_denied()
    assert "1 guard, tested" in run_cli("doctor").out
    assert run_cli("disable").code == 0
    assert entry.entry_state(os.environ) == entry.MISSING
    assert not is_denied()
    assert run_cli("enable").code == 0
    assert entry.entry_state(os.environ) == entry.PRESENT
    assert is_denied()
    # Another machine changed the rules, or a purge removed the cache: the next session builds the table again.
    store = make_store()
    shutil.rmtree(store.private_path("cache"))
    assert not is_denied()
    Session(home, cwd=str(project)).run_hook("SessionStart", source="startup")
    wait_for_background(home)
    assert is_denied()
    run_at_terminal("unguard", rule)
    assert entry.entry_state(os.environ) == entry.MISSING
    assert not os.path.exists(table.get_script_path(store.git_dir))


def test_old_firings_are_deleted(store_home: Path) -> None:
    store = make_store([make_guard()])
    send(build_event(command="npm ci"))
    send(build_event(session="0ld", command="npm ci"))
    path = store.private_path("firings", "0ld.jsonl")
    os.utime(path, (0, 0))
    rebuild.delete_old_firings(store, os.stat(store.private_path("firings")).st_mtime)
    assert os.listdir(store.private_path("firings")) == ["5e55.jsonl"]
