"""Change the wording or the target of a rule in force, through the same Plan and gate as an approval.

A change is one `amended` decision. The learning's record never changes; its current text is computed from its
decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from reflect_git.candidates.gate import Finding
from reflect_git.candidates.matcher import find_matcher
from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.records.ids import utc_precise
from reflect_git.records.rule_numbers import META, find_numbers_to_record, get_heading
from reflect_git.rules import project_files, write_change
from reflect_git.rules.approve import (
    build_heading,
    check_question,
    find_rule_in_force,
    get_details_and_action,
    item_of,
    target_of,
    topic_of,
    with_hint,
)
from reflect_git.rules.gate import build_stages, check_secret_fields, check_text
from reflect_git.rules.guarding.broken_rules import find_repeat_signals
from reflect_git.rules.guarding.guard_backtest import find_stored_matcher
from reflect_git.rules.write_change import (
    Step,
    WriteResult,
    build_diff,
    build_learning_message,
    build_rewording_step,
    build_steps,
    commit_change,
    require_not_refused,
)
from reflect_git.store import api
from reflect_git.store.local import refusals
from reflect_git.targets import plan as plans
from reflect_git.targets import target_files
from reflect_git.targets.plan import Plan
from reflect_git.targets.safe_text import make_safe
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.records.schema import DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place

_AMENDABLE_FIELDS = ("title", "scope", "project", "topic", "paths", "matcher", "meta")
_TARGET_FIELDS = ("scope", "project")  # part of the target, which every amendment records


@dataclass(frozen=True)
class AmendRequest:
    """The requested changes to a rule; an empty field keeps the current value."""

    text: str = ""
    to: str = ""
    reason: str = ""
    fields: dict[str, str] = field(default_factory=dict)  # of an improvement: title, impact, details, action
    numbered: bool = False  # put the rule's number into a heading of its file


@dataclass(frozen=True)
class Amendment:
    """A planned change to one rule; the same plans are previewed and written."""

    place: Place
    old: Learning
    new: Learning
    to: str
    plans: tuple[Plan, ...]
    findings: tuple[Finding, ...] = ()
    reason: str = ""
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def diff(self) -> str:
        return build_diff(self.place, self.plans)


def find_rule_to_amend(ctx: Context, prefix: str) -> Learning:
    """Find a rule in force that applies here, by the prefix of its id."""
    try:
        return find_rule_in_force(ctx, prefix)
    except ReflectError as error:
        hint = "see what is in force with 'reflect-git rules --all'" if error.code == "unknown-id" else error.hint
        raise ReflectError(error.message, hint, error.code) from None


def plan_amendment(ctx: Context, old: Learning, wanted: AmendRequest) -> Amendment:
    """Plan the exact change and collect every finding against it; write nothing."""
    if "skill" in old["meta"]:
        hint = f"edit '{old['target']['path']}', then keep the file's wording: reflect-git review"
        raise ReflectError(f"'{old['id']}' is a skill: its text is its file", hint, "usage")
    text, mended = make_safe(wanted.text or old["text"])
    if not text:
        raise ReflectError("there is no text left", "give one with --text TEXT", "usage")
    place = target_of(old)
    to = project_files.spell_target(ctx.place, wanted.to)
    around = project_files.load_surroundings(ctx.place, to)
    target = target_files.resolve_target(to, around, old["id"], old["title"]) if to else place
    new = _build_amended_rule(ctx, old, text, target, wanted)
    if _get_content(new) == _get_content(old):
        raise ReflectError(f"'{old['id']}' says that already, and there", "give --text or --to", code="unchanged")
    before = instruction_files.read(ctx.place.path_of(target))
    try:
        made = _build_plans(ctx, old, new, place, target, before)
    except ReflectError as error:
        raise with_hint(ctx, (old,), error) from None
    write_change.require_single_names(ctx.place, made)
    others = ctx if place.form != "improvements" else _without_file(ctx, place.path)
    found = check_text(others, text, new["trust"], target, before, mended, (old["id"],))
    linked = write_change.check_links(ctx.store, ctx.place, made)
    asked = check_question(text) if text != old["text"] else []
    against = (*asked, *check_secret_fields(new), *linked, *found)
    return Amendment(ctx.place, old, new, wanted.to or place.kind, made, against, wanted.reason)


def _without_file(ctx: Context, path: str) -> Context:
    """Return a context without the statements of one file.

    The fields of an improvement repeat its text. Only its heading directly follows its id, so the rest would count as
    duplicates.
    """
    return ctx.replace(statements=[one for one in ctx.statements if one.file != path])


def plan_section_move(ctx: Context, old: Learning, section: str) -> Amendment:
    """Plan to move an improvement to Applied or Deferred, or back to Pending."""
    target = target_of(old)
    if target.form != "improvements":
        raise ReflectError(f"'{old['id']}' is a rule and no improvement", "see 'reflect-git improvements'", "usage")
    before = instruction_files.read(ctx.place.path_of(target))
    try:
        plan = plans.move(target, _require_contents(target, before), old["id"], section)
    except ReflectError as error:
        raise with_hint(ctx, (old,), error) from None
    if plan.after == plan.before:
        raise ReflectError(f"'{old['id']}' is {section.lower()} already", code="unchanged")
    write_change.require_single_names(ctx.place, [plan])
    return Amendment(ctx.place, old, old, target.kind, (plan,), meta={"section": section})


def _build_amended_rule(ctx: Context, old: Learning, text: str, target: Target, wanted: AmendRequest) -> Learning:
    """Return the rule with the requested text, target and fields."""
    fields = wanted.fields
    scope = "global" if target.is_global else "project"
    changes: dict[str, Any] = {
        "text": text, "target": {"kind": target.kind, "path": target.path}, "scope": scope,
        "project": (old["project"] or ctx.place.project) if scope == "project" else None,
        "title": fields.get("title") or (old["title"] if text == old["text"] else api.format_title(text)),
        "matcher": old["matcher"] if text == old["text"] else find_stored_matcher(text, find_matcher(text)),
        "topic": topic_of(wanted.to, target) if wanted.to else old["topic"],
        "paths": old["paths"] if target.form == "rules" else [],
    }  # fmt: skip
    if target.form == "improvements":
        changes["meta"] = {**old["meta"], "improvement": _build_improvement_fields(old, changes["title"], text, fields)}
    new = cast("Learning", {**old, **changes})
    if wanted.numbered or (get_heading(new) and new["title"] != old["title"]):
        new["meta"] = {**new["meta"], "heading": build_heading(ctx.scan.history, new)}
    return new


def _build_improvement_fields(old: Learning, title: str, text: str, given: dict[str, str]) -> dict[str, str]:
    """Return the fields of an improvement: as given, else as before, else derived from the rule."""
    details = old["text"] if old["text"] != text else ""
    kept = old["meta"].get("improvement") or {
        "impact": "Medium",
        **get_details_and_action(title, text, details, text),
        "confidence": "Verified (it was a rule before)",
    }
    return {name: given.get(name) or str(kept.get(name, "")) for name in ("impact", "details", "action", "confidence")}


def _get_content(learning: Learning) -> tuple[Any, ...]:
    """Return the parts of a rule that make an amendment a real change."""
    fields = learning["meta"].get("improvement") if target_of(learning).form == "improvements" else None
    return learning["text"], learning["target"], learning["title"] if fields else "", fields, get_heading(learning)


def _build_plans(
    ctx: Context, old: Learning, new: Learning, place: Target, target: Target, before: bytes | None
) -> tuple[Plan, ...]:
    """Plan an edit in place, or a move: add to the new file first, so the rule is always in at least one file."""
    if (place.kind, place.path) != (target.kind, target.path):
        if not target.is_global:
            project_files.require_not_ignored(ctx.store, ctx.place)
        left = instruction_files.read(ctx.place.path_of(place))
        return plans.add(target, before, item_of(new)), plans.remove(place, left, item_of(old))
    return (plans.replace(target, _require_contents(target, before), item_of(old), item_of(new)),)


def _require_contents(target: Target, data: bytes | None) -> bytes:
    """Return the file's contents, or raise if the file does not exist."""
    if data is None:
        raise ReflectError(f"there is no '{target.path}' here", "is this the right branch?", code="missing")
    return data


