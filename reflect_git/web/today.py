"""The pages on which a person decides: one proposed rule at a time, changed files, broken rules, previews.

A page shows exactly what would be written. Its form sends back the digest of that, so that nothing else is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.candidates import describe
from reflect_git.candidates.candidate import format_backtest, format_confidence
from reflect_git.candidates.gate import RISK
from reflect_git.errors import ReflectError
from reflect_git.records.ids import digest, escape_controls, plural
from reflect_git.rules import amend, project_commits, queue, restore, revert, write_change
from reflect_git.rules.approve import Proposal, Request, plan_approval
from reflect_git.rules.arrivals import Arrival, list_arrivals
from reflect_git.rules.drift import drift, questions, resolve_drift
from reflect_git.rules.drift.drift import Difference
from reflect_git.rules.drift.line_owner import Passage
from reflect_git.rules.guarding import broken_rules, guards
from reflect_git.rules.guarding.guard_backtest import Backtest, run_backtest
from reflect_git.rules.revert import RevertOptions
from reflect_git.rules.write_change import build_diff
from reflect_git.targets.plan import find_text_line
from reflect_git.web.model import Call, Page, Panel
from reflect_git.web.pages import find_target

if TYPE_CHECKING:
    from reflect_git.candidates.candidate import Candidate
    from reflect_git.candidates.gate import Finding
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.context import Context
    from reflect_git.rules.drift.questions import DriftItem
    from reflect_git.rules.guarding.guards import GuardPlan
    from reflect_git.rules.queue import Queue
    from reflect_git.rules.revert import RevertPlan

END = "end"
TARGETS = {
    "project": "CLAUDE.md of this project", "project-local": "CLAUDE.local.md: this project, for you alone",
    "global": "~/.claude/CLAUDE.md: all projects", "rules": "a file of its own in .claude/rules/reflect",
    "global-rules": "the same in ~/.claude/rules/reflect", "improvements": ".claude/improvements.md, for people",
    "agents": "AGENTS.md of this project",
}  # fmt: skip
SPANS = {"30m": "30 minutes", "2h": "2 hours", "1d": "1 day", "1w": "1 week"}
_MAX_MATCHES = 20
_MAX_ARRIVALS = 20


def show_today(panel: Panel, call: Call) -> Page:
    """Ask about one proposed rule, with the exact change; before it, files that changed and rules that were broken."""
    listed = list_candidates(panel, call.get("weak") == "1")
    at = call.get("at")
    number = _find_position(listed, at)
    here = panel.queue
    data: dict[str, Any] = {
        "total": len(listed), "weak": len(here.candidates.weak), "shows_weak": call.get("weak") == "1",
        "message": here.candidates.message, "at_end": at == END, "number": None, "question": None,
        "changes": [build_change(panel, one) for one in _find_changes(panel)[1] if panel.is_private],
        "notes": list(_find_changes(panel)[0].troubles),
        "broken": [_build_broken(panel, one) for one in _find_broken(panel)],
        "arrivals": [
            _build_arrival(one) for one in find_arrivals(panel)[:_MAX_ARRIVALS]
        ],
    }  # fmt: skip
    if number is not None and panel.is_private:
        request = build_request(panel, call, listed[number])
        question = panel.keep(f"question {request!r}", lambda: build_question(panel, request))
        data |= {
            "number": number + 1, "question": question,
            "next": listed[number + 1].id if number + 1 < len(listed) else END,
            "previous": listed[number - 1].id if number else "",
        }  # fmt: skip
    return Page("today", "Today", data)


def list_candidates(panel: Panel, with_weak: bool = False) -> Sequence[Candidate]:
    """Return the proposed rules of this project, the likely ones first."""
    found = panel.queue.candidates
    return [*found.strong, *found.more, *(found.weak if with_weak else ())]


def _find_position(listed: Sequence[Candidate], at: str) -> int | None:
    """Return where the named candidate is; the first if it is not there any more, None at the end."""
    if at == END or not listed:
        return None
    return next((number for number, one in enumerate(listed) if at == one.id or at in one.signals), 0)


def find_next(panel: Panel, record_id: str) -> str:
    """Return the candidate after one, to go on with when it is answered."""
    listed = list_candidates(panel)
    following = [later.id for one, later in zip(listed, listed[1:], strict=False) if record_id == one.id]
    return following[0] if following else END


def build_request(panel: Panel, call: Call, candidate: Candidate) -> Request:
    """Return what a page or a form asks for. A text from the browser is the person's own, like one from an editor."""
    text = call.get("text").strip()
    is_own = bool(text) and text != candidate.text
    supersedes = tuple(filter(None, call.get("supersedes").split(",")))
    return Request(candidate, call.get("to"), text if is_own else "", supersedes=supersedes, is_own=is_own)


