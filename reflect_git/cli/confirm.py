"""Preview, confirm, write and report a change of rules: an approval, an edit or a revert."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from reflect_git.candidates.gate import REFUSED
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.review_setup import (
    find_approver,
    format_undo_hint,
    mark_answer_used,
    preview_change,
    print_commit_advice,
    print_cooldown_note,
    print_diff,
    require_typed_yes,
)
from reflect_git.errors import ReflectError
from reflect_git.rules import amend, project_commits, revert, write_change
from reflect_git.rules.approver import is_inside_client
from reflect_git.rules.client_questions import build_amendment_request, build_broken_rule_request
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.rules.guarding.broken_rules import find_broken_rules
from reflect_git.rules.write_change import require_not_refused
from reflect_git.store.local import refusals

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.records.schema import DecisionAuthor, Learning
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.approve import Proposal
    from reflect_git.rules.approver import ApprovalRequest
    from reflect_git.rules.context import Context
    from reflect_git.rules.revert import RevertOptions, RevertPlan, Selection
    from reflect_git.rules.write_change import WriteResult

    Change = TypeVar("Change", Proposal, Amendment)
    Writer = Callable[[Context, Change, DecisionAuthor, Mapping[str, str]], WriteResult]

_REVERT_PREFIX = "the revert of "


def confirm_revert(
    cli: CliContext, ctx: Context, chosen: Selection, wanted: RevertOptions, dry_run: bool, *, is_named: bool = True
) -> None:  # fmt: skip
    """Preview, confirm and carry out a revert.

    `is_named`: the person named the decision, so it is not just the last one.
    """
    there = project_commits.with_project_of(ctx, chosen.decisions)
    reversal = revert.plan_revert(there, chosen, wanted)
    if dry_run:
        _preview_revert(cli, there, reversal)
        return
    by, basis = _find_author_and_basis(cli, there, chosen)
    linked = find_symlink_findings(there, reversal)
    is_shown = not is_named and _confirm_other_project(cli, ctx, there, reversal)
    is_shown = require_typed_yes(cli, linked, "" if is_shown else reversal.diff) or is_shown
    done = revert.write_revert(there, reversal, by, linked, basis)
    refresh_derived_files(there.store, cli.env, cli.scan(there.store))
    _print_revert(cli, there, reversal, done, is_shown, by["road"])


def _confirm_other_project(cli: CliContext, ctx: Context, there: Context, reversal: RevertPlan) -> bool:
    """Ask before a revert in another project, whose last decision the person may have forgotten.

    Return whether the diff was shown.
    """
    at_terminal = cli.is_at_terminal and not cli.no_input
    paths = [step.plan.path for step in reversal.steps if not step.plan.target.is_global]
    if not paths or there.place.root == ctx.place.root or cli.yes or not at_terminal:
        return False
    if not cli.json:
        print_diff(cli, reversal.diff)
    files = ", ".join(f"'{path}'" for path in paths)
    where = ctx.place.label(there.place.root)
    if not cli.confirm(
        printable(f"{_format_action(reversal, 'revert', 'restore')} in {files} of another project, {where}?")
    ):
        raise ReflectError("nothing was changed", code="declined")
    return not cli.json


def find_symlink_findings(ctx: Context, reversal: RevertPlan) -> list[Finding]:
    """Return findings for files that have become symbolic links since they were written."""
    return write_change.check_links(ctx.store, ctx.place, [step.plan for step in reversal.steps])


def _find_author_and_basis(cli: CliContext, ctx: Context, chosen: Selection) -> tuple[DecisionAuthor, dict[str, str]]:
    """Return who reverts, and the recorded answer that allows it, if one is needed.

    Inside Claude Code this is possible only for a rule that was broken again, after a person answered that it should be
    retired.
    """
    approvals = [made["subject"] for made in chosen.decisions if made["kind"] == "approved"]
    if is_inside_client(cli.env) and len(approvals) == 1 and len(chosen.decisions) == 1:
        broken = next((one for one in find_broken_rules(ctx) if one.rule["id"] == approvals[0]), None)
        if broken:
            by, answer = find_approver(cli, ctx, build_broken_rule_request(ctx, broken, "retire"))
            return by, mark_answer_used(answer, approvals[0])
    return find_revert_author(cli, ctx), {}


def find_revert_author(cli: CliContext, ctx: Context) -> DecisionAuthor:
    """Return the person who reverts. Inside Claude Code nobody may, since text can return to a file."""
    if is_inside_client(cli.env):
        raise ReflectError(
            "cannot revert from inside Claude Code", "run it in a terminal",
            code="approval",
        )  # fmt: skip
    decisions = ctx.scan.history.decisions
    at_terminal = cli.is_at_terminal and not cli.no_input
    channel = service.require_approval(ctx.store, cli.env, at_terminal, decisions, "taking something back")
    return service.get_author(ctx.store, channel)


def _preview_revert(cli: CliContext, ctx: Context, reversal: RevertPlan) -> None:
    if cli.json:
        cli.print_json(build_revert_json(reversal, None, None, get_first_target(ctx, reversal), reversal.diff))
        return
    print_diff(cli, reversal.diff)
    for note in reversal.notes:
        cli.print_note(printable(note))
    if not reversal.steps:
        cli.print_note("no file would change")


def get_first_target(ctx: Context, reversal: RevertPlan) -> str | None:
    """Return the label of the first file that would change."""
    plans = [step.plan for step in reversal.steps if step.plan.before != step.plan.after]
    return ctx.place.label_of(plans[0].target) if plans else None


def _print_revert(
    cli: CliContext, ctx: Context, reversal: RevertPlan, done: WriteResult, is_shown: bool, channel: str
) -> None:
    if cli.json:
        cli.print_json(build_revert_json(reversal, done.commit, done.backup or None, done.target or None, done.diff))
        return
    print_diff(cli, "" if is_shown else done.diff)
    cli.print_text(
        printable(
            f"{_format_action(reversal, 'reverted', 'restored')}{_format_target(ctx, done)}, commit {done.commit[:10]}"
        )
    )
    for note in reversal.notes:
        cli.print_note(printable(note))
    print_change_advice(cli, ctx, done)
    for rule in [ctx.scan.history.learnings[one] for one in reversal.learnings][:1]:
        print_cooldown_note(cli, ctx, rule, channel)
    cli.print_note(format_undo_hint(channel, done.commit))


def print_change_advice(cli: CliContext, ctx: Context, done: WriteResult) -> None:
    """Suggest committing the changed file of the project."""
    if done.target and not done.target.startswith(("/", "~")):
        print_commit_advice(cli, ctx, done.target)


def print_changes_advice(cli: CliContext, written: Iterable[tuple[Context, WriteResult]]) -> None:
    """Suggest committing each changed file once, even if several rules left it."""
    for ctx, done in {(sat.place.root, done.target): (sat, done) for sat, done in written}.values():
        print_change_advice(cli, ctx, done)


def _format_action(reversal: RevertPlan, revert: str, restore: str) -> str:
    """Return the verb and its object: undoing a revert restores what it reverted."""
    is_back = reversal.label.startswith(_REVERT_PREFIX)
    return f"{restore} {reversal.label[len(_REVERT_PREFIX) :]}" if is_back else f"{revert} {reversal.label}"


def _format_target(ctx: Context, done: WriteResult) -> str:
    if not done.target:
        return ""
    in_project = ctx.place.project if not done.target.startswith(("/", "~")) else None
    return f" in '{done.target}'" + (f" of {in_project['name']}" if in_project else "")


def build_revert_json(
    reversal: RevertPlan, commit: str | None, backup: str | None, target: str | None, diff: str
) -> dict[str, Any]:
    return {
        "commit": commit, "target": target, "diff": diff, "backup": backup, "learnings": reversal.learnings,
        "decisions": [made["id"] for made in reversal.decisions] if commit else [], "reverts": reversal.reverts,
        "notes": list(reversal.notes),
    }  # fmt: skip


def confirm_edit(cli: CliContext, ctx: Context, amendment: Amendment, dry_run: bool) -> None:
    """Preview, confirm and carry out an edit."""
    if dry_run:
        preview_change(cli, ctx, amendment.new["id"], amendment)
        return
    done = confirm_change(cli, ctx, amendment, build_amendment_request(ctx, amendment), amend.write_amendment)
    report_change(cli, ctx, amendment, done, f"amended {done.result.learning} in", amendment.new)


class Confirmed(NamedTuple):
    """A change that was written: what was written, whether the person saw its diff before, and who approved it."""

    result: WriteResult
    is_shown: bool
    by: DecisionAuthor


def confirm_change(
    cli: CliContext, ctx: Context, change: Change, request: ApprovalRequest, write: Writer[Change]
) -> Confirmed:
    """Have an approval or an edit confirmed, with the same checks and the same authority, and write it."""
    if any(one.kind == REFUSED for one in change.findings):
        refusals.add_refusal(ctx.store, request.text)
    require_not_refused(change.findings)
    by, answer = find_approver(cli, ctx, request)
    is_shown = require_typed_yes(cli, change.findings, change.diff)
    done = write(ctx, change, by, mark_answer_used(answer, request.subject))
    refresh_derived_files(ctx.store, cli.env, cli.scan(ctx.store))
    return Confirmed(done, is_shown, by)


def report_change(
    cli: CliContext, ctx: Context, change: Proposal | Amendment, confirmed: Confirmed, said: str, rule: Learning
) -> None:
    """Print what was written, which files to commit, and how to undo it."""
    done, is_shown, by = confirmed
    if cli.json:
        cli.print_json(asdict(done))
        return
    print_diff(cli, "" if is_shown else done.diff)
    cli.print_text(printable(f"{said} '{done.target}', commit {done.commit[:10]}"))
    for plan in change.plans:
        if not plan.target.is_global:
            print_commit_advice(cli, ctx, plan.path)
    print_cooldown_note(cli, ctx, rule, by["road"])
    cli.print_note(format_undo_hint(by["road"], done.commit))
