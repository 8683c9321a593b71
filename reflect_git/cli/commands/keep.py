"""Run `reflect-git keep`: the part of /keep that decides and writes. The mod in the client shows and asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.review_setup import open_queue_if_any, open_queue_with
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.rules import approver, keep

if TYPE_CHECKING:
    from reflect_git.rules.keep import Outcome


@click.command()
@click.option("--ask", is_flag=True, help="Print the questions as JSON.")
@click.option("--id", "record_id", metavar="ID", default="", help="With --ask: only this proposed rule.")
@click.option("--text", metavar="TEXT", default="", help="With --ask --id: the wording that the person typed.")
@click.option("--discard", metavar="NUMBER,…", default="", help="Forget the answers to these questions.")
@click.option("--wait", type=click.FloatRange(0, 60), default=0.0, help="Seconds to wait for Claude Code.")
@project_option
@json_option
@click.pass_obj
def keep_command(
    cli: CliContext, ask: bool, record_id: str, text: str, discard: str, wait: float, project: str | None
) -> None:
    """Apply what you answered to /keep in Claude Code.

    An answer counts once the client's transcript shows that the command printed it. The plugin runs this after /keep;
    hooks and commands that write run it too, so you need it only after a crash.
    """
    if (record_id or text) and not (ask and record_id and text):
        raise ReflectError("--id and --text belong to --ask", "give all three", "usage", EXIT_USAGE)
    if ask:
        _print_questions(cli, record_id, text, project)
        return
    try:
        store = cli.open_store(create=False)
    except ReflectError as error:
        if error.code != "no-store":
            raise
        _print_outcomes(cli, [])
        return
    if discard:
        if not approver.is_in_tool_shell(cli.env):
            keep.discard_answers(store, lambda one: one.number in discard.split(","))
        _print_outcomes(cli, [])
        return
    outcomes = keep.apply_answers(store, cli.env, lambda: cli.scan(store), wait)
    keep.refresh_files(store, cli.env, cli.scan(store), outcomes)
    _print_outcomes(cli, outcomes)


def _print_questions(cli: CliContext, record_id: str, text: str, project: str | None) -> None:
    """Print what the mod shows."""
    if record_id:
        found = keep.build_worded_question(open_queue_with(cli, project, record_id), record_id, text)
        cli.print_json({"questions": [found] if found else [], "overview": None, "note": ""})
        return
    queue = open_queue_if_any(cli, project)
    if queue is None:
        cli.print_json({"questions": [], "overview": None, "note": ""})
        return
    cli.print_json(keep.list_questions(queue))
    queue.write_cache()


def _print_outcomes(cli: CliContext, outcomes: list[Outcome]) -> None:
    if cli.json:
        cli.print_json([one._asdict() for one in outcomes])
        return
    for one in outcomes:
        said = f"not applied: {one.problem}" if one.problem else one.message
        cli.print_text(printable(f"{one.subject}  {said}{f', commit {one.commit[:10]}' if one.commit else ''}"))
    if not outcomes:
        cli.print_note("no answer of /keep waits")
