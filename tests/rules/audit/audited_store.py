"""A store with two rules in a project's CLAUDE.md, and ways to inspect it and to tamper with it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reflect_git import audit
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.write_change import WriteResult
from reflect_git.store.reading import reader
from reflect_git.store.repository import Store
from tests.faults import git
from tests.rules.queues import BY, capture_signal, get_project_folder, open_queue
from tests.store.store_checks import open_recovered_store, open_store

if TYPE_CHECKING:
    from reflect_git.audit import Report
    from reflect_git.records.schema import DecisionAuthor

TABS = "no, always use tabs in makefiles, never spaces"
ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def create_audited_store(root: Path, home: Path, *words: str) -> Store:
    """Create a project and a store, and approve these words into the project's CLAUDE.md."""
    project = home / "shop"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "CLAUDE.md").write_text("# Shop\n\nOur own text.\n", encoding="utf-8")
    store = open_store(root)
    for number, said in enumerate(words):
        approve(store, said, f"s-{number}")
    open_recovered_store(root)
    return store


def approve(
    store: Store, words: str, session: str = "s-9", by: DecisionAuthor = BY, basis: Mapping[str, str] | None = None,
    to: str = "project", env: Mapping[str, str] = os.environ,
) -> WriteResult:  # fmt: skip
    signal = capture_signal(store, words, session_id=session)
    queue = open_queue(store, env)
    found = queue.candidates.find_candidate(signal)
    assert found is not None, "nothing to approve"
    return write_approval(queue, plan_approval(queue, Request(found, to=to)), by, basis)


def run_audit(store: Store, **env: str) -> Report:
    """Return the report that the next command would give."""
    store = open_recovered_store(Path(store.root))
    folder = str(get_project_folder(os.environ))
    return audit.run_audit(store, {**os.environ, **env}, time.time(), reader.read, folder)


def list_codes(store: Store) -> list[str]:
    """Return the codes of the findings that need a decision."""
    return sorted({one.code for one in run_audit(store).findings if one.needs_decision})


def read_claude_md() -> Path:
    return get_project_folder(os.environ) / "CLAUDE.md"


def edit_claude_md(old: str, new: str) -> None:
    text = read_claude_md().read_text(encoding="utf-8")
    assert old in text
    read_claude_md().write_text(text.replace(old, new, 1), encoding="utf-8")


def list_records(store: Store, folder: str) -> list[Path]:
    return sorted(Path(store.root, folder).rglob("*.yaml"))


def commit(store: Store, message: str = "by hand", *who: str) -> str:
    """Commit all changes of the work tree, as a person or as somebody who claims to be us."""
    root = Path(store.root)
    git(root, "add", "-A")
    git(root, *(who or ADA), "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD").strip()
