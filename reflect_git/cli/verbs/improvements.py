"""What is proposed for the project itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from reflect_git.adapters import live
from reflect_git.apply import improvements
from reflect_git.apply.targets import IMPROVEMENTS_FILE, Target
from reflect_git.cli import portrait
from reflect_git.cli.amending import settle
from reflect_git.cli.front import Front, one_line
from reflect_git.cli.options import Word, dry_run_option, json_option, project_option
from reflect_git.cli.sittings import here, sitting, sitting_if_any
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import amend, places
from reflect_git.sitting.gone import Gone

if TYPE_CHECKING:
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting

SECTIONS = {"apply": "Applied", "defer": "Deferred"}


@click.command()
@click.argument("action", metavar="[apply|defer]", required=False, type=Word("step", tuple(SECTIONS)))
@click.argument("identity", metavar="[ID]", required=False)
@project_option
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, action: str | None, identity: str | None, project: str | None, dry_run: bool) -> None:
    """List what .claude/improvements.md proposes; apply or defer moves one of them, in one commit."""
    if action and not identity:
        raise ReflectError("'ID' is missing", "see 'reflect-git improvements'", "usage", EXIT_USAGE)
    if action and identity:
        sat = sitting(front, project, everything=True)
        settle(front, sat, amend.move(sat, amend.find(sat, identity), SECTIONS[action]), dry_run)
        return
    looked = sitting_if_any(front, project, everything=True)
    place = looked.place if looked else places.place(None, front.env, os.path.abspath(project or here()))
    listed = _listed(place, looked)
    if front.json:
        front.data(listed)
    elif listed:
        _print(front, listed)
    else:
        front.talk("no improvements are proposed here")


def _listed(place: Place, sat: Sitting | None) -> list[dict[str, Any]]:
    """Those in the file, as it words them by now; `known` are those that were approved in this store, `purged`
    those that were taken out of it since."""
    if not place.root:
        raise ReflectError("this folder is in no project", "give one with --project DIR", code="no-project")
    data = live.read(place.path_of(Target("improvements", IMPROVEMENTS_FILE)))
    known, gone = (sat.scan.history.learnings, Gone(sat.store)) if sat else ({}, None)
    return [
        {
            "id": found.id, "section": found.section, "title": found.text.partition("\n")[0].lstrip("# "),
            "text": found.text, "known": found.id in known,
            "purged": found.id not in known and gone is not None and gone.has(found.id),
        }
        for found in improvements.find(data)
    ]  # fmt: skip


def _print(front: Front, listed: list[dict[str, Any]]) -> None:
    section = None
    for entry in listed:
        if entry["section"] != section:
            section = entry["section"]
            front.out(click.style(one_line(str(section), portrait.width()), bold=True))
        foreign = "" if entry["known"] else " (purged: delete it)" if entry["purged"] else " (a colleague's)"
        front.out(f"  {click.style(entry['id'], fg='yellow')}{foreign}")
        front.out(f"      {one_line(entry['title'], portrait.width() - 6)}")
