"""Purges of other machines, repeated here if the person agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reflect_git import purge
from reflect_git.capture import service
from reflect_git.cli.confirm import print_changes_advice
from reflect_git.cli.context import CliContext, get_cwd, printable
from reflect_git.errors import ReflectError
from reflect_git.records.ids import local_day, parse_utc
from reflect_git.sync.exchange import SyncOptions, SyncReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.records.schema import Learning
    from reflect_git.store.repository import Store
    from reflect_git.sync.store_paths import Purge


def follow_remote_purges(
    cli: CliContext, store: Store, report: SyncReport, sync: Callable[[SyncOptions], SyncReport]
) -> SyncReport:
    """Ask; then revert the rules in question, as on the machine that purged, and purge the records here."""
    snapshot = cli.read_snapshot(store)
    wish = purge.select_purged_elsewhere(snapshot, report.purges)
    if not _confirm_purges(cli, store.machine, report.purges, purge.list_rules_to_revert(snapshot, wish)):
        return report
    agreed = report.purges
    written = purge.revert_rules(
        store, cli.env, cli.read_snapshot, wish, service.get_author(store, "terminal"), get_cwd()
    )
    print_changes_advice(cli, written)
    try:
        report = sync(SyncOptions(confirm_purges=lambda purges: list(purges) == agreed))
    except ReflectError as error:
        hint = "the rules are removed from their files; purge the rest with: reflect-git sync"
        raise ReflectError(error.message, hint, error.code, error.exit_code) from error
    if not report.purges:
        _print_result(cli, report)
    return report


def _confirm_purges(cli: CliContext, us: str, purges: Sequence[Purge], standing: Sequence[Learning]) -> bool:
    """Ask whether to repeat the purges. --yes does not answer this: it deletes, and a remote asked for it."""
    machines = {one.machine for one in purges}
    who = sorted(machines - {us} or machines)
    last = local_day(parse_utc(max(one.timestamp for one in purges)))
    cli.print_note(printable(f"{', '.join(who)} purged records, last on {last}"))
    for learning in standing:
        file = learning["target"]["path"]
        cli.print_note(printable(f"removes a rule from '{file}': {learning['id']}: {learning['text']}"))
    return cli.ask_yes_no("purge them here too?")


def _print_result(cli: CliContext, report: SyncReport) -> None:
    if report.remains is None:
        cli.print_note("purged from this store")
        return
    if not report.remains:
        cli.print_note("purged from this store")
    for place in report.remains:
        cli.print_note(printable(f"still in the store: {place}"))
    if report.remains:
        cli.print_note("purge that with: reflect-git purge --match REGEX")
