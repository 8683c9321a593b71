"""Carry out what a form asks for, if the page that had the form is still true.

Each change is planned again from the present store and files. If its digest differs from that of the page, nothing is
written and the page is shown again. Approvals go through the same plan, gate and commit as in the terminal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from reflect_git.errors import ReflectError
from reflect_git.memory import incidents
from reflect_git.platform.instruction_files import FileChanged
from reflect_git.rules import amend, arrivals, dismiss, revert
from reflect_git.rules.approve import write_approval
from reflect_git.rules.approver import require_panel_author
from reflect_git.rules.derived_files import refresh_derived_files, refresh_guards
from reflect_git.rules.drift import drift, resolve_drift
from reflect_git.rules.drift.drift import Difference
from reflect_git.rules.drift.line_owner import Passage
from reflect_git.rules.guarding import broken_rules, guards
from reflect_git.rules.write_change import require_not_refused
from reflect_git.web import today
from reflect_git.web.model import Call, Panel

if TYPE_CHECKING:
    from reflect_git.candidates.candidate import Candidate
    from reflect_git.records.schema import DecisionAuthor

_CHANGED = "this changed in the meantime, so nothing was written; look at it again"
_ANSWERED = "this was answered elsewhere in the meantime"
_YES = "yes"


class Stale(ReflectError):
    """The page is not true any more: `page` is shown again as it is now."""

    def __init__(self, page: str, message: str = _CHANGED) -> None:
        super().__init__(message, "", "stale")
        self.page = page


class Next(NamedTuple):
    """The page to show after a change."""

    page: str
    fields: dict[str, str]


def _go_to(page: str, **fields: str) -> Next:
    return Next(page, fields)


def _get_author(panel: Panel) -> DecisionAuthor:
    return require_panel_author(panel.store, panel.env)


def _require_shown(seen: str, call: Call, page: str) -> None:
    """Raise unless the form was on a page that showed exactly this."""
    if call.get("seen") != seen:
        raise Stale(page)


def _require_yes(is_risky: bool, call: Call, page: str) -> None:
    if is_risky and call.get(_YES).strip().lower() != _YES:
        raise Stale(page, "there is a risk: type yes to do it all the same")


def _refresh_derived(panel: Panel) -> None:
    """Write what is derived from the rules: the index of learnings, the guards."""
    refresh_derived_files(panel.store, panel.env, panel.read_scan(panel.store))


def _find_candidate(panel: Panel, call: Call) -> Candidate:
    try:
        return panel.queue.find_candidate(call.get("id"))
    except ReflectError as error:
        if error.code == "no-candidate":
            raise Stale("today", _ANSWERED) from error
        raise


def approve(panel: Panel, call: Call) -> Next:
    """Approve a proposed rule as it was shown."""
    candidate = _find_candidate(panel, call)
    proposal = today.propose(panel.queue, today.build_request(panel, call, candidate))
    _require_shown(today.digest_proposal(proposal), call, "today")
    require_not_refused(proposal.findings)
    _require_yes(proposal.is_risky, call, "today")
    following = today.find_next(panel, candidate.id)
    try:
        done = write_approval(panel.queue, proposal, _get_author(panel))
    except FileChanged as error:
        raise Stale("today") from error
    except dismiss.AnsweredElsewhere as error:
        raise Stale("today", _ANSWERED) from error
    _refresh_derived(panel)
    if call.get("guard") == "1":
        return _go_to("guard", id=done.learning, done=done.commit)
    return _go_to("today", at=following, done=done.commit)


def decline(panel: Panel, call: Call) -> Next:
    """Say no to a proposed rule, for now or for good."""
    candidate = _find_candidate(panel, call)
    following = today.find_next(panel, candidate.id)
    try:
        _, commit = dismiss.dismiss(panel.store, candidate, _get_author(panel), never=call.get("never") == "1")
    except dismiss.AnsweredElsewhere as error:
        raise Stale("today", _ANSWERED) from error
    return _go_to("today", at=following, done=commit)


def skip(panel: Panel, call: Call) -> Next:
    """Leave a proposed rule for another review."""
    candidate = _find_candidate(panel, call)
    following = today.find_next(panel, candidate.id)
    dismiss.mark_seen(panel.store, [candidate])
    return _go_to("today", at=following)


def carry_out_revert(panel: Panel, call: Call) -> Next:
    """Revert what was shown."""
    there, plan, linked = today.plan_revert(panel, call)
    _require_shown(today.digest_revert(plan), call, "revert")
    _require_yes(bool(linked), call, "revert")
    try:
        done = revert.write_revert(there, plan, _get_author(panel), linked)
    except FileChanged as error:
        raise Stale("revert") from error
    _refresh_derived(panel)
    if call.get("to"):
        return _go_to("versions", file=call.get("file"), done=done.commit)
    return (
        _go_to("rule", id=plan.learnings[0], done=done.commit) if plan.learnings else _go_to("today", done=done.commit)
    )


def edit(panel: Panel, call: Call) -> Next:
    """Write the new wording of a rule as it was shown."""
    made = today.plan_edit(panel, call)
    _require_shown(today.digest_edit(made), call, "edit")
    require_not_refused(made.findings)
    _require_yes(any(one.kind == "risk" for one in made.findings), call, "edit")
    try:
        done = amend.write_amendment(panel.ctx, made, _get_author(panel))
    except FileChanged as error:
        raise Stale("edit") from error
    _refresh_derived(panel)
    return _go_to("rule", id=made.new["id"], done=done.commit)


def guard(panel: Panel, call: Call) -> Next:
    """Guard a rule in the chosen mode. The backtest was on the page, so `ask` and `deny` are possible."""
    plan, found = today.plan_guard(panel, call)
    _require_shown(today.digest_guard(plan, found), call, "guard")
    _, commit = guards.write_guard(panel.ctx, plan, found.figures, _get_author(panel))
    refresh_guards(panel.store, panel.env, panel.read_scan(panel.store))
    return _go_to("rule", id=plan.rule["id"], done=commit)


def unguard(panel: Panel, call: Call) -> Next:
    """Remove the guard of a rule."""
    state = guards.plan_unguard(panel.ctx, call.get("id"))
    _, commit = guards.write_unguard(panel.ctx, state, _get_author(panel))
    refresh_guards(panel.store, panel.env, panel.read_scan(panel.store))
    return _go_to("rule", id=state.rule["id"], done=commit)


def resolve(panel: Panel, call: Call) -> Next:
    """Answer a changed file: put the rule back, keep the file's wording, retire the rule, or ignore the change."""
    try:
        one, answer = today.find_change(panel, call.get("key")), call.get("answer")
    except ReflectError as error:
        raise Stale("today") from error
    _require_shown(today.build_change(panel, one)["seen"], call, "today")
    if answer == "i":
        drift.ignore_difference(panel.store, one.key)
        panel.drop("changes")
        return _go_to("today")
    by = _get_author(panel)
    try:
        if isinstance(one, Passage) and answer == "b":
            done = resolve_drift.remove_passage(panel.ctx, one, by)
        elif isinstance(one, Difference) and answer == "b":
            done = resolve_drift.write_rule_restore(panel.ctx, one, resolve_drift.plan_rule_restore(panel.ctx, one), by)
        elif isinstance(one, Difference) and answer == "x" and one.found.kind == "missing":
            done = resolve_drift.withdraw_rule(panel.ctx, one, by)
        elif isinstance(one, Difference) and answer == "f" and one.found.kind == "different":
            amendment = resolve_drift.plan_adoption(panel.ctx, one)
            require_not_refused(amendment.findings)
            if any(found.kind == "risk" for found in amendment.findings):
                raise ReflectError("there is a risk in this wording", "answer it in a terminal: reflect-git review")
            done = resolve_drift.write_adoption(panel.ctx, one, amendment, by)
        else:
            raise ReflectError("unknown answer", "choose one of the buttons", "usage")
    except FileChanged as error:
        raise Stale("today") from error
    _refresh_derived(panel)
    return _go_to("today", done=done.commit)


