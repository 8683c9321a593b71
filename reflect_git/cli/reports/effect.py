"""Run `reflect-git effect`: show whether the rules help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git.cli import options
from reflect_git.cli.context import CliContext, get_cwd, one_line
from reflect_git.cli.options import json_option
from reflect_git.effect import table
from reflect_git.effect.from_store import judge_rules
from reflect_git.effect.simulated import judge_histories
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.rules import project_files

if TYPE_CHECKING:
    from reflect_git.effect.from_store import Effects, RuleEffect

_COLOURS = {"harmful?": "red", "recurring despite the rule": "yellow", "helping": "green"}
_WIDTH = 100
_FOLDER, _COUNT = click.Path(exists=True, file_okay=False), click.IntRange(min=1)


@click.command()
@click.argument(
    "name", metavar="[LRN]", default="", callback=options.resolve_numbers, shell_complete=options.complete_rules
)
@click.option("--project", "only_project", is_flag=True, help="Only rules of this project.")
@click.option(
    "--from", "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Judge simulated histories."
)
@click.option(
    "--every", metavar="N", type=click.IntRange(min=1), default=10, help="With --from: judge after every N sessions."
)
@json_option
@click.pass_obj
def effect_command(cli: CliContext, name: str, only_project: bool, folder: str | None, every: int) -> None:
    """Show whether each rule helps, the worst first.

    It compares sessions before and after the approval. In how many did you have to say it, or did Claude do what the
    rule forbids? The ratio divides what happened by what was expected without the rule. Brackets have its 90 %
    interval.

    \b
    Example:
      reflect-git effect --project
    """
    if folder:
        _judge_simulated(cli, folder, every)
        return
    store = cli.open_mined_store()
    if store is None:
        if cli.json:
            cli.print_json({"learnings": [], "pooled": None})
        else:
            cli.print_no_store()
        return
    scan = cli.scan(store)
    place = project_files.find_place(store, cli.env, get_cwd())
    found = judge_rules(scan, project_files.load_key_aliases(store, place))
    if name:
        found = table.select_rule(found, name)
    else:
        found = table.select_in_force(found, scan.history, place if only_project else None)
    if cli.json:
        cli.print_json(table.effects_json(found))
    else:
        _show(cli, found)


def _judge_simulated(cli: CliContext, folder: str, every: int) -> None:
    if not cli.json:
        raise ReflectError("--from only has JSON output", "add --json", "usage", EXIT_USAGE)
    cli.print_json({"looks": list(judge_histories(folder, every))})


def _show(cli: CliContext, found: Effects) -> None:
    if not found.rules:
        cli.print_note("no rules in force here")
        return
    if found.pooled:
        cli.print_text(table.pooled_text(found.pooled))
        cli.print_line()
    for one in found.rules:
        _show_rule(cli, one)
    if any(one.baseline == "late" for one in found.rules):
        cli.print_line()
        cli.print_text("* counted from records after the approval, not at the approval")


def _show_rule(cli: CliContext, one: RuleEffect) -> None:
    verdict = one.judged.verdict.verdict
    record_id = click.style(one.rule["id"], fg="yellow")
    cli.print_line(f"{record_id}  {click.style(table.verdict_text(one), fg=_COLOURS.get(verdict), bold=True)}")
    cli.print_line(f"    {table.counts_text(one)}")
    cli.print_line(f"    {one_line(one.rule['text'], _WIDTH - 4)}")
