"""Take a decision back."""

from __future__ import annotations

import click

from reflect_git.cli import completing
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option, project_option, reason_option, yes_option
from reflect_git.cli.sittings import sitting
from reflect_git.cli.taking import settle
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import revert, to_version, undo
from reflect_git.sitting.revert import LAST, Wanted

_KINDS = "project, project-local, global, improvements, agents or dir:PATH."


@click.command()
@click.argument("name", metavar="[LRN|DEC|COMMIT|last]", default="", shell_complete=completing.revertible)
@click.option("--to", metavar="VERSION", default="", help="All that came after v7, say, of one file.")
@click.option("--to-target", metavar="TARGET", default="", help=f"Which file, with --to: {_KINDS}")
@click.option("--force", is_flag=True, help="Also an entry that was reworded in the file.")
@click.option("--reopen", is_flag=True, help="Ask again for what is behind a learning.")
@reason_option
@project_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def command(
    front: Front, name: str, to: str, to_target: str, force: bool, reopen: bool, reason: str, project: str | None,
    dry_run: bool,
) -> None:  # fmt: skip
    """Take back a learning, any decision, a commit of the store, or the last one made here: one commit.

    The entry leaves its file by its id, whatever came later; what it had replaced comes back. A revert can be reverted.
    """
    if bool(name) == bool(to) or (to_target and not to):
        hint = "give an id, a commit or 'last', or --to v7 with or without --to-target"
        raise ReflectError("what is to be taken back?", hint, "usage", EXIT_USAGE)
    sat = sitting(front, project, everything=True, writes=not dry_run)
    if to:
        chosen = to_version.version(sat, to_target, to)
    else:
        chosen = undo.last(sat, only_persons=False) if name == LAST else revert.find(sat, name)
    settle(front, sat, chosen, Wanted(force, reopen, reason), dry_run, is_named=name != LAST)
