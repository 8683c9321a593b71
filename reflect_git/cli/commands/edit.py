"""Run `reflect-git edit` and `improvements`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import options
from reflect_git.cli.confirm import confirm_edit
from reflect_git.cli.context import Front, one_line
from reflect_git.cli.options import TARGETS, Word, dry_run_option, json_option, project_option, reason_option
from reflect_git.cli.output import candidate_view, console
from reflect_git.cli.output.console import Console
from reflect_git.cli.review_setup import here, open_context, open_queue_if_any
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import instruction_files
from reflect_git.rules import amend, project_files
from reflect_git.rules.amend import Wanted
from reflect_git.store.purge.purge_marks import Gone
from reflect_git.targets import improvements
from reflect_git.targets.targets import IMPROVEMENTS_FILE, Target

if TYPE_CHECKING:
    from reflect_git.records.schema import Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place


@click.command()
@click.argument("identity", metavar="LRN", shell_complete=options.rules)
@click.option("--text", metavar="TEXT", default="", help="The new wording.")
@click.option("--to", metavar="TARGET", default="", help=f"The new target: {TARGETS}.")
@reason_option
@project_option
@dry_run_option
@json_option
@click.pass_obj
def edit_command(
    front: Front, identity: str, text: str, to: str, reason: str, project: str | None, dry_run: bool
) -> None:
    """Reword a rule, or move it to another file, in one commit.

    Without --text and --to, your editor opens.
    """
    ctx = open_context(front, project, writes=not dry_run)
    learning = amend.find(ctx, identity)
    wanted = Wanted(text, to, reason) if text or to else _edited(front, ctx, learning, reason)
    confirm_edit(front, ctx, amend.amend(ctx, learning, wanted), dry_run)


def _edited(front: Front, ctx: Context, learning: Learning, reason: str) -> Wanted:
    if front.json or front.no_input or not front.at_terminal:
        raise ReflectError(
            "cannot open an editor without a terminal", "use --text TEXT or --to TARGET", "usage", EXIT_USAGE
        )  # fmt: skip
    fields = console.fields_of(learning)
    text = console.written(fields) if fields else learning["text"]
    advice = [*console.ADVICE, "", f"{learning['id']} in {learning['target']['path']}"]
    saved = Console(front, ctx.store.git.user_settings()).edit(ctx.store, text, advice)
    if not saved or saved == text:
        raise ReflectError("nothing was changed", code="declined")
    return Wanted(reason=reason, fields=console.read(saved)) if fields else Wanted(saved, reason=reason)


SECTIONS = {"apply": "Applied", "defer": "Deferred"}


@click.command()
@click.argument("action", metavar="[apply|defer]", required=False, type=Word("step", tuple(SECTIONS)))
@click.argument("identity", metavar="[ID]", required=False)
@project_option
@dry_run_option
@json_option
@click.pass_obj
def improvements_command(
    front: Front, action: str | None, identity: str | None, project: str | None, dry_run: bool
) -> None:
    """List the improvements in .claude/improvements.md; apply and defer move one, in one commit."""
    if action and not identity:
        raise ReflectError("'ID' is missing", "list them with 'reflect-git improvements'", "usage", EXIT_USAGE)
    if action and identity:
        ctx = open_context(front, project)
        confirm_edit(front, ctx, amend.move(ctx, amend.find(ctx, identity), SECTIONS[action]), dry_run)
        return
    looked = open_queue_if_any(front, project, everything=True)
    place = looked.place if looked else project_files.place(None, front.env, os.path.abspath(project or here()))
    listed = _listed(place, looked)
    if front.json:
        front.data(listed)
    elif listed:
        _print(front, listed)
    else:
        front.talk("no improvements proposed here")


def _listed(place: Place, ctx: Context | None) -> list[dict[str, Any]]:
    """List the improvements in the file with their current wording.

    `known` means approved in this store; `purged` means deleted from it since.
    """
    if not place.root:
        raise ReflectError("this folder is not in a project", "use --project DIR", code="no-project")
    data = instruction_files.read(place.path_of(Target("improvements", IMPROVEMENTS_FILE)))
    known, gone = (ctx.scan.history.learnings, Gone(ctx.store)) if ctx else ({}, None)
    return [
        {
            "id": found.id, "section": found.section, "title": found.text.partition("\n")[0].lstrip("# "),
            "text": found.text, "known": found.id in known,
            "purged": found.id not in known and gone is not None and gone.has(found.id),
        }
        for found in improvements.find(data)
    ]  # fmt: skip


def _print(front: Front, listed: list[dict[str, Any]]) -> None:
    section = None
    for entry in listed:
        if entry["section"] != section:
            section = entry["section"]
            front.out(click.style(one_line(str(section), candidate_view.width()), bold=True))
        foreign = "" if entry["known"] else " (purged: delete it)" if entry["purged"] else " (from a colleague)"
        front.out(f"  {click.style(entry['id'], fg='yellow')}{foreign}")
        front.out(f"      {one_line(entry['title'], candidate_view.width() - 6)}")
