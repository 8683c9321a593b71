"""List the judge's suggestions and what they led to. Taking and dismissing are answers to a proposed rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.judge.answers import REVERT, UPDATE
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import api

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.records.schema import Signal
    from reflect_git.rules.context import Context
    from reflect_git.store.reading.reader import Scan

_OPEN = "captured"


class OpenSuggestion(NamedTuple):
    """A suggestion that nobody answered. `priority`: 5 is the most urgent."""

    id: str
    priority: int
    category: str
    text: str
    timestamp: str
    project: str
    evaluation: str
    evidence: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {**self._asdict(), "evidence": list(self.evidence)}


class Findings(NamedTuple):
    """The findings of an evaluation: the analysis, weaknesses and suggestions while they exist, and their result."""

    analysis: str
    listed: list[dict[str, Any]]
    led_to: list[str]
    next_step: str


def list_suggestions(scan: Scan, project: str = "") -> list[OpenSuggestion]:
    """List the suggestions that wait for an answer, the most urgent first, then the oldest."""
    rows = scan.select(status=_OPEN, kind="convention", project=project)
    signals = scan.get_signals(rows)
    found = [_build_suggestion(one) for one in signals if get_priority(one)]
    return sorted(found, key=lambda one: (-one.priority, one.timestamp, one.id))


def get_priority(signal: Mapping[str, Any]) -> int:
    """Return the priority of a suggestion; 0 for any other signal."""
    made = signal["meta"].get("suggestion")
    value = made.get("priority") if isinstance(made, dict) else None
    return value if type(value) is int and 1 <= value <= 5 else 0


def _build_suggestion(signal: Signal) -> OpenSuggestion:
    meta = signal["meta"]
    quotes = meta.get("evidence")
    return OpenSuggestion(
        signal["id"], get_priority(signal), signal["category"], signal["content"], signal["timestamp"],
        signal["project"]["name"] if signal["project"] else "", str(meta.get("evaluation", "")),
        tuple(map(str, quotes)) if isinstance(quotes, list) else (),
    )  # fmt: skip


def find_suggestion(scan: Scan, prefix: str) -> OpenSuggestion:
    """Return the open suggestion whose id begins like this; raise if there is none."""
    found = {one.id: one for one in list_suggestions(scan)}
    try:
        return found[api.find_id(found, prefix)]
    except ReflectError as error:
        if error.code != "unknown-id":
            raise
        raise ReflectError(
            f"no open suggestion '{prefix}'", "list them with 'reflect-git suggestions'", "unknown-id"
        ) from None


def load_findings(ctx: Context, record: Mapping[str, Any]) -> Findings:
    """Return what the judge wrote with an evaluation, as far as it has not expired, and what it led to."""
    scan, names = ctx.scan, set(record["meta"].get("signals", ()))
    ids = scan.columns["id"]
    signals = scan.get_signals(row for row in scan.rows if ids[row] in names)
    analysis, listed = "", []
    for one in signals:
        if one["meta"].get("analysis"):
            analysis = one["content"]
            continue
        quotes = one["meta"].get("evidence")
        listed.append({
            "id": one["id"], "kind": "weakness" if one["meta"].get("weakness") else "suggests", "text": one["content"],
            "state": {"captured": "open", "promoted": "taken"}.get(one["status"], one["status"]),
            "evidence": quotes if isinstance(quotes, list) and not get_priority(one) else [],
        })  # fmt: skip
    led_to = [
        f"{learning['id']} {learning['title']}" for learning in scan.history.learnings.values()
        if names.intersection(learning["signals"])
    ]  # fmt: skip
    is_open = any(one["state"] == "open" and one["kind"] == "suggests" for one in listed)
    return Findings(analysis, listed, led_to, _choose_next_step(record, is_open))


def _choose_next_step(record: Mapping[str, Any], is_open: bool) -> str:
    """Return the command that a recommendation leads to."""
    if record["recommendation"] == UPDATE:
        if is_open:
            return "answer the suggestions: reflect-git suggestions"
        return "see what can be joined or retired: reflect-git tidy"
    if record["recommendation"] == REVERT and any(number > 1 for number in record["versions"].values()):
        return "see whether to go back: reflect-git review"
    return ""
