"""Carry out a person's answer to a difference: put the rule back, adopt the file's wording, or withdraw the rule."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

from reflect_git.candidates.matcher import find_matcher
from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.records.ids import utc_precise
from reflect_git.records.rule_numbers import get_heading
from reflect_git.rules import amend, write_change
from reflect_git.rules.amend import Amendment
from reflect_git.rules.approve import item_of, target_of
from reflect_git.rules.drift.change_author import CLAUDE
from reflect_git.rules.drift.drift import RETURNED, Difference, TargetFile
from reflect_git.rules.gate import check_secret_fields, check_text
from reflect_git.rules.guarding.guard_backtest import find_stored_matcher
from reflect_git.rules.snapshot import find_pending_decisions
from reflect_git.rules.write_change import Step, WriteResult, build_learning_message, commit_change
from reflect_git.store import api
from reflect_git.targets import improvements, rules_file, target_files, target_page
from reflect_git.targets import plan as findings
from reflect_git.targets import plan as plans
from reflect_git.targets.plan import Plan
from reflect_git.targets.safe_text import make_safe
from reflect_git.targets.target_files import AGENTS_IMPORT, Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.drift.line_owner import Passage


def plan_rule_restore(ctx: Context, one: Difference) -> Plan:
    """Plan the file with the approved text, or without a reverted rule; raise if it has hard links."""
    plan = _build_restore_plan(ctx, one)
    write_change.require_single_names(ctx.place, [plan])
    return plan


def _build_restore_plan(ctx: Context, one: Difference) -> Plan:
    page, item = one.file, item_of(one.learning)
    if one.found.kind == RETURNED:
        return plans.remove(page.target, page.data, item, force=True)
    times = _count_entries(page, one.learning["id"])
    if page.data is None or not times:
        added = plans.add(_with_agents_import(page), page.data, item)
        return _move_to_section(ctx, one.learning, added)
    if times == 1:
        return plans.replace(page.target, page.data, item, item, force=True)
    without = plans.remove(page.target, page.data, item, force=True)
    whole = plans.add(page.target, without.after, item)._replace(before=page.data, kind="replace")
    plans.check_plan(whole)
    return whole


def _count_entries(page: TargetFile, record_id: str) -> int:
    """Count how often the entry is in the file, with or without its text."""
    if page.target.form == "improvements":
        return sum(found.id == record_id for found in improvements.find_proposals(page.data))
    if page.target.form == "rules":
        live_rule = rules_file.parse(page.data or b"")
        return int(bool(live_rule and live_rule.id == record_id))
    block = target_page.find_block(page.data)
    return sum(entry.id == record_id for entry in block.entries) if block else 0


def _with_agents_import(page: TargetFile) -> Target:
    """Import AGENTS.md in a new CLAUDE.md beside it; Claude Code would otherwise stop reading AGENTS.md."""
    beside = os.path.join(os.path.dirname(page.path), target_files.AGENTS_FILE)
    hides = page.data is None and page.target.kind in ("project", "dir") and os.path.lexists(beside)
    return page.target._replace(opening=AGENTS_IMPORT) if hides else page.target


def _move_to_section(ctx: Context, learning: Learning, added: Plan) -> Plan:
    """Move a restored improvement to the section it was in: applied or deferred."""
    sections = [made["meta"].get("section") for made in ctx.scan.history.decisions if made["subject"] == learning["id"]]
    section = next((one for one in reversed(sections) if one in improvements.SECTIONS), "")
    if added.target.form != "improvements" or not section or added.after is None:
        return added
    return plans.move(added.target, added.after, learning["id"], section)._replace(before=added.before, kind="add")


def write_rule_restore(ctx: Context, one: Difference, plan: Plan, by: DecisionAuthor) -> WriteResult:
    """Write the plan that was shown. The rule is unchanged: no new learning, one `applied` decision."""
    require_unchanged(ctx, one)
    made = _build_decision(ctx, "applied", one, by, text=one.learning["text"])
    made["meta"].update(_get_applied_decision(ctx, one))
    verb = "revert" if one.found.kind == RETURNED else "apply"
    message = build_learning_message(ctx, verb, one.learning, [made], by)
    return commit_change(ctx, one.learning["id"], [Step(plan)], [made], message)


def _get_applied_decision(ctx: Context, one: Difference) -> dict[str, str]:
    """Return the pending decision of another machine that this also applies, so that it is not asked again."""
    news = find_pending_decisions(ctx.place, ctx.scan.history, ctx.store.machine).get(one.learning["id"])
    return {"of": news["id"]} if news else {}


def plan_adoption(ctx: Context, one: Difference) -> Amendment:
    """Plan to adopt the file's wording; the file changes only where the text must be made inert."""
    page, old = one.file, one.learning
    new, mended = _parse_file_wording(one)
    item = item_of(new)
    stays = not any(found.id == old["id"] for found in findings.compare_file(page.target.form, page.data, [item]))
    data = page.data or b""
    plan = (
        Plan(page.target, data, data, old["id"], "replace")
        if stays
        else plans.replace(page.target, data, item_of(old), item, force=True)
    )
    write_change.require_single_names(ctx.place, [plan])
    # If an entry is more than a line below its id, its own file would count as already saying it.
    own = "" if page.target.form == "block" else ctx.place.label(page.path)
    said = [statement for statement in ctx.statements if statement.file != own]
    trust = "assistant" if one.author == CLAUDE else new["trust"]
    found = check_text(ctx.replace(statements=said), new["text"], trust, page.target, data, mended, (old["id"],))
    linked = write_change.check_links(ctx.store, ctx.place, [plan])
    against = (*check_secret_fields(new, "take it out of the file"), *linked, *found)
    return Amendment(ctx.place, old, new, page.target.kind, (plan,), against, meta=_get_meta(one))


