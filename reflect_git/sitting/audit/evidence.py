"""What stands behind each rule in force: where it stands, who approved it, when, by which road, in which commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from reflect_git.sitting.audit.approvals import answer_of
from reflect_git.store.layout import path_of

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision, Learning
    from reflect_git.sitting.audit.matter import Matter, Sheet

_UNSIGNED = "unsigned"


def of_rules(matter: Matter, sheets: Iterable[Sheet]) -> list[dict[str, Any]]:
    """The oldest first; a rule that is in no file of this machine has no lines."""
    where: dict[str, list[dict[str, Any]]] = {}
    for sheet in sheets:
        for line in sheet.lines:
            where.setdefault(line.id, []).append({"file": sheet.path, "line": line.number})
    listed = sorted(matter.in_force.values(), key=lambda one: (one["timestamp"], one["id"]))
    return [_rule(matter, one, where.get(one["id"], [])) for one in listed]


def _rule(matter: Matter, learning: Learning, lines: list[dict[str, Any]]) -> dict[str, Any]:
    history = matter.scan.history
    approval = matter.decisions.get(learning["decision"])
    changes = [
        made
        for made in history.decisions
        if made["subject"] == learning["id"] and made["kind"] == "amended" and made["id"] not in history.void
    ]
    return {
        "id": learning["id"], "text": learning["text"], "scope": learning["scope"], "target": learning["target"],
        "project": learning["project"]["name"] if learning["project"] else None, "trust": learning["trust"],
        "lines": lines, "approved": _decided(matter, approval) if approval else None,
        "amended": [_decided(matter, made) for made in changes],
    }  # fmt: skip


def _decided(matter: Matter, made: Decision) -> dict[str, Any]:
    """By whom and where; `answer` is what the person said inside Claude Code, as the client recorded it."""
    commit, answer = matter.brought.get(path_of(made["id"])), answer_of(made)
    return {
        "decision": made["id"], "time": made["timestamp"], "machine": made["machine"], "by": made["by"],
        "text_sha256": made["text_sha256"],
        "answer": {"session": answer[0], "call": answer[1]} if answer else None,
        "commit": commit.id if commit else None,
        "signature": matter.signatures.get(commit.id, _UNSIGNED) if commit else None,
    }  # fmt: skip