def write_amendment(
    ctx: Context, amendment: Amendment, by: DecisionAuthor, basis: Mapping[str, str] | None = None
) -> WriteResult:
    """Write the change that was shown. `basis` is the recorded answer that approved it, if any."""
    require_not_refused(amendment.findings)
    new = amendment.new
    if new["text"] != amendment.old["text"]:
        refusals.require_not_refused_often(ctx.store, new["text"], by["road"])
    said = get_changed_fields(ctx.scan.other_records[new["id"]], amendment.old, new)
    after = [made["id"] for made in ctx.scan.history.get_last_amendments(new["id"])]
    meta = {"after": after, **({"learning": said} if said else {}), **amendment.meta}
    meta |= {"from": amendment.old["target"]} if new["target"] != amendment.old["target"] else {}
    meta |= {"answer": dict(basis)} if basis else {}
    has_matcher = bool(new["matcher"])
    meta |= {"gate": build_stages(ctx, amendment.findings, by["road"], has_matcher=has_matcher, baseline=None)}
    again = find_repeat_signals(ctx, new["id"]) if new["text"] != amendment.old["text"] else []
    meta |= {"signals": again} if again else {}
    if get_heading(new) != get_heading(amendment.old) or target_of(amendment.old).form == "improvements":
        meta |= {META: find_numbers_to_record(ctx.scan.history, new)}
    made = api.build_decision(
        ctx.store, "amended", new["id"], by, utc_precise(), text=new["text"], target=new["target"],
        reason=amendment.reason, meta=meta,
    )  # fmt: skip
    message = build_learning_message(ctx, "amend", new, [made], by)
    taken = [_build_step(amendment, one) for one in amendment.plans]
    return commit_change(ctx, new["id"], taken, [made], message, amendment.findings)


def get_changed_fields(record: Mapping[str, Any], before: Learning, after: Learning) -> dict[str, Any]:
    """Return every changed field except the text, in full.

    In full, because an earlier amendment may be reverted later. Scope and project are always included.
    """
    new, old = cast("Mapping[str, Any]", after), cast("Mapping[str, Any]", before)
    changed = {name for name in _AMENDABLE_FIELDS if not new[name] == old[name] == record[name]}
    return {name: new[name] for name in _AMENDABLE_FIELDS if name in changed or name in _TARGET_FIELDS}


def _build_step(amendment: Amendment, plan: Plan) -> Step:
    """Turn a plan into a step that also says which ids the file must contain afterwards."""
    if plan.kind in ("add", "remove"):
        return build_steps([plan])[0]
    if plan.kind == "replace" and amendment.old["text"] == amendment.new["text"] and get_heading(amendment.new):
        return Step(plan, (get_heading(amendment.new),))
    return (
        Step(plan) if plan.kind == "move" else build_rewording_step(plan, amendment.old["text"], amendment.new["text"])
    )
