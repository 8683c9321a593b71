"""Reword or move a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reflect_git.cli import completing, drafts
from reflect_git.cli.amending import settle
from reflect_git.cli.console import Console
from reflect_git.cli.front import Front
from reflect_git.cli.options import TARGETS, dry_run_option, json_option, project_option, reason_option
from reflect_git.cli.sittings import sitting
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import amend
from reflect_git.sitting.amend import Wanted

if TYPE_CHECKING:
    from reflect_git.model.schema import Learning
    from reflect_git.sitting.review import Sitting


@click.command()
@click.argument("identity", metavar="LRN", shell_complete=completing.rules)
@click.option("--text", metavar="TEXT", default="", help="The new wording.")
@click.option("--to", metavar="TARGET", default="", help=f"Where it belongs now: {TARGETS}.")
@reason_option
@project_option
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, identity: str, text: str, to: str, reason: str, project: str | None, dry_run: bool) -> None:
    """Reword a rule, or move it to another file: one decision, one commit.

    Without --text and --to the text is opened in your editor.
    """
    sat = sitting(front, project, everything=True, writes=not dry_run)
    learning = amend.find(sat, identity)
    wanted = Wanted(text, to, reason) if text or to else _edited(front, sat, learning, reason)
    settle(front, sat, amend.amend(sat, learning, wanted), dry_run)


def _edited(front: Front, sat: Sitting, learning: Learning, reason: str) -> Wanted:
    if front.json or front.no_input or not front.at_terminal:
        raise ReflectError(
            "there is no terminal to edit at", "give --text TEXT or --to TARGET", "usage", EXIT_USAGE
        )  # fmt: skip
    fields = drafts.fields_of(learning)
    text = drafts.written(fields) if fields else learning["text"]
    advice = [*drafts.ADVICE, "", f"{learning['id']} in {learning['target']['path']}"]
    saved = Console(front, sat.store.git.user_settings()).edit(sat.store, text, advice)
    if not saved or saved == text:
        raise ReflectError("nothing was changed", code="declined")
    return Wanted(reason=reason, fields=drafts.read(saved)) if fields else Wanted(saved, reason=reason)
