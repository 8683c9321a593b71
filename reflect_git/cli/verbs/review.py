"""The terminal dialogue: what waits, one after the other, answered with a key."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import click

from reflect_git.cli import differences, portrait
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.deck import APPROVED, NEVER, NO, NOT_NOW, Deck
from reflect_git.cli.desk import Desk
from reflect_git.cli.dialogue import Dialogue
from reflect_git.cli.differences import Differences
from reflect_git.cli.front import PIPED, Front, columns, one_line, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.sittings import here, say_nothing, say_nothing_yet, sitting_if_any
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import authority, committing, dismiss
from reflect_git.sitting.review import all_tried, sit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.cli.arrivals import Arrivals
    from reflect_git.cli.differences import Asked
    from reflect_git.review.candidates import Candidate, Gathered
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.waiting import Waiting

MANY = 10
_ASKED_FIRST = {"g": "go through them", "s": "a summary first", "a": "skip all of them", "q": "quit"}


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="Of all projects.")
@json_option
@click.pass_obj
def command(front: Front, project: str | None, everything: bool) -> None:
    """Answer what waits, one learning after the other, as with 'git add -p'.

    First come rules that differ from their files, what Claude wrote into such a file by itself and what your own git
    took out of the store, then what was decided on your other machines. Each is shown with the very change it would
    make. Every answer is stored at once; type ? for the keys.
    """
    if not front.json and front.at_terminal:
        _freshen(front)
    sat = sitting_if_any(front, project, everything, writes=not front.json and front.at_terminal)
    if sat is None:
        say_nothing_yet(front)
        return
    if authority.is_inside_client(sat.store.root, front.env):
        raise ReflectError(
            "review is a dialogue with a person at a terminal",
            "let the person run 'reflect-git review' in a terminal; with the plugin, /reflect asks them here",
            code="approval",
        )  # fmt: skip
    if front.json:
        gathered = sat.gathered
        shown = all_tried(sat, gathered.strong)
        front.data([each.as_json() for each in chain(shown, gathered.more, gathered.weak)])
        return
    found, asked = differences.look(sat)
    arrived = _arrived(sat)
    for line in differences.notes(sat.place, found):
        front.tell(line)
    if front.no_input or not front.at_terminal:
        _list_first(front, sat, asked, arrived)
        _list(front, sat.gathered)
        _say_elsewhere(front, sat)
    elif sat.gathered.message and not asked and not arrived:
        say_nothing(front, sat.gathered.message)
        _say_elsewhere(front, sat)
    else:
        console = Console(front, sat.store.git.user_settings())
        desk = Desk(front, sat, console.setting("interactive.difffilter"))
        _talk(front, desk, console, Differences(desk, console, asked), arrived)


def _freshen(front: Front) -> None:
    """With what was learned elsewhere, where sync goes by itself."""
    store = front.store_if_any()
    if store is not None and store.switched("reflect.sync.auto", False):
        from reflect_git.cli import exchange  # few have it

        exchange.freshen(front, store)


def _arrived(sat: Sitting) -> list[Waiting]:
    """What was decided elsewhere. Most of the time there is nothing, and what it takes to carry it out stays away."""
    machine = sat.store.machine
    if all(made["machine"] == machine and not made["meta"].get("waits") for made in sat.scan.history.decisions):
        return []
    from reflect_git.sitting.waiting import waiting

    return waiting(sat)


def _arrivals(desk: Desk, console: Console, arrived: Sequence[Waiting]) -> Arrivals | None:
    if not arrived:
        return None
    from reflect_git.cli.arrivals import Arrivals

    return Arrivals(desk, console, arrived)


def _list_first(front: Front, sat: Sitting, asked: Sequence[Asked], arrived: Sequence[Waiting]) -> None:
    for line in differences.listed(sat.place, asked):
        front.tell(line)
    if arrived:
        from reflect_git.cli import arrivals

        for line in arrivals.listed(sat.place, arrived):
            front.tell(line)
    if asked or arrived:
        front.talk("only a person can answer these: run 'reflect-git review' in a terminal")


def _list(front: Front, gathered: Gathered) -> None:
    """Nobody to ask: what waits, and where a person can answer it."""
    if gathered.message:
        say_nothing(front, gathered.message)
        return
    _summary(front, list(gathered.strong))
    for line in _waiting(gathered):
        front.tell(line)
    no_one = "there is no terminal to ask at: run 'reflect-git review' in one, or /reflect of the plugin"
    front.talk(PIPED if front.is_piped and not front.no_input else no_one)
    front.talk("for scripts there are 'reflect-git candidates', 'approve' and 'dismiss'")


def _say_elsewhere(front: Front, sat: Sitting) -> None:
    """Where nothing waits, or no project is, what does in others."""
    if not sat.gathered.message or not sat.place.keys:
        return
    found = sit(sat.store, front.env, sat.scan, sat.place.root, everything=True).gathered
    count = len(found.strong) + len(found.more)
    if count:
        verb = "waits" if count == 1 else "wait"
        front.tell(f"{count} {verb} in other projects: reflect-git review --all")


def _summary(front: Front, shown: list[Candidate]) -> None:
    room = portrait.width()
    for number, each in enumerate(shown, 1):
        head = f"{number:>3}  {each.id}  {each.type.replace('_', ' ')} → {each.target}"
        front.out(one_line(head, room) if columns(head) > room else head)
        front.out(f"     {one_line(each.text, room - 5)}")


def _waiting(gathered: Gathered) -> list[str]:
    found = [f"{len(gathered.more)} more after these"] if gathered.more else []
    found += [f"{plural(len(gathered.weak), 'weak one')}"] if gathered.weak else []
    return found


def _talk(front: Front, desk: Desk, console: Console, first: Differences, arrived: Sequence[Waiting]) -> None:
    """^C and ^D end it; what was answered is stored, and told."""
    dialogue, then = Dialogue(desk, console), _arrivals(desk, console, arrived)
    try:
        if first.run():  # a file may have become by it what was decided elsewhere
            then = _arrivals(desk, console, _arrived(desk.sitting))
        if then:
            then.run()
        typed = _opening(front, desk, console)
        if typed == "a":
            return
        if typed == "g":
            dialogue.run()
    except Ended:
        pass
    except KeyboardInterrupt:
        front.out()
        _farewell(front, desk, dialogue.deck, first, then)
        raise click.Abort from None
    _farewell(front, desk, dialogue.deck, first, then)


def _opening(front: Front, desk: Desk, console: Console) -> str:
    """Ten or more are not sprung on anybody."""
    gathered = desk.sitting.gathered
    count = len(gathered.strong) + len(gathered.more)
    while count >= MANY:
        typed = console.key(f"{count} learnings wait: go, summary first, skip all, quit [g,s,a,q,?]? ")
        if typed in ("g", "q"):
            return typed
        if typed == "s":
            _summary(front, [*gathered.strong, *gathered.more])
        elif typed == "a":
            if _skip_all(front, desk, console):
                return "a"
        else:
            desk.explain(_ASKED_FIRST)
    return "g"


def _skip_all(front: Front, desk: Desk, console: Console) -> bool:
    """Not now or no to everything that waits; False if the person thought better of it."""
    gathered, store = desk.sitting.gathered, desk.sitting.store
    everyone = [*gathered.strong, *gathered.more]
    typed = console.line(f"skip all {len(everyone)}: not now, no, or back [n,d,b] (n)? ") or "n"
    if typed == "n":
        dismiss.not_now(store, everyone)
        front.tell(f"not now to {len(everyone)}: they come again")
    elif typed == "d":
        for each in everyone:
            dismiss.dismiss(store, each, desk.person(each))
        front.tell(f"no to {len(everyone)}: each is asked once more after three further sessions")
    return typed in ("n", "d")


def _farewell(front: Front, desk: Desk, deck: Deck, first: Differences, then: Arrivals | None) -> None:
    """What was done, and what comes next."""
    front.out()
    answers = [*first.answers, *(then.answers if then else ())]
    if answers:
        front.tell(", ".join(f"{answers.count(said)} {said}" for said in dict.fromkeys(answers)))
    counts = [(deck.count(said), said) for said in (APPROVED, NOT_NOW, NO, NEVER)]
    counts.append((len(deck.open()), "undecided"))
    if deck.answers:
        front.tell(", ".join(f"{count} {said}" for count, said in counts if count))
    for path in desk.changed:
        told = committing.advice(desk.sitting, path, front.env, here())
        if told:
            front.tell(printable(told))
    # What was left as it is, or for another time, is no decision.
    if any(not said.startswith("left") for said in answers) or any(map(deck.count, (APPROVED, NO, NEVER))):
        front.tell("to take the last answer back: reflect-git undo")
    weak = {each.id for each in desk.sitting.gathered.weak}  # they go by themselves, seen or not
    postponed = [answer.at for answer in deck.answers if answer.said == NOT_NOW]
    left = len([at for at in (*deck.open(), *postponed) if deck.cards[at].id not in weak])
    left += len(desk.sitting.gathered.more)
    left += then.open if then else 0
    if left:
        verb = "waits" if left == 1 else "wait"
        front.tell(f"{plural(left, 'learning')} {verb}: run 'reflect-git review' when you like")
    if first.open:
        verb = "waits" if first.open == 1 else "wait"
        front.tell(f"{plural(first.open, 'change')} of a rule {verb}: run 'reflect-git review' when you like")
    elif not left and deck.count(APPROVED):
        front.tell("see what is in force with 'reflect-git rules'")
