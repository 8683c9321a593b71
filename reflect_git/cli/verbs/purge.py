"""Take a text out of all history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git import workflow
from reflect_git.cli import completing
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.front import Front, one_line, printable
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.portrait import width
from reflect_git.cli.sittings import here
from reflect_git.cli.taking import advise_of_all
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import purge

if TYPE_CHECKING:
    from reflect_git.sitting.purge import Done, Proposal
    from reflect_git.store.reading import Snapshot
    from reflect_git.store.repository import Store


@click.command()
@click.argument("identity", metavar="[ID]", default="", shell_complete=completing.records)
@click.option("--match", "pattern", metavar="REGEX", default="", help="Whatever says this, in Python's patterns.")
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, identity: str, pattern: str, dry_run: bool) -> None:
    """Take a text out of the store for good: records, history, backups, copies and logs.

    Rules that say it are reverted first. You are asked to type back what is to be done.
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
    by = workflow.author(store, "terminal")
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
        front.tell(printable(f"comes back: {learning['id']} into '{learning['target']['path']}': {learning['text']}"))
    for backup in proposal.found.backups:
        front.tell(f"backup dropped: {backup}")
    for file in proposal.found.others:
        front.out(printable(f"in the file: {file}"))
    for mirror in proposal.found.mirrors:
        front.out(printable(f"in the name of: {mirror}"))
    count = len(proposal.found.objects)
    front.tell("1 git object holds it" if count == 1 else f"{count} git objects hold it")
    for learning in proposal.stays:
        front.tell(printable(f"stays: {learning['id']}, which was made of it: {learning['text']}"))
        front.tell(f"       with its decisions; to purge them, too: reflect-git purge {learning['id']}")
    for place in proposal.unreached:
        front.tell(printable(f"out of reach: {place}"))


def _require_phrase(front: Front, store: Store, proposal: Proposal) -> None:
    """No flag answers for it: what goes does not come back."""
    if front.json or front.no_input or not front.at_terminal:
        raise ReflectError("a purge needs a person at a terminal", "see what would go with --dry-run", code="no-input")
    try:
        typed = Console(front, store.git.user_settings()).line(f"type '{proposal.phrase}' to go on: ")
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
        front.talk("that is yours and was left; take it away and purge again")
    for place in proposal.unreached:
        front.talk(printable(f"out of reach: {place}"))
