"""Offer what was learned in a project to those who work in it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import completing, portrait
from reflect_git.cli.front import Front, one_line, printable
from reflect_git.cli.options import dry_run_option, json_option, project_option
from reflect_git.cli.sittings import show_diff, sitting
from reflect_git.model.counts import plural
from reflect_git.sitting import proposing
from reflect_git.sitting.proposing import BRANCH

if TYPE_CHECKING:
    from reflect_git.sitting.proposing import Proposal

_HASH = 10
_NEXT = {"look": "look at it    ", "merge": "merge it here ", "send": "ask for review"}


@click.command()
@click.argument("names", metavar="[LRN]...", nargs=-1, shell_complete=completing.rules)
@click.option(
    "--branch", metavar="NAME", default=BRANCH, show_default=True, help="Which branch to make, or go on with."
)
@click.option("--quotes", is_flag=True, help="Also what was said, in the commit messages.")
@project_option
@dry_run_option
@json_option
@click.pass_obj
def command(
    front: Front, names: tuple[str, ...], branch: str, quotes: bool, project: str | None, dry_run: bool
) -> None:  # fmt: skip
    """Make a branch in the project's own repository: one commit per learning, with its reason. Nothing is pushed.

    Without an id all rules of this project. Your work tree and the branch you are on stay as they are, and so does what
    you staged. A new file that the branch has with the same bytes is added to the index if nothing else is staged: git
    merges nothing over an untracked file. The commits are yours, and signed if you sign. No hook runs.
    """
    sat = sitting(front, project, everything=True)
    done = proposing.propose(sat, proposing.chosen(sat, names), branch, quotes, dry_run)
    if front.json:
        front.data(_document(done, {} if dry_run else done.commands()))
        return
    for one in done.made if dry_run else ():
        show_diff(front, one.diff)
    _tell(front, done, dry_run)


def _document(done: Proposal, commands: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "branch": done.branch.name,
        "commits": [
            {"learning": one.learning["id"], "commit": one.commit or None, "path": one.plan.path, "diff": one.diff}
            for one in done.made
        ],
        "already": [one["id"] for one in done.there], "staged": done.staged, "next": commands,
    }  # fmt: skip


def _tell(front: Front, done: Proposal, dry_run: bool) -> None:
    name, count = done.branch.name, len(done.made)
    if not count:
        front.tell(printable(_nothing(done)))
        if not dry_run:
            _tell_next(front, done)
        return
    learned = plural(count, "learning")
    front.tell(printable(f"{'would propose' if dry_run else 'proposed'} {learned} on '{name}'"))
    for one in done.made:
        title = one_line(one.learning["title"] or one.learning["text"], portrait.width() - _HASH - 4)
        front.out(f"  {one.commit[:_HASH] or one.learning['id']}  {title}")
    if done.there:
        front.talk(f"{plural(len(done.there), 'learning')} there already")
    if not dry_run:
        _tell_next(front, done)


def _nothing(done: Proposal) -> str:
    if done.there:
        return f"nothing new: {plural(len(done.there), 'learning')} on '{done.branch.name}' or merged already"
    return "nothing to propose: no rule of yours is in a file of this project"


def _tell_next(front: Front, done: Proposal) -> None:
    commands = done.commands()
    if not commands:
        return
    if done.staged:
        names = " ".join(map(shlex.quote, done.staged))
        front.talk(printable(f"added {names} to the index, so that 'git merge' works"))
        front.talk(printable(f"undo with: git rm --cached {names}"))
    front.talk("nothing was pushed; next:")
    for what, label in _NEXT.items():
        if what in commands:
            front.talk(printable(f"  {label}  {' && '.join(commands[what])}"), as_is=True)
