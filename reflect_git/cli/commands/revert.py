"""Run `reflect-git revert`, `undo` and `restore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from reflect_git.cli import options
from reflect_git.cli.confirm import advise_of, confirm_revert, document, first_target, links_of, person
from reflect_git.cli.context import Front, ago, printable
from reflect_git.cli.options import dry_run_option, json_option, project_option, reason_option, yes_option
from reflect_git.cli.review_setup import here, open_context, require_typed_yes, show_diff, way_back
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.paths import home_dir
from reflect_git.records.ids import plural
from reflect_git.rules import learnings_index, restore, revert
from reflect_git.rules.revert import LAST, Wanted
from reflect_git.store.main import backups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.records.schema import Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.restore import Restoring
    from reflect_git.store.main.backups import Kept

_KINDS = "project, project-local, global, improvements, agents or dir:PATH."


@click.command()
@click.argument("name", metavar="[LRN|DEC|COMMIT|last]", default="", shell_complete=options.revertible)
@click.option("--to", metavar="VERSION", default="", help="Revert everything after this version of a file, such as v7.")
@click.option("--to-target", metavar="TARGET", default="", help=f"With --to, the file: {_KINDS}")
@click.option("--force", is_flag=True, help="Also revert a rule that was reworded in its file.")
@click.option("--reopen", is_flag=True, help="Propose the rule again in the next review.")
@reason_option
@project_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def revert_command(
    front: Front, name: str, to: str, to_target: str, force: bool, reopen: bool, reason: str, project: str | None,
    dry_run: bool,
) -> None:  # fmt: skip
    """Revert a rule, a decision, a commit of the store, or the last decision, in one commit.

    The rule is removed from its file by its id, whatever changed since. A rule that it replaced is restored. A revert
    can be reverted.
    """
    if bool(name) == bool(to) or (to_target and not to):
        hint = "give an id, a commit or 'last', or --to v7 with or without --to-target"
        raise ReflectError("what is to be taken back?", hint, "usage", EXIT_USAGE)
    ctx = open_context(front, project, writes=not dry_run)
    if to:
        chosen = restore.version(ctx, to_target, to)
    else:
        chosen = restore.last(ctx, only_persons=False) if name == LAST else revert.find(ctx, name)
    confirm_revert(front, ctx, chosen, Wanted(force, reopen, reason), dry_run, is_named=name != LAST)


@click.command()
@click.option("--force", is_flag=True, help="Also revert a rule that was reworded in its file.")
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def undo_command(front: Front, force: bool, dry_run: bool) -> None:
    """Undo the last decision that a person made on this machine, in one commit. Run it again to redo.

    At a terminal, it shows the change and asks first if the file belongs to another project.
    """
    ctx = open_context(front, writes=not dry_run)
    # A script that may decide takes back its own decisions, not a person's.
    last = restore.last(ctx, only_persons=front.at_terminal)
    # Who takes an answer back has not said no: the question is open again.
    confirm_revert(front, ctx, last, Wanted(force, reopen=True), dry_run, is_named=False)


@click.command()
@click.argument("name", metavar="[BACKUP]", default="", shell_complete=options.backups)
@dry_run_option
@json_option
@click.pass_obj
def restore_command(front: Front, name: str, dry_run: bool) -> None:
    """List the backups, or restore one byte for byte.

    Before every change of an instruction file, its bytes are saved on a branch of the store. Any unique part of a name
    is enough. Rules that were approved since and are not in the backup are reverted; you are asked first.
    """
    if not name:
        _list(front)
        return
    backup = restore.find(front.store(create=False), name)
    ctx = open_context(front, _folder_of(backup), writes=not dry_run)
    restoring = restore.propose(ctx, backup)
    if dry_run or not front.json:
        _show(front, ctx, restoring, dry_run)
    if dry_run:
        return
    by = person(front, ctx)
    if by["road"] == "terminal":
        _require_typed_yes(front)
    linked = links_of(ctx, restoring.reversal)
    require_typed_yes(front, linked, "")  # it was shown with the first question
    done = restore.carry_out(ctx, restoring, by, linked)
    learnings_index.write(ctx.store, front.scan(ctx.store))
    if front.json:
        front.data(document(restoring.reversal, done.commit, done.backup, done.target, done.diff))
        return
    front.tell(printable(f"restored {restoring.reversal.title}, commit {done.commit[:10]}"))
    advise_of(front, ctx, done)
    front.talk(way_back(by["road"], done.commit))


def _folder_of(backup: Kept) -> str:
    """Find the folder of the backup's project: the innermost existing folder of one of its files."""
    for path, _ in backup.files:
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        if folder != os.sep:
            return folder
    return here()


def _list(front: Front) -> None:
    store = front.store_if_any()
    listed = backups.kept(store) if store else []
    if front.json:
        front.data([
            {"name": one.name, "time": one.time, "learning": one.learning,
             "files": [{"path": path, "size": size} for path, size in one.files]}
            for one in listed
        ])  # fmt: skip
        return
    if not listed:
        front.talk("there are no backups yet: the first change of an instruction file makes one")
    home = home_dir(front.env)
    for one in listed:
        front.out(f"{click.style(one.name, fg='yellow')}  {ago(one.time)} ago")
        for path, size in one.files:
            shown = f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
            told = "there was no such file" if size is None else plural(size, "byte")
            front.out(f"    {printable(shown)}, {told}")


def _show(front: Front, ctx: Context, restoring: Restoring, dry_run: bool) -> None:
    reversal = restoring.reversal
    if front.json:
        front.data(document(reversal, None, None, first_target(ctx, reversal), reversal.diff))
        return
    show_diff(front, restoring.diff)
    _name(
        front,
        restoring.dropped,
        "approved since, would be reverted:" if dry_run else "approved since, will be reverted:",
    )
    _name(
        front, restoring.back, "reverted since, would be restored:" if dry_run else "reverted since, will be restored:"
    )


def _name(front: Front, learnings: Iterable[Learning], words: str) -> None:
    for learning in learnings:
        front.talk(printable(f"{words} {learning['id']} {learning['title'] or learning['text']}"))


def _require_typed_yes(front: Front) -> None:
    """Require a typed 'yes'. --yes is not enough, since this writes text back into a file."""
    if click.prompt("type 'yes' to write these bytes", default="no", err=True) != "yes":
        raise ReflectError("nothing was changed", code="declined")
