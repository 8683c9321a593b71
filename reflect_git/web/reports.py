"""The pages that are in the menu once they have something to show: evaluations with suggestions, digests, skills."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.judge import calibrate, evaluate, suggestions
from reflect_git.memory import digests
from reflect_git.records.ids import parse_utc, utc
from reflect_git.skills import deploy
from reflect_git.skills import draft as drafts
from reflect_git.store import api
from reflect_git.store.local import usage
from reflect_git.web.model import Call, Page, Panel, paginate
from reflect_git.web.today import list_candidates

if TYPE_CHECKING:
    from collections.abc import Callable

    from reflect_git.records.schema import Digest, DigestLine
    from reflect_git.skills.deploy import DeployedSkill

SECTIONS = {
    "worked": "Worked on", "decided": "Decided", "learned": "Learned", "broken": "Broken", "open": "Still open",
    "noticed": "Noticed",
}  # fmt: skip
_FIGURES = ("sessions", "typed", "corrections", "failures")
_MAX_SUGGESTIONS = 20


def list_empty(panel: Panel) -> set[str]:
    """Return which of these pages have nothing to show."""
    has_data = {
        "evaluations": bool(load_evaluations(panel) or _load_suggestions(panel)),
        "digests": bool(load_periods(panel)),
        "skills": bool(_load_deployed(panel) or drafts.list_drafts(panel.store)),
    }
    return {name for name, has_any in has_data.items() if not has_any}


def load_evaluations(panel: Panel) -> list[dict[str, Any]]:
    """Return all evaluations, the newest first."""
    return panel.keep("evaluations", lambda: evaluate.list_evaluations(panel.ctx))


def _load_suggestions(panel: Panel) -> list[suggestions.OpenSuggestion]:
    return panel.keep("suggestions", lambda: suggestions.list_suggestions(panel.ctx.scan))


def show_evaluations(panel: Panel, call: Call) -> Page:
    """List the suggestions that wait for an answer, and the evaluations with their scores and means."""
    found, waiting = load_evaluations(panel), _load_suggestions(panel)
    number = call.get_number("page", 1, 10**6)
    shown, pages = paginate(found, number)
    data = {
        "evaluations": [_build_evaluation(one) for one in shown], "total": len(found), "means": _build_means(found),
        "agreement": _build_agreement(panel), "open": len(waiting),
        "suggestions": _build_suggestions(panel, waiting[:_MAX_SUGGESTIONS]) if panel.is_private else [],
        "usage": usage.summarise(panel.store),
        "page": min(number, pages), "pages": pages,
    }  # fmt: skip
    return Page("evaluations", "Evaluations", data)


def _build_evaluation(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": record["id"], "time": record["timestamp"], "overall": record["overall"], "scores": record["scores"],
        "dropped": record["meta"].get("dropped", []), "recommendation": record["recommendation"],
        "anchored": record["anchored"], "note": calibrate.format_anchor(record["anchored"]),
        "project": record["project"]["name"] if record["project"] else "", "session": record["session"],
        "messages": record["messages"], "judge": f"{record['judge']['kind']} {record['judge']['model']}",
    }  # fmt: skip


def _build_means(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean of the anchored scores, and apart from it that of the others."""
    return [
        {
            "mean": one.mean, "count": one.scored, "anchored": one.is_anchored,
            "note": calibrate.format_anchor(one.is_anchored),
        }
        for one in evaluate.compute_means(found)
    ]  # fmt: skip


