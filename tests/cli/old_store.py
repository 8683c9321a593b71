"""A project with a history of approved, reworded and replaced rules, and output without run-specific parts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reflect_git.rules import amend, dismiss
from reflect_git.rules.approve import Request, carry_out, propose
from reflect_git.store.repository import Store
from tests.rules.project_edits import sit
from tests.rules.queues import BY, say

_NAMES = re.compile(r"\b(?:(SIG|LRN|DEC)-[0-9]{8}-[0-9a-z]{8}|[0-9a-f]{10})\b")
_WHEN = re.compile(r"(?:a moment|[0-9]+ minutes?) ago \([0-9-]{10} [0-9:]{5}\)")


def plain(text: str, store: Store) -> str:
    """Replace ids by LRN-1, LRN-2 … and commits by commit-1 … in order of appearance, times and machine by words."""
    known: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        kind = match[1] or "commit"
        number = 1 + sum(each.startswith(kind) for each in known.values())
        return known.setdefault(match[0], f"{kind}-{number}")

    return _NAMES.sub(name, _WHEN.sub("WHEN", text)).replace(store.machine, "MACHINE")


def approve(store: Store, folder: Path, words: str, to: str = "project", **more: Any) -> str:
    """Capture and approve a rule; return its id."""
    signal = say(store, words)
    queue = sit(store, folder)
    request = Request(queue.find(signal), to=to, **more)
    return carry_out(queue, propose(queue, request), BY).learning


def reword(store: Store, folder: Path, learning: str, text: str, reason: str = "") -> None:
    queue = sit(store, folder)
    wanted = amend.Wanted(text=text, reason=reason)
    amend.carry_out(queue, amend.amend(queue, amend.find(queue, learning), wanted), BY)


def say_no(store: Store, folder: Path, words: str, never: bool = False) -> str:
    """Capture and dismiss a signal; return its id."""
    signal = say(store, words)
    dismiss.dismiss(store, sit(store, folder).find(signal), BY, never=never)
    return signal
