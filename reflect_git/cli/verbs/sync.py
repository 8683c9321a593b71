"""Exchange what was learned with the remote."""

from __future__ import annotations

import click

from reflect_git.cli import exchange
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option


@click.command()
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, dry_run: bool) -> int:
    """Send what was learned here, take what was learned on your other machines.

    What arrives is looked at file by file and merged without conflicts; learnings wait in 'review' before they are
    written anywhere, unless 'reflect.sync.apply' is 'auto'.
    """
    return exchange.sync(front, dry_run)
