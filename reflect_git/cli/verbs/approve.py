"""One approval: a text, a target, one commit."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reflect_git.cli import completing
from reflect_git.cli.front import Front, printable
from reflect_git.cli.options import TARGETS, dry_run_option, json_option, project_option, reason_option
from reflect_git.cli.sittings import (
    advise,
    approver,
    preview,
    require_typed_yes,
    show_diff,
    sitting_with,
    used,
    way_back,
)
from reflect_git.sitting import learnings_index
from reflect_git.sitting.approve import Request, carry_out, propose
from reflect_git.sitting.ask import wish_of
from reflect_git.sitting.authority import is_inside_client
from reflect_git.sitting.writing import require_unrefused

if TYPE_CHECKING:
    from reflect_git.sitting.approve import Proposal
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.writing import Approved


@click.command()
@click.argument("identity", metavar="ID", shell_complete=completing.waiting)
@click.option("--to", metavar="TARGET", default="", help=f"Where it belongs: {TARGETS}.")
@click.option("--text", metavar="TEXT", default="", help="Another wording.")
@click.option("--with", "joined", metavar="ID,ID", default="", help="Candidates that say the same.")
@click.option(
    "--supersedes", metavar="LRN", multiple=True, shell_complete=completing.rules,
    help="A rule in force that this one replaces.",
)  # fmt: skip
@click.option("--title", metavar="TEXT", default="", help="A few words for the log.")
@click.option("--impact", metavar="TEXT", default="", help="For improvements: low, medium or high.")
@click.option("--details", metavar="TEXT", default="", help="For improvements: what is wrong.")
@click.option("--action", metavar="TEXT", default="", help="For improvements: what to do.")
@click.option("--paths", metavar="GLOB", multiple=True, help="For rules: only when such files are read.")
@click.option("--until", metavar="DATE", default="", help="The day on which it ends, for example 2027-03-01.")
@reason_option
@project_option
@dry_run_option
@json_option
@click.pass_obj
def command(
    front: Front, /, identity: str, joined: str, project: str | None, dry_run: bool, supersedes: tuple[str, ...],
    paths: tuple[str, ...], **given: str,
) -> None:  # fmt: skip
    """Write a learning into an instruction file, in one commit that says who approved it."""
    sat = sitting_with(front, project, identity, writes=not dry_run)
    others = tuple(sat.find(one.strip()) for one in joined.split(",") if one.strip())
    is_own = front.at_terminal and not front.no_input and not is_inside_client(front.env)
    request = Request(
        sat.find(identity), joined=others, supersedes=supersedes, paths=paths, is_own=is_own, wording=None, **given
    )
    proposal = propose(sat, request)
    if dry_run:
        preview(front, sat, None, proposal)
        return
    require_unrefused(proposal.findings)
    by, answer = approver(front, sat, wish_of(sat, proposal))
    is_shown = require_typed_yes(front, proposal.findings, proposal.diff)
    done = carry_out(sat, proposal, by, used(answer, request.candidate.id))
    learnings_index.write(sat.store, front.scan(sat.store))
    _say(front, sat, proposal, done, is_shown, by["road"])


def _say(front: Front, sat: Sitting, proposal: Proposal, done: Approved, is_shown: bool, road: str) -> None:
    if front.json:
        front.data(asdict(done))
        return
    show_diff(front, "" if is_shown else done.diff)
    front.tell(printable(f"approved {done.learning} into '{done.target}', commit {done.commit[:10]}"))
    if proposal.learning["scope"] == "project":
        advise(front, sat, done.target)
    front.talk(way_back(road, done.commit))
