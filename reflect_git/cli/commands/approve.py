"""One approval: a text, a target, one commit."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli import options
from reflect_git.cli.context import Front, printable
from reflect_git.cli.options import TARGETS, dry_run_option, json_option, project_option, reason_option
from reflect_git.cli.review_setup import (
    advise,
    find_approver,
    open_queue_with,
    preview,
    require_typed_yes,
    show_diff,
    used,
    way_back,
)
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.rules import approver, dismiss, learnings_index
from reflect_git.rules.approve import Request, carry_out, propose
from reflect_git.rules.approver import Wish, is_inside_client
from reflect_git.rules.client_questions import source_of, wish_of
from reflect_git.rules.write_change import require_unrefused

if TYPE_CHECKING:
    from reflect_git.candidates.gather import Candidate
    from reflect_git.rules.approve import Proposal
    from reflect_git.rules.context import Context
    from reflect_git.rules.write_change import Approved


@click.command()
@click.argument("identity", metavar="ID", shell_complete=options.waiting)
@click.option("--to", metavar="TARGET", default="", help=f"Where to write it: {TARGETS}.")
@click.option("--text", metavar="TEXT", default="", help="Another wording.")
@click.option("--with", "joined", metavar="ID,ID", default="", help="Proposed rules to merge into it.")
@click.option(
    "--supersedes", metavar="LRN", multiple=True, shell_complete=options.rules,
    help="The rule that it replaces.",
)  # fmt: skip
@click.option("--title", metavar="TEXT", default="", help="A few words for the log.")
@click.option("--impact", metavar="TEXT", default="", help="For improvements: low, medium or high.")
@click.option("--details", metavar="TEXT", default="", help="For improvements: what is wrong.")
@click.option("--action", metavar="TEXT", default="", help="For improvements: what to do.")
@click.option("--paths", metavar="GLOB", multiple=True, help="For rules: only when matching files are read.")
@click.option("--until", metavar="DATE", default="", help="The last day, for example 2027-03-01.")
@reason_option
@project_option
@dry_run_option
@json_option
@click.pass_obj
def approve_command(
    front: Front, /, identity: str, joined: str, project: str | None, dry_run: bool, supersedes: tuple[str, ...],
    paths: tuple[str, ...], **given: str,
) -> None:  # fmt: skip
    """Approve a proposed rule: write it into an instruction file, in one commit with your name."""
    queue = open_queue_with(front, project, identity, writes=not dry_run)
    others = tuple(queue.find(one.strip()) for one in joined.split(",") if one.strip())
    is_own = front.at_terminal and not front.no_input and not is_inside_client(front.env)
    request = Request(
        queue.find(identity), joined=others, supersedes=supersedes, paths=paths, is_own=is_own, wording=None, **given
    )
    proposal = propose(queue, request)
    if dry_run:
        preview(front, queue, None, proposal)
        return
    require_unrefused(proposal.findings)
    by, answer = find_approver(front, queue, wish_of(queue, proposal))
    is_shown = require_typed_yes(front, proposal.findings, proposal.diff)
    done = carry_out(queue, proposal, by, used(answer, request.candidate.id))
    learnings_index.write(queue.store, front.scan(queue.store))
    _say(front, queue, proposal, done, is_shown, by["road"])


def _say(front: Front, ctx: Context, proposal: Proposal, done: Approved, is_shown: bool, road: str) -> None:
    if front.json:
        front.data(asdict(done))
        return
    show_diff(front, "" if is_shown else done.diff)
    front.tell(printable(f"approved {done.learning} into '{done.target}', commit {done.commit[:10]}"))
    if proposal.learning["scope"] == "project":
        advise(front, ctx, done.target)
    front.talk(way_back(road, done.commit))


def _road(front: Front, ctx: Context, candidate: Candidate, never: bool) -> tuple[str, str]:
    """Inside Claude Code a no, too, is a person's to say: typed as the answer to a question that showed their words."""
    if not approver.is_inside_client(front.env):
        return service.road_of(front.env, front.at_terminal), ""
    wish = Wish(candidate.id, "", "never" if never else "no", (source_of(candidate),))
    try:
        return "ask-user-question", approver.answered(ctx.store, front.env, wish)
    except ReflectError as error:
        hint = "use --later, or let them run 'reflect-git review' in a terminal"
        raise ReflectError(f"a no is a person's to say: {error.message}", hint, "approval") from error


@click.command()
@click.argument("identity", metavar="ID", shell_complete=options.waiting)
@click.option("--later", is_flag=True, help="Skip it; ask again in the next review.")
@click.option("--never", is_flag=True, help="Dismiss it for good.")
@reason_option
@dry_run_option
@json_option
@click.pass_obj
def dismiss_command(front: Front, identity: str, later: bool, never: bool, reason: str, dry_run: bool) -> None:
    """Dismiss a proposed rule. It may return after 3 more sessions, unless you pass --never.

    For a broken rule: leave it as it is. You are asked again when 3 more sessions break it.

    A dismissal counts in its project only. It counts everywhere if the proposed rule is for all projects, or if you
    also said it outside of any project.
    """
    if later and never:
        raise ReflectError("--later and --never do not go together", "give one of them", "usage", EXIT_USAGE)
    if identity.upper().startswith("LRN"):
        from reflect_git.cli.review.broken_rules import leave  # few dismissals are about a rule

        leave(front, identity, later, never, dry_run)
        return
    queue = open_queue_with(front, None, identity)
    candidate = queue.find(identity)
    decision = commit = None
    road, answer = ("", "") if later else _road(front, queue, candidate, never)
    if later and not dry_run:
        dismiss.not_now(queue.store, [candidate])
    elif not dry_run:
        used(answer, candidate.id)
        decision, commit = dismiss.dismiss(queue.store, candidate, service.author(queue.store, road), never, reason)
    if front.json:
        front.data({"decision": decision, "commit": commit})
        return
    said = "not now" if later else "never" if never else "no"
    front.tell(f"{'would answer' if dry_run else 'answered'} {said} to {candidate.id}")
    if decision:
        again = "" if never else "; it is asked once more after three further sessions"
        front.talk(f"commit {str(commit)[:10]}{again}")
        front.talk(way_back(road, str(commit)))
