"""A project with a rule in its CLAUDE.md, and what may edit that file: git, an editor, a formatter, Claude."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from reflect_git.records.ids import utc, utc_precise
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.drift import drift, line_owner
from reflect_git.rules.drift.drift import Drift
from reflect_git.rules.drift.line_owner import Passage
from reflect_git.rules.queue import Queue
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.queues import BY, capture_signal
from tests.sessions import Session
from tests.store.store_checks import open_store

PNPM = "Use pnpm, not npm"


def make_project(folder: Path, text: str = "# Shop\n\nOur own text.\n") -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.com")
    (folder / "CLAUDE.md").write_text(text, encoding="utf-8")
    commit(folder)
    return folder


def commit(folder: Path, message: str = "work") -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


def open_queue(store: Store, folder: Path) -> Queue:
    from reflect_git.rules import queue

    return queue.open_queue(store, os.environ, reader.scan(store), str(folder))


def approve(store: Store, folder: Path, words: str = "use pnpm, not npm", to: str = "project", **more: Any) -> str:
    """Approve a rule; return its id."""
    capture_signal(store, words, **more)
    here = open_queue(store, folder)
    return write_approval(here, plan_approval(here, Request(here.candidates.strong[-1], to=to)), BY).learning


def create_store_with_rule(store_home: Path, folder: Path) -> Store:
    """Create a store with one rule in force, committed in the project, and nothing else."""
    store = open_store(store_home)
    approve(store, folder)
    commit(folder)
    return store


def find_drift(store: Store, folder: Path) -> Drift:
    """Return what is found; check that it decides nothing and touches no file."""
    here = open_queue(store, folder)
    before = _get_state(store, folder)
    found = drift.find_drift(store, os.environ, here.place, here.scan.history)
    assert _get_state(store, folder) == before, "a look changed something"
    return found


def _get_state(store: Store, folder: Path) -> list[object]:
    files = [*sorted(folder.rglob("*.md")), folder / ".git" / "index"]
    return [store.git.resolve("refs/heads/main"), *(path.read_bytes() for path in files if path.is_file())]


def find_claude_lines(store: Store, folder: Path) -> list[Passage]:
    here = open_queue(store, folder)
    pages = find_drift(store, folder).files
    return line_owner.find_passages(store, os.environ, here.place, pages, drift.load_ignored(store), 5.0)


def list_kinds(found: Drift) -> list[tuple[str, str]]:
    """Return (kind, author) of everything that was found."""
    return [(one.found.kind, one.author) for one in (*found.open_differences, *found.branch_differences)]


class ClaudeEditor(Session):
    """A session in the project: `edit` and `write` change files and record it as the client does."""

    def __init__(self, home: Path, folder: Path, name: str = "") -> None:
        super().__init__(home, name, cwd=str(folder))
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(folder))
        shutil.rmtree(self.path.parent, ignore_errors=True)
        self.path = home / ".claude" / "projects" / slug / self.path.name
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def edit(self, path: Path, old: str, new: str, ago: float = 0.0, **more: Any) -> None:
        before = path.read_text(encoding="utf-8")
        assert before.count(old) == 1, before
        path.write_text(before.replace(old, new), encoding="utf-8")
        given = {"file_path": str(path), "old_string": old, "new_string": new, "replace_all": False}
        kept = {"filePath": str(path), "oldString": old, "newString": new, "originalFile": before, **more}
        self._write_tool_call("Edit", given, kept, ago)

    def write_file(self, path: Path, content: str, ago: float = 0.0) -> None:
        before = path.read_text(encoding="utf-8") if path.exists() else None
        path.write_text(content, encoding="utf-8")
        kept = {"type": "update" if before else "create", "filePath": str(path), "content": content,
                "originalFile": before}  # fmt: skip
        self._write_tool_call("Write", {"file_path": str(path), "content": content}, kept, ago)

    def _write_tool_call(self, tool: str, given: dict[str, Any], kept: dict[str, Any], ago: float) -> None:
        import time

        moment = utc(time.time() - ago) if ago else utc_precise()
        call = f"toolu_{self.name[:8]}_{self.count}"
        block = {"type": "tool_use", "id": call, "name": tool, "input": given}
        content = {"role": "assistant", "model": "claude-x", "content": [block]}
        self.write("assistant", message=content, timestamp=moment)
        result = {"type": "tool_result", "tool_use_id": call, "content": "ok"}
        said = {"role": "user", "content": [result]}
        self.write("user", message=said, toolUseResult=kept, timestamp=moment)
