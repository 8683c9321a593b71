"""Preview, confirm and carry out a revert or an edit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from reflect_git.capture import service
from reflect_git.cli.context import Front, printable
from reflect_git.cli.review_setup import advise, find_approver, preview, require_typed_yes, show_diff, used, way_back
from reflect_git.errors import ReflectError
from reflect_git.rules import amend, learnings_index, project_commits, revert, write_change
from reflect_git.rules.approver import is_inside_client
from reflect_git.rules.client_questions import wish_about_broken, wish_to_amend
from reflect_git.rules.recurring import find_broken
from reflect_git.rules.write_change import require_unrefused

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.records.schema import By
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.context import Context
    from reflect_git.rules.revert import Chosen, Reversal, Wanted
    from reflect_git.rules.write_change import Approved


_REVERT_OF = "the revert of "


def confirm_revert(
    front: Front, ctx: Context, chosen: Chosen, wanted: Wanted, dry_run: bool, *, is_named: bool = True
) -> None:  # fmt: skip
    """Preview, confirm and carry out a revert.

    `is_named`: the person named the decision, so it is not just the last one.
    """
    there = project_commits.moved_to(ctx, chosen.decisions)
    reversal = revert.propose(there, chosen, wanted)
    if dry_run:
        _preview(front, there, reversal)
        return
    by, basis = _approver(front, there, chosen)
    linked = links_of(there, reversal)
    is_shown = not is_named and _is_asked(front, ctx, there, reversal)
    is_shown = require_typed_yes(front, linked, "" if is_shown else reversal.diff) or is_shown
    done = revert.carry_out(there, reversal, by, linked, basis)
    learnings_index.write(there.store, front.scan(there.store))
    _say_revert(front, there, reversal, done, is_shown, by["road"])


def _is_asked(front: Front, ctx: Context, there: Context, reversal: Reversal) -> bool:
    """Ask before a revert in another project, whose last decision the person may have forgotten.

    Return whether the diff was shown.
    """
    at_terminal = front.at_terminal and not front.no_input
    paths = [step.plan.path for step in reversal.steps if not step.plan.target.is_global]
    if not paths or there.place.root == ctx.place.root or front.yes or not at_terminal:
        return False
    if not front.json:
        show_diff(front, reversal.diff)
    files = ", ".join(f"'{path}'" for path in paths)
    where = ctx.place.label(there.place.root)
    if not front.confirm(printable(f"{_verb(reversal, 'revert', 'restore')} in {files} of another project, {where}?")):
        raise ReflectError("nothing was changed", code="declined")
    return not front.json


def links_of(ctx: Context, reversal: Reversal) -> list[Finding]:
    """Return findings for files that have become symbolic links since they were written."""
    return write_change.in_the_way(ctx.store, ctx.place, [step.plan for step in reversal.steps])


def _approver(front: Front, ctx: Context, chosen: Chosen) -> tuple[By, dict[str, str]]:
    """Return who reverts, and the recorded answer that allows it, if one is needed.

    Inside Claude Code this is possible only for a rule that was broken again, after a person answered that it should be
    retired.
    """
    approvals = [made["subject"] for made in chosen.decisions if made["kind"] == "approved"]
    if is_inside_client(front.env) and len(approvals) == 1 and len(chosen.decisions) == 1:
        broken = next((one for one in find_broken(ctx) if one.rule["id"] == approvals[0]), None)
        if broken:
            by, answer = find_approver(front, ctx, wish_about_broken(ctx, broken, "retire"))
            return by, used(answer, approvals[0])
    return person(front, ctx), {}


def person(front: Front, ctx: Context) -> By:
    """Return the person who reverts. Inside Claude Code nobody may, since text can return to a file."""
    if is_inside_client(front.env):
        raise ReflectError(
            "cannot revert from inside Claude Code", "run it in a terminal",
            code="approval",
        )  # fmt: skip
    decisions = ctx.scan.history.decisions
    at_terminal = front.at_terminal and not front.no_input
    road = service.require_approval(ctx.store, front.env, at_terminal, decisions, "taking something back")
    return service.author(ctx.store, road)


def _preview(front: Front, ctx: Context, reversal: Reversal) -> None:
    if front.json:
        front.data(document(reversal, None, None, first_target(ctx, reversal), reversal.diff))
        return
    show_diff(front, reversal.diff)
    for note in reversal.notes:
        front.talk(printable(note))
    if not reversal.steps:
        front.talk("no file would change")


def first_target(ctx: Context, reversal: Reversal) -> str | None:
    """Return the label of the first file that would change."""
    plans = [step.plan for step in reversal.steps if step.plan.before != step.plan.after]
    return ctx.place.label_of(plans[0].target) if plans else None


def _say_revert(front: Front, ctx: Context, reversal: Reversal, done: Approved, is_shown: bool, road: str) -> None:
    if front.json:
        front.data(document(reversal, done.commit, done.backup or None, done.target or None, done.diff))
        return
    show_diff(front, "" if is_shown else done.diff)
    front.tell(printable(f"{_verb(reversal, 'reverted', 'restored')}{_where(ctx, done)}, commit {done.commit[:10]}"))
    for note in reversal.notes:
        front.talk(printable(note))
    advise_of(front, ctx, done)
    front.talk(way_back(road, done.commit))


def advise_of(front: Front, ctx: Context, done: Approved) -> None:
    """Suggest committing the changed file of the project."""
    if done.target and not done.target.startswith(("/", "~")):
        advise(front, ctx, done.target)


def advise_of_all(front: Front, written: Iterable[tuple[Context, Approved]]) -> None:
    """Suggest committing each changed file once, even if several rules left it."""
    for sat, done in {(sat.place.root, done.target): (sat, done) for sat, done in written}.values():
        advise_of(front, sat, done)


def _verb(reversal: Reversal, revert: str, restore: str) -> str:
    """Return the verb and its object: undoing a revert restores what it reverted."""
    is_back = reversal.told.startswith(_REVERT_OF)
    return f"{restore} {reversal.told[len(_REVERT_OF) :]}" if is_back else f"{revert} {reversal.told}"


def _where(ctx: Context, done: Approved) -> str:
    if not done.target:
        return ""
    in_project = ctx.place.project if not done.target.startswith(("/", "~")) else None
    return f" in '{done.target}'" + (f" of {in_project['name']}" if in_project else "")


def document(
    reversal: Reversal, commit: str | None, backup: str | None, target: str | None, diff: str
) -> dict[str, Any]:
    return {
        "commit": commit, "target": target, "diff": diff, "backup": backup, "learnings": reversal.learnings,
        "decisions": [made["id"] for made in reversal.made] if commit else [], "reverts": reversal.reverts,
        "notes": list(reversal.notes),
    }  # fmt: skip


def confirm_edit(front: Front, ctx: Context, amendment: Amendment, dry_run: bool) -> None:
    """Preview, confirm and carry out an edit, with the same checks and the same authority as an approval."""
    if dry_run:
        preview(front, ctx, amendment.new["id"], amendment)
        return
    require_unrefused(amendment.findings)
    new = amendment.new
    by, answer = find_approver(front, ctx, wish_to_amend(ctx, amendment))
    is_shown = require_typed_yes(front, amendment.findings, amendment.diff)
    done = amend.carry_out(ctx, amendment, by, used(answer, new["id"]))
    learnings_index.write(ctx.store, front.scan(ctx.store))
    _say_edit(front, ctx, amendment, done, is_shown, by["road"])


def _say_edit(front: Front, ctx: Context, amendment: Amendment, done: Approved, is_shown: bool, road: str) -> None:
    if front.json:
        front.data(asdict(done))
        return
    show_diff(front, "" if is_shown else done.diff)
    front.tell(printable(f"amended {done.learning} in '{done.target}', commit {done.commit[:10]}"))
    for plan in amendment.plans:
        if not plan.target.is_global:
            advise(front, ctx, plan.path)
    front.talk(way_back(road, done.commit))
