"""Run `reflect-git propose`: offer the rules of a project to its team."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from reflect_git.cli import options
from reflect_git.cli.context import CliContext, one_line, printable
from reflect_git.cli.options import dry_run_option, json_option, project_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.review_setup import open_context, print_diff
from reflect_git.records.ids import plural
from reflect_git.rules import project_commits
from reflect_git.rules.project_commits import BRANCH

if TYPE_CHECKING:
    from reflect_git.rules.project_commits import TeamProposal

_HASH_LENGTH = 10
_NEXT_LABELS = {"look": "look at it    ", "merge": "merge it here ", "send": "ask for review"}


@click.command()
@click.argument(
    "names", metavar="[LRN]...", nargs=-1, callback=options.resolve_numbers, shell_complete=options.complete_rules
)
@click.option("--branch", metavar="NAME", default=BRANCH, show_default=True, help="Branch to create or extend.")
@click.option("--quotes", is_flag=True, help="Quote your words in the commit messages.")
@project_option
@dry_run_option
@json_option
@click.pass_obj
def propose_command(
    cli: CliContext, names: tuple[str, ...], branch: str, quotes: bool, project: str | None, dry_run: bool
) -> None:  # fmt: skip
    """Create a branch in the project's repository with one commit per rule. Nothing is pushed.

    Without an id, it takes all rules of this project. Your work tree, current branch and staged changes do not change.
    One exception: git does not merge over an untracked file. So a new file is staged if the branch has the same content
    and nothing else is staged. You are the author of the commits, signed if commit.gpgSign is on. No hooks run.
    """
    ctx = open_context(cli, project)
    done = project_commits.propose_to_team(ctx, project_commits.select_learnings(ctx, names), branch, quotes, dry_run)
    if cli.json:
        cli.print_json(_build_json(done, {} if dry_run else done.commands()))
        return
    for one in done.commits if dry_run else ():
        print_diff(cli, one.diff)
    _print_result(cli, done, dry_run)


def _build_json(done: TeamProposal, commands: dict[str, list[str]]) -> dict[str, Any]:
    return {
        "branch": done.branch.name,
        "commits": [
            {"learning": one.learning["id"], "commit": one.commit or None, "path": one.plan.path, "diff": one.diff}
            for one in done.commits
        ],
        "already": [one["id"] for one in done.existing], "staged": done.staged, "next": commands,
    }  # fmt: skip


def _print_result(cli: CliContext, done: TeamProposal, dry_run: bool) -> None:
    name, count = done.branch.name, len(done.commits)
    if not count:
        cli.print_text(printable(_format_nothing(done)))
        if not dry_run:
            _print_next_steps(cli, done)
        return
    learned = plural(count, "rule")
    cli.print_text(printable(f"{'would propose' if dry_run else 'proposed'} {learned} on '{name}'"))
    for one in done.commits:
        title = one_line(one.learning["title"] or one.learning["text"], candidate_view.text_width() - _HASH_LENGTH - 4)
        cli.print_line(f"  {one.commit[:_HASH_LENGTH] or one.learning['id']}  {title}")
    if done.existing:
        cli.print_note(f"{plural(len(done.existing), 'rule')} already proposed")
    if not dry_run:
        _print_next_steps(cli, done)


def _format_nothing(done: TeamProposal) -> str:
    if done.existing:
        count = len(done.existing)
        return f"nothing to propose: {f'all {count} rules are' if count > 1 else 'the rule is'} already on your branch"
    return "nothing to propose: no rules in this project's files"


def _print_next_steps(cli: CliContext, done: TeamProposal) -> None:
    commands = done.commands()
    if not commands:
        return
    if done.staged:
        names = " ".join(map(shlex.quote, done.staged))
        cli.print_note(printable(f"staged {names} so that 'git merge' works"))
        cli.print_note(printable(f"undo with: git rm --cached {names}"))
    cli.print_note("nothing was pushed; next:")
    for what, label in _NEXT_LABELS.items():
        if what in commands:
            cli.print_note(printable(f"  {label}  {' && '.join(commands[what])}"), as_is=True)
