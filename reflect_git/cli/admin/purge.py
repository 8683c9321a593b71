"""Run `reflect-git purge`: delete a text from the store and its whole history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git import purge
from reflect_git.capture import service
from reflect_git.cli import options
from reflect_git.cli.confirm import advise_of_all
from reflect_git.cli.context import Front, one_line, printable
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.output.candidate_view import width
from reflect_git.cli.output.console import Console, Ended
from reflect_git.cli.review_setup import here
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import plural

if TYPE_CHECKING:
    from reflect_git.purge import Done, Proposal
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store


@click.command()
@click.argument("identity", metavar="[ID]", default="", shell_complete=options.records)
@click.option(
    "--match", "pattern", metavar="REGEX", default="", help="Everything that matches a Python regular expression."
)
@dry_run_option
@json_option
@click.pass_obj
def purge_command(front: Front, identity: str, pattern: str, dry_run: bool) -> None:
    """Delete a text from the store for good: records, history, backups, copies and logs.

    Rules that contain it are reverted first. You confirm by typing a phrase.
    """
    if bool(identity) == bool(pattern):
        raise ReflectError("give an id or --match REGEX", "see 'reflect-git purge --help'", "usage", EXIT_USAGE)
    store = front.store(create=False)
    snapshot = front.snapshot(store)
    wish = purge.by_pattern(pattern) if pattern else purge.by_id(snapshot, identity)
    proposal = purge.propose(store, front.env, front.snapshot, wish, here())
    if not front.json:
        _show(front, proposal, snapshot)
    if dry_run:
        if front.json:
            front.data(_as_data(proposal))
        return
    _require_phrase(front, store, proposal)
    by = service.author(store, "terminal")
    done = purge.carry_out(store, front.env, front.snapshot, proposal, by, here())
    _say(front, proposal, done)


def _show(front: Front, proposal: Proposal, snapshot: Snapshot) -> None:
    for identity in proposal.found.records:
        record = snapshot.by_id.get(identity, {})
        words = str(record.get("content") or record.get("text") or record.get("kind") or "")
        front.out(f"{click.style(identity, fg='yellow')}  {one_line(words, max(20, width() - len(identity) - 2))}")
    for learning in proposal.reverted:
        front.tell(printable(f"reverted first: {learning['id']} in '{learning['target']['path']}'"))
    for learning in proposal.back:
        front.tell(printable(f"restored: {learning['id']} into '{learning['target']['path']}': {learning['text']}"))
    for backup in proposal.found.backups:
        front.tell(f"backup deleted: {backup}")
    for file in proposal.found.others:
        front.out(printable(f"found in the file: {file}"))
    for mirror in proposal.found.mirrors:
        front.out(printable(f"found in the name of: {mirror}"))
    count = len(proposal.found.objects)
    front.tell("1 git object contains it" if count == 1 else f"{count} git objects contain it")
    for learning in proposal.stays:
        front.tell(printable(f"kept: {learning['id']}, a rule made from it: {learning['text']}"))
        front.tell(f"      with its decisions; purge them with: reflect-git purge {learning['id']}")
    for place in proposal.unreached:
        front.tell(printable(f"not purged: {place}"))


def _require_phrase(front: Front, store: Store, proposal: Proposal) -> None:
    """Require the typed phrase. No flag replaces it, since a purge cannot be undone."""
    if front.json or front.no_input or not front.at_terminal:
        raise ReflectError("cannot purge without a terminal", "preview it with --dry-run", code="no-input")
    try:
        typed = Console(front, store.git.user_settings()).line(f"type '{proposal.phrase}' to continue: ")
    except Ended:
        typed = ""
    if typed != proposal.phrase:
        raise ReflectError("nothing was changed", code="declined")


def _as_data(proposal: Proposal) -> dict[str, object]:
    found = proposal.found
    return {
        "records": list(found.records), "reverted": [one["id"] for one in proposal.reverted],
        "back": [one["id"] for one in proposal.back],
        "backups": list(found.backups), "files": list(found.others), "mirrors": list(found.mirrors),
        "objects": len(found.objects),
        "stays": [one["id"] for one in proposal.stays],
        "unreached": list(proposal.unreached), "commit": None, "epoch": None,
    }  # fmt: skip


def _say(front: Front, proposal: Proposal, done: Done) -> None:
    front.tell(f"purged {plural(len(done.records), 'record')}, commit {done.commit[:10]}")
    advise_of_all(front, done.written)
    for place in done.left:
        front.talk(printable(f"still in the store: {place}"))
    if done.left:
        front.talk("these are your own files; delete them, then purge again")
    for place in proposal.unreached:
        front.talk(printable(f"not purged: {place}"))
