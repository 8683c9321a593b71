"""Backups: list them, or put one back, byte for byte."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from reflect_git.cli import completing
from reflect_git.cli.front import Front, ago, printable
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.sittings import here, require_typed_yes, show_diff, sitting, way_back
from reflect_git.cli.taking import advise_of, document, first_target, links_of, person
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.paths import home_dir
from reflect_git.sitting import learnings_index, restore
from reflect_git.store import backups

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reflect_git.model.schema import Learning
    from reflect_git.sitting.restore import Restoring
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.backups import Kept


@click.command()
@click.argument("name", metavar="[BACKUP]", default="", shell_complete=completing.backups)
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, name: str, dry_run: bool) -> None:
    """List the backups, or write the bytes of one back.

    Before every change of an instruction file its bytes are kept on a branch of the store. Any unique part of a name
    is enough. What was approved since, and is not in those bytes, is taken back with it: you are asked first.
    """
    if not name:
        _list(front)
        return
    backup = restore.find(front.store(create=False), name)
    sat = sitting(front, _folder_of(backup), everything=True, writes=not dry_run)
    restoring = restore.propose(sat, backup)
    if dry_run or not front.json:
        _show(front, sat, restoring, dry_run)
    if dry_run:
        return
    by = person(front, sat)
    if by["road"] == "terminal":
        _require_typed_yes(front)
    linked = links_of(sat, restoring.reversal)
    require_typed_yes(front, linked, "")  # it was shown with the first question
    done = restore.carry_out(sat, restoring, by, linked)
    learnings_index.write(sat.store, front.scan(sat.store))
    if front.json:
        front.data(document(restoring.reversal, done.commit, done.backup, done.target, done.diff))
        return
    front.tell(printable(f"restored {restoring.reversal.title}, commit {done.commit[:10]}"))
    advise_of(front, sat, done)
    front.talk(way_back(by["road"], done.commit))


def _folder_of(backup: Kept) -> str:
    """Where its project is, if it is still there: the innermost folder of a file of it that exists."""
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


def _show(front: Front, sat: Sitting, restoring: Restoring, dry_run: bool) -> None:
    reversal = restoring.reversal
    if front.json:
        front.data(document(reversal, None, None, first_target(sat, reversal), reversal.diff))
        return
    show_diff(front, restoring.diff)
    _name(front, restoring.dropped, "approved since, and would be taken back:" if dry_run else "approved since, goes:")
    _name(front, restoring.back, "taken back since, and would be in force again:" if dry_run else "comes back:")


def _name(front: Front, learnings: Iterable[Learning], words: str) -> None:
    for learning in learnings:
        front.talk(printable(f"{words} {learning['id']} {learning['title'] or learning['text']}"))


def _require_typed_yes(front: Front) -> None:
    """--yes answers what would be asked, and never an approval: here words come back into a file."""
    if click.prompt("type 'yes' to write these bytes", default="no", err=True) != "yes":
        raise ReflectError("nothing was changed", code="declined")
