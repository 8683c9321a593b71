"""Run `reflect-git upkeep`: ten steps that keep the store small, complete and fast."""

from __future__ import annotations

import sys
import time

import click

from reflect_git.cli.context import CliContext, printable
from reflect_git.cli.options import json_option


@click.command()
@click.option("--if-due", is_flag=True, help="Do nothing if it ran within the last day.")
@json_option
@click.pass_obj
def upkeep_command(cli: CliContext, if_due: bool) -> None:
    """Keep the store small, complete and fast, in ten steps.

    It finishes what was interrupted, reads sessions that ended without notice, removes duplicates, makes the digests
    that are due, deletes what expired and is cited by a digest, rebuilds the index, and removes deleted objects. It
    calls no model. If it is killed, run it again.

    It runs by itself once a day after a command, or at a fixed time: see 'reflect-git schedule'.

    \b
    Example:
      reflect-git upkeep --if-due
    """
    store = cli.open_store(create=False)
    from reflect_git.memory.upkeep import Upkeep
    from reflect_git.store import maintenance

    now = time.time()
    if if_due and not maintenance.is_due(store, now):
        cli.print_json({"due": False, "steps": []}) if cli.json else cli.print_note("not due")
        return
    run = Upkeep(store, cli.env, now)
    is_watched = sys.stderr.isatty()

    def show(name: str, number: int, total: int) -> None:
        if is_watched:
            bar = "#" * number + "." * (total - number)
            click.echo(f"\r\x1b[K[{bar}] {name} …", nl=False, err=True)

    try:
        run.run(show)
    finally:
        if is_watched:
            click.echo("\r\x1b[K", nl=False, err=True)
        if not cli.json:
            for result in run.results:
                cli.print_line(f"{result.name:<16}  {click.style(printable(result.text), dim=not result.done)}")
    if cli.json:
        cli.print_json({"due": True, "steps": [result._asdict() for result in run.results]})
