"""What is in force."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from reflect_git.cli import portrait
from reflect_git.cli.front import Front, one_line, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.sittings import here
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import places
from reflect_git.sitting.rules import ALL, GLOBAL, PROJECT, in_force

if TYPE_CHECKING:
    from reflect_git.sitting.rules import InForce


@click.command()
@click.option("--global", "only_global", is_flag=True, help="Only those of all projects.")
@click.option("--project", "only_project", is_flag=True, help="Only those of this project.")
@click.option("--all", "everything", is_flag=True, help="Of every project.")
@click.option("--grep", "words", metavar="TEXT", default="", help="With these words in text, target or id.")
@json_option
@click.pass_obj
def command(front: Front, only_global: bool, only_project: bool, everything: bool, words: str) -> None:
    """List what is in force here: the learnings that were approved and not taken back."""
    chosen = [name for name, is_on in ((GLOBAL, only_global), (PROJECT, only_project), (ALL, everything)) if is_on]
    if len(chosen) > 1:
        raise ReflectError(f"--{chosen[0]} and --{chosen[1]} do not go together", "give one", "usage", EXIT_USAGE)
    store = front.existing()
    if store is None:
        _say_none(front)
        return
    project = places.place(store, front.env, here()).project
    found = in_force(front.scan(store), project, "".join(chosen), words)
    if front.json:
        front.data([rule.as_json() for rule in found])
    elif found:
        _list(front, found)
    else:
        front.talk("no rules like that" if words or chosen else "no rules in force here")


def _say_none(front: Front) -> None:
    if front.json:
        front.data([])
    else:
        front.say_no_store()


def _list(front: Front, found: list[InForce]) -> None:
    gap = False
    for scope, rules in groupby(found, _headline):
        if gap:
            front.out()
        gap = True
        front.out(click.style(scope, bold=True))
        for rule in rules:
            _show(front, rule)


def _headline(rule: InForce) -> str:
    return "global" if rule.scope == GLOBAL or not rule.project else f"project {printable(rule.project['name'])}"


def _show(front: Front, rule: InForce) -> None:
    room = portrait.width()
    facts = f"since {rule.since[:10]}, {portrait.plural(rule.sessions, 'session')}"
    facts += f", amended {rule.amended[:10]}" if rule.amended else ""
    front.out(f"{click.style(rule.id, fg='yellow')}  {facts}")
    front.out(click.style(f"    → {one_line(rule.target['path'], room - 6)}", dim=True))
    for line in portrait.wrap(printable(rule.text), room - 4):
        front.out(f"    {line}")
