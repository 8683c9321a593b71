"""Run `reflect-git revert`, `undo` and `restore`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from reflect_git.cli import options
from reflect_git.cli.confirm import (
    build_revert_json,
    confirm_revert,
    find_revert_author,
    find_symlink_findings,
    get_first_target,
    print_change_advice,
)
from reflect_git.cli.context import CliContext, format_age, get_cwd, printable
from reflect_git.cli.options import dry_run_option, json_option, project_option, reason_option, yes_option
from reflect_git.cli.review_setup import format_undo_hint, open_context, print_diff, require_typed_yes
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.paths import home_dir
from reflect_git.records.ids import plural
from reflect_git.rules import restore, revert
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.rules.revert import LAST, RevertOptions
from reflect_git.store.main import backups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.records.schema import Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.restore import RestorePlan
    from reflect_git.store.main.backups import Backup

_TARGET_KINDS = "project, project-local, global, improvements, agents, agent:NAME or dir:PATH."


@click.command()
@click.argument(
    "name",
    metavar="[LRN|DEC|COMMIT|last]",
    default="",
    callback=options.resolve_numbers,
    shell_complete=options.complete_revertible,
)
@click.option("--to", metavar="VERSION", default="", help="Revert everything after this version of a file, such as v7.")
@click.option("--to-target", metavar="TARGET", default="", help=f"With --to, the file: {_TARGET_KINDS}")
@click.option("--force", is_flag=True, help="Also revert a rule that was reworded in its file.")
@click.option("--reopen", is_flag=True, help="Propose the rule again in the next review.")
@reason_option
@project_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def revert_command(
    cli: CliContext, name: str, to: str, to_target: str, force: bool, reopen: bool, reason: str, project: str | None,
    dry_run: bool,
) -> None:  # fmt: skip
    """Revert a rule, a decision, a commit of the store, or the last decision, in one commit.

    The rule is removed from its file by its id, whatever changed since. A rule that it replaced is restored. A revert
    can be reverted.
    """
    if bool(name) == bool(to) or (to_target and not to):
        hint = "give an id, a commit or 'last', or --to v7 with or without --to-target"
        raise ReflectError("what is to be taken back?", hint, "usage", EXIT_USAGE)
    ctx = open_context(cli, project, writes=not dry_run)
    if to:
        chosen = restore.select_after_version(ctx, to_target, to)
    else:
        chosen = restore.select_last(ctx, only_persons=False) if name == LAST else revert.select_by_name(ctx, name)
    confirm_revert(cli, ctx, chosen, RevertOptions(force, reopen, reason), dry_run, is_named=name != LAST)


@click.command()
@click.option("--force", is_flag=True, help="Also revert a rule that was reworded in its file.")
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def undo_command(cli: CliContext, force: bool, dry_run: bool) -> None:
    """Undo the last decision that a person made on this machine, in one commit. Run it again to redo.

    At a terminal, it shows the change and asks first if the file belongs to another project.
    """
    ctx = open_context(cli, writes=not dry_run)
    # A script that may decide takes back its own decisions, not a person's.
    last = restore.select_last(ctx, only_persons=cli.is_at_terminal)
    # Who takes an answer back has not said no: the question is open again.
    confirm_revert(cli, ctx, last, RevertOptions(force, reopen=True), dry_run, is_named=False)


@click.command()
@click.argument("name", metavar="[BACKUP]", default="", shell_complete=options.complete_backups)
@dry_run_option
@json_option
@click.pass_obj
def restore_command(cli: CliContext, name: str, dry_run: bool) -> None:
    """List the backups, or restore one byte for byte.

    Before every change of an instruction file, its bytes are saved on a branch of the store. Any unique part of a name
    is enough. Rules that were approved since and are not in the backup are reverted; you are asked first.
    """
    if not name:
        _print_backups(cli)
        return
    backup = restore.find_backup(cli.open_store(create=False), name)
    ctx = open_context(cli, _find_project_folder(backup), writes=not dry_run)
    restoring = restore.plan_restore(ctx, backup)
    if dry_run or not cli.json:
        _print_preview(cli, ctx, restoring, dry_run)
    if dry_run:
        return
    by = find_revert_author(cli, ctx)
    if by["road"] == "terminal":
        _confirm_restore(cli)
    linked = find_symlink_findings(ctx, restoring.revert_plan)
    require_typed_yes(cli, linked, "")  # it was shown with the first question
    done = restore.write_restore(ctx, restoring, by, linked)
    refresh_derived_files(ctx.store, cli.env, cli.scan(ctx.store))
    if cli.json:
        cli.print_json(build_revert_json(restoring.revert_plan, done.commit, done.backup, done.target, done.diff))
        return
    cli.print_text(printable(f"restored {restoring.revert_plan.title}, commit {done.commit[:10]}"))
    print_change_advice(cli, ctx, done)
    cli.print_note(format_undo_hint(by["road"], done.commit))


def _find_project_folder(backup: Backup) -> str:
    """Find the folder of the backup's project: the innermost existing folder of one of its files."""
    for path, _ in backup.files:
        folder = os.path.dirname(path)
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        if folder != os.sep:
            return folder
    return get_cwd()


def _print_backups(cli: CliContext) -> None:
    store = cli.find_store()
    listed = backups.list_backups(store) if store else []
    if cli.json:
        cli.print_json([
            {"name": one.name, "time": one.time, "learning": one.learning,
             "files": [{"path": path, "size": size} for path, size in one.files]}
            for one in listed
        ])  # fmt: skip
        return
    if not listed:
        cli.print_note("there are no backups yet: the first change of an instruction file makes one")
    home = home_dir(cli.env)
    for one in listed:
        cli.print_line(f"{click.style(one.name, fg='yellow')}  {format_age(one.time)} ago")
        for path, size in one.files:
            shown = f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
            size_text = "there was no such file" if size is None else plural(size, "byte")
            cli.print_line(f"    {printable(shown)}, {size_text}")


def _print_preview(cli: CliContext, ctx: Context, restoring: RestorePlan, dry_run: bool) -> None:
    reversal = restoring.revert_plan
    if cli.json:
        cli.print_json(build_revert_json(reversal, None, None, get_first_target(ctx, reversal), reversal.diff))
        return
    print_diff(cli, restoring.diff)
    _print_rules(
        cli,
        restoring.removed,
        "approved since, would be reverted:" if dry_run else "approved since, will be reverted:",
    )
    _print_rules(
        cli,
        restoring.reinstated,
        "reverted since, would be restored:" if dry_run else "reverted since, will be restored:",
    )


def _print_rules(cli: CliContext, learnings: Iterable[Learning], words: str) -> None:
    for learning in learnings:
        cli.print_note(printable(f"{words} {learning['id']} {learning['title'] or learning['text']}"))


def _confirm_restore(cli: CliContext) -> None:
    """Require a typed 'yes'. --yes is not enough, since this writes text back into a file."""
    if click.prompt("type 'yes' to write these bytes", default="no", err=True) != "yes":
        raise ReflectError("nothing was changed", code="declined")
