"""Helpers for tests of revert, undo and restore, and operations for their fault tests."""

from __future__ import annotations

import os
from pathlib import Path

from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY, project_of, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.rules.queue import Queue
    from reflect_git.rules.revert import Reversal, Wanted
    from reflect_git.rules.write_change import Approved

BASE = b"# Shop\r\n\r\nOur own text, without an end"


def claude_md() -> bytes:
    return (project_of(os.environ) / "CLAUDE.md").read_bytes()


def write(data: bytes, name: str = "CLAUDE.md") -> None:
    (project_of(os.environ) / name).write_bytes(data)


def sit(store: Store) -> Queue:
    return queues.sit(store, os.environ)


def approve(store: Store, words: str, to: str = "project", **wish: Any) -> Approved:
    """Capture and approve something as a person."""
    from reflect_git.rules.approve import Request, carry_out, propose

    signal = say(store, words, session_id=words)
    queue = sit(store)
    candidate = queue.find(signal)
    return carry_out(queue, propose(queue, Request(candidate, to=to, **wish)), BY)


def amend(store: Store, learning: str, text: str = "", to: str = "") -> Approved:
    from reflect_git.rules import amend

    queue = sit(store)
    return amend.carry_out(queue, amend.amend(queue, amend.find(queue, learning), amend.Wanted(text, to)), BY)


def propose(store: Store, name: str, wanted: Wanted | None = None) -> Reversal:
    from reflect_git.rules import revert

    queue = sit(store)
    return revert.propose(queue, revert.find(queue, name), wanted)


def revert(store: Store, name: str, wanted: Wanted | None = None) -> Approved:
    from reflect_git.rules import revert

    queue = sit(store)
    return revert.carry_out(queue, revert.propose(queue, revert.find(queue, name), wanted), BY)


def undo(store: Store, only_persons: bool = True) -> Approved:
    from reflect_git.rules import restore as undoing
    from reflect_git.rules import revert

    queue = sit(store)
    return revert.carry_out(queue, revert.propose(queue, undoing.last(queue, only_persons)), BY)


def restore(store: Store, name: str) -> Approved:
    from reflect_git.rules import restore

    queue = sit(store)
    return restore.carry_out(queue, restore.propose(queue, restore.find(store, name)), BY)


def in_force(store: Store) -> list[str]:
    """Return the ids of the rules in force, oldest first."""
    from reflect_git.store.reading import reader

    found = reader.scan(store).history.in_force()
    return [one["id"] for one in sorted(found, key=lambda one: one["timestamp"])]


# In separate processes


def _swept(store: Store) -> Store:
    from reflect_git.store import recover

    recover.sweep(store)
    return store


def revert_first(store: Store, env: Mapping[str, str]) -> None:
    _swept(store)
    os.write(1, f"{revert(store, in_force(store)[0]).commit}\n".encode())


def undo_last(store: Store, env: Mapping[str, str]) -> None:
    _swept(store)
    os.write(1, f"{undo(store).commit}\n".encode())


def restore_oldest(store: Store, env: Mapping[str, str]) -> None:
    _swept(store)
    from reflect_git.store.main import backups

    os.write(1, f"{restore(store, backups.kept(store)[-1].name).commit}\n".encode())


def project() -> Path:
    return project_of(os.environ)
