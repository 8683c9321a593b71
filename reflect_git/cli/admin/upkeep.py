"""Run `reflect-git upkeep`: ten steps that keep the store small, complete and fast."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import CliContext, get_cwd, printable
from reflect_git.cli.options import json_option

if TYPE_CHECKING:
    from reflect_git.memory.upkeep import Extra
    from reflect_git.store.repository import Store


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
    run = Upkeep(store, cli.env, now, extras=_list_policy_steps(cli, store))
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


def _list_policy_steps(cli: CliContext, store: Store) -> list[Extra]:
    """Return the steps that a person switched on."""
    from reflect_git.effect import going_back

    steps: list[Extra] = []
    if going_back.get_mode(store, cli.scan(store).history.decisions) == going_back.APPLY:
        steps.append(("auto-revert", lambda: _revert_automatically(cli, store)))
    return steps


def _revert_automatically(cli: CliContext, store: Store) -> tuple[int, str]:
    """Go back where the scores of sessions fell clearly after a change."""
    from reflect_git.candidates.session_events import SessionEvents
    from reflect_git.capture import service
    from reflect_git.effect import going_back, table
    from reflect_git.rules import project_files
    from reflect_git.rules.context import load_context
    from reflect_git.rules.derived_files import refresh_derived_files

    ctx = load_context(store, cli.env, cli.scan(store), get_cwd())
    aliases = project_files.load_key_aliases(store, ctx.place)
    by = service.get_author(store, going_back.CHANNEL)
    done = going_back.revert_if_due(ctx, SessionEvents(ctx.scan, aliases), table.load_effects(ctx.scan, aliases), by)
    if not done:
        return 0, "nothing became clearly worse"
    refresh_derived_files(store, cli.env, cli.scan(store))
    return len(done), f"took back {done[0].learning}; see 'reflect-git review'"
