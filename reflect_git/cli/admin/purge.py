"""Run `reflect-git purge`: delete a text from the store and its whole history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git import purge
from reflect_git.capture import service
from reflect_git.cli import options
from reflect_git.cli.confirm import print_changes_advice
from reflect_git.cli.context import CliContext, get_cwd, one_line, printable
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.output.candidate_view import text_width
from reflect_git.cli.output.console import Console, InputEnded
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import plural

if TYPE_CHECKING:
    from reflect_git.purge import PurgePlan, PurgeResult
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store


@click.command()
@click.argument(
    "record_id", metavar="[ID]", default="", callback=options.resolve_numbers, shell_complete=options.complete_records
)
@click.option(
    "--match", "pattern", metavar="REGEX", default="", help="Everything that matches a Python regular expression."
)
@dry_run_option
@json_option
@click.pass_obj
def purge_command(cli: CliContext, record_id: str, pattern: str, dry_run: bool) -> None:
    """Delete a text from the store for good: records, history, backups, copies and logs.

    Rules that contain it are reverted first. You confirm by typing a phrase.
    """
    if bool(record_id) == bool(pattern):
        raise ReflectError("give an id or --match REGEX", "see 'reflect-git purge --help'", "usage", EXIT_USAGE)
    store = cli.open_store(create=False)
    snapshot = cli.read_snapshot(store)
    wish = purge.select_by_pattern(pattern) if pattern else purge.select_by_id(snapshot, record_id)
    proposal = purge.plan_purge(store, cli.env, cli.read_snapshot, wish, get_cwd())
    if not cli.json:
        _print_proposal(cli, proposal, snapshot)
    if dry_run:
        if cli.json:
            cli.print_json(_build_json(proposal))
        return
    _require_phrase(cli, store, proposal)
    by = service.get_author(store, "terminal")
    done = purge.run_purge(store, cli.env, cli.read_snapshot, proposal, by, get_cwd())
    _print_result(cli, proposal, done)


def _print_proposal(cli: CliContext, proposal: PurgePlan, snapshot: Snapshot) -> None:
    for record_id in proposal.found.records:
        record = snapshot.by_id.get(record_id, {})
        words = str(record.get("content") or record.get("text") or record.get("kind") or "")
        cli.print_line(
            f"{click.style(record_id, fg='yellow')}  {one_line(words, max(20, text_width() - len(record_id) - 2))}"
        )
    for learning in proposal.to_revert:
        cli.print_text(printable(f"reverted first: {learning['id']} in '{learning['target']['path']}'"))
    for learning in proposal.reinstated:
        cli.print_text(printable(f"restored: {learning['id']} into '{learning['target']['path']}': {learning['text']}"))
    for backup in proposal.found.backups:
        cli.print_text(f"backup deleted: {backup}")
    for file in proposal.found.other_files:
        cli.print_line(printable(f"found in the file: {file}"))
    for mirror in proposal.found.snapshots:
        cli.print_line(printable(f"found in the name of: {mirror}"))
    count = len(proposal.found.objects)
    cli.print_text("1 git object contains it" if count == 1 else f"{count} git objects contain it")
    for learning in proposal.unpurged:
        cli.print_text(printable(f"kept: {learning['id']}, a rule made from it: {learning['text']}"))
        cli.print_text(f"      with its decisions; purge them with: reflect-git purge {learning['id']}")
    for place in proposal.unreached:
        cli.print_text(printable(f"not purged: {place}"))


def _require_phrase(cli: CliContext, store: Store, proposal: PurgePlan) -> None:
    """Require the typed phrase. No flag replaces it, since a purge cannot be undone."""
    if cli.json or cli.no_input or not cli.is_at_terminal:
        raise ReflectError("cannot purge without a terminal", "preview it with --dry-run", code="no-input")
    try:
        typed = Console(cli, store.git.get_user_config()).read_line(f"type '{proposal.phrase}' to continue: ")
    except InputEnded:
        typed = ""
    if typed != proposal.phrase:
        raise ReflectError("nothing was changed", code="declined")


def _build_json(proposal: PurgePlan) -> dict[str, object]:
    found = proposal.found
    return {
        "records": list(found.records), "reverted": [one["id"] for one in proposal.to_revert],
        "back": [one["id"] for one in proposal.reinstated],
        "backups": list(found.backups), "files": list(found.other_files), "mirrors": list(found.snapshots),
        "objects": len(found.objects),
        "stays": [one["id"] for one in proposal.unpurged],
        "unreached": list(proposal.unreached), "commit": None, "epoch": None,
    }  # fmt: skip


def _print_result(cli: CliContext, proposal: PurgePlan, done: PurgeResult) -> None:
    cli.print_text(f"purged {plural(len(done.records), 'record')}, commit {done.commit[:10]}")
    print_changes_advice(cli, done.reverted_rules)
    for place in done.remaining:
        cli.print_note(printable(f"still in the store: {place}"))
    if done.remaining:
        cli.print_note("these are your own files; delete them, then purge again")
    for place in proposal.unreached:
        cli.print_note(printable(f"not purged: {place}"))
