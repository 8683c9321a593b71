"""Run `reflect-git effect`: show whether the rules help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git.cli import options
from reflect_git.cli.context import Front, one_line
from reflect_git.cli.options import json_option
from reflect_git.errors import EXIT_USAGE, ReflectError

if TYPE_CHECKING:
    from reflect_git.effect.from_store import Effects, RuleEffect

_COLOURS = {"harmful?": "red", "recurring despite the rule": "yellow", "helping": "green"}
_WIDTH = 100


@click.command()
@click.argument("name", metavar="[LRN]", default="", shell_complete=options.rules)
@click.option("--project", "only_project", is_flag=True, help="Only rules of this project.")
@click.option(
    "--from", "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Judge simulated histories."
)
@click.option(
    "--every", metavar="N", type=click.IntRange(min=1), default=10, help="With --from: look after every N sessions."
)
@json_option
@click.pass_obj
def effect_command(front: Front, name: str, only_project: bool, folder: str | None, every: int) -> None:
    """Show whether each rule helps, the worst first.

    It compares sessions before and after the approval: in how many did you have to say it, or did Claude do what the
    rule forbids? The ratio is what happened over what was to be expected without the rule, with its 90 % interval.

    \b
    Example:
      reflect-git effect --project
    """
    if folder:
        _judge_simulated(front, folder, every)
        return
    store = front.existing()
    if store is None:
        if front.json:
            front.data({"learnings": [], "pooled": None})
        else:
            front.say_no_store()
        return
    from reflect_git.cli.review_setup import here
    from reflect_git.effect import table
    from reflect_git.effect.from_store import judge_rules
    from reflect_git.rules import project_files

    scan = front.scan(store)
    place = project_files.place(store, front.env, here())
    found = judge_rules(scan, project_files.aliases(store, place))
    if name:
        found = table.select_rule(found, name)
    else:
        found = table.select_in_force(found, scan.history, place if only_project else None)
    if front.json:
        front.data(table.effects_json(found))
    else:
        _show(front, found)


def _judge_simulated(front: Front, folder: str, every: int) -> None:
    if not front.json:
        raise ReflectError("--from only has JSON output", "add --json", "usage", EXIT_USAGE)
    from reflect_git.effect.simulated import judge_histories

    front.data({"looks": list(judge_histories(folder, every))})


def _show(front: Front, found: Effects) -> None:
    from reflect_git.effect import table

    if not found.rules:
        front.talk("no rules in force here")
        return
    if found.pooled:
        front.tell(table.pooled_text(found.pooled))
        front.out()
    for one in found.rules:
        _show_rule(front, one)
    if any(one.baseline == "late" for one in found.rules):
        front.out()
        front.tell("* counted from records after the approval, not at the approval")


def _show_rule(front: Front, one: RuleEffect) -> None:
    from reflect_git.effect import table

    verdict = one.judged.verdict.verdict
    identity = click.style(one.rule["id"], fg="yellow")
    front.out(f"{identity}  {click.style(table.verdict_text(one), fg=_COLOURS.get(verdict), bold=True)}")
    front.out(f"    {table.counts_text(one)}")
    front.out(f"    {one_line(one.rule['text'], _WIDTH - 4)}")
