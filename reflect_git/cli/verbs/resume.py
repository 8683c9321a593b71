"""Resume capture."""

from __future__ import annotations

import click

from reflect_git.cli import wiring
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.switching import carry_out, store_for, switch_on


@click.command()
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, dry_run: bool) -> None:
    """Resume capture after 'pause' or 'disable'.

    Hooks that 'disable' took out of Claude Code's settings are put back by 'enable' alone.
    """
    store = store_for(front, dry_run)
    carry_out(front, store, switch_on(store, hooks=None), dry_run)
    if not front.json and wiring.look(front.env).state == wiring.NONE:
        front.talk(click.style("hint: no hooks are installed: reflect-git enable", fg="yellow"))
