"""What a person edits: the sentence of a learning, or the fields of an improvement, one a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reflect_git.model.schema import Learning
    from reflect_git.sitting.approve import Request

ADVICE = (
    "Lines that begin with this sign are left out; an empty text changes nothing.",
    "One to three short sentences are followed best.",
)
_NAMES = {"Title": "title", "Impact": "impact", "Details": "details", "Suggested action": "action"}


def fields_of(learning: Learning) -> dict[str, str]:
    """Of an improvement; empty for a rule."""
    kept = learning["meta"].get("improvement")
    if not isinstance(kept, dict):
        return {}
    return {"title": learning["title"], **{name: str(kept.get(name, "")) for name in ("impact", "details", "action")}}


def written(fields: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {' '.join(fields[field].split())}" for name, field in _NAMES.items())


def read(text: str) -> dict[str, str]:
    """The fields again; a line without a name goes on with the one above, a field that is gone is empty."""
    found = dict.fromkeys(_NAMES.values(), "")
    field = "title"
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        if colon and name.strip() in _NAMES:
            field, line = _NAMES[name.strip()], rest
        found[field] = f"{found[field]} {line.strip()}".strip()
    return found


def applied(request: Request, text: str) -> Request:
    """The request with the fields as they were edited."""
    found = read(text)
    return request._replace(
        title=found["title"], impact=found["impact"], details=found["details"], action=found["action"]
    )