def take_over(panel: Panel, call: Call) -> Next:
    """Apply, or decline, what was decided on another machine, as it was shown."""
    one = next((each for each in today.find_arrivals(panel) if each.learning["id"] == call.get("id")), None)
    if one is None:
        raise Stale("today", _ANSWERED)
    _require_shown(today.digest_arrival(one), call, "today")
    by = _get_author(panel)
    if call.get("answer") == "n":
        _, commit = arrivals.decline(panel.ctx, one, by)
    else:
        _require_yes(bool(one.risks), call, "today")
        try:
            commit = arrivals.apply_arrivals(panel.ctx, [one], by).commit
        except FileChanged as error:
            raise Stale("today") from error
    _refresh_derived(panel)
    return _go_to("today", done=commit)


def leave(panel: Panel, call: Call) -> Next:
    """Leave a broken rule as it is; it is asked about again when three more sessions break it."""
    one = broken_rules.get_broken_rule(panel.queue, call.get("id"))
    _, commit = broken_rules.leave_unchanged(panel.queue, one, _get_author(panel))
    return _go_to("today", done=commit)


def mute(panel: Panel, call: Call) -> Next:
    """Mute an incident, or report it again."""
    found = incidents.find_incident(incidents.load_incidents(panel.store, panel.ctx.scan), call.get("key"))
    write = incidents.unmute if call.get("unmute") == "1" else incidents.mute
    _, commit = write(panel.store, [found], _get_author(panel))
    return _go_to("incident", key=found.key, done=commit)


def switch_capture(panel: Panel, call: Call) -> Next:
    """Pause or resume capture."""
    require_panel_author(panel.store, panel.env)
    if call.get("answer") == "resume":
        panel.switch.resume()
    elif call.get("answer") in today.SPANS:
        panel.switch.pause(call.get("answer"))
    else:
        raise ReflectError("unknown answer", "choose one of the buttons", "usage")
    return _go_to("capture")


CHANGES: dict[str, Callable[[Panel, Call], Next]] = {
    "approve": approve, "decline": decline, "skip": skip, "revert": carry_out_revert, "edit": edit, "guard": guard,
    "unguard": unguard, "resolve": resolve, "take-over": take_over, "leave": leave, "mute": mute,
    "capture": switch_capture,
}  # fmt: skip
