"""The terminal dialogue: what waits, one after the other, answered with a key."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

import click

from reflect_git.adapters import files
from reflect_git.cli import differences, portrait
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.deck import APPROVED, NEVER, NO, SKIPPED, Deck
from reflect_git.cli.desk import Desk
from reflect_git.cli.dialogue import Dialogue
from reflect_git.cli.differences import Differences
from reflect_git.cli.front import PIPED, Front, columns, one_line, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.sittings import here, say_nothing, say_nothing_yet, sitting_if_any
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import authority, committing, dismiss
from reflect_git.sitting.recurring import find_broken
from reflect_git.sitting.review import all_tried, sit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.cli.arrivals import Arrivals
    from reflect_git.cli.broken import BrokenRules
    from reflect_git.cli.differences import Asked
    from reflect_git.review.candidates import Candidate, Gathered
    from reflect_git.sitting.recurring import Broken
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.waiting import Waiting

MANY = 10
_FIRST_KEYS = {
    "y": "yes: go through them one by one",
    "l": "list them first",
    "s": "skip all of them for now: they come again",
    "n": "no to all of them, in one commit: each is asked once more after three further sessions",
    "q": "quit: all of them wait",
    "?": "this help",
}
_NEW_KEYS = "keys changed: n is no, s skips for now, v shows the signals; ? lists all"
_ANSWERS = ("approved", "dismissed", "never", "amended", "applied", "reverted")


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="Of all projects.")
@json_option
@click.pass_obj
def command(front: Front, project: str | None, everything: bool) -> None:
    """Answer what waits, one proposed rule after the other, as with 'git add -p'.

    First come rules that differ from their files, what Claude wrote into such a file by itself and what your own git
    took out of the store, then what was decided on your other machines. Each is shown with the very change it would
    make. Every answer is a key, and is stored at once; press ? for the keys. With 'interactive.singleKey' set to false
    in git, each key is followed by Enter.
    """
    if not front.json and front.at_terminal:
        _freshen(front)
    sat = sitting_if_any(front, project, everything, writes=not front.json and front.at_terminal)
    if sat is None:
        say_nothing_yet(front)
        return
    if authority.is_inside_client(front.env):
        raise ReflectError(
            "review is a dialogue with a person at a terminal",
            "let the person run 'reflect-git review' in a terminal; with the plugin, /reflect asks them here",
            code="approval",
        )  # fmt: skip
    broken = find_broken(sat)
    if front.json:
        gathered = sat.gathered
        shown = all_tried(sat, gathered.strong)
        listed = [each.as_json() for each in chain(shown, gathered.more, gathered.weak)]
        front.data(listed, broken=[one.as_json() for one in broken])
        return
    found, asked = differences.look(sat)
    arrived = _arrived(sat)
    for line in differences.notes(sat.place, found):
        front.tell(line)
    if front.no_input or not front.at_terminal:
        _list_first(front, sat, asked, arrived, broken)
        if not (broken and sat.gathered.message):
            _list(front, sat.gathered)
        _say_elsewhere(front, sat)
    elif sat.gathered.message and not (asked or arrived or broken):
        say_nothing(front, sat.gathered.message)
        _say_elsewhere(front, sat)
    else:
        console = Console(front, sat.store.git.user_settings())
        desk = Desk(front, sat, console.setting("interactive.difffilter"))
        _talk(front, desk, console, Differences(desk, console, asked), arrived, broken)


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


def _broken_rules(desk: Desk, console: Console, broken: Sequence[Broken]) -> BrokenRules | None:
    if not broken:
        return None
    from reflect_git.cli.broken import BrokenRules

    return BrokenRules(desk, console, broken)


def _list_first(
    front: Front, sat: Sitting, asked: Sequence[Asked], arrived: Sequence[Waiting], broken: Sequence[Broken]
) -> None:  # fmt: skip
    for line in differences.listed(sat.place, asked):
        front.tell(line)
    if arrived:
        from reflect_git.cli import arrivals

        for line in arrivals.listed(sat.place, arrived):
            front.tell(line)
    if broken:
        from reflect_git.cli.broken import listed

        for line in listed(broken):
            front.tell(printable(line))
    if asked or arrived or broken:
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


def _talk(
    front: Front, desk: Desk, console: Console, first: Differences, arrived: Sequence[Waiting], broken: Sequence[Broken]
) -> None:  # fmt: skip
    """Ask everything. ^C and ^D end it; what was answered is stored, and counted at the end."""
    dialogue, then = Dialogue(desk, console), _arrivals(desk, console, arrived)
    again = _broken_rules(desk, console, broken)
    _note_new_keys(front, desk.sitting)
    _announce(front, first.open, len(arrived), len(dialogue.deck.cards), len(broken))
    try:
        if first.run():  # a file may have become by it what was decided elsewhere
            then = _arrivals(desk, console, _arrived(desk.sitting))
        if then:
            then.run()
        if again:
            again.run()
        dialogue.wordings.begin(dialogue.deck)
        typed = _opening(front, desk, console)
        if typed in ("s", "n"):
            return
        if typed == "y":
            dialogue.run()
    except Ended:
        pass
    except KeyboardInterrupt:
        front.out()
        _farewell(front, desk, dialogue.deck, first, then, again)
        raise click.Abort from None
    _farewell(front, desk, dialogue.deck, first, then, again)


def _note_new_keys(front: Front, sat: Sitting) -> None:
    """Say once that the keys changed, where a person of this machine knows the old ones."""
    path, machine = sat.store.private_path("keys"), sat.store.machine
    if os.path.exists(path):
        return
    if any(
        made["machine"] == machine and made["by"]["road"] == "terminal" and made["kind"] in _ANSWERS
        for made in sat.scan.history.decisions
    ):
        front.tell(_NEW_KEYS)
    files.write_whole(path, b"2\n")


def _announce(front: Front, changes: int, arrived: int, proposed: int, broken: int) -> None:
    """Say how many questions come where there are several kinds: each kind is counted by itself."""
    kinds = _kinds(changes, arrived, proposed, broken)
    if len(kinds) > 1:
        front.tell(f"to answer: {', '.join(kinds)}")


def _kinds(changes: int, arrived: int, proposed: int, broken: int) -> list[str]:
    found = [f"{plural(changes, 'change')} of {'a rule' if changes == 1 else 'rules'}"] if changes else []
    found += [f"{plural(arrived, 'rule')} from your other machines"] if arrived else []
    found += [plural(broken, "broken rule")] if broken else []
    return found + ([plural(proposed, "proposed rule")] if proposed else [])


def _opening(front: Front, desk: Desk, console: Console) -> str:
    """Offer a list, and one answer to all, before ten or more. Returns the key."""
    gathered = desk.sitting.gathered
    everyone = [*gathered.strong, *gathered.more] if len(gathered.strong) + len(gathered.more) >= MANY else []
    question = f"{len(everyone)} proposed rules wait: go through them [{','.join(_FIRST_KEYS)}]? "
    while everyone:
        typed = console.key(question)
        if typed in ("y", "q") or (typed in ("s", "n") and _answer_all(front, desk, console, everyone, typed)):
            return typed
        if typed == "l":
            _summary(front, everyone)
        elif typed not in ("s", "n"):
            desk.explain(_FIRST_KEYS)
    return "y"


def _answer_all(front: Front, desk: Desk, console: Console, everyone: Sequence[Candidate], key: str) -> bool:
    """Skip everything that waits, or say no to it; False if the person thought better of it."""
    store = desk.sitting.store
    if key == "s":
        dismiss.not_now(store, everyone)
        front.tell(f"skipped {len(everyone)} for now: they come again")
        return True
    if not console.confirms(f"say no to all {len(everyone)}"):
        return False
    dismiss.dismiss_all(store, everyone, desk.person(everyone[0]))
    front.tell(f"no to {len(everyone)}: each is asked once more after three further sessions")
    front.tell("to take it back: reflect-git undo")
    return True


def _farewell(
    front: Front, desk: Desk, deck: Deck, first: Differences, then: Arrivals | None, again: BrokenRules | None
) -> None:  # fmt: skip
    """What was done, and what comes next."""
    front.out()
    answers = [*first.answers, *(then.answers if then else ()), *(again.answers if again else ())]
    if answers:
        front.tell(", ".join(f"{answers.count(said)} {said}" for said in dict.fromkeys(answers)))
    counts = [(deck.count(said), said) for said in (APPROVED, SKIPPED, NO, NEVER)]
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
    postponed = [answer.at for answer in deck.answers if answer.said == SKIPPED]
    left = len([at for at in (*deck.open(), *postponed) if deck.cards[at].id not in weak])
    arrived, broken = then.open if then else 0, again.open if again else 0
    if kinds := _kinds(first.open, arrived, left, broken):
        verb = "waits" if first.open + arrived + left + broken == 1 else "wait"
        front.tell(f"{', '.join(kinds)} {verb}: run 'reflect-git review' when you like")
    elif deck.count(APPROVED):
        front.tell("see what is in force with 'reflect-git rules'")
