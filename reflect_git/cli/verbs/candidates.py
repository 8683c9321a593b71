"""What review would show."""

from __future__ import annotations

import shutil
import sys
import textwrap
from itertools import chain
from typing import TYPE_CHECKING

import click

from reflect_git.cli.front import Front, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.sittings import sitting
from reflect_git.errors import EXIT_USAGE, ReflectError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.review.candidates import Candidate, Gathered


@click.command()
@click.option("--project", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Another project.")
@click.option("--all", "everything", is_flag=True, help="Of all projects.")
@click.option("--ask", is_flag=True, help="The questions to pass on with AskUserQuestion, as JSON.")
@click.option("--for-skill", is_flag=True, help="Plain text for /reflect; always exit 0.")
@json_option
@click.pass_obj
def command(front: Front, project: str | None, everything: bool, ask: bool, for_skill: bool) -> None:
    """Show what waits for an answer: signals that say one thing, with the text proposed for it."""
    if ask and for_skill:
        raise ReflectError("--ask and --for-skill do not go together", "give one of them", "usage", EXIT_USAGE)
    if for_skill:
        _for_skill(front, project)
        return
    gathered = sitting(front, project, everything).gathered
    if ask:
        from reflect_git.sitting.ask import questions

        front.data({"questions": questions(gathered.strong)})
    elif front.json:
        front.data([each.as_json() for each in chain(gathered.strong, gathered.more, gathered.weak)])
    else:
        _print(front, gathered)


def _print(front: Front, gathered: Gathered) -> None:
    if gathered.message:
        front.out(gathered.message)
        return
    for candidate in gathered.strong:
        _show(front, candidate)
    for line in _rest(gathered):
        front.out(click.style(line, dim=True))


def _show(front: Front, candidate: Candidate) -> None:
    width = max(40, shutil.get_terminal_size().columns)
    front.out(f"{candidate.id}  {candidate.type}, {_times(candidate)} → {candidate.target}")
    for line in textwrap.wrap(printable(candidate.text), width - 6) or [""]:
        front.out(f"    {line}")
    for warning in candidate.warnings:
        front.out(click.style(f"    risk: {printable(warning)}", fg="red"))


def _times(candidate: Candidate) -> str:
    return f"{candidate.sessions} session{'s' if candidate.sessions != 1 else ''}"


def _rest(gathered: Gathered) -> list[str]:
    found = []
    if gathered.more:
        found.append(f"{len(gathered.more)} more after these")
    if gathered.weak:
        found.append(f"{len(gathered.weak)} weak ones; they go by themselves")
    if gathered.recurrences:
        found.append(f"{len(gathered.recurrences)} that a rule in force already says")
    return found


def _for_skill(front: Front, project: str | None) -> None:
    """A slash command whose command fails is not sent at all, so whatever happens is told in words."""
    try:
        gathered = sitting(front, project).gathered
        text = gathered.message or _told(gathered.strong, gathered)
    except Exception as error:
        text = f"reflect-git could not look: {error}. Tell the user, and to run 'reflect-git doctor'."
    sys.stdout.write(f"{text}\n")


def _told(shown: Sequence[Candidate], gathered: Gathered) -> str:
    lines = []
    for number, each in enumerate(shown, 1):
        lines += [f"{number}. [{each.id}] {each.type}, {_times(each)}, proposed for: {each.target}",
                  f"   text: {each.text}", f"   the user said: {each.quote}"]  # fmt: skip
        lines += [f"   risk: {warning}" for warning in each.warnings]
        others = [(other.get("id") or other.get("where"), other["text"]) for other in each.conflicts_with]
        lines += [f"   conflicts with {where}: {text}" for where, text in others]
    return "\n".join([*lines, *_rest(gathered)])
