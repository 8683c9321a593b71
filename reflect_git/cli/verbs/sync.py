"""Exchange what was learned with the remote."""

from __future__ import annotations

import click

from reflect_git.cli import exchange
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option, timeout_option


@click.command()
@dry_run_option
@timeout_option
@json_option
@click.pass_obj
def command(front: Front, dry_run: bool, timeout: float | None) -> int:
    """Send what was learned here, take what was learned on your other machines.

    What arrives is looked at file by file and merged without conflicts; learnings wait in 'review' before they are
    written anywhere, unless 'reflect.sync.apply' is 'auto'.

    A remote that does not answer is left after --timeout; Ctrl-C stops it before. Nothing is lost either way.
    """
    return exchange.sync(front, dry_run, timeout or 0.0)