def propose(here: Queue, request: Request) -> Proposal:
    """Return the exact change that a request makes."""
    project = request.candidate.project
    is_away = project is not None and project["key"] not in here.place.keys
    if project is not None and is_away and not (request.to or request.candidate.target).startswith("global"):
        raise ReflectError(
            f"you said it in another project, '{project['name']}'",
            "choose the target 'global', or open the panel there", "other-project",
        )  # fmt: skip
    return plan_approval(here, request)


def digest_proposal(proposal: Proposal) -> str:
    """Return the digest of everything that a page shows of a change. The rule's id is new in each plan."""
    shown = [proposal.diff.replace(proposal.learning["id"], "LRN"), proposal.learning["text"], proposal.to]
    return digest(*shown, *(f"{found.kind} {found.message}" for found in proposal.findings))


def build_question(panel: Panel, request: Request) -> dict[str, Any]:
    """Return a proposed rule as a person sees it before answering."""
    candidate = queue.with_backtest(panel.queue, request.candidate)
    question: dict[str, Any] = {
        "id": candidate.id, "text": request.text or candidate.text, "type": candidate.type.replace("_", " "),
        "quote": candidate.quote, "is_own": candidate.trust in describe.OWN_WORDS,
        "trust": describe.TRUST_WORDS[candidate.trust], "confidence": format_confidence(candidate),
        "last": candidate.last_seen, "sessions": candidate.sessions, "tier": candidate.tier,
        "needs_wording": candidate.needs_wording and not request.text, "edited": bool(request.text),
        "dismissed_before": candidate.dismissed_before, "to": request.to or candidate.target,
        "backtest": format_backtest(candidate.backtest) if candidate.backtest else "",
        "similar": [_build_near(one) for one in candidate.similar],
        "contradicts": [_build_near(one) for one in candidate.conflicts_with], "targets": TARGETS,
        "supersedes": ",".join(request.supersedes), "signals": _list_signals(panel, candidate),
        "refused": "", "hint": "", "findings": [], "replaces": [], "diff": "", "seen": "", "can_approve": False,
        "is_risky": False, "goes_to": "", "replaceable": "", "can_guard": False,
    }  # fmt: skip
    try:
        proposal = propose(panel.queue, request)
    except ReflectError as error:
        return {**question, "refused": error.message, "hint": error.hint}
    return {
        **question, "text": proposal.learning["text"], "to": proposal.to, "diff": proposal.diff,
        "goes_to": panel.ctx.place.label_of(proposal.plans[0].target),
        "findings": list(_list_findings(proposal)), "seen": digest_proposal(proposal),
        "replaces": [{"id": old["id"], "text": old["text"]} for old in proposal.replaced],
        "can_approve": not proposal.is_refused, "is_risky": proposal.is_risky,
        "replaceable": describe.find_contradicted_rule(proposal.findings),
        "can_guard": not proposal.is_refused and panel.can_guard(proposal.learning),
    }  # fmt: skip


def _build_near(entry: dict[str, Any]) -> dict[str, str]:
    return {"where": str(entry.get("id") or entry.get("where")), "text": str(entry["text"])}


def _list_findings(proposal: Proposal) -> Iterable[dict[str, str]]:
    candidate = proposal.request.candidate.id
    for found in proposal.findings:
        way = describe.format_way_out(found, proposal.findings, candidate, proposal.to)
        yield {"kind": found.kind, "message": found.message, "way": way}


def _list_signals(panel: Panel, candidate: Candidate) -> list[dict[str, str]]:
    scan, wanted = panel.ctx.scan, set(candidate.signals[:_MAX_MATCHES])
    rows = [row for row in scan.rows if scan.columns["id"][row] in wanted]
    return [
        {"id": one["id"], "time": one["timestamp"], "said": str(one["context"] or one["content"])}
        for one in scan.get_signals(rows)
    ]


def _find_changes(panel: Panel) -> tuple[drift.Drift, list[DriftItem]]:
    return panel.keep("changes", lambda: questions.find_questions(panel.ctx))


def _find_broken(panel: Panel) -> list[broken_rules.BrokenRule]:
    return panel.keep("broken", lambda: broken_rules.find_broken_rules(panel.queue))


def find_arrivals(panel: Panel) -> list[Arrival]:
    """Return the decisions of other machines that need a yes here; usually none."""
    if all(made["machine"] == panel.store.machine for made in panel.ctx.scan.history.decisions):
        return []
    return panel.keep("arrivals", lambda: [one for one in list_arrivals(panel.ctx) if not one.is_own])


