"""Run `reflect-git review`: show signals and changes one by one, each answered with a key."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import PIPED, Front, columns, one_line, printable
from reflect_git.cli.options import json_option, project_option
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console, Ended
from reflect_git.cli.review import drift
from reflect_git.cli.review.drift import Differences
from reflect_git.cli.review.loop import Dialogue
from reflect_git.cli.review.screen import APPROVED, NEVER, NO, SKIPPED, Deck, Desk
from reflect_git.cli.review_setup import here, open_queue_if_any, say_nothing, say_nothing_yet
from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.records.ids import plural
from reflect_git.rules import approver, dismiss, project_commits
from reflect_git.rules.queue import all_tried, load_queue
from reflect_git.rules.recurring import find_broken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.candidates.gather import Candidate, Gathered
    from reflect_git.cli.review.arrivals import Arrivals
    from reflect_git.cli.review.broken_rules import BrokenRules
    from reflect_git.cli.review.drift import Asked
    from reflect_git.rules.arrivals import Waiting
    from reflect_git.rules.context import Context
    from reflect_git.rules.queue import Queue
    from reflect_git.rules.recurring import Broken

MANY = 10
_FIRST_KEYS = {
    "Enter": "start",
    "l": "list them; answer several at once",
    "a": "skip all; ask again in the next review",
    "n": "dismiss all in one commit; each may return after 3 sessions",
    "q": "quit; keep all for later",
    "?": "this help",
}
_NEW_KEYS = "the keys changed: n dismiss, s skip, v show the signals, ? list all"
_ANSWERS = ("approved", "dismissed", "never", "amended", "applied", "reverted")


@click.command()
@project_option
@click.option("--all", "everything", is_flag=True, help="Review all projects.")
@json_option
@click.pass_obj
def review_command(front: Front, project: str | None, everything: bool) -> None:
    """Review proposed rules one by one, as with 'git add -p'.

    Changed rules come first: rules that differ from their files, lines that Claude added by itself, and rules that your
    own git commits removed. Rules from your other machines come next. Each question shows the exact change. Every
    answer is one key and is saved at once; press ? for the keys. If git's 'interactive.singleKey' is false, press Enter
    after each key.
    """
    if not front.json and front.at_terminal:
        _freshen(front)
    queue = open_queue_if_any(front, project, everything, writes=not front.json and front.at_terminal)
    if queue is None:
        say_nothing_yet(front)
        return
    if approver.is_inside_client(front.env):
        raise ReflectError(
            "review needs a person at a terminal",
            "run 'reflect-git review' in a terminal; with the plugin, type /reflect here",
            code="approval",
        )  # fmt: skip
    broken = find_broken(queue)
    if front.json:
        gathered = queue.gathered
        shown = all_tried(queue, gathered.strong)
        listed = [each.as_json() for each in chain(shown, gathered.more, gathered.weak)]
        front.data(listed, broken=[one.as_json() for one in broken])
        return
    found, asked = drift.look(queue)
    arrived = _arrived(queue)
    for line in drift.notes(queue.place, found):
        front.tell(line)
    if front.no_input or not front.at_terminal:
        _list_first(front, queue, asked, arrived, broken)
        if not (broken and queue.gathered.message):
            _list(front, queue.gathered)
        _say_elsewhere(front, queue)
    elif queue.gathered.message and not (asked or arrived or broken):
        say_nothing(front, queue.gathered.message)
        _say_elsewhere(front, queue)
    else:
        console = Console(front, queue.store.git.user_settings())
        desk = Desk(front, queue, console.setting("interactive.difffilter"))
        _talk(front, desk, console, Differences(desk, console, asked), arrived, broken)


def _freshen(front: Front) -> None:
    """Sync first if automatic sync is on."""
    store = front.store_if_any()
    if store is not None and store.switched("reflect.sync.auto", False):
        from reflect_git.cli import sync_view  # few have it

        sync_view.freshen(front, store)


def _arrived(ctx: Context) -> list[Waiting]:
    """Return decisions of other machines that this one has not applied.

    Usually there are none, and no module is loaded.
    """
    machine = ctx.store.machine
    if all(made["machine"] == machine and not made["meta"].get("waits") for made in ctx.scan.history.decisions):
        return []
    from reflect_git.rules.arrivals import waiting

    return waiting(ctx)


def _arrivals(desk: Desk, console: Console, arrived: Sequence[Waiting]) -> Arrivals | None:
    if not arrived:
        return None
    from reflect_git.cli.review.arrivals import Arrivals

    return Arrivals(desk, console, arrived)


def _broken_rules(desk: Desk, console: Console, broken: Sequence[Broken]) -> BrokenRules | None:
    if not broken:
        return None
    from reflect_git.cli.review.broken_rules import BrokenRules

    return BrokenRules(desk, console, broken)


def _list_first(
    front: Front, ctx: Context, asked: Sequence[Asked], arrived: Sequence[Waiting], broken: Sequence[Broken]
) -> None:  # fmt: skip
    for line in drift.listed(ctx.place, asked):
        front.tell(line)
    if arrived:
        from reflect_git.cli.review import arrivals

        for line in arrivals.listed(ctx.place, arrived):
            front.tell(line)
    if broken:
        from reflect_git.cli.review.broken_rules import listed

        for line in listed(broken):
            front.tell(printable(line))
    if asked or arrived or broken:
        front.talk("answer these in a terminal: reflect-git review")


def _list(front: Front, gathered: Gathered) -> None:
    """List everything to review, and where a person can answer it, if nobody can be asked now."""
    if gathered.message:
        say_nothing(front, gathered.message)
        return
    _summary(front, list(gathered.strong))
    for line in _waiting(gathered):
        front.tell(line)
    no_one = "no terminal: run 'reflect-git review' in one, or /reflect in Claude Code"
    front.talk(PIPED if front.is_piped and not front.no_input else no_one)
    front.talk("for scripts: 'reflect-git candidates', 'approve' and 'dismiss'")


def _say_elsewhere(front: Front, queue: Queue) -> None:
    """Mention signals of other projects if this folder has none or is in no project."""
    if not queue.gathered.message or not queue.place.keys:
        return
    found = load_queue(queue, everything=True).gathered
    count = len(found.strong) + len(found.more)
    if count:
        front.tell(f"{plural(count, 'proposed rule')} in other projects: reflect-git review --all")


def _summary(front: Front, shown: list[Candidate]) -> None:
    room = candidate_view.width()
    for number, each in enumerate(shown, 1):
        head = f"{number:>3}  {each.id}  {each.type.replace('_', ' ')} → {each.target}"
        front.out(one_line(head, room) if columns(head) > room else head)
        front.out(f"     {one_line(candidate_view.brief(each), room - 5)}")


def _waiting(gathered: Gathered) -> list[str]:
    found = [f"{len(gathered.more)} more after these"] if gathered.more else []
    found += [f"{plural(len(gathered.weak), 'unlikely one')}"] if gathered.weak else []
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
        typed = _opening(front, dialogue)
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


def _note_new_keys(front: Front, ctx: Context) -> None:
    """Say once that the keys changed, where a person of this machine knows the old ones."""
    path, machine = ctx.store.private_path("keys"), ctx.store.machine
    if os.path.exists(path):
        return
    if any(
        made["machine"] == machine and made["by"]["road"] == "terminal" and made["kind"] in _ANSWERS
        for made in ctx.scan.history.decisions
    ):
        front.tell(_NEW_KEYS)
    files.write_whole(path, b"2\n")


def _announce(front: Front, changes: int, arrived: int, proposed: int, broken: int) -> None:
    """Say how many questions come where there are several kinds: each kind is counted by itself."""
    kinds = _kinds(changes, arrived, proposed, broken)
    if len(kinds) > 1:
        front.tell(f"to review: {', '.join(kinds)}")


def _kinds(changes: int, arrived: int, proposed: int, broken: int) -> list[str]:
    found = [plural(changes, "changed rule")] if changes else []
    found += [f"{plural(arrived, 'rule')} from your other machines"] if arrived else []
    found += [plural(broken, "broken rule")] if broken else []
    return found + ([plural(proposed, "proposed rule")] if proposed else [])


def _opening(front: Front, dialogue: Dialogue) -> str:
    """Offer the list, and one answer to all, before ten or more. Returns the key; "y" after answers in the list."""
    desk, console = dialogue.desk, dialogue.console
    gathered = desk.sitting.gathered
    everyone = [*gathered.strong, *gathered.more] if len(gathered.strong) + len(gathered.more) >= MANY else []
    question = f"{len(everyone)} to review: Enter start, l list, a skip all, q quit, ? help: "
    while everyone:
        typed = console.key(question)
        typed = {"": "y", "a": "s"}.get(typed, typed)
        if typed in ("y", "q") or (typed in ("s", "n") and _answer_all(front, desk, console, everyone, typed)):
            return typed
        if typed == "l":
            if dialogue.choose():
                return "y"
        elif typed not in ("s", "n"):
            desk.explain(_FIRST_KEYS)
    return "y"


def _answer_all(front: Front, desk: Desk, console: Console, everyone: Sequence[Candidate], key: str) -> bool:
    """Skip everything that waits, or say no to it; False if the person thought better of it."""
    store = desk.sitting.store
    if key == "s":
        dismiss.not_now(store, everyone)
        front.tell(f"skipped {len(everyone)}; asked again in the next review")
        return True
    if not console.confirms(f"dismiss all {len(everyone)}"):
        return False
    dismiss.dismiss_all(store, everyone, desk.person(everyone[0]))
    front.tell(f"dismissed {len(everyone)}; each may return after 3 sessions")
    front.tell("undo with: reflect-git undo")
    return True


def _farewell(
    front: Front, desk: Desk, deck: Deck, first: Differences, then: Arrivals | None, again: BrokenRules | None
) -> None:  # fmt: skip
    """Print the totals and the next steps."""
    front.out()
    answers = [*first.answers, *(then.answers if then else ()), *(again.answers if again else ())]
    if answers:
        front.tell(", ".join(f"{answers.count(said)} {said}" for said in dict.fromkeys(answers)))
    counts = [(deck.count(said), said) for said in (APPROVED, SKIPPED, NO, NEVER)]
    counts.append((len(deck.open()), "undecided"))
    if deck.answers:
        front.tell(", ".join(f"{count} {said}" for count, said in counts if count))
    for path in desk.changed:
        told = project_commits.advice(desk.sitting, path, front.env, here())
        if told:
            front.tell(printable(told))
    # Ignoring a change or keeping a rule is not a decision that 'undo' could take back.
    if any(said not in (drift.LEFT, drift.KEPT) for said in answers) or any(map(deck.count, (APPROVED, NO, NEVER))):
        front.tell("undo the last answer with: reflect-git undo")
    weak = {each.id for each in desk.sitting.gathered.weak}  # they go by themselves, seen or not
    postponed = [answer.at for answer in deck.answers if answer.said == SKIPPED]
    left = len([at for at in (*deck.open(), *postponed) if deck.cards[at].id not in weak])
    arrived, broken = then.open if then else 0, again.open if again else 0
    if kinds := _kinds(first.open, arrived, left, broken):
        front.tell(f"left for later: {', '.join(kinds)}; continue with: reflect-git review")
    elif deck.count(APPROVED):
        front.tell("list all rules with: reflect-git rules")