def _build_agreement(panel: Panel) -> dict[str, int] | None:
    """Return how often the judge agrees with the corrections: the session with more has the lower score."""
    right, pairs = calibrate.count_agreement(panel.ctx.scan.other_records.values())
    return {"percent": 100 * right // pairs, "pairs": pairs} if pairs else None


def _build_suggestions(panel: Panel, waiting: list[suggestions.OpenSuggestion]) -> list[dict[str, Any]]:
    """Return suggestions. `at`: the proposed rule of this project under which one is answered; empty elsewhere."""
    proposed = {signal: one.id for one in list_candidates(panel, with_weak=True) for signal in one.signals}
    return [{**one.as_json(), "at": proposed.get(one.id, "")} for one in waiting]


def show_evaluation(panel: Panel, call: Call) -> Page:
    """Show one evaluation: figures, what the judge wrote while it exists, and what it led to."""
    known = {one["id"]: one for one in load_evaluations(panel)}
    hint = "see the list of evaluations"
    record = known[api.find_id_of_kind("an evaluation", known, call.get("id"), panel.ctx.scan.other_records, hint)]
    found = suggestions.load_findings(panel.ctx, record)
    led_to = [made for made in panel.ctx.scan.history.learnings.values() if _has_any(made["signals"], record)]
    data = {
        **_build_evaluation(record), "versions": record["versions"], "usage": record["usage"],
        "rules": record["rules"], "analysis": panel.show_private(found.analysis),
        "findings": found.listed if panel.is_private else [], "count": len(found.listed),
        "led_to": [{"id": made["id"], "text": made["text"]} for made in led_to], "next": found.next_step,
    }  # fmt: skip
    return Page("evaluation", f"Evaluation {record['id']}", data)


def _has_any(signals: list[str], record: dict[str, Any]) -> bool:
    return not set(record["meta"].get("signals", ())).isdisjoint(signals)


def load_periods(panel: Panel) -> dict[str, list[Digest]]:
    """Map each week and month to its digests, the newest first; without ignored projects and weeks of a month."""

    def load() -> dict[str, list[Digest]]:
        found = digests.load_digests(panel.ctx.scan)
        merged = {source for one in found for source in one["from"]}
        periods: dict[str, list[Digest]] = {}
        for one in found:
            if one["id"] not in merged and not digests.is_ignored_project(panel.store, one["project"]):
                periods.setdefault(one["period"], []).append(one)
        return dict(sorted(periods.items(), key=lambda one: (digests.get_bounds(one[0]), one[0]), reverse=True))

    return panel.keep("periods", load)


def show_digests(panel: Panel, call: Call) -> Page:
    """List the weeks and months that have a digest."""
    found = load_periods(panel)
    number = call.get_number("page", 1, 10**6)
    shown, pages = paginate(list(found), number)
    data = {
        "digests": [_build_period(period, found[period]) for period in shown], "total": len(found),
        "page": min(number, pages), "pages": pages,
    }  # fmt: skip
    return Page("digests", "Digests", data)


def _build_period(period: str, found: list[Digest]) -> dict[str, Any]:
    start, end = digests.get_bounds(period)
    figures: Counter[str] = Counter()
    for one in found:
        figures.update({name: int(one["figures"].get(name, 0)) for name in _FIGURES})
    names = {one["project"]["name"] for one in found if one["project"]}
    return {
        "period": period, "start": start, "end": end, "projects": sorted(names),
        "figures": {name: figures[name] for name in _FIGURES}, "lines": len(_list_lines(found)),
    }  # fmt: skip


def _list_lines(found: list[Digest]) -> list[tuple[str, DigestLine]]:
    """Return the lines of a period with the name of their project, by section, the most frequent first."""
    lines: dict[str, list[DigestLine]] = {}
    for one in found:
        lines.setdefault(one["project"]["name"] if one["project"] else "", []).extend(one["lines"])
    listed = [(name, line) for name, part in lines.items() for line in digests.merge_lines(part)]
    order = list(SECTIONS).index
    return sorted(listed, key=lambda one: (order(one[1]["section"]), -len(one[1]["ids"]), one[0]))


def show_digest(panel: Panel, call: Call) -> Page:
    """Show what a week or a month was about: its lines, with the ids of the records behind each."""
    found, period = load_periods(panel), call.get("period")
    if period not in found:
        raise ReflectError(f"there is no digest of '{period}'", "choose one of the list", "unknown-id")
    listed, rules = _list_lines(found[period]), panel.ctx.scan.history.learnings
    number = call.get_number("page", 1, 10**6)
    shown, pages = paginate(listed if panel.is_private else [], number)
    data = {
        **_build_period(period, found[period]), "sections": SECTIONS,
        "counts": Counter(line["section"] for _, line in listed), "list": [
            {"section": line["section"], "text": line["text"], "trust": line["trust"], "ids": line["ids"],
             "rules": [one for one in line["ids"] if one in rules], "project": name}
            for name, line in shown
        ],
        "page": min(number, pages), "pages": pages,
    }  # fmt: skip
    return Page("digest", f"Digest {period}", data)


def _load_deployed(panel: Panel) -> list[DeployedSkill]:
    return panel.keep("skills", lambda: deploy.list_deployed(panel.ctx.scan))


def show_skills(panel: Panel, call: Call) -> Page:
    """List the deployed skills with their uses, and the drafts."""
    waiting, now = drafts.list_drafts(panel.store), parse_utc(utc())
    found = _load_deployed(panel)
    number = call.get_number("page", 1, 10**6)
    shown, pages = paginate(found, number)
    data = {
        "skills": [
            {"name": one.name, "rule": one.learning["id"], "text": one.learning["text"], "file": one.path,
             "project": one.learning["project"]["name"] if one.learning["project"] else "", "since": one.since,
             "uses": one.uses, "sessions": one.sessions, "last": one.last, "unused": one.is_unused(now)}
            for one in shown
        ],
        "total": len(found), "unused_days": deploy.UNUSED_DAYS, "draft_count": len(waiting),
        "drafts": [_build_draft(one) for one in waiting] if panel.is_private else [],
        "page": min(number, pages), "pages": pages,
    }  # fmt: skip
    return Page("skills", "Skills", data)


def _build_draft(one: drafts.Draft) -> dict[str, Any]:
    """Return a draft with what is wrong with it. Only a person edits and deploys it, in the terminal."""
    found = drafts.check_skill(one.path)
    return {
        "name": one.name, "edited": one.is_edited,
        "findings": [{"kind": problem.kind, "message": problem.message} for problem in found],
        "command": f"reflect-git skills {'deploy' if one.is_edited else 'edit'} {one.name}",
    }  # fmt: skip


LISTS: dict[str, Callable[[Panel, Call], Page]] = {
    "evaluations": show_evaluations, "digests": show_digests, "skills": show_skills,
}  # fmt: skip