def _build_arrival(one: Arrival) -> dict[str, Any]:
    """Return a rule from another machine as a card. One with several wordings is a matter for the terminal."""
    able = one.trouble is None and not one.wordings
    return {
        "id": one.learning["id"], "text": one.learning["text"], "kind": one.kind, "machine": one.decision["machine"],
        "by": one.decision["by"]["name"], "diff": one.diff, "seen": digest_arrival(one), "able": able,
        "risks": [found.message for found in one.risks],
        "error": one.trouble.message if one.trouble else "" if able else "it has several wordings: reflect-git review",
    }  # fmt: skip


def digest_arrival(one: Arrival) -> str:
    return digest(one.learning["id"], one.decision["id"], one.diff, *(found.message for found in one.risks))


def find_change(panel: Panel, key: str) -> DriftItem:
    """Return a change of a file that still is as it was shown."""
    found = next((one for one in _find_changes(panel)[1] if digest(one.key) == key), None)
    if found is None:
        raise ReflectError("this was answered or changed in the meantime", "look again", "changed")
    return found


def build_change(panel: Panel, one: DriftItem) -> dict[str, Any]:
    """Return a changed file as a card: what happened, what would be written, and which answers are possible."""
    change: dict[str, Any] = {
        "key": digest(one.key), "headline": questions.format_what_happened(one), "file": "", "text": "", "now": "",
        "diff": "", "error": "", "keys": ["i"], "kind": "removal", "id": "",
    }  # fmt: skip
    place = panel.ctx.place
    if isinstance(one, Passage):
        diff = build_diff(place, [one.plan]) if one.plan else ""
        error = "" if one.plan else "changed since, so it cannot be removed exactly: edit the file"
        change |= {
            "kind": "passage", "file": place.label(one.file.path), "text": panel.show_private("\n".join(one.lines)),
            "diff": diff, "error": error, "keys": (["b"] if one.plan else []) + ["i"],
        }  # fmt: skip
    elif isinstance(one, Difference):
        change |= _build_difference(panel, one)
    else:
        names = [restore.get_revert_name(made) for made in one.decisions]
        change |= {"text": ", ".join(names), "keys": [], "error": "answer it with: reflect-git review"}
    return {**change, "seen": digest(change["headline"], change["text"], change["now"], change["diff"])}


def _build_difference(panel: Panel, one: Difference) -> dict[str, Any]:
    place, found = panel.ctx.place, one.found
    line = f", line {find_text_line(one.file.data, found)}" if found.line else ""
    adopt = {"missing": ["x"], "different": ["f"]}.get(found.kind, []) if resolve_drift.can_adopt(one) else []
    facts = {
        "kind": found.kind, "file": place.label(one.file.path) + line, "id": one.learning["id"],
        "text": found.approved or one.learning["text"], "now": found.live if found.kind == "different" else "",
    }  # fmt: skip
    try:
        plan = resolve_drift.plan_rule_restore(panel.ctx, one)
    except ReflectError as error:
        return {**facts, "error": error.message, "keys": [*adopt, "i"]}
    return {**facts, "diff": build_diff(place, [plan]), "keys": ["b", *adopt, "i"]}


def _build_broken(panel: Panel, one: broken_rules.BrokenRule) -> dict[str, Any]:
    return {
        "id": one.rule["id"], "text": one.rule["text"], "headline": one.headline,
        "quotes": [panel.show_private(quote) for quote in one.quotes[:3]], "last": one.last_broken,
        "can_guard": panel.can_guard(one.rule),
    }  # fmt: skip


def plan_revert(panel: Panel, call: Call) -> tuple[Context, RevertPlan, list[Finding]]:
    """Plan the revert that a page or a form names: a rule, a decision, a commit, `last`, or a file and a version."""
    ctx = panel.ctx
    if call.get("to"):
        _, target = find_target(panel, call.get("file"))
        chosen = restore.select_after_version(ctx, target.kind, call.get("to"))
        options = RevertOptions(reason=call.get("reason"))
    elif call.get("name") == revert.LAST:
        chosen, options = restore.select_last(ctx), RevertOptions(reopen=True)
    else:
        chosen = revert.select_by_name(ctx, call.get("name"))
        is_back = any(made["kind"] in ("dismissed", "never") for made in chosen.decisions)
        options = RevertOptions(reopen=is_back or call.get("reopen") == "1", reason=call.get("reason"))
    there = project_commits.with_project_of(ctx, chosen.decisions)
    plan = revert.plan_revert(there, chosen, options)
    return there, plan, write_change.check_links(there.store, there.place, [step.plan for step in plan.steps])


def digest_revert(plan: RevertPlan) -> str:
    return digest(plan.diff, plan.label, *plan.notes, *sorted(plan.reverts))


