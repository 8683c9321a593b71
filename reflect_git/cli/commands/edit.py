"""Run `reflect-git edit` and `improvements`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import options
from reflect_git.cli.confirm import confirm_edit
from reflect_git.cli.context import CliContext, get_cwd, one_line
from reflect_git.cli.options import TARGETS, WordChoice, dry_run_option, json_option, project_option, reason_option
from reflect_git.cli.output import candidate_view, console
from reflect_git.cli.output.console import Console
from reflect_git.cli.review_setup import open_context, open_queue_if_any
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import instruction_files
from reflect_git.rules import amend, project_files
from reflect_git.rules.amend import AmendRequest
from reflect_git.store.purge.purge_marks import PurgeMarks
from reflect_git.targets import improvements
from reflect_git.targets.target_files import IMPROVEMENTS_FILE, Target

if TYPE_CHECKING:
    from reflect_git.records.schema import Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place


@click.command()
@click.argument("record_id", metavar="LRN", callback=options.resolve_numbers, shell_complete=options.complete_rules)
@click.option("--text", metavar="TEXT", default="", help="The new wording.")
@click.option("--to", metavar="TARGET", default="", help=f"The new target: {TARGETS}.")
@click.option("--numbered", is_flag=True, help="Put the number of the rule into a heading of its own file.")
@reason_option
@project_option
@dry_run_option
@json_option
@click.pass_obj
def edit_command(
    cli: CliContext, record_id: str, text: str, to: str, numbered: bool, reason: str, project: str | None, dry_run: bool
) -> None:
    """Reword a rule, or move it to another file, in one commit.

    Without --text, --to and --numbered, your editor opens.
    """
    ctx = open_context(cli, project, writes=not dry_run)
    learning = amend.find_rule_to_amend(ctx, record_id)
    if text or to or numbered:
        wanted = AmendRequest(text, to, reason, numbered=numbered)
    else:
        wanted = _edit_in_editor(cli, ctx, learning, reason)
    confirm_edit(cli, ctx, amend.plan_amendment(ctx, learning, wanted), dry_run)


def _edit_in_editor(cli: CliContext, ctx: Context, learning: Learning, reason: str) -> AmendRequest:
    if cli.json or cli.no_input or not cli.is_at_terminal:
        raise ReflectError(
            "cannot open an editor without a terminal", "use --text TEXT or --to TARGET", "usage", EXIT_USAGE
        )  # fmt: skip
    fields = console.get_improvement_fields(learning)
    text = console.format_fields(fields) if fields else learning["text"]
    advice = [*console.EDIT_ADVICE, "", f"{learning['id']} in {learning['target']['path']}"]
    saved = Console(cli, ctx.store.git.get_user_config()).edit_text(ctx.store, text, advice)
    if not saved or saved == text:
        raise ReflectError("nothing was changed", code="declined")
    return (
        AmendRequest(reason=reason, fields=console.parse_fields(saved))
        if fields
        else AmendRequest(saved, reason=reason)
    )


SECTIONS = {"apply": "Applied", "defer": "Deferred"}


@click.command()
@click.argument("action", metavar="[apply|defer]", required=False, type=WordChoice("step", tuple(SECTIONS)))
@click.argument("record_id", metavar="[ID]", required=False, callback=options.resolve_numbers)
@project_option
@dry_run_option
@json_option
@click.pass_obj
def improvements_command(
    cli: CliContext, action: str | None, record_id: str | None, project: str | None, dry_run: bool
) -> None:
    """List the improvements in .claude/improvements.md, or mark one as applied or deferred, in one commit."""
    if action and not record_id:
        raise ReflectError("'ID' is missing", "list them with 'reflect-git improvements'", "usage", EXIT_USAGE)
    if action and record_id:
        ctx = open_context(cli, project)
        confirm_edit(
            cli, ctx, amend.plan_section_move(ctx, amend.find_rule_to_amend(ctx, record_id), SECTIONS[action]), dry_run
        )
        return
    looked = open_queue_if_any(cli, project, everything=True)
    place = looked.place if looked else project_files.find_place(None, cli.env, os.path.abspath(project or get_cwd()))
    listed = _list_improvements(place, looked)
    if cli.json:
        cli.print_json(listed)
    elif listed:
        _print_improvements(cli, listed)
    else:
        cli.print_note("no improvements proposed here")


def _list_improvements(place: Place, ctx: Context | None) -> list[dict[str, Any]]:
    """List the improvements in the file with their current wording.

    `known` means approved in this store; `purged` means deleted from it since.
    """
    if not place.root:
        raise ReflectError("this folder is not in a project", "use --project DIR", code="no-project")
    data = instruction_files.read(place.path_of(Target("improvements", IMPROVEMENTS_FILE)))
    known, gone = (ctx.scan.history.learnings, PurgeMarks(ctx.store)) if ctx else ({}, None)
    return [
        {
            "id": found.id, "section": found.section, "title": found.text.partition("\n")[0].lstrip("# "),
            "text": found.text, "known": found.id in known,
            "purged": found.id not in known and gone is not None and gone.is_purged(found.id),
        }
        for found in improvements.find_proposals(data)
    ]  # fmt: skip


def _print_improvements(cli: CliContext, listed: list[dict[str, Any]]) -> None:
    section = None
    for entry in listed:
        if entry["section"] != section:
            section = entry["section"]
            cli.print_line(click.style(one_line(str(section), candidate_view.text_width()), bold=True))
        foreign = "" if entry["known"] else " (purged: delete it)" if entry["purged"] else " (from a colleague)"
        cli.print_line(f"  {click.style(entry['id'], fg='yellow')}{foreign}")
        cli.print_line(f"      {one_line(entry['title'], candidate_view.text_width() - 6)}")