def can_adopt(one: Difference) -> bool:
    """Tell whether the file's wording can be adopted: not for a reverted rule, nor for a duplicate entry."""
    if one.found.kind == RETURNED:
        return False
    return one.found.kind == "missing" or _count_entries(one.file, one.learning["id"]) == 1


def write_adoption(ctx: Context, one: Difference, amendment: Amendment, by: DecisionAuthor) -> WriteResult:
    """Adopt the file's wording: one `amended` decision."""
    require_unchanged(ctx, one)
    return amend.write_amendment(ctx, amendment, by)


def withdraw_rule(ctx: Context, one: Difference, by: DecisionAuthor) -> WriteResult:
    """Revert a rule that is gone from its file: one `reverted` decision, no file is touched."""
    require_unchanged(ctx, one)
    made = _build_decision(ctx, "reverted", one, by, reopens=one.learning["decision"])
    message = build_learning_message(ctx, "revert", one.learning, [made], by)
    plan = Plan(one.file.target, one.file.data, one.file.data, one.learning["id"], "remove")
    return commit_change(ctx, one.learning["id"], [Step(plan)], [made], message)


def remove_passage(ctx: Context, passage: Passage, by: DecisionAuthor) -> WriteResult:
    """Remove what Claude wrote by itself: one `reverted` decision about the file."""
    page, call, plan = passage.file, passage.call, passage.plan
    if plan is None:
        raise ReflectError(
            f"what Claude wrote into '{page.target.path}' was changed since", "edit the file", code="changed"
        )
    _require_unchanged_file(page)
    target = page.target
    made = api.build_decision(
        ctx.store, "reverted", target.path, by, utc_precise(), target={"kind": target.kind, "path": target.path},
        meta={"drift": "written", "author": CLAUDE, "session": call.session},
    )  # fmt: skip
    project = ctx.place.project
    trailers = [
        ("Decision", made["id"]), ("Target", target.path),
        *([("Project", project["key"])] if project and not target.is_global else []),
        ("Session", call.session), ("Machine", ctx.store.machine), ("Approved-By", by["road"]),
        ("Backup", "{backup}"),
    ]  # fmt: skip
    lines = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in trailers)
    message = f"revert: {api.format_title(f'what Claude wrote into {target.path}')}\n\n{lines}"
    return commit_change(ctx, made["id"], [Step(plan)], [made], message)


def require_unchanged(ctx: Context, one: Difference) -> None:
    """Raise if the rule or its file is no longer as it was shown."""
    if ctx.scan.history.learnings.get(one.learning["id"]) != one.learning:
        raise ReflectError(f"'{one.learning['id']}' was changed elsewhere meanwhile", "look again", code="changed")
    _require_unchanged_file(one.file)


def _require_unchanged_file(page: TargetFile) -> None:
    if instruction_files.read(page.path) != page.data:
        raise instruction_files.FileChanged(page.path)


def _get_meta(one: Difference) -> dict[str, Any]:
    """Return the facts behind the decision; the words in the file are not among them."""
    session = {"session": one.call.session} if one.call else {}
    return {"drift": one.found.kind, "author": one.author, **session}


def _build_decision(
    ctx: Context, kind: str, one: Difference, by: DecisionAuthor, text: str | None = None, reopens: str | None = None
) -> Decision:
    return api.build_decision(
        ctx.store, kind, one.learning["id"], by, utc_precise(), text=text, target=one.learning["target"],
        reopens=reopens, meta=_get_meta(one),
    )  # fmt: skip


def _parse_file_wording(one: Difference) -> tuple[Learning, Sequence[str]]:
    """Return the learning with the file's current text, and what had to be made inert."""
    page, old = one.file, one.learning
    if page.target.form == "improvements":
        return cast("Learning", {**old, **_parse_improvement(page, old)}), ()
    skill = old["meta"].get("skill")
    if skill:
        meta = {**old["meta"], "skill": {**skill, "document": one.found.live}}
        return cast("Learning", {**old, "text": rules_file.read_description(one.found.live), "meta": meta}), ()
    text, mended = make_safe(one.found.live)
    if not text:
        raise ReflectError("there is no text left", "put it back, or take the rule back", "usage")
    changes: dict[str, Any] = {"text": text}
    if text != old["text"]:
        changes.update(title=api.format_title(text), matcher=find_stored_matcher(text, find_matcher(text)))
    rule = rules_file.parse(page.data or b"") if page.target.form == "rules" else None
    if rule is not None:
        changes["paths"] = list(rule.paths)
        if rule.heading != get_heading(old):
            changes["meta"] = {**old["meta"], "heading": rule.heading}
    return cast("Learning", {**old, **changes}), mended


def _parse_improvement(page: TargetFile, old: Learning) -> dict[str, Any]:
    """Return title and fields of an improvement as the file has them."""
    (found,) = [one for one in improvements.find_proposals(page.data) if one.id == old["id"]]
    fields = findings.parse_fields(found)
    kept = dict(old["meta"].get("improvement") or {})
    kept.update({name: fields[name] for name in kept if name in fields})
    new = {"title": fields.get("title") or old["title"], "meta": {**old["meta"], "improvement": kept}}
    if not improvements.has_same_text(found, cast("Any", item_of(cast("Learning", {**old, **new})))):
        raise ReflectError(
            f"'{target_of(old).path}' has more or other fields of '{old['id']}' than can be kept",
            "title, impact, details, suggested action and confidence can be changed", code="usage",
        )  # fmt: skip
    return new
