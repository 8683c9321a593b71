"""Run `reflect-git approve` and `dismiss`: decide about one proposed rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli import options
from reflect_git.cli.confirm import confirm_change, report_change
from reflect_git.cli.context import CliContext
from reflect_git.cli.options import TARGETS, dry_run_option, json_option, project_option, reason_option
from reflect_git.cli.review_setup import (
    format_undo_hint,
    mark_answer_used,
    open_queue,
    open_queue_with,
    preview_change,
)
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import plural
from reflect_git.rules import approver, dismiss
from reflect_git.rules.approve import Request, plan_approval, write_approval
from reflect_git.rules.approver import ApprovalRequest, is_inside_client
from reflect_git.rules.client_questions import build_approval_request, format_source

if TYPE_CHECKING:
    from reflect_git.candidates.gather import Candidate
    from reflect_git.rules.context import Context


@click.command()
@click.argument("record_id", metavar="ID", callback=options.resolve_numbers, shell_complete=options.complete_waiting)
@click.option("--to", metavar="TARGET", default="", help=f"Where to write it: {TARGETS}.")
@click.option("--text", metavar="TEXT", default="", help="Another wording.")
@click.option("--with", "joined", metavar="ID,ID", default="", help="Proposed rules to merge into it.")
@click.option(
    "--supersedes", metavar="LRN", multiple=True, callback=options.resolve_numbers,
    shell_complete=options.complete_rules, help="The rule that it replaces.",
)  # fmt: skip
@click.option("--title", metavar="TEXT", default="", help="A few words for the log.")
@click.option("--impact", metavar="TEXT", default="", help="For improvements: low, medium or high.")
@click.option("--details", metavar="TEXT", default="", help="For improvements: what is wrong.")
@click.option("--action", metavar="TEXT", default="", help="For improvements: what to do.")
@click.option("--paths", metavar="GLOB", multiple=True, help="For rules: load only with matching files.")
@click.option("--numbered", is_flag=True, help="For rules: begin the file with a heading, such as PROJ-014: Title.")
@click.option("--until", metavar="DATE", default="", help="Last day it applies, such as 2027-03-01.")
@reason_option
@project_option
@dry_run_option
@json_option
@click.pass_obj
def approve_command(
    cli: CliContext, /, record_id: str, joined: str, project: str | None, dry_run: bool, supersedes: tuple[str, ...],
    paths: tuple[str, ...], numbered: bool, **given: str,
) -> None:  # fmt: skip
    """Approve a proposed rule: write it into an instruction file, in one commit with your name."""
    queue = open_queue_with(cli, project, record_id, writes=not dry_run)
    others = tuple(queue.find_candidate(one.strip()) for one in joined.split(",") if one.strip())
    is_own = cli.is_at_terminal and not cli.no_input and not is_inside_client(cli.env)
    request = Request(
        queue.find_candidate(record_id),
        joined=others,
        supersedes=supersedes,
        paths=paths,
        numbered=numbered,
        is_own=is_own,
        wording=None,
        **given,
    )
    proposal = plan_approval(queue, request)
    if dry_run:
        preview_change(cli, queue, None, proposal)
        return
    done = confirm_change(cli, queue, proposal, build_approval_request(queue, proposal), write_approval)
    report_change(cli, queue, proposal, done, f"approved {done.result.learning} into", proposal.learning)


def _find_channel(cli: CliContext, ctx: Context, candidate: Candidate, never: bool) -> tuple[str, str]:
    """Inside Claude Code a no, too, is a person's to say: typed as the answer to a question that showed their words."""
    if not approver.is_inside_client(cli.env):
        return service.get_channel(cli.env, cli.is_at_terminal), ""
    wish = ApprovalRequest(candidate.id, "", "never" if never else "no", (format_source(candidate),))
    try:
        return "ask-user-question", approver.require_answer(ctx.store, cli.env, wish)
    except ReflectError as error:
        hint = "use --later, or let them run 'reflect-git review' in a terminal"
        raise ReflectError(f"a no is a person's to say: {error.message}", hint, "approval") from error


def _skip_all(cli: CliContext, dry_run: bool) -> None:
    """Skip all proposed rules of the project. They wait, and the next review asks about them."""
    queue = open_queue(cli, None, writes=not dry_run)
    waiting = [*queue.candidates.strong, *queue.candidates.more]
    if not dry_run:
        dismiss.mark_seen(queue.store, waiting)
    if cli.json:
        cli.print_json({"skipped": [each.id for each in waiting]})
        return
    cli.print_text(f"{'would skip' if dry_run else 'skipped'} {plural(len(waiting), 'proposed rule')}")


@click.command()
@click.argument(
    "record_id", metavar="[ID]", default="", callback=options.resolve_numbers, shell_complete=options.complete_waiting
)
@click.option("--later", is_flag=True, help="Skip it; ask again in the next review.")
@click.option("--all", "everything", is_flag=True, help="With --later: skip all proposed rules of the project.")
@click.option("--never", is_flag=True, help="Dismiss it for good.")
@reason_option
@dry_run_option
@json_option
@click.pass_obj
def dismiss_command(
    cli: CliContext, record_id: str, later: bool, everything: bool, never: bool, reason: str, dry_run: bool
) -> None:
    """Dismiss a proposed rule. It may return after 3 more sessions, unless you pass --never.

    For a broken rule: leave it as it is. You are asked again when 3 more sessions break it.

    A dismissal counts in its project only. It counts everywhere if the proposed rule is for all projects, or if you
    also said it outside of any project.
    """
    if later and never:
        raise ReflectError("--later and --never do not go together", "give one of them", "usage", EXIT_USAGE)
    if bool(record_id) == everything or (everything and not later):
        raise ReflectError("give the id of one proposed rule, or --all with --later", "see --help", "usage", EXIT_USAGE)
    if everything:
        _skip_all(cli, dry_run)
        return
    if record_id.upper().startswith("LRN"):
        from reflect_git.cli.review.broken_rules import leave_rule_unchanged  # few dismissals are about a rule

        leave_rule_unchanged(cli, record_id, later, never, dry_run)
        return
    queue = open_queue_with(cli, None, record_id)
    candidate = queue.find_candidate(record_id)
    decision = commit = None
    channel, answer = ("", "") if later else _find_channel(cli, queue, candidate, never)
    if later and not dry_run:
        dismiss.mark_seen(queue.store, [candidate])
    elif not dry_run:
        mark_answer_used(answer, candidate.id)
        decision, commit = dismiss.dismiss(
            queue.store, candidate, service.get_author(queue.store, channel), never, reason
        )
    if cli.json:
        cli.print_json({"decision": decision, "commit": commit})
        return
    said = "not now" if later else "never" if never else "no"
    cli.print_text(f"{'would answer' if dry_run else 'answered'} {said} to {candidate.id}")
    if decision:
        again = "" if never else "; it is asked once more after three further sessions"
        cli.print_note(f"commit {str(commit)[:10]}{again}")
        cli.print_note(format_undo_hint(channel, str(commit)))
