"""`import claude-reflect|auto-memory|learnings-md`: what other tools kept becomes signals, and stays where it is."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunCli
from tests.sessions import captured
from tests.store.probe import require_promises

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
    before = source.read_bytes()
    done = run_cli("import", "claude-reflect", "--json").json()["data"]
    assert (done["found"], done["new"], len(done["signals"])) == (2, 2, 2)
    first, second = sorted(captured(store_home), key=lambda signal: signal["type"])
    assert (first["content"], first["type"], first["trust"]) == ("use uv here, not pip", "correction", "imported")
    assert first["timestamp"] == "2026-01-05T08:00:00Z"
    assert first["project"]["name"] == "shop"
    assert (second["type"], second["project"]) == ("pattern", None)
    log = subprocess.run(
        ["git", "-C", store_home, "log", "--all", "--format=%s"], capture_output=True, text=True, check=True
    ).stdout
    assert log.count("capture: ") == 1
    assert source.read_bytes() == before
    require_promises(store_home)


def test_what_was_imported_before_is_not_imported_again(run_cli: RunCli, home: Path, store_home: Path) -> None:
    source = queue(home, item("use uv here, not pip"))
    run_cli("import", "claude-reflect", "--yes")
    os.utime(source, (1_700_000_000, 1_700_000_000))
    queue(home, item("use uv here, not pip", timestamp="2026-02-01T00:00:00Z"), item("run the linter before a push"))
    out = run_cli("import", "claude-reflect", "--yes").out
    assert "  run the linter before a push\n1 signal imported;" in out
    assert run_cli("import", "claude-reflect", "--yes").out == "nothing new there\n"
    assert len(captured(store_home)) == 2


def test_a_dry_run_lists_and_makes_no_store(run_cli: RunCli, home: Path, store_home: Path) -> None:
    queue(home, *(item(f"use tool number {number} here") for number in range(12)))
    out = run_cli("import", "claude-reflect", "--dry-run").out
    assert out.splitlines()[-2:] == ["  and 2 more", "would import 12 signals"]
    assert not store_home.exists()


def test_it_asks_and_without_a_terminal_it_names_the_flag(run_cli: RunCli, home: Path, store_home: Path) -> None:
    queue(home, item("use uv here, not pip"))
    done = run_cli("import", "claude-reflect")
    assert done.code == 1
    assert "hint: answer with --yes" in done.err
    assert captured(store_home) == []


def test_what_is_no_queue_is_told(run_cli: RunCli, home: Path, store_home: Path) -> None:
    queue(home).write_text("{")
    done = run_cli("import", "claude-reflect", "--yes")
    assert done.code == 1
    assert "is no queue of claude-reflect" in done.err


def test_memories_come_without_the_index_that_points_to_them(run_cli: RunCli, home: Path, store_home: Path) -> None:
    memory(home, "style.md", "---\nname: style\n---\n\nAda prefers small commits. They are reviewed faster.\n")
    memory(home, "MEMORY.md", "- [Style](style.md) says it all\n- Never push on a Friday\n")
    run_cli("import", "auto-memory", "--yes")
    assert {signal["content"] for signal in captured(store_home)} == {
        "Ada prefers small commits. They are reviewed faster.", "Never push on a Friday",
    }  # fmt: skip


def test_memories_know_the_project_of_their_sessions(run_cli: RunCli, home: Path, store_home: Path) -> None:
    (home / "shop").mkdir()
    note = memory(home, "style.md", "Ada prefers small commits.\n")
    (note.parent.parent / "one.jsonl").write_text(json.dumps({"type": "user", "cwd": str(home / "shop")}) + "\n")
    run_cli("import", "auto-memory", "--yes")
    assert [signal["project"]["name"] for signal in captured(store_home)] == ["shop"]


def test_a_list_of_learnings_is_read_as_it_is_rendered(run_cli: RunCli, home: Path, store_home: Path) -> None:
    listed = home / "LEARNINGS.md"
    listed.write_text(
        "# Learnings\n\n## Commands\n\n- [LRN-20260101-aaaaaaaa] Use `make check` first (confirmed, 3 sessions)\n"
    )
    run_cli("import", "learnings-md", str(listed), "--yes")
    assert [signal["content"] for signal in captured(store_home)] == ["Use `make check` first"]
    done = run_cli("import", "learnings-md")
    assert (done.code, "reflect-git import learnings-md PATH" in done.err) == (2, True)
