"""Run `reflect-git rules`: list the rules, now or at an earlier time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

import click

from reflect_git.capture.service import parse_since
from reflect_git.cli.context import Front, one_line, printable
from reflect_git.cli.options import json_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.history_view import day, when
from reflect_git.cli.review_setup import here
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.history import rules_at
from reflect_git.history.rules_at import ALL, ALSO, GLOBAL, PROJECT, Choice, InForce, in_force, to_its_end
from reflect_git.records.ids import plural
from reflect_git.rules import project_files

if TYPE_CHECKING:
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

    Change = tuple[str, InForce | None, InForce | None]
    Absent = tuple[str, list[str]]

_VERSION = re.compile("v[0-9]{1,9}")
_ABSENT = {
    "waiting": ("not in a file here yet; apply it with: reflect-git review",),
    "declined": ("declined on this machine", "apply it after all: reflect-git revert {}"),
}
_COLOURS = {rules_at.ADDED: "green", rules_at.REWORDED: "cyan", rules_at.MOVED: "cyan", rules_at.TAKEN_BACK: "red"}


@click.command()
@click.option("--global", "only_global", is_flag=True, help="Only global rules.")
@click.option("--project", "only_project", is_flag=True, help="Only rules of this project.")
@click.option("--all", "everything", is_flag=True, help="Rules of every project.")
@click.option("--target", metavar="FILE", default="", help="Rules of one file, as listed.")
@click.option("--grep", "words", metavar="TEXT", default="", help="Rules with this in their text, target or id.")
@click.option(
    "--at", metavar="TIME|vN", default="", help="Rules at an earlier time: 2026-02-11, 2w, '2 weeks ago', v7."
)
@click.option("--diff", "compare", is_flag=True, help="Show the changes since --at.")
@json_option
@click.pass_obj
def rules_command(
    front: Front, only_global: bool, only_project: bool, everything: bool, target: str, words: str, at: str,
    compare: bool,
) -> None:  # fmt: skip
    """List the rules that apply here: approved and not reverted.

    'reflect-git log' shows which version of a file each decision made. --at v7 means version 7 of the project's file;
    with --global that of the global file, and with --target that of any other.
    """
    chosen = [name for name, is_on in ((GLOBAL, only_global), (PROJECT, only_project), (ALL, everything)) if is_on]
    if len(chosen) > 1:
        raise ReflectError(
            f"--{chosen[0]} and --{chosen[1]} cannot be used together", "use one of them", "usage", EXIT_USAGE
        )
    if compare and not at:
        raise ReflectError("--diff needs --at", "for example: --at 2w, or --at v7", "usage", EXIT_USAGE)
    store = front.existing()
    if store is None:
        _say_none(front)
        return
    place = project_files.place(store, front.env, here())
    target, is_global = front.is_everywhere(target)
    choice = Choice(place.keys, GLOBAL if is_global else "".join(chosen), words, target)
    scan = front.scan(store)
    if not at:
        _answer(front, in_force(scan, choice), bool(words or chosen or target), _absent(store, scan, place))
        return
    said, then, now = _past(store, scan, place, choice, at)
    if compare:
        _answer_changes(front, said, rules_at.changes(then, now))
    else:
        _answer(front, then, bool(words or target), none="no rules were in force then")


def _past(
    store: Store, scan: Scan, place: project_files.Place, choice: Choice, at: str
) -> tuple[str, list[InForce], list[InForce]]:
    """Return the date or version in words, the rules in force then, and those of the same selection in force now."""
    if not _VERSION.fullmatch(at):
        moment = parse_since(to_its_end(at), more=f"{ALSO}, or v7 for a version of the file")
        then = in_force(scan, choice, rules_at.history_at(scan, moment))
        return day(moment), then, in_force(scan, choice)
    target, version = rules_at.version_at(store, scan, place, choice, at)
    where = Choice(place.keys, GLOBAL if target.is_global else PROJECT, choice.words, target.path)
    said = f"v{version.number} of {target.path}, {when(version.time)}"
    return said, rules_at.at_version(store, scan, choice, target, version), in_force(scan, where)


def _absent(store: Store, scan: Scan, place: project_files.Place) -> Mapping[str, Absent]:
    """Return the rules of other machines that are in no file here, with the reason."""
    if all(made["machine"] == store.machine for made in scan.history.decisions):
        return {}
    from reflect_git.rules import arrivals, dismiss  # what is one machine's own is where it was approved for

    noes = {identity: made["id"] for identity, made in dismiss.declined(scan.history, store.machine).items()}
    found = arrivals.absent(arrivals.Look(store, place, scan))
    return {one: (why, [said.format(noes.get(one, "")) for said in _ABSENT[why]]) for one, why in found.items()}


def _say_none(front: Front) -> None:
    if front.json:
        front.data([])
    else:
        front.say_no_store()


def _answer(
    front: Front, found: list[InForce], is_filtered: bool, out: Mapping[str, Absent] | None = None,
    none: str = "no rules in force here",
) -> None:  # fmt: skip
    """Print the rules. `out` has those that are in no file here, with the reason; None if this was not checked."""
    if front.json:
        front.data([{**rule.as_json(), **_absent_data(rule, out)} for rule in found])
    elif found:
        _list(front, found, out or {})
    else:
        front.talk("no matching rules" if is_filtered else none)


def _absent_data(rule: InForce, out: Mapping[str, Absent] | None) -> dict[str, str | None]:
    return {} if out is None else {"absent": out[rule.id][0] if rule.id in out else None}


def _list(front: Front, found: list[InForce], out: Mapping[str, Absent]) -> None:
    gap = False
    for scope, listed in groupby(found, _headline):
        if gap:
            front.out()
        gap = True
        front.out(click.style(scope, bold=True))
        for rule in listed:
            _show(front, rule, out[rule.id][1] if rule.id in out else [])


def _headline(rule: InForce) -> str:
    return "global" if rule.scope == GLOBAL or not rule.project else f"project {printable(rule.project['name'])}"


def _show(front: Front, rule: InForce, absent: list[str]) -> None:
    room = candidate_view.width()
    seen = f", {plural(rule.sessions, 'session')}" if rule.sessions else ""  # none: said on another machine
    facts = f"since {day(rule.since)}{seen}"
    facts += f", amended {day(rule.amended)}" if rule.amended else ""
    facts += f", until {rule.until}" if rule.until else ""
    front.out(f"{click.style(rule.id, fg='yellow')}  {facts}")
    front.out(click.style(f"    → {one_line(_file(front, rule), room - 6)}", dim=True))
    for line in absent:
        front.tell(click.style(f"    {line}", fg="yellow"))
    for line in candidate_view.wrap(printable(rule.text), room - 4):
        front.out(f"    {line}")


def _file(front: Front, rule: InForce) -> str:
    path = rule.target["path"]
    return front.everywhere(path) if rule.scope == GLOBAL else path


def _answer_changes(front: Front, said: str, found: list[Change]) -> None:
    if front.json:
        front.data([
            {"change": how, "then": then and then.as_json(), "now": now and now.as_json()} for how, then, now in found
        ])  # fmt: skip
        return
    counts = Counter(how for how, _, _ in found)
    told = ", ".join(f"{counts[how]} {how}" for how in _COLOURS if counts[how]) or "nothing changed"
    front.tell(printable(f"since {said}: {told}"))
    for how, then, now in found:
        front.out()
        _show_change(front, how, then, now)


def _show_change(front: Front, how: str, then: InForce | None, now: InForce | None) -> None:
    rule = now or then
    assert rule is not None
    front.out(f"{click.style(rule.id, fg='yellow')}  {click.style(how, fg=_COLOURS[how])}")
    for one, sign, colour in ((then, "-", "red"), (now, "+", "green")):
        if one is None:
            continue
        if how != rules_at.REWORDED or then is None or now is None or then.target != now.target:
            front.out(click.style(f"  {sign} → {one_line(_file(front, one), candidate_view.width() - 6)}", fg=colour))
        for line in (
            candidate_view.wrap(printable(one.text), candidate_view.width() - 4) if how != rules_at.MOVED else ()
        ):
            front.out(click.style(f"  {sign} {line}", fg=colour))
