"""List the judge's suggestions and what they led to. Taking and dismissing are answers to a proposed rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.judge.answers import REVERT, UPDATE
from reflect_git.judge.evaluate import IN_SESSION
from reflect_git.records.ids import plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import api
from reflect_git.store.target_versions import GLOBAL_PREFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from reflect_git.records.schema import Signal
    from reflect_git.rules.context import Context
    from reflect_git.store.reading.reader import Scan

_OPEN = "captured"
_MAX_REASON = 200


class OpenSuggestion(NamedTuple):
    """A suggestion that nobody answered. `priority`: 5 is the most urgent. `key`: of the project that it is about."""

    id: str
    priority: int
    category: str
    text: str
    timestamp: str
    project: str
    evaluation: str
    evidence: tuple[str, ...]
    key: str = ""

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
    meta, project = signal["meta"], signal["project"]
    quotes = meta.get("evidence")
    return OpenSuggestion(
        signal["id"], get_priority(signal), signal["category"], signal["content"], signal["timestamp"],
        project["name"] if project else "", str(meta.get("evaluation", "")),
        tuple(map(str, quotes)) if isinstance(quotes, list) else (), project["key"] if project else "",
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


def require_own_project(suggestion: OpenSuggestion, keys: Collection[str]) -> None:
    """Raise if a suggestion is about another project than this one, which has these keys."""
    if suggestion.key and suggestion.key not in keys:
        hint = "take it there, or with --project DIR; for all projects: --to global"
        raise ReflectError(f"it is about the project '{suggestion.project}'", hint, "other-project")


def build_reason(scan: Scan, suggestion: OpenSuggestion) -> str:
    """Return why a suggestion is taken: the score of its evaluation, and the weakness that was seen."""
    record = scan.other_records.get(suggestion.evaluation)
    return _format_grounds(scan, [record])[1] if record else ""


def find_grounds(ctx: Context, figure: str) -> tuple[str, str]:
    """Return the scores for which the judge advised to update a file since it was changed last, and the same with the
    weaknesses, which are private.

    `figure`: the file as the figures of sessions name it.
    """
    found = []
    for one in ctx.scan.other_records.values():
        if one["id"].startswith("EVL-") and one["recommendation"] == UPDATE and figure in one["versions"]:
            is_here = one["project"] is not None and one["project"]["key"] in ctx.place.keys
            if one["judge"]["kind"] != IN_SESSION and (is_here or figure.startswith(GLOBAL_PREFIX)):
                found.append(one)
    newest = max((one["versions"][figure] for one in found), default=0)
    return _format_grounds(ctx.scan, [one for one in found if one["versions"][figure] == newest])


def _format_grounds(scan: Scan, records: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Return scores, and scores and weaknesses in one line: `scored 2.00 in 2 evaluations: It does not listen.`"""
    scored = [one for one in records if one["overall"] is not None]
    if not scored:
        return "", ""
    names = {name for one in scored for name in one["meta"].get("signals", ())}
    ids = scan.columns["id"]
    weak = [
        one["content"] for one in scan.get_signals(row for row in scan.rows if ids[row] in names)
        if one["meta"].get("weakness")
    ]  # fmt: skip
    mean = sum(one["overall"] for one in scored) / len(scored)
    said = f"scored {mean:.2f} in {plural(len(scored), 'evaluation')}"
    text = ": ".join([said, " ".join(dict.fromkeys(weak))]) if weak else said
    return said, text if len(text) <= _MAX_REASON else f"{text[: _MAX_REASON - 1]}…"


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
