"""Run `reflect-git gate`: what each stage says about a proposed rule, or said when it was approved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reflect_git.candidates.candidate import format_backtest
from reflect_git.cli import options
from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import TARGETS, json_option, project_option
from reflect_git.cli.review_setup import open_context, open_queue_with
from reflect_git.errors import ReflectError
from reflect_git.rules.approve import Request, plan_approval
from reflect_git.rules.gate import STAGES, build_stages, find_judgement, find_missing_stages, group_by_stage
from reflect_git.rules.queue import with_backtest
from reflect_git.store import api

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision
    from reflect_git.rules.context import Context

_COLOURS = {"refused": "red", "risk": "red", "note": "yellow"}
_WAITS = "waits for a person"


@click.command()
@click.argument("record_id", metavar="ID", shell_complete=options.complete_records)
@click.option("--to", metavar="TARGET", default="", help=f"For a proposed rule, where to write it: {TARGETS}.")
@click.option("--text", metavar="TEXT", default="", help="For a proposed rule, another wording.")
@project_option
@json_option
@click.pass_obj
def gate_command(cli: CliContext, record_id: str, to: str, text: str, project: str | None) -> None:
    """Show the stages that an approval passes, and the result of each.

    For a proposed rule: what each stage says now. For a rule or a decision: what it said when a person approved it.
    Every decision stores all stages; 'audit' reports one that lacks some.

    \b
    Examples:
      reflect-git gate SIG-20260211-7k3v9q2m
      reflect-git gate LRN-20260211-4c8d2a1f
    """
    if record_id.upper().startswith(("LRN", "DEC")):
        _show_stored(cli, record_id, project)
        return
    queue = open_queue_with(cli, project, record_id)
    candidate = queue.find_candidate(record_id)
    proposal = plan_approval(queue, Request(candidate, to=to, text=text))
    matcher = proposal.learning["matcher"]
    stages = build_stages(
        queue, proposal.findings, _WAITS, has_matcher=bool(matcher), baseline=None,
        judged=find_judgement(queue, candidate.signals),
    )  # fmt: skip
    if matcher:
        tested = with_backtest(queue, candidate).backtest
        stages["backtest"] = format_backtest(tested) if tested else "not known yet"
    found = group_by_stage(proposal.findings)
    listed = [
        {"stage": name, "result": stages[name], "findings": [one._asdict() for one in found[name]]} for name in STAGES
    ]
    _print_stages(cli, candidate.id, listed)


def _show_stored(cli: CliContext, record_id: str, project: str | None) -> None:
    """Print the stages that an approval stored."""
    made = _find_approval(open_context(cli, project), record_id)
    given = made["meta"].get("gate")
    if not isinstance(given, dict):
        hint = "it was approved by an older program, or without the gate; 'reflect-git audit' tells which"
        raise ReflectError(f"'{made['id']}' has no stages", hint, "no-gate")
    missing = find_missing_stages(made["meta"])
    listed: list[dict[str, Any]] = [
        {"stage": name, "result": "missing" if name in missing else str(given[name]), "findings": []} for name in STAGES
    ]
    _print_stages(cli, made["id"], listed)


def _find_approval(ctx: Context, record_id: str) -> Decision:
    """Return the last approval of a rule, or the decision itself."""
    history = ctx.scan.history
    approvals = [made for made in history.decisions if made["kind"] in ("approved", "amended")]
    known = {made["id"]: made for made in approvals}
    rules = {made["subject"]: made for made in approvals}
    hint = "see what is in force with 'reflect-git rules --all'"
    names = [*known, *rules]
    found = api.find_id_of_kind(
        "an approval", names, record_id, [*ctx.scan.columns["id"], *ctx.scan.other_records], hint
    )
    return known.get(found) or rules[found]


def _print_stages(cli: CliContext, subject: str, listed: list[dict[str, Any]]) -> None:
    if cli.json:
        cli.print_json({"subject": subject, "stages": listed})
        return
    cli.print_line(click.style(subject, fg="yellow"))
    for one in listed:
        result = printable(one["result"])
        cli.print_line(f"  {one['stage']:<14} {click.style(result, fg=_COLOURS.get(result))}")
        for found in one["findings"]:
            cli.print_text(printable(f"    {found['kind']}: {found['message']}"), 6)
            if found["hint"] and found["kind"] != "note":
                cli.print_text(printable(f"    hint: {found['hint']}"), 6)
