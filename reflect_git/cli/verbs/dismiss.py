"""No, never, or not now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git import workflow
from reflect_git.cli import completing
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option, reason_option
from reflect_git.cli.sittings import sitting_with, used, way_back
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import authority, dismiss
from reflect_git.sitting.ask import source_of
from reflect_git.sitting.authority import Wish

if TYPE_CHECKING:
    from reflect_git.review.candidates import Candidate
    from reflect_git.sitting.review import Sitting


def _road(front: Front, sat: Sitting, candidate: Candidate, never: bool) -> tuple[str, str]:
    """Inside Claude Code a no, too, is a person's to say: typed as the answer to a question that showed their words."""
    if not authority.is_inside_client(front.env):
        return workflow.road_of(front.env, front.at_terminal), ""
    wish = Wish(candidate.id, "", "never" if never else "no", (source_of(candidate),))
    try:
        return "ask-user-question", authority.answered(sat.store, front.env, wish)
    except ReflectError as error:
        hint = "use --later, or let them run 'reflect-git review' in a terminal"
        raise ReflectError(f"a no is a person's to say: {error.message}", hint, "approval") from error


@click.command()
@click.argument("identity", metavar="ID", shell_complete=completing.waiting)
@click.option("--later", is_flag=True, help="Not now: it comes again.")
@click.option("--never", is_flag=True, help="Never ask again.")
@reason_option
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, identity: str, later: bool, never: bool, reason: str, dry_run: bool) -> None:
    """Say no to what waits. It is asked once more after three further sessions, unless with --never.

    Of a rule that was broken again: leave it as it is. It is asked once more when three further sessions broke it.

    A no counts in the project where it was said; to a learning for all projects it counts everywhere, and so does one
    to what was also said outside of any project.
    """
    if later and never:
        raise ReflectError("--later and --never do not go together", "give one of them", "usage", EXIT_USAGE)
    if identity.upper().startswith("LRN"):
        from reflect_git.cli.broken import leave  # few dismissals are about a rule

        leave(front, identity, later, never, dry_run)
        return
    sat = sitting_with(front, None, identity)
    candidate = sat.find(identity)
    decision = commit = None
    road, answer = ("", "") if later else _road(front, sat, candidate, never)
    if later and not dry_run:
        dismiss.not_now(sat.store, [candidate])
    elif not dry_run:
        used(answer, candidate.id)
        decision, commit = dismiss.dismiss(sat.store, candidate, workflow.author(sat.store, road), never, reason)
    if front.json:
        front.data({"decision": decision, "commit": commit})
        return
    said = "not now" if later else "never" if never else "no"
    front.tell(f"{'would answer' if dry_run else 'answered'} {said} to {candidate.id}")
    if decision:
        again = "" if never else "; it is asked once more after three further sessions"
        front.talk(f"commit {str(commit)[:10]}{again}")
        front.talk(way_back(road, str(commit)))
