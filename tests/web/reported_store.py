"""Evaluations, digests and skills in a store, made by the functions that make them otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reflect_git.capture import service
from reflect_git.memory import digests
from reflect_git.records.ids import get_signal_id, random_id, utc
from reflect_git.records.schema import VERSION
from reflect_git.skills import deploy, draft
from reflect_git.store import api, append
from reflect_git.store.local import usage
from reflect_git.web.model import Panel
from tests.rules.queues import BY

MARKER = "vibraphone"  # in every text that stays on the machine
ADVICE = f"Always run the {MARKER} tests before you answer."
LINES = 120
MONDAY = "2026-02-09T09:00:00Z"


def add_reports(panel: Panel) -> None:
    """Add four evaluations with their cost, a suggestion, digests of a week and two months, a skill and a draft."""
    project = service.get_project(panel.store, panel.folder)
    known = [_add_evaluation(panel, project, *one) for one in ((2.0, True), (3.0, True), (4.5, False))]
    _add_evaluation(panel, project, 5.0, False, "in-session")
    line = usage.reserve_cost(panel.store, "evaluate", "haiku", 0.01, 8000)
    usage.record_cost(panel.store, line, usage.DONE, usd=0.0127, tokens=9034)
    _add_digests(panel, project, known[0])
    _add_skills(panel)
    panel.load()


def _add_evaluation(panel: Panel, project: Any, score: float, is_anchored: bool, kind: str = "claude") -> str:
    record_id = random_id("EVL", utc())
    shared = {
        "confidence": 1, "trust": "assistant", "session_id": f"s-{score}", "project": project, "context": "",
        "source": {"hook": "evaluate"},
    }  # fmt: skip
    meta = {"evaluation": record_id, "durable": True}
    given = [{"type": "summary", "content": f"The {MARKER} was guessed.", "meta": {**meta, "analysis": True}}]
    if score == 2:
        evidence = [f"where is the {MARKER} then?"]
        weakness = {
            "type": "project_friction",
            "content": f"It guessed the {MARKER}.",
            "meta": {**meta, "weakness": True},
        }
        advice = {"priority": 4, "category": "convention"}
        given += [weakness, {"type": "convention", "content": ADVICE, "meta": {**meta, "suggestion": advice}}]
        for one in given[1:]:
            one["meta"] = {**meta, **one["meta"], "evidence": evidence}  # type: ignore[dict-item]
    signals = [service.capture_signal(panel.store, {**shared, **one}, panel.env, wait=5)[0]["id"] for one in given]
    record: dict[str, Any] = {
        "id": record_id, "version": VERSION, "timestamp": utc(), "machine": panel.store.machine,
        "session": f"{score * 10:032.0f}", "project": project, "messages": {"first": 1, "last": 20, "count": 20},
        "versions": {"CLAUDE.md": 1}, "rules": [], "scores": {"completeness": score, "depth": score, "tone": score},
        "overall": score, "recommendation": "update" if score == 2 else "keep",
        "judge": {"kind": kind, "model": "claude-example-1", "rubric_sha": "0c4f", "prompt_sha": "9d2e"},
        "usage": {"input": 8123, "output": 911, "usd": 0.0127}, "anchored": is_anchored,
        "meta": {"signals": signals, "dropped": ["scope"]},
    }  # fmt: skip
    api.commit_records(panel.store, [record], f"evaluate: 20 messages, {score:.2f}", {})
    return record_id


def _add_digests(panel: Panel, project: Any, cited: str) -> None:
    rule = panel.rules[0].id

    def build(period: str, count: int, sources: tuple[str, ...] = ()) -> list[Any]:
        items = [
            digests.Item(get_signal_id(MONDAY, f"{period} {at}", "x"), MONDAY, "broken", f"k{at}",
                         f"The {MARKER} {at} broke.", "tool_output")
            for at in range(count)
        ]  # fmt: skip
        items += [
            digests.Item(get_signal_id(MONDAY, f"{period} {at}", "y"), MONDAY, "learned", "same", f"Tune the {MARKER}.",
                         "user_typed")
            for at in range(5)
        ]  # fmt: skip
        items.append(digests.Item(rule, MONDAY, "decided", rule, f"approved: {MARKER}", "user_typed"))
        figures = {"sessions": 12.0, "typed": 140.0, "corrections": 9.0, "failures": 31.0}
        return digests.build_records(period, project, digests.build_lines(items), figures, sources, 0)

    merged = build("2025-W50", 3)
    made = [*merged, *build("2025-12", 3, (merged[0]["id"],)), *build("2026-01", 7), *build("2026-W07", LINES)]
    assert append.append_new(panel.store, made)


def _add_skills(panel: Panel) -> None:
    panel.load()
    for name in ("release", f"tune-{MARKER}"):
        draft.write_draft(panel.store, draft.build_request_gap(f"how to {name}"), name)
    text = "---\nname: release\ndescription: Use it to release a version.\n---\n\n# Release\n\n1. Build it.\n"
    Path(draft.load_draft(panel.store, "release").path).write_text(text, encoding="utf-8")
    made = deploy.plan_deployment(panel.ctx, draft.load_draft(panel.store, "release"), False)
    deploy.write_deployment(panel.ctx, made, BY)
