"""Exchange what was learned with the remote."""

from __future__ import annotations

import click

from reflect_git.cli import exchange
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.errors import EXIT_DECISION, EXIT_OK


@click.command()
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, dry_run: bool) -> int:
    """Send what was learned here, take what was learned on your other machines.

    What arrives is looked at file by file and merged without conflicts; learnings wait in 'review' before they are
    written anywhere, unless 'reflect.sync.apply' is 'auto'.
    """
    store = front.store(create=False)
    report = exchange.exchange(front, store, dry_run)
    if not dry_run and store.setting("reflect.sync.apply") == "auto":
        from reflect_git.cli.sittings import sitting  # few have it

        sitting(front, writes=True)
        report.looked = None
    waits = [] if dry_run else exchange.waiting(front, store, report.looked)
    if front.json:
        front.data(exchange.as_data(report, waits))
    else:
        exchange.tell(front, report, waits, dry_run)
    return EXIT_DECISION if report.purges else EXIT_OK
