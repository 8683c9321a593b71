"""Root causes that Claude drafted: they are kept with the signal that proposes the change, until a person approves it.

The person sees what happened and why as the quote below the proposed rule. The approval records exactly that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reflect_git.records.schema import Signal

META = "rootcause"  # field of a signal's meta: the fields of the decision
_TEXTS = ("what", "why", "change", "class", "scope", "proposal")
_LISTS = ("checked", "overlap")
MAX_LENGTH = 600  # of the quote in a question; a person would not see more


def format_context(key: str, what: str, why: str) -> str:
    """Return the text that a person reads below the proposed rule."""
    return f"root cause of incident {key}: {what}; why: {why}"


def parse_draft(signal: Signal) -> tuple[str, dict[str, Any]] | None:
    """Return the incident and the fields of the decision that a signal drafts; None unless the person saw its words."""
    draft, key = signal["meta"].get(META), signal["meta"].get("incident")
    if not isinstance(draft, dict) or not isinstance(key, str):
        return None
    texts = {name: draft.get(name) for name in _TEXTS}
    lists = {name: draft.get(name) for name in _LISTS}
    before = draft.get("before")
    if not all(isinstance(value, str) for value in texts.values()) or not isinstance(before, dict):
        return None
    if not all(isinstance(value, list) for value in lists.values()):
        return None
    shown = format_context(key, str(texts["what"]), str(texts["why"]))
    if signal["context"] != shown or len(shown) > MAX_LENGTH:
        return None
    return key, {**texts, **lists, "before": before}