def show_revert(panel: Panel, call: Call) -> Page:
    """Show what a revert would change, before it is asked for."""
    _, plan, linked = plan_revert(panel, call)
    data = {
        "label": plan.label or plan.title, "diff": plan.diff, "notes": list(plan.notes), "learnings": plan.learnings,
        "risks": [found.message for found in linked], "seen": digest_revert(plan),
        "fields": {name: call.get(name) for name in ("name", "file", "to", "reopen") if call.get(name)},
    }  # fmt: skip
    return Page("revert", "Revert", data)


def plan_edit(panel: Panel, call: Call) -> Amendment:
    """Plan the new wording or the move of a rule."""
    old = amend.find_rule_to_amend(panel.ctx, call.get("id"))
    text, to = call.get("text").strip(), call.get("to")
    wanted = amend.AmendRequest(
        text if text != old["text"] else "", to if to != old["target"]["kind"] else "", call.get("reason")
    )
    return amend.plan_amendment(panel.ctx, old, wanted)


def digest_edit(made: Amendment) -> str:
    return digest(made.diff, made.new["text"], made.to, *(f"{one.kind} {one.message}" for one in made.findings))


def show_edit(panel: Panel, call: Call) -> Page:
    """Show a rule with a field for its new wording; once there is one, show what would be written."""
    old = amend.find_rule_to_amend(panel.ctx, call.get("id"))
    data: dict[str, Any] = {
        "id": old["id"], "old": old["text"], "text": call.get("text").strip() or old["text"],
        "to": call.get("to") or old["target"]["kind"], "targets": TARGETS, "is_new": False, "diff": "", "seen": "",
        "findings": [], "can_write": False, "is_risky": False, "reason": call.get("reason"),
    }  # fmt: skip
    if data["text"] != old["text"] or data["to"] != old["target"]["kind"]:
        made = plan_edit(panel, call)
        findings = [{"kind": one.kind, "message": one.message, "way": one.hint} for one in made.findings]
        data |= {
            "is_new": True, "diff": made.diff, "seen": digest_edit(made), "findings": findings,
            "can_write": not any(one.kind == "refused" for one in made.findings),
            "is_risky": any(one.kind == RISK for one in made.findings), "text": made.new["text"],
        }  # fmt: skip
    return Page("edit", "Edit", data)


def plan_guard(panel: Panel, call: Call) -> tuple[GuardPlan, Backtest]:
    """Plan a guard and try it on past calls. The same rule and mode are tried once as long as nothing changes."""
    rule = guards.find_rule(panel.ctx, call.get("id"))
    mode = call.get("mode")
    plan = guards.plan_guard(panel.ctx, rule, mode if mode in guards.MODE_HELP else "")
    name = f"backtest {digest(str(plan.matcher))}"
    return plan, panel.keep(name, lambda: run_backtest(panel.ctx, rule, plan.matcher))


def show_guard(panel: Panel, call: Call) -> Page:
    """Show what a guard would match, with what it would have matched so far, and the modes to choose from."""
    plan, found = plan_guard(panel, call)
    is_stop = "requires" in plan.matcher
    data = {
        "id": plan.rule["id"], "text": plan.rule["text"], "mode": plan.mode, "former": plan.former,
        "modes": guards.STOP_HELP if is_stop else guards.MODE_HELP, "matches": plan.synced_text,
        "seen": digest_guard(plan, found), "unit": "turn" if is_stop else "call",
        "backtest": {
            "sessions": found.sessions, "hits": found.hits, "calls": found.calls, "days": found.days,
            "list": [
                {"text": panel.show_private(one.text), "times": one.times, "last": one.last}
                for one in found.matches[:_MAX_MATCHES]
            ],
            "more": max(0, len(found.matches) - _MAX_MATCHES),
        },
    }  # fmt: skip
    return Page("guard", "Guard", data)


def digest_guard(plan: GuardPlan, found: Backtest) -> str:
    """Return the digest of what is shown, whichever mode is chosen."""
    return digest(plan.rule["text"], plan.synced_text, *(f"{one.text} {one.times}" for one in found.matches))


def show_capture(panel: Panel, call: Call) -> Page:
    """Show whether signals are captured, with what can be switched."""
    state, words = panel.switch.describe()
    return Page("capture", "Capture", {"state": state, "words": words, "spans": SPANS})


def describe_done(panel: Panel, commit: str) -> dict[str, str] | None:
    """Describe a commit of a decision, for the note on the next page; None if there is no such decision."""
    found = panel.store.git.resolve(f"{commit}^{{commit}}")
    if found is None:
        return None
    try:
        chosen = revert.select_by_name(panel.ctx, found)
    except ReflectError:
        return None
    label = revert.describe_decisions(panel.ctx.scan.history, chosen.decisions)
    kinds = ", ".join(dict.fromkeys(made["kind"] for made in chosen.decisions))
    count = plural(len(chosen.decisions), "decision")
    return {"commit": found[:10], "what": f"{kinds}: {escape_controls(label)}" if label else count}
