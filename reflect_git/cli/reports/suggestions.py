"""Run `reflect-git suggestions`: list what the judge suggested, take or dismiss it."""

from __future__ import annotations

import click

from reflect_git.cli import options
from reflect_git.cli.commands.approve import approve_command, dismiss_command
from reflect_git.cli.context import CliContext, format_age, one_line, printable, terminal_width
from reflect_git.cli.options import TARGETS, SubcommandGroup, dry_run_option, json_option, project_option, reason_option
from reflect_git.cli.review_setup import open_context
from reflect_git.judge import suggestions
from reflect_git.records.ids import plural
from reflect_git.rules.approver import is_inside_client


@click.group(cls=SubcommandGroup, invoke_without_command=True)
@click.option("--project", metavar="NAME|KEY", default="", help="Only those about this project.")
@json_option
@click.pass_context
def suggestions_command(ctx: click.Context, project: str) -> None:
    """List what the judge suggested, the most urgent first, then the oldest.

    A suggestion is a proposed rule in the judge's words. It changes nothing until you take it.

    \b
    Examples:
      reflect-git suggestions
      reflect-git suggestions take SIG-20260211-7k3v9q2m --to project
      reflect-git suggestions dismiss SIG-20260211-7k3v9q2m
    """
    cli: CliContext = ctx.obj
    if ctx.invoked_subcommand is not None:
        return
    store = cli.find_store()
    if store is None:
        cli.print_json([]) if cli.json else cli.print_no_store()
        return
    found = suggestions.list_suggestions(cli.scan(store), project)
    if cli.json:
        cli.print_json([one.as_json() for one in found])
        return
    if not found:
        cli.print_note("no open suggestions")
        return
    for one in found:
        head = f"{one.id}  {one.priority}  {format_age(one.timestamp)}  "
        cli.print_line(
            click.style(one.id, fg="yellow") + head[len(one.id) :] + one_line(one.text, terminal_width() - len(head))
        )
    cli.print_note(f"{plural(len(found), 'suggestion')}; 5 is the most urgent")
    cli.print_hint(
        "suggestions", f"take one: {cli.format_command('suggestions', 'take', found[0].id, '--to', 'project')}"
    )


@suggestions_command.command("take")
@click.argument("record_id", metavar="ID", shell_complete=options.complete_waiting)
@click.option("--to", metavar="TARGET", default="project", help=f"Where to write it: {TARGETS}.")
@click.option("--text", metavar="TEXT", default="", help="Another wording.")
@click.option("--reason", metavar="TEXT", default="", help="Why, instead of the score and the weakness.")
@project_option
@dry_run_option
@json_option
@click.pass_context
def _take_suggestion(
    ctx: click.Context, record_id: str, to: str, text: str, reason: str, project: str | None, dry_run: bool
) -> None:
    """Take a suggestion: approve it as a rule, with its diff and its risks, as in a review.

    The reason in the log is the score that led to it, with the weakness.

    \b
    Example:
      reflect-git suggestions take SIG-20260211-7k3v9q2m --to improvements
    """
    cli: CliContext = ctx.obj
    scan = cli.scan(cli.open_store(create=False))
    found = suggestions.find_suggestion(scan, record_id)
    if not to.startswith("global"):
        suggestions.require_own_project(found, open_context(cli, project).place.keys)
    if not reason and not is_inside_client(cli.env):  # no question there shows a reason, so none can be confirmed
        reason = suggestions.build_reason(scan, found)
    if reason and not cli.json:
        cli.print_note(printable(f"reason, which will sync: {reason}"))
    ctx.invoke(
        approve_command, record_id=found.id, to=to, text=text or found.text, project=project, dry_run=dry_run,
        joined="", supersedes=(), title="", impact="", details="", action="", paths=(), until="", reason=reason,
    )  # fmt: skip


@suggestions_command.command("dismiss")
@click.argument("record_id", metavar="ID", shell_complete=options.complete_waiting)
@click.option("--never", is_flag=True, help="Dismiss it for good.")
@reason_option
@dry_run_option
@json_option
@click.pass_context
def _dismiss_suggestion(ctx: click.Context, record_id: str, never: bool, reason: str, dry_run: bool) -> None:
    """Dismiss a suggestion.

    \b
    Example:
      reflect-git suggestions dismiss SIG-20260211-7k3v9q2m --reason "too general"
    """
    cli: CliContext = ctx.obj
    found = suggestions.find_suggestion(cli.scan(cli.open_store(create=False)), record_id)
    ctx.invoke(dismiss_command, record_id=found.id, later=False, never=never, reason=reason, dry_run=dry_run)
