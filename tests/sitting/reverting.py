"""What the tests of revert, undo and restore share, and what their fault tests run in processes of their own."""

from __future__ import annotations

import os
from pathlib import Path

from reflect_git.store.repository import Store
from tests.sitting import desk
from tests.sitting.desk import BY, project_of, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.sitting.revert import Reversal, Wanted
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.writing import Approved

BASE = b"# Shop\r\n\r\nOur own text, without an end"


def claude_md() -> bytes:
    return (project_of(os.environ) / "CLAUDE.md").read_bytes()


def write(data: bytes, name: str = "CLAUDE.md") -> None:
    (project_of(os.environ) / name).write_bytes(data)


def sit(store: Store) -> Sitting:
    return desk.sit(store, os.environ)


def approve(store: Store, words: str, to: str = "project", **wish: Any) -> Approved:
    """A person says something and approves it."""
    from reflect_git.sitting.approve import Request, carry_out, propose

    signal = say(store, words, session_id=words)
    sitting = sit(store)
    candidate = sitting.find(signal)
    return carry_out(sitting, propose(sitting, Request(candidate, to=to, **wish)), BY)


def amend(store: Store, learning: str, text: str = "", to: str = "") -> Approved:
    from reflect_git.sitting import amend

    sitting = sit(store)
    return amend.carry_out(sitting, amend.amend(sitting, amend.find(sitting, learning), amend.Wanted(text, to)), BY)


def propose(store: Store, name: str, wanted: Wanted | None = None) -> Reversal:
    from reflect_git.sitting import revert

    sitting = sit(store)
    return revert.propose(sitting, revert.find(sitting, name), wanted)


def revert(store: Store, name: str, wanted: Wanted | None = None) -> Approved:
    from reflect_git.sitting import revert

    sitting = sit(store)
    return revert.carry_out(sitting, revert.propose(sitting, revert.find(sitting, name), wanted), BY)


def undo(store: Store, only_persons: bool = True) -> Approved:
    from reflect_git.sitting import revert
    from reflect_git.sitting import undo as undoing

    sitting = sit(store)
    return revert.carry_out(sitting, revert.propose(sitting, undoing.last(sitting, only_persons)), BY)


def restore(store: Store, name: str) -> Approved:
    from reflect_git.sitting import restore

    sitting = sit(store)
    return restore.carry_out(sitting, restore.propose(sitting, restore.find(store, name)), BY)


def in_force(store: Store) -> list[str]:
    """The ids of what is in force, the oldest first."""
    from reflect_git.store import reading

    found = reading.scan(store).history.in_force()
    return [one["id"] for one in sorted(found, key=lambda one: one["timestamp"])]


# In processes of their own


def _swept(store: Store) -> Store:
    from reflect_git.store import sweep

    sweep.sweep(store)
    return store


def revert_first(store: Store, env: Mapping[str, str]) -> None:
    _swept(store)
    os.write(1, f"{revert(store, in_force(store)[0]).commit}\n".encode())


def undo_last(store: Store, env: Mapping[str, str]) -> None:
    _swept(store)
    os.write(1, f"{undo(store).commit}\n".encode())


def restore_oldest(store: Store, env: Mapping[str, str]) -> None:
    _swept(store)
    from reflect_git.store import backups

    os.write(1, f"{restore(store, backups.kept(store)[-1].name).commit}\n".encode())


def project() -> Path:
    return project_of(os.environ)
