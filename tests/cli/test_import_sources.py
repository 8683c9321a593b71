"""`import claude-reflect|auto-memory|learnings-md`: notes of other tools become signals, and stay where they are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunCli
from tests.sessions import load_signals
from tests.store.store_checks import require_promises

pytestmark = pytest.mark.usefixtures("store_home")


def queue(home: Path, *items: Any) -> Path:
    path = home / ".claude" / "learnings-queue.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(items)))
    return path


def item(message: str, **more: Any) -> dict[str, Any]:
    return {"type": "auto", "message": message, "timestamp": "2026-01-05T10:00:00+02:00", "confidence": 0.8, **more}


def memory(home: Path, name: str, text: str) -> Path:
    folder = home / ".claude" / "projects" / "-home-ada-shop" / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_a_queue_becomes_signals_of_imported_trust_in_one_commit(run_cli: RunCli, home: Path, store_home: Path) -> None:
    project = home / "shop"
    project.mkdir()
    source = queue(
        home, item("use uv here, not pip", project=str(project)), item("keep the answers short", type="positive"),
        item("ok"), "no item",
    )  # fmt: skip
    os.utime(source, (1_700_000_000, 1_700_000_000))
    before = source.read_bytes(), source.stat().st_mtime, source.stat().st_ino
    done = run_cli("import", "claude-reflect", "--json").json()["data"]
    assert (done["found"], done["new"], len(done["signals"])) == (2, 2, 2)
    assert done["left_out"] == [f"1 of 4 entries of '{source}': no message", f"too short, in '{source}': 'ok'"]
    first, second = sorted(load_signals(store_home), key=lambda signal: signal["type"])
    assert (first["content"], first["type"], first["trust"]) == ("use uv here, not pip", "correction", "imported")
    assert first["timestamp"] == "2026-01-05T08:00:00Z"
    assert first["project"]["name"] == "shop"
    assert (second["type"], second["project"]) == ("pattern", None)
    log = subprocess.run(
        ["git", "-C", store_home, "log", "--all", "--format=%s"], capture_output=True, text=True, check=True
    ).stdout
    assert log.count("capture: ") == 1
    assert (source.read_bytes(), source.stat().st_mtime, source.stat().st_ino) == before
    require_promises(store_home)


def test_what_was_imported_before_is_not_imported_again(run_cli: RunCli, home: Path, store_home: Path) -> None:
    source = queue(home, item("use uv here, not pip"))
    run_cli("import", "claude-reflect", "--yes")
    os.utime(source, (1_700_000_000, 1_700_000_000))
    queue(home, item("use uv here, not pip", timestamp="2026-02-01T00:00:00Z"), item("run the linter before a push"))
    out = run_cli("import", "claude-reflect", "--yes").out
    assert "  run the linter before a push\nimported 1 signal;" in out
    assert run_cli("import", "claude-reflect", "--yes").out == "nothing new to import\n"
    assert len(load_signals(store_home)) == 2


def test_a_dry_run_lists_and_makes_no_store(run_cli: RunCli, home: Path, store_home: Path) -> None:
    queue(home, *(item(f"use tool number {number} here") for number in range(12)))
    out = run_cli("import", "claude-reflect", "--dry-run").out
    assert out.splitlines()[-2:] == ["  and 2 more", "would import 12 signals"]
    assert not store_home.exists()


def test_it_asks_and_without_a_terminal_it_names_the_flag(run_cli: RunCli, home: Path, store_home: Path) -> None:
    queue(home, item("use uv here, not pip"))
    done = run_cli("import", "claude-reflect")
    assert done.code == 1
    assert "hint: pass --yes" in done.err
    assert load_signals(store_home) == []


@pytest.mark.parametrize("text", ["", "{", "null", '{"a": 1}', "\x00"])
def test_what_is_no_queue_is_told(run_cli: RunCli, home: Path, store_home: Path, text: str) -> None:
    queue(home).write_text(text)
    done = run_cli("import", "claude-reflect", "--yes")
    assert done.code == 1
    assert "is not a claude-reflect queue" in done.err
    assert "hint: claude-reflect keeps it in '~/.claude/learnings-queue.json'" in done.err


def test_a_folder_is_no_queue(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    done = run_cli("import", "claude-reflect", str(tmp_path))
    assert (done.code, f"error: '{tmp_path}' is not a file" in done.err) == (1, True)


def test_a_queue_is_found_although_the_client_keeps_its_files_elsewhere(run_cli: RunCli, home: Path) -> None:
    queue(home, item("use uv here, not pip"))
    out = run_cli("import", "claude-reflect", "--dry-run", env={"CLAUDE_CONFIG_DIR": str(home / "other")}).out
    assert out.endswith("would import 1 signal\n")


def test_memories_come_without_the_index_that_points_to_them(run_cli: RunCli, home: Path, store_home: Path) -> None:
    memory(home, "style.md", "---\nname: style\n---\n\nAda prefers small commits. They are reviewed faster.\n")
    memory(home, "MEMORY.md", "- [Style](style.md) says it all\n- Never push on a Friday\n")
    run_cli("import", "auto-memory", "--yes")
    assert {signal["content"] for signal in load_signals(store_home)} == {
        "Ada prefers small commits. They are reviewed faster.", "Never push on a Friday",
    }  # fmt: skip


def test_a_note_is_one_fact_with_its_reasons(run_cli: RunCli, home: Path, store_home: Path) -> None:
    head = "---\nname: pnpm\nmetadata:\n  type: feedback\n---\n\n"
    memory(home, "pnpm.md", f"{head}Use pnpm for every install.\n\n**Why:** CI reads its lock file.\n")
    run_cli("import", "auto-memory", "--yes")
    (signal,) = load_signals(store_home)
    assert (signal["content"], signal["type"]) == ("Use pnpm for every install.", "convention")
    assert signal["context"] == "Use pnpm for every install.\n**Why:** CI reads its lock file."


def test_notes_that_were_taken_over_are_asked_about_although_the_notes_say_them(run_cli: RunCli, home: Path) -> None:
    project = home / "shop"
    project.mkdir()
    slug = "".join(c if c.isalnum() else "-" for c in str(project))
    folder = home / ".claude" / "projects" / slug / "memory"
    folder.mkdir(parents=True)
    (folder / "commits.md").write_text("---\nname: commits\n---\nNever push to main on a Friday.\n")
    (folder.parent / "one.jsonl").write_text(json.dumps({"type": "user", "cwd": str(project)}) + "\n")
    run_cli("import", "auto-memory", "--yes")
    (asked,) = run_cli("candidates", "--json", cwd=project).json()["data"]
    assert asked["text"] == "Never push to main on a Friday"
    tried = run_cli("approve", asked["id"], "--to", "project", "--dry-run", cwd=project)
    assert (tried.code, "+- Never push to main on a Friday" in tried.out) == (0, True), tried
    assert "Claude Code noted it by itself, too" in tried.err
    run_cli("capture", "--type", "convention", "--content", "Keep every commit small", cwd=project)
    (folder / "small.md").write_text("---\nname: small\n---\nKeep every commit small.\n")
    assert len(run_cli("candidates", "--json", cwd=project).json()["data"]) == 1


def test_what_was_taken_over_does_not_contradict_where_it_comes_from(run_cli: RunCli, home: Path) -> None:
    project = home / "shop"
    project.mkdir()
    folder = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(project)) / "memory"
    folder.mkdir(parents=True)
    head = "---\nname: tabs\nmetadata:\n  type: feedback\n---\n\n"
    reason = "**How to apply:** never use tabs for indentation in YAML."
    (folder / "tabs.md").write_text(f"{head}Always use tabs for indentation.\n\n{reason}\n")
    (folder / "MEMORY.md").write_text("- [Tabs](tabs.md) never use tabs for indentation in YAML\n")
    (folder.parent / "one.jsonl").write_text(json.dumps({"type": "user", "cwd": str(project)}) + "\n")
    run_cli("import", "auto-memory", "--yes")
    (asked,) = run_cli("candidates", "--json", cwd=project).json()["data"]
    assert (asked["conflicts_with"], asked["similar"]) == ([], [])
    told = run_cli("approve", asked["id"], "--to", "project", "--dry-run", cwd=project).err
    assert "contradict" not in told
    (folder / "other.md").write_text("Never use tabs for indentation.\n")
    (asked,) = run_cli("candidates", "--json", cwd=project).json()["data"]
    assert [one["where"] for one in asked["conflicts_with"]] == [f"~/{folder.relative_to(home)}/other.md:1"]
    assert "may contradict" in run_cli("approve", asked["id"], "--to", "project", "--dry-run", cwd=project).err


def test_each_bullet_of_a_note_is_a_fact_and_what_is_too_short_is_told(
    run_cli: RunCli, home: Path, store_home: Path
) -> None:
    head = "---\nname: habits\nmetadata:\n  type: feedback\n---\n\n"
    bullets = "- Use pnpm for every install.\n  - **Why:** CI reads its lock file.\n- Never push on a Friday.\n"
    memory(home, "habits.md", f"{head}{bullets}- Squash before a merge.\n\n**How to apply:** locally.\n")
    short = memory(home, "short.md", f"{head}Use pnpm\n\n**Why:** CI reads its lock file.\n")
    done = run_cli("import", "auto-memory", "--json").json()["data"]
    assert {signal["content"]: signal["context"].partition("\n")[2] for signal in load_signals(store_home)} == {
        "Use pnpm for every install.": "**Why:** CI reads its lock file.",
        "Never push on a Friday.": "",
        "Squash before a merge.": "**How to apply:** locally.",
    }
    assert done["left_out"] == [f"too short, in '{short}': 'Use pnpm'"]


@pytest.mark.parametrize("rule", ["---", "----------", "--- draft"])
def test_a_rule_at_the_beginning_is_no_head(run_cli: RunCli, home: Path, store_home: Path, rule: str) -> None:
    note = memory(home, "ruled.md", f"{rule}\n\ntype: feedback is what we ask for\n\nNever push on a Friday.\n")
    done = run_cli("import", "auto-memory", str(note), "--json").json()["data"]
    kept = {(signal["content"], signal["type"]) for signal in load_signals(store_home)}
    assert kept == {("type: feedback is what we ask for", "discovery"), ("Never push on a Friday.", "discovery")}
    assert [text for text in done["left_out"] if "draft" not in text] == []


def test_a_file_that_cannot_be_read_is_left_out_and_told(run_cli: RunCli, home: Path, store_home: Path) -> None:
    memory(home, "style.md", "Ada prefers small commits.\n")
    binary = memory(home, "binary.md", "")
    binary.write_bytes(b"\xff\xfe\x00")
    done = run_cli("import", "auto-memory", "--json").json()["data"]
    assert done["left_out"] == [f"'{binary}' is not UTF-8 text"]
    assert [signal["content"] for signal in load_signals(store_home)] == ["Ada prefers small commits."]
    alone = run_cli("import", "auto-memory", str(binary))
    assert (alone.code, "is not UTF-8 text\nhint: " in alone.err) == (1, True)


def test_no_name_of_a_file_acts_on_the_terminal(run_cli: RunCli, home: Path, tmp_path: Path) -> None:
    memory(home, "\x1b[2Jbinary.md", "").write_bytes(b"\xff\xfe\x00")
    memory(home, "short.md", "Use \x1b[31mpnpm\n")
    notes = run_cli("import", "auto-memory", "--dry-run")
    assert "<U+001B>[2Jbinary.md' is not UTF-8 text" in notes.err and "'Use <U+001B>[31mpnpm'" in notes.err
    (tmp_path / "\x1b[2J.jsonl").write_text("{}\n")
    elsewhere = run_cli("import", "transcripts", str(tmp_path), "--dry-run")
    assert "<U+001B>[2J.jsonl" in elsewhere.err
    assert "\x1b" not in notes.out + notes.err + elsewhere.out + elsewhere.err


@pytest.mark.parametrize("kind", ["auto-memory", "learnings-md"])
def test_a_folder_without_notes_is_told(run_cli: RunCli, tmp_path: Path, kind: str) -> None:
    done = run_cli("import", kind, str(tmp_path))
    assert (done.code, "there is nothing to import in" in done.err) == (1, True)
    assert f"reflect-git import {kind} FILE" in done.err


def test_memories_know_the_project_of_their_sessions(run_cli: RunCli, home: Path, store_home: Path) -> None:
    (home / "shop").mkdir()
    note = memory(home, "style.md", "Ada prefers small commits.\n")
    (note.parent.parent / "one.jsonl").write_text(json.dumps({"type": "user", "cwd": str(home / "shop")}) + "\n")
    run_cli("import", "auto-memory", "--yes")
    assert [signal["project"]["name"] for signal in load_signals(store_home)] == ["shop"]


def test_a_list_of_learnings_is_read_as_it_is_rendered(run_cli: RunCli, home: Path, store_home: Path) -> None:
    listed = home / "LEARNINGS.md"
    listed.write_text(
        "# Learnings\n\n## Commands\n\n- [LRN-20260101-aaaaaaaa] Use `make check` first (confirmed, 3 sessions)\n"
    )
    run_cli("import", "learnings-md", str(listed), "--yes")
    assert [signal["content"] for signal in load_signals(store_home)] == ["Use `make check` first"]
    done = run_cli("import", "learnings-md")
    assert (done.code, "reflect-git import learnings-md PATH" in done.err) == (2, True)


def test_facts_about_an_entry_are_no_rules(run_cli: RunCli, tmp_path: Path, store_home: Path) -> None:
    """Skills that let the model keep a list write date and urgency above each text, and its origin below."""
    listed = tmp_path / "LEARNINGS.md"
    listed.write_text(
        "# Learnings\n\n## [LRN-20260101-001] correction\n\n**Logged**: 2026-01-01T10:00:00Z\n**Priority**: high\n\n"
        "### Summary\nUse ruff, not flake8\n\n### Metadata\n- Source: user_feedback\n- Tags: lint\n\n---\n"
    )
    run_cli("import", "learnings-md", str(listed), "--yes")
    found = [signal["content"] for signal in run_cli("signals", "--json").json()["data"]]
    assert found == ["Use ruff, not flake8"]
