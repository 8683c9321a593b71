"""Helpers for tests of revert, undo and restore, and operations for their fault tests."""

from __future__ import annotations

import os
from pathlib import Path

from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY, capture_signal, get_project_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.rules.queue import Queue
    from reflect_git.rules.revert import RevertOptions, RevertPlan
    from reflect_git.rules.write_change import WriteResult

BASE = b"# Shop\r\n\r\nOur own text, without an end"


def read_claude_md() -> bytes:
    return (get_project_folder(os.environ) / "CLAUDE.md").read_bytes()


def write_project_file(data: bytes, name: str = "CLAUDE.md") -> None:
    (get_project_folder(os.environ) / name).write_bytes(data)


def open_queue(store: Store) -> Queue:
    return queues.open_queue(store, os.environ)


def approve(store: Store, words: str, to: str = "project", **wish: Any) -> WriteResult:
    """Capture and approve something as a person."""
    from reflect_git.rules.approve import Request, plan_approval, write_approval

    signal = capture_signal(store, words, session_id=words)
    queue = open_queue(store)
    candidate = queue.find_candidate(signal)
    return write_approval(queue, plan_approval(queue, Request(candidate, to=to, **wish)), BY)


def amend(store: Store, learning: str, text: str = "", to: str = "") -> WriteResult:
    from reflect_git.rules import amend

    queue = open_queue(store)
    return amend.write_amendment(
        queue, amend.plan_amendment(queue, amend.find_rule_to_amend(queue, learning), amend.AmendRequest(text, to)), BY
    )


def propose(store: Store, name: str, wanted: RevertOptions | None = None) -> RevertPlan:
    from reflect_git.rules import revert

    queue = open_queue(store)
    return revert.plan_revert(queue, revert.select_by_name(queue, name), wanted)


def revert(store: Store, name: str, wanted: RevertOptions | None = None) -> WriteResult:
    from reflect_git.rules import revert

    queue = open_queue(store)
    return revert.write_revert(queue, revert.plan_revert(queue, revert.select_by_name(queue, name), wanted), BY)


def undo(store: Store, only_persons: bool = True) -> WriteResult:
    from reflect_git.rules import restore as undoing
    from reflect_git.rules import revert

    queue = open_queue(store)
    return revert.write_revert(queue, revert.plan_revert(queue, undoing.select_last(queue, only_persons)), BY)


def restore(store: Store, name: str) -> WriteResult:
    from reflect_git.rules import restore

    queue = open_queue(store)
    return restore.write_restore(queue, restore.plan_restore(queue, restore.find_backup(store, name)), BY)


def list_rules_in_force(store: Store) -> list[str]:
    """Return the ids of the rules in force, oldest first."""
    from reflect_git.store.reading import reader

    found = reader.scan(store).history.get_rules_in_force()
    return [one["id"] for one in sorted(found, key=lambda one: one["timestamp"])]


# In separate processes


def _recover(store: Store) -> Store:
    from reflect_git.store import recover

    recover.recover_store(store)
    return store


def revert_first(store: Store, env: Mapping[str, str]) -> None:
    _recover(store)
    os.write(1, f"{revert(store, list_rules_in_force(store)[0]).commit}\n".encode())


def undo_last(store: Store, env: Mapping[str, str]) -> None:
    _recover(store)
    os.write(1, f"{undo(store).commit}\n".encode())


def restore_oldest(store: Store, env: Mapping[str, str]) -> None:
    _recover(store)
    from reflect_git.store.main import backups

    os.write(1, f"{restore(store, backups.list_backups(store)[-1].name).commit}\n".encode())


def get_current_project() -> Path:
    return get_project_folder(os.environ)
