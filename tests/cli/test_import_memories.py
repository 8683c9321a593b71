"""`import claude-mem` and `import ecc`: what other tools remember, in the formats that they write."""

from __future__ import annotations

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from reflect_git.candidates.import_memories import to_utc
from reflect_git.memory.upkeep import Upkeep
from tests.conftest import RunCli
from tests.sessions import load_signals
from tests.store.operations import DAY
from tests.store.store_checks import open_store, require_promises

pytestmark = pytest.mark.usefixtures("store_home")

# Its tables as current versions leave them, and as its first versions made them.
CURRENT = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT UNIQUE NOT NULL,
 memory_session_id TEXT UNIQUE, project TEXT NOT NULL, user_prompt TEXT,
 started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,
 type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
 files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT NOT NULL, project TEXT NOT NULL,
 request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT, files_edited TEXT,
 notes TEXT, prompt_number INTEGER, created_at TEXT, created_at_epoch INTEGER);
"""
FIRST = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT UNIQUE NOT NULL, sdk_session_id TEXT UNIQUE,
 project TEXT NOT NULL);
CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT NOT NULL, project TEXT NOT NULL,
 text TEXT NOT NULL, type TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, sdk_session_id TEXT UNIQUE NOT NULL, project TEXT NOT NULL,
 request TEXT, learned TEXT, completed TEXT, next_steps TEXT, created_at TEXT, created_at_epoch INTEGER);
"""
WHEN = 1_767_600_000_000  # 2026-01-05T08:00:00Z, in milliseconds
SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def add_row(database: sqlite3.Connection, table: str, **row: Any) -> None:
    names = ", ".join(row)
    database.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


@pytest.fixture
def database(home: Path) -> sqlite3.Connection:
    path = home / ".claude-mem" / "claude-mem.db"
    path.parent.mkdir()
    made = sqlite3.connect(path, isolation_level=None)
    made.execute("PRAGMA journal_mode = WAL")
    made.executescript(CURRENT)
    for number, name in enumerate(("shop", "hidden", "gone")):
        add_row(made, "sdk_sessions", content_session_id=f"c{number}", memory_session_id=f"m{number}", project=name,
                started_at="", started_at_epoch=WHEN)  # fmt: skip
    return made


def add_session(home: Path, name: str, session: str) -> Path:
    """Write a transcript as the client does; return the project's folder."""
    folder = home / name
    folder.mkdir(exist_ok=True)
    place = home / ".claude" / "projects" / f"-{name}"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{session}.jsonl").write_text(json.dumps({"type": "user", "cwd": str(folder)}) + "\n")
    return folder


def observe(database: sqlite3.Connection, title: str, **more: Any) -> None:
    row = {"memory_session_id": "m0", "project": "shop", "type": "discovery", "title": title, "created_at_epoch": WHEN}
    add_row(database, "observations", **{**row, **more})


def test_what_claude_mem_observed_becomes_signals_and_summaries(
    database: sqlite3.Connection, run_cli: RunCli, home: Path, store_home: Path
) -> None:
    add_session(home, "shop", "c0")
    facts = json.dumps(["the importer reads UTF-16", "it skips the first line"])
    observe(database, "The importer expects a byte order mark", facts=facts, narrative="Seen in the parser.")
    observe(database, "Auth fix", type="bugfix", subtitle="the token was read before the lock was taken")
    observe(database, "Use optimistic locking for carts", type="decision")
    observe(database, "Added a date picker", type="feature")
    said = {"request": "repair the import", "learned": "exports are UTF-16", "completed": "The import works."}
    more = {"next_steps": "write a test", "created_at_epoch": WHEN}
    add_row(database, "session_summaries", memory_session_id="m0", project="shop", **said, **more)
    done = run_cli("import", "claude-mem", "--json").json()["data"]
    assert done["new"] == 4 and "1 observation" in done["left_out"][0]
    found = {one["content"]: one for one in load_signals(store_home)}
    assert {text: one["type"] for text, one in found.items()} == {
        "The importer expects a byte order mark": "discovery", "Use optimistic locking for carts": "convention",
        "Auth fix: the token was read before the lock was taken": "gotcha", "repair the import": "summary",
    }  # fmt: skip
    assert {(one["trust"], one["project"]["name"], one["timestamp"]) for one in found.values()} == {
        ("imported", "shop", "2026-01-05T08:00:00Z")
    }
    assert "it skips the first line" in found["The importer expects a byte order mark"]["context"]
    meta = found["repair the import"]["meta"]
    assert (meta["outcome"], meta["lessons"], meta["todos"]) == (
        "The import works.", ["exports are UTF-16"], ["write a test"],
    )  # fmt: skip
    listed = run_cli("digest", "2026-W02").out
    assert "repair the import" in listed and "exports are UTF-16" in listed
    require_promises(store_home)


