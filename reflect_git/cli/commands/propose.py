"""Run `reflect-git propose`: offer the rules of a project to its team."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import options
from reflect_git.cli.context import Front, one_line, printable
from reflect_git.cli.options import dry_run_option, json_option, project_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.review_setup import open_context, show_diff
from reflect_git.records.ids import plural
from reflect_git.rules import project_commits
from reflect_git.rules.project_commits import BRANCH

if TYPE_CHECKING:
    from reflect_git.rules.project_commits import Proposal

_HASH = 10
_NEXT = {"look": "look at it    ", "merge": "merge it here ", "send": "ask for review"}


@click.command()
@click.argument("names", metavar="[LRN]...", nargs=-1, shell_complete=options.rules)
@click.option("--branch", metavar="NAME", default=BRANCH, show_default=True, help="Branch to create or extend.")
@click.option("--quotes", is_flag=True, help="Quote your words in the commit messages.")
@project_option
@dry_run_option
@json_option
@click.pass_obj
def propose_command(
    front: Front, names: tuple[str, ...], branch: str, quotes: bool, project: str | None, dry_run: bool
) -> None:  # fmt: skip
    """Create a branch in the project's repository with one commit per rule. Nothing is pushed.

    Without an id, all rules of this project. Your work tree, current branch and staged changes stay as they are. One
    exception: a new file that is identical on the branch is staged if nothing else is, since git does not merge over an
    untracked file. You are the author of the commits, which are signed if you sign. No hooks run.
    """
    ctx = open_context(front, project)
    done = project_commits.propose(ctx, project_commits.chosen(ctx, names), branch, quotes, dry_run)
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
    learned = plural(count, "rule")
    front.tell(printable(f"{'would propose' if dry_run else 'proposed'} {learned} on '{name}'"))
    for one in done.made:
        title = one_line(one.learning["title"] or one.learning["text"], candidate_view.width() - _HASH - 4)
        front.out(f"  {one.commit[:_HASH] or one.learning['id']}  {title}")
    if done.there:
        front.talk(f"{plural(len(done.there), 'rule')} already proposed")
    if not dry_run:
        _tell_next(front, done)


def _nothing(done: Proposal) -> str:
    if done.there:
        count = len(done.there)
        return f"nothing to propose: {f'all {count} rules are' if count > 1 else 'the rule is'} already on your branch"
    return "nothing to propose: no rules in this project's files"


def _tell_next(front: Front, done: Proposal) -> None:
    commands = done.commands()
    if not commands:
        return
    if done.staged:
        names = " ".join(map(shlex.quote, done.staged))
        front.talk(printable(f"staged {names} so that 'git merge' works"))
        front.talk(printable(f"undo with: git rm --cached {names}"))
    front.talk("nothing was pushed; next:")
    for what, label in _NEXT.items():
        if what in commands:
            front.talk(printable(f"  {label}  {' && '.join(commands[what])}"), as_is=True)
