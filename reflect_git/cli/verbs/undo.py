"""Take back the last decision; once more, and it stands again."""

from __future__ import annotations

import click

from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option, yes_option
from reflect_git.cli.sittings import sitting
from reflect_git.cli.taking import settle
from reflect_git.sitting import undo
from reflect_git.sitting.revert import Wanted


@click.command()
@click.option("--force", is_flag=True, help="Also an entry that was reworded in the file.")
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def command(front: Front, force: bool, dry_run: bool) -> None:
    """Take back the last decision a person made on this machine: one commit. Again: it stands again.

    At a terminal it shows the change and asks first where the file belongs to another project than you stand in.
    """
    sat = sitting(front, everything=True, writes=not dry_run)
    # A script that may decide takes back its own decisions, not a person's.
    last = undo.last(sat, only_persons=front.at_terminal)
    # Who takes an answer back has not said no: the question is open again.
    settle(front, sat, last, Wanted(force, reopen=True), dry_run, is_named=False)