def test_its_first_tables_are_read_too(run_cli: RunCli, home: Path, store_home: Path) -> None:
    path = home / "old" / "claude-mem.db"
    path.parent.mkdir()
    add_session(home, "shop", "c0")
    with sqlite3.connect(path) as made:
        made.executescript(FIRST)
        add_row(made, "sdk_sessions", claude_session_id="c0", sdk_session_id="m0", project="shop")
        add_row(made, "observations", sdk_session_id="m0", project="shop", text="The cache needs a warm start",
                type="discovery", created_at="2026-01-05T08:00:00.000Z", created_at_epoch=WHEN)  # fmt: skip
    made.close()
    assert run_cli("import", "claude-mem", str(path.parent), "--yes").code == 0
    assert [one["content"] for one in load_signals(store_home)] == ["The cache needs a warm start"]


def test_a_missing_table_is_empty(database: sqlite3.Connection, run_cli: RunCli, home: Path, store_home: Path) -> None:
    add_session(home, "shop", "c0")
    observe(database, "The cache needs a warm start", created_at_epoch=None, created_at="0001-01-01T00:00:00+23:00")
    database.execute("DROP TABLE session_summaries")
    done = run_cli("import", "claude-mem", "--yes")
    assert done.code == 0, done.err
    assert [one["content"] for one in load_signals(store_home)] == ["The cache needs a warm start"]


def test_a_database_of_another_program_is_refused(run_cli: RunCli, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "claude-mem.db") as made:
        made.execute("CREATE TABLE songs (id INTEGER PRIMARY KEY)")
    made.close()
    done = run_cli("import", "claude-mem", str(tmp_path), "--yes")
    assert done.code == 1 and "is not a claude-mem database: it has no table 'observations'" in done.err


@pytest.mark.parametrize("value", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "soon", 1e300, None])
def test_a_time_that_cannot_be_converted_is_now(value: object) -> None:
    assert to_utc(value)[:2] == "20"


def test_ignored_and_unknown_projects_appear_nowhere(
    database: sqlite3.Connection, run_cli: RunCli, home: Path, store_home: Path
) -> None:
    add_session(home, "shop", "c0")
    (add_session(home, "hidden", "c1") / ".reflectignore").touch()
    observe(database, "The shop closes at noon")
    observe(database, "The hidden garden has a key", memory_session_id="m1", project="hidden")
    observe(database, "The lost key was green", memory_session_id="m2", project="gone")
    done = run_cli("import", "claude-mem", "--yes")
    assert "'gone': the folder of this project is not known" in done.err and "hidden" not in done.err + done.out
    assert [one["content"] for one in load_signals(store_home)] == ["The shop closes at noon"]
    gone = home / "gone"
    gone.mkdir()
    assert run_cli("import", "claude-mem", "--yes", cwd=gone).out.count("The lost key was green") == 1


def test_secrets_are_redacted_and_the_database_is_not_touched(
    database: sqlite3.Connection, run_cli: RunCli, home: Path, store_home: Path
) -> None:
    add_session(home, "shop", "c0")
    observe(database, f"The deploy uses {SECRET} as its token", narrative=f"export TOKEN={SECRET}")
    files = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (home / ".claude-mem").iterdir()}
    assert len(files) == 3, "the log has rows that are not in the database yet"
    done = run_cli("import", "claude-mem", "--yes")
    assert SECRET not in done.out + done.err and SECRET not in json.dumps(load_signals(store_home))
    assert "The deploy uses [REDACTED:" in done.out
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files} == files
    assert set((home / ".claude-mem").iterdir()) == set(files)


def test_importing_again_makes_no_duplicates_even_after_expiry(
    database: sqlite3.Connection, run_cli: RunCli, home: Path, store_home: Path
) -> None:
    add_session(home, "shop", "c0")
    observe(database, "The shop closes at noon")
    assert "imported 1 signal" in run_cli("import", "claude-mem", "--yes").out
    assert run_cli("import", "claude-mem", "--yes").out == "nothing new to import\n"
    store = open_store(store_home)
    for days in (1, 30):
        Upkeep(store, store.env, time.time() + days * DAY).run()
    assert load_signals(store_home) == []
    assert run_cli("import", "claude-mem", "--yes").out == "nothing new to import\n"


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0", b"{}", None])
def test_what_is_no_database_is_told(run_cli: RunCli, home: Path, data: bytes | None) -> None:
    path = home / ".claude-mem" / "claude-mem.db"
    path.parent.mkdir()
    if data is not None:
        path.write_bytes(data)
    done = run_cli("import", "claude-mem", "--yes")
    assert done.code == 1 and "claude-mem" in done.err and "Traceback" not in done.err


