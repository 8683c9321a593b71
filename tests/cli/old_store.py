"""A project with a history of approved, reworded and replaced rules, and output without run-specific parts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reflect_git.rules import amend, dismiss
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.store.repository import Store
from tests.rules.project_edits import open_queue
from tests.rules.queues import BY, capture_signal

_NAMES = re.compile(r"\b(?:(SIG|LRN|DEC)-[0-9]{8}-[0-9a-z]{8}|[0-9a-f]{10})\b")
_WHEN = re.compile(r"(?:a moment|[0-9]+ minutes?) ago \([0-9-]{10} [0-9:]{5}\)")


def replace_varying_parts(text: str, store: Store) -> str:
    """Replace ids by LRN-1, LRN-2 … and commits by commit-1 … in order of appearance, times and machine by words."""
    known: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        kind = match[1] or "commit"
        number = 1 + sum(each.startswith(kind) for each in known.values())
        return known.setdefault(match[0], f"{kind}-{number}")

    return _NAMES.sub(name, _WHEN.sub("WHEN", text)).replace(store.machine, "MACHINE")


def approve(store: Store, folder: Path, words: str, to: str = "project", **more: Any) -> str:
    """Capture and approve a rule; return its id."""
    signal = capture_signal(store, words)
    queue = open_queue(store, folder)
    request = Request(queue.find_candidate(signal), to=to, **more)
    return write_approval(queue, plan_approval(queue, request), BY).learning


def reword(store: Store, folder: Path, learning: str, text: str, reason: str = "") -> None:
    queue = open_queue(store, folder)
    wanted = amend.AmendRequest(text=text, reason=reason)
    amend.write_amendment(queue, amend.plan_amendment(queue, amend.find_rule_to_amend(queue, learning), wanted), BY)


def dismiss_signal(store: Store, folder: Path, words: str, never: bool = False) -> str:
    """Capture and dismiss a signal; return its id."""
    signal = capture_signal(store, words)
    dismiss.dismiss(store, open_queue(store, folder).find_candidate(signal), BY, never=never)
    return signal
