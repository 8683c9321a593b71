"""Deploy a skill as a rule with a file of its own, so that log, revert, sync and audit treat it like any rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from reflect_git.candidates import gate
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.memory.incidents import count_sessions_since
from reflect_git.platform import instruction_files
from reflect_git.records import schema
from reflect_git.records.ids import parse_utc, plural, timed_id, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import project_files, write_change
from reflect_git.rules.approve import item_of, target_of
from reflect_git.rules.gate import build_stages
from reflect_git.rules.guarding.guards import list_advice
from reflect_git.rules.write_change import build_diff, build_learning_message, build_steps, commit_change
from reflect_git.skills import draft as drafts
from reflect_git.skills.draft import Draft, Finding
from reflect_git.store import api
from reflect_git.targets import plan as plans
from reflect_git.targets import rules_file
from reflect_git.targets.target_files import build_skill_target, get_skill_name

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding as GateFinding
    from reflect_git.records.schema import DecisionAuthor, Exposure, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.write_change import WriteResult
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store
    from reflect_git.targets.plan import Plan

UNUSED_DAYS = 60
_DAY = 86400
_MIN_RECURRENCES = 2


class Deployment(NamedTuple):
    """A planned deployment; the same plan is previewed and written."""

    draft: Draft
    learning: Learning
    plan: Plan
    diff: str
    findings: tuple[GateFinding, ...]


class DeployedSkill(NamedTuple):
    """A skill in force: its rule, where it is, and how often sessions used it since it was deployed."""

    name: str
    learning: Learning
    path: str
    since: str
    uses: int
    sessions: int
    last: str

    def is_unused(self, now: float) -> bool:
        """Tell whether nobody has used the skill for sixty days."""
        return now - parse_utc(self.last or self.since) > UNUSED_DAYS * _DAY


def plan_deployment(ctx: Context, draft: Draft, is_global: bool) -> Deployment:
    """Plan to write a draft into the folder where Claude Code finds skills; raise if it is not ready."""
    if not draft.is_edited:
        message = f"nobody has edited the draft '{draft.name}'"
        hint = f"a person makes it useful: reflect-git skills edit {draft.name}"
        raise ReflectError(message, hint, "unedited", EXIT_DECISION)
    found = drafts.check_skill(draft.path)
    problems = [one.message for one in found if one.kind == drafts.PROBLEM]
    if problems:
        hint = f"see reflect-git skills check {draft.name}"
        raise ReflectError(f"the draft is not ready: {problems[0]}", hint, "check")
    if not is_global:
        if not ctx.place.project:
            raise ReflectError("this folder is in no project", "deploy it for all projects: --global", "no-project")
        project_files.require_not_ignored(ctx.store, ctx.place)
    target = build_skill_target(draft.name, is_global)
    before = instruction_files.read(ctx.place.path_of(target))
    if before is not None:
        hint = f"choose another name, or retire it: reflect-git skills retire {draft.name}"
        raise ReflectError(f"'{ctx.place.label_of(target)}' exists already", hint, "exists")
    learning = _build_learning(ctx, draft, target.kind, target.path, is_global)
    plan = plans.add(target, before, item_of(learning))
    write_change.require_single_names(ctx.place, [plan])
    findings = (*write_change.check_links(ctx.store, ctx.place, [plan]), *_list_risks(found))
    return Deployment(draft, learning, plan, build_diff(ctx.place, [plan]), findings)


def _list_risks(found: Sequence[Finding]) -> list[GateFinding]:
    return [gate.Finding(gate.RISK, "skill", one.message) for one in found if one.kind == drafts.RISK]


def _build_learning(ctx: Context, draft: Draft, kind: str, path: str, is_global: bool) -> Learning:
    now = utc_precise()
    description = rules_file.read_description(draft.text)
    meta: dict[str, Any] = {"type": "pattern", "skill": {"name": draft.name, "document": draft.text, "gap": draft.key}}
    return {
        "id": timed_id("LRN", now), "version": schema.VERSION, "timestamp": now, "text": description,
        "title": f"Skill {draft.name}", "category": "documentation", "scope": "global" if is_global else "project",
        "project": None if is_global else ctx.place.project, "target": {"kind": kind, "path": path}, "topic": None,
        "paths": [], "signals": [], "decision": "", "supersedes": [], "reason": "", "trust": "user_typed",
        "matcher": None, "meta": meta,
    }  # fmt: skip


def write_deployment(ctx: Context, made: Deployment, by: DecisionAuthor) -> WriteResult:
    """Write what was shown, in one commit, and remove the draft."""
    learning = cast("Learning", {**made.learning, "timestamp": utc_precise()})
    stages = build_stages(ctx, made.findings, by["road"], has_matcher=False, baseline=None)
    decision = api.build_decision(
        ctx.store, "approved", learning["id"], by, learning["timestamp"], text=learning["text"],
        target=learning["target"], meta={"signals": [], "skill": made.draft.name, "gate": stages},
    )  # fmt: skip
    message = build_learning_message(ctx, "deploy", learning, [decision], by)
    records = [{**learning, "decision": decision["id"]}, decision]
    done = commit_change(ctx, learning["id"], build_steps([made.plan]), records, message, made.findings)
    drafts.remove_draft(ctx.store, made.draft.name)
    return done


def list_deployed(scan: Scan) -> list[DeployedSkill]:
    """List the skills in force, by name, with their uses in the figures of all sessions."""
    exposures = [cast("Exposure", one) for one in scan.other_records.values() if one["id"].startswith("EXP-")]
    found = []
    for learning in scan.history.get_rules_in_force():
        name = get_skill_name(target_of(learning))
        if name:
            found.append(_count_uses(name, learning, exposures))
    return sorted(found, key=lambda one: (one.name, one.learning["id"]))


def _count_uses(name: str, learning: Learning, exposures: Sequence[Exposure]) -> DeployedSkill:
    project, since = learning["project"], learning["timestamp"]
    used = [
        one for one in exposures
        if one.get("skills", {}).get(name) and one["end"] >= since
        and (project is None or (one["project"] is not None and one["project"]["key"] == project["key"]))
    ]  # fmt: skip
    uses = sum(one["skills"][name] for one in used)
    last = max((one["end"] for one in used), default="")
    return DeployedSkill(name, learning, learning["target"]["path"], since, uses, len(used), last)


def find_useless(ctx: Context, now: float) -> list[tuple[Learning, str]]:
    """Return the skills here that nobody used for long, or whose failure comes back, and why each is asked about.

    Those that a person keeps are left out.
    """
    kept = list_advice(ctx.scan.history)
    here = [
        one for one in list_deployed(ctx.scan)
        if ctx.place.is_in_scope(one.learning) and one.learning["id"] not in kept
    ]  # fmt: skip
    returned = count_recurrences(ctx.store, ctx.scan, here)
    found = []
    for one in here:
        if one.is_unused(now):
            found.append((one.learning, f"{one.name}: not used {f'since {one.last[:10]}' if one.last else 'so far'}"))
        elif returned.get(one.name, 0) >= _MIN_RECURRENCES:
            times = plural(returned[one.name], "session")
            found.append(
                (one.learning, f"{one.name}: the failure it is for came back in {times} since {one.since[:10]}")
            )
    return found


def count_recurrences(store: Store, scan: Scan, skills: Sequence[DeployedSkill]) -> dict[str, int]:
    """Return skill → sessions since it was deployed in which the failure that it is for came back."""
    gaps = {one.name: one.learning["meta"]["skill"].get("gap", "") for one in skills}
    since = {gaps[one.name]: one.since for one in skills if gaps[one.name]}
    counts = count_sessions_since(store, scan, since) if since else {}
    return {name: counts[gap] for name, gap in gaps.items() if gap in counts}


def find_deployed(ctx: Context, name: str) -> Learning:
    """Return the rule of a skill in force here; raise if there is none with this name."""
    listed = [
        one for one in ctx.scan.history.get_rules_in_force()
        if get_skill_name(target_of(one)) == name and ctx.place.is_in_scope(one)
    ]  # fmt: skip
    if not listed:
        raise ReflectError(f"no skill '{name}' was deployed here", "list them: reflect-git skills list", "missing")
    return min(listed, key=lambda one: one["scope"] == "global")
