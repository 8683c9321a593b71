"""Run `reflect-git tidy`: propose to join, split and retire the rules of one file, as one change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from reflect_git.candidates.gate import MANY_LINES
from reflect_git.cli.context import CliContext, one_line, printable, terminal_width
from reflect_git.cli.options import dry_run_option, json_option, project_option, yes_option
from reflect_git.cli.reports.evaluate import format_price
from reflect_git.cli.review_setup import (
    find_approver,
    format_undo_hint,
    open_context,
    print_commit_advice,
    print_diff,
    require_typed_yes,
)
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.judge import calls, tidy
from reflect_git.memory import budget, staleness
from reflect_git.records.ids import plural
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.derived_files import refresh_derived_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reflect_git.judge.tidy import TidyChange, TidyProposal
    from reflect_git.records.schema import Learning
    from reflect_git.rules.context import Context
    from reflect_git.targets.target_files import Target


@click.command()
@click.argument("target", default="", metavar="[TARGET]")
@click.option("--skip", metavar="N,N", default="", help="Leave out these proposals.")
@click.option("--judge", "with_judge", is_flag=True, help="Ask the judge for proposals, too, if it is switched on.")
@project_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def tidy_command(cli: CliContext, target: str, skip: str, with_judge: bool, project: str | None, dry_run: bool) -> None:
    """Propose to join rules that mean the same, split long ones and retire what no longer holds.

    It shows a diff for each proposal, and writes what you choose as one commit, which one revert undoes. No rule
    vanishes: a decision says what replaced or ended it. A pinned rule stays as it is. No model is called unless you
    pass --judge; then the price is shown first.

    \b
    Examples:
      reflect-git tidy --dry-run
      reflect-git tidy global --skip 2
    """
    if not dry_run:
        cli.require_outside_client("tidying a file is a person's decision", ["tidy", *([target] if target else [])])
    ctx = open_context(cli, project, writes=not dry_run)
    file = tidy.choose_target(ctx, target)
    found = tidy.propose(ctx, file, (*tidy.FINDERS, _find_stale_rules))
    if with_judge:
        cli.require_outside_client("the judge runs only for a person", ["tidy", "--judge"])
        found += _ask_judge(cli, ctx, file, {name for one in found for name in one.rules})
    change = tidy.plan_change(ctx, file, [one for at, one in enumerate(found, 1) if at not in _parse_numbers(skip)])
    if (cli.json and dry_run) or not change.steps:
        _print_proposals(cli, change, ctx.place.label_of(file))
        if not cli.json:
            _note_length(cli, ctx, file)
        return
    if not cli.json:
        _show_steps(cli, change, found)
        _note_length(cli, ctx, file)
    if dry_run:
        return
    first = change.steps[0]
    text = first.new[0]["text"] if first.new else first.old[0]["text"]
    by, _ = find_approver(cli, ctx, ApprovalRequest(first.old[0]["id"], text, target or "project"))
    require_typed_yes(cli, change.findings, change.diff)
    if by["road"] == "terminal" and not cli.ask_yes_no(f"{tidy.describe(change)}?"):
        raise ReflectError("nothing was changed", code="declined")
    done = tidy.write(ctx, change, by)
    refresh_derived_files(ctx.store, cli.env, cli.scan(ctx.store))
    if cli.json:
        cli.print_json({**vars(done), "steps": [_step_json(step.proposal, step.diff) for step in change.steps]})
        return
    cli.print_text(printable(f"{tidy.describe(change)}, commit {done.commit[:10]}"))
    print_commit_advice(cli, ctx, done.target)
    cli.print_note(format_undo_hint(by["road"], done.commit))


def _find_stale_rules(ctx: Context, rules: Sequence[Learning]) -> Iterator[TidyProposal]:
    """Propose to retire rules that name what no longer exists, that nobody loads, or whose time is over."""
    sessions = [
        one for one in ctx.scan.other_records.values()
        if one["id"].startswith("EXP-") and one["project"] and one["project"]["key"] in ctx.place.keys
    ]  # fmt: skip
    found = staleness.find_reasons(ctx.store, ctx.scan.history, rules, ctx.place.root, sessions, time.time())
    for name, reasons in found.items():
        yield tidy.TidyProposal(tidy.RETIRE, (name,), (), "; ".join(one.text for one in reasons))


def _note_length(cli: CliContext, ctx: Context, file: Target) -> None:
    """Say so if the file is too long by what is not a rule of ours: tidy changes nothing of that."""
    label = ctx.place.label_of(file)
    for one in budget.measure_files(ctx):
        if one.file == label and one.lines >= MANY_LINES:
            cli.print_note(printable(f"'{label}' has {plural(one.lines, 'line')}; Claude follows short files best"))
            cli.print_hint("budget", "move what concerns some files to .claude/rules")


def _ask_judge(cli: CliContext, ctx: Context, file: Target, used: set[str]) -> list[TidyProposal]:
    """Return the judge's proposals about other rules than those; the price is shown and confirmed before."""
    judge = calls.load_judge(ctx.store)
    extract = tidy.build_judge_extract(ctx, file)
    price = calls.estimate_price(ctx.store, judge, tidy.load_judge_prompt(), extract, "tidy")
    if not cli.confirm(f"{format_price(judge, price)}; ask the judge?"):
        raise ReflectError("nothing was sent", code="declined")
    return [one for one in tidy.propose_with_judge(ctx, judge, extract) if used.isdisjoint(one.rules)]


def _parse_numbers(skip: str) -> set[int]:
    words = [word.strip() for word in skip.split(",") if word.strip()]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise ReflectError(f"'{skip}' is not a list of numbers", "such as --skip 1,3", "usage", EXIT_USAGE)
    return set(map(int, words))


def _step_json(one: TidyProposal, diff: str) -> dict[str, object]:
    return {
        "kind": one.kind, "rules": list(one.rules), "texts": list(one.texts), "reason": one.shown or one.reason,
        "diff": diff,
    }  # fmt: skip


def _print_proposals(cli: CliContext, change: TidyChange, label: str) -> None:
    """Print what is proposed as JSON, or that nothing is."""
    if cli.json:
        dropped = [{"rules": list(one.rules), "why": why} for one, why in change.dropped]
        steps = [_step_json(step.proposal, step.diff) for step in change.steps]
        cli.print_json({"target": label, "steps": steps, "dropped": dropped, "commit": None})
        return
    cli.print_text(printable(f"nothing to tidy in '{label}'"))
    _print_dropped(cli, change)


def _show_steps(cli: CliContext, change: TidyChange, found: list[TidyProposal]) -> None:
    numbers = {id(one): at for at, one in enumerate(found, 1)}
    for step in change.steps:
        one = step.proposal
        rules = plural(len(one.rules), "rule")
        head = f"{numbers.get(id(one), 0)}. {one.kind} {rules}: {one.shown or one.reason}"
        cli.print_line(click.style(one_line(head, terminal_width()), bold=True))
        print_diff(cli, step.diff)
        for each in step.findings:
            cli.print_note(printable(f"{each.kind}: {each.message}"))
    _print_dropped(cli, change)


def _print_dropped(cli: CliContext, change: TidyChange) -> None:
    for one, why in change.dropped:
        cli.print_note(printable(f"left out: {one.kind} {', '.join(one.rules)}: {why}"))
