"""A shop with a past: rules approved, reworded, replaced; and answers without what differs from run to run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reflect_git.sitting import amend, dismiss
from reflect_git.sitting.approve import Request, carry_out, propose
from reflect_git.store.repository import Store
from tests.sitting.desk import BY, say
from tests.sitting.shopkeeper import sit

_NAMES = re.compile(r"\b(?:(SIG|LRN|DEC)-[0-9]{8}-[0-9a-z]{8}|[0-9a-f]{10})\b")
_WHEN = re.compile(r"(?:a moment|[0-9]+ minutes?) ago \([0-9-]{10} [0-9:]{5}\)")


def plain(text: str, store: Store) -> str:
    """Ids as LRN-1, LRN-2 … and commits as commit-1 … in the order in which they come; times and machine as words."""
    known: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        kind = match[1] or "commit"
        number = 1 + sum(each.startswith(kind) for each in known.values())
        return known.setdefault(match[0], f"{kind}-{number}")

    return _NAMES.sub(name, _WHEN.sub("WHEN", text)).replace(store.machine, "MACHINE")


def approve(store: Store, folder: Path, words: str, to: str = "project", **more: Any) -> str:
    """Said and approved; the id of the learning."""
    signal = say(store, words)
    sitting = sit(store, folder)
    request = Request(sitting.find(signal), to=to, **more)
    return carry_out(sitting, propose(sitting, request), BY).learning


def reword(store: Store, folder: Path, learning: str, text: str, reason: str = "") -> None:
    sitting = sit(store, folder)
    wanted = amend.Wanted(text=text, reason=reason)
    amend.carry_out(sitting, amend.amend(sitting, amend.find(sitting, learning), wanted), BY)


def say_no(store: Store, folder: Path, words: str, never: bool = False) -> str:
    """Said and dismissed; the id of the signal."""
    signal = say(store, words)
    dismiss.dismiss(store, sit(store, folder).find(signal), BY, never=never)
    return signal
