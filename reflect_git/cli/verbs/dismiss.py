"""No, never, or not now."""

from __future__ import annotations

import click

from reflect_git import workflow
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.sittings import sitting
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import dismiss


@click.command()
@click.argument("identity", metavar="ID")
@click.option("--later", is_flag=True, help="Not now: it comes again.")
@click.option("--never", is_flag=True, help="Never ask again.")
@click.option("--reason", metavar="TEXT", default="", help="Why.")
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, identity: str, later: bool, never: bool, reason: str, dry_run: bool) -> None:
    """Say no to what waits. It is asked once more after three further sessions, unless with --never."""
    if later and never:
        raise ReflectError("--later and --never do not go together", "give one of them", "usage", EXIT_USAGE)
    sat = sitting(front, everything=True)
    candidate = sat.find(identity)
    if not later and front.env.get("CLAUDECODE"):
        raise ReflectError(
            "a no is a person's to say", "use --later, or let them run 'reflect-git review' in a terminal", "approval"
        )
    decision = commit = None
    if later and not dry_run:
        dismiss.not_now(sat.store, [candidate])
    elif not dry_run:
        by = workflow.author(sat.store, workflow.road_of(sat.store, front.env, front.at_terminal))
        decision, commit = dismiss.dismiss(sat.store, candidate, by, never, reason)
    if front.json:
        front.data({"decision": decision, "commit": commit})
        return
    said = "not now" if later else "never" if never else "no"
    front.out(f"{'would answer' if dry_run else 'answered'} {said} to {candidate.id}")
    if decision:
        front.talk(f"commit {str(commit)[:10]}, take it back with: reflect-git revert {decision}")