INSTINCT = """---
id: prefer-fixtures
trigger: "when writing tests"
confidence: 0.7
domain: "testing"
source: "session-observation"
scope: project
---

# Prefer fixtures

## Action
Use a fixture instead of
a global variable.

## Evidence
- Observed 5 times
"""
LEARNED = """# Empty pages after a deploy

**Extracted:** 2026-01-05
**Context:** a page is blank

## Problem
The service worker serves the old bundle.

## Solution
Bump the version of the cache in sw.js with each release.

## When to Use
A page stays blank.
"""


def write_instinct(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_instincts_and_learned_skills_become_signals(run_cli: RunCli, home: Path, store_home: Path) -> None:
    data = home / ".local" / "share" / "ecc-homunculus"
    shop, hidden = home / "shop", home / "hidden"
    for folder in (shop, hidden):
        folder.mkdir()
    (hidden / ".reflectignore").touch()
    write_instinct(data / "projects" / "a1" / "instincts" / "personal", "prefer-fixtures.yaml", INSTINCT)
    write_instinct(data / "projects" / "b2" / "instincts" / "personal", "x.md", INSTINCT.replace("fixture", "hidden"))
    write_instinct(data / "projects" / "c3" / "instincts" / "personal", "x.md", INSTINCT.replace("fixture", "unknown"))
    (data / "projects.json").write_text(
        json.dumps({"a1": {"name": "shop", "root": str(shop)}, "b2": {"name": "hidden", "root": str(hidden)}})
    )
    two = INSTINCT.replace("writing tests", "handling input").replace("Use a fixture instead of\na global variable.",
                                                                      f"Check the token {SECRET} first.")  # fmt: skip
    write_instinct(home / ".claude" / "homunculus" / "instincts" / "inherited", "two.md", two + INSTINCT)
    write_instinct(home / ".claude" / "skills" / "learned", "blank.md", LEARNED)
    write_instinct(home / ".claude" / "skills" / "learned", "binary.md", "")
    (home / ".claude" / "skills" / "learned" / "binary.md").write_bytes(b"\xff")
    done = run_cli("import", "ecc", "--yes")
    assert "binary.md' is not UTF-8 text" in done.err and "hidden" not in done.out + done.err
    found = {one["content"]: one for one in load_signals(store_home)}
    first = "When writing tests: Use a fixture instead of a global variable."
    assert len(found) == 3 and first in found and SECRET not in json.dumps(found)
    assert found[first]["project"]["name"] == "shop" and "Observed 5 times" in found[first]["context"]
    assert {one["trust"] for one in found.values()} == {"imported"}
    learned = "Empty pages after a deploy: Bump the version of the cache in sw.js with each release."
    assert (found[learned]["type"], found[learned]["project"]) == ("discovery", None)
    assert found[learned]["source"]["file"].endswith("learned/blank.md")
    assert run_cli("import", "ecc", "--yes").out == "nothing new to import\n"
    require_promises(store_home)


def test_where_ecc_was_never_used_it_is_told(run_cli: RunCli) -> None:
    done = run_cli("import", "ecc", "--yes")
    assert (done.code, "hint: give the path: reflect-git import ecc PATH" in done.err) == (1, True)


def test_notes_of_a_project_without_transcripts_belong_to_its_folder(
    run_cli: RunCli, home: Path, store_home: Path
) -> None:
    """Claude Code deletes transcripts after a month and keeps its notes."""
    folder = home / "my-shop"
    folder.mkdir()
    name = "".join(c if c.isalnum() else "-" for c in str(folder))
    notes = home / ".claude" / "projects" / name / "memory"
    notes.mkdir(parents=True)
    (notes / "style.md").write_text("Ada prefers small commits.\n")
    run_cli("import", "auto-memory", "--yes")
    assert [one["project"]["name"] for one in load_signals(store_home)] == ["my-shop"]
    (folder / ".reflectignore").touch()
    (notes / "other.md").write_text("Bob prefers large commits.\n")
    assert "Bob" not in run_cli("import", "auto-memory", "--yes").out
