"""The first part of a review, one after the other: rules that differ from their files, what Claude wrote by itself, and
what the person's own git took out of the store.

What Claude did comes first. Nothing is written until the person answers, and each answer is stored at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.adapters.live import Changed
from reflect_git.cli import portrait
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.front import ago, one_line, printable
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import drift, passages, removals
from reflect_git.sitting.authors import CLAUDE
from reflect_git.sitting.drift import Difference, Drift
from reflect_git.sitting.passages import Passage
from reflect_git.sitting.removals import Removal

if TYPE_CHECKING:
    from reflect_git.cli.cards import PassageCard, RuleCard
    from reflect_git.cli.desk import Desk
    from reflect_git.cli.removals import RemovalCard
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting

    Asked = Difference | Passage | Removal

_KEYS = {
    "b": "put it back as shown: the file is changed, in one commit",
    "f": "keep the file's wording: the rule is amended, in one commit",
    "x": "retire the rule: it is reverted, in one commit",
    "i": "ignore it in this work tree: not asked again unless it changes",
    "s": "skip for now: it comes again",
    "q": "quit: what is undecided waits",
    "?": "this help",
}
_WRITE = "bfx"  # offered only where the card is able to
_DID = {
    (CLAUDE, "missing"): "Claude removed this rule",
    (CLAUDE, "different"): "Claude changed this rule",
    (CLAUDE, drift.RETURNED): "Claude brought this rule back",
    ("you", "missing"): "you removed this rule",
    ("you", "different"): "you changed this rule",
    ("you", drift.RETURNED): "you brought this rule back",
}
# One, several: what the project's own git has so is no question.
_ON_BRANCH = {
    "missing": ("is not", "are not"),
    "different": ("reads otherwise", "read otherwise"),
    drift.RETURNED: ("that is not in force here stands", "that are not in force here stand"),
}


def look(sitting: Sitting) -> tuple[Drift, list[Asked]]:
    """What differs here, and what of it is asked, in this order: what Claude did, then the rest."""
    store, env, place = sitting.store, sitting.env, sitting.place
    found = drift.look(store, env, place, sitting.scan.history)
    written = passages.look(store, env, place, found.pages, drift.left(store), drift.SECONDS)
    by_claude = [one for one in found.asked if one.author == CLAUDE]
    rest = [one for one in found.asked if one.author != CLAUDE]
    return found, [*by_claude, *written, *rest, *removals.look(store, sitting.scan.history)]


class Differences:
    def __init__(self, desk: Desk, console: Console, asked: Sequence[Asked]) -> None:
        self._desk = desk
        self._console = console
        self._asked = list(asked)
        self._seen: set[str] = set()
        self.answers: list[str] = []

    @property
    def open(self) -> int:
        """How many have no answer yet."""
        skipped = len(self._seen) - len(self.answers)
        return skipped + len(self._left())

    def run(self) -> bool:
        """Until each was answered or left for another time; `q` ends the whole review. True if anything was asked."""
        while left := self._left():
            one, number = left[0], f"{len(self._seen) + 1} of {len(self._seen) + len(left)}"
            card = _card(self._desk, one)
            self._desk.say("", click.style(f"Change {number} — {card.headline}", bold=True), "")
            card.show()
            self._ask(card, one.mark, f"({number.replace(' of ', '/')})")
        return bool(self._seen)

    def _left(self) -> list[Asked]:
        return [one for one in self._asked if one.mark not in self._seen]

    def _ask(self, card: RuleCard | PassageCard | RemovalCard, mark: str, place: str) -> None:
        """Until there is an answer, or it has to be shown anew."""
        while True:
            keys = [key for key in _KEYS if key not in _WRITE or key in card.able]
            typed = self._console.key(f"{place} {card.question} [{','.join(keys)}]? ")
            if typed == "q":
                raise Ended
            if typed == "s":
                self._seen.add(mark)
                return
            if typed not in keys or typed == "?":
                self._help(card, keys)
            elif self._is_answered(card, mark, typed):
                return

    def _is_answered(self, card: RuleCard | PassageCard | RemovalCard, mark: str, key: str) -> bool:
        """Every change of a file makes the others be looked at anew: each is shown as it would be written."""
        try:
            said = card.answer(key, self._console)
        except Changed as error:
            self._desk.say_error(error)
            self._look_again()
            return True
        except ReflectError as error:
            self._desk.say_error(error)
            return False
        if said:
            self._seen.add(mark)
            self.answers.append(said)
            self._look_again()
        return bool(said)

    def _look_again(self) -> None:
        self._desk.renew()
        self._asked = look(self._desk.sitting)[1]

    def _help(self, card: RuleCard | PassageCard | RemovalCard, keys: Sequence[str]) -> None:
        self._desk.explain({key: card.meanings.get(key) or _KEYS[key] for key in keys})


def _card(desk: Desk, one: Asked) -> RuleCard | PassageCard | RemovalCard:
    """Loaded with the first: most of the time nothing differs."""
    if isinstance(one, Removal):
        from reflect_git.cli.removals import RemovalCard

        return RemovalCard(desk, one)
    from reflect_git.cli.cards import PassageCard, RuleCard

    return RuleCard(desk, one) if isinstance(one, Difference) else PassageCard(desk, one)


def listed(place: Place, asked: Sequence[Asked]) -> Iterator[str]:
    """Two lines each, for where nobody can be asked."""
    room = portrait.width()
    for number, one in enumerate(asked, 1):
        yield f"{number:>3}  {one_line(headline(one), room - 5)}"
        yield f"     {one_line(_what(place, one), room - 5)}"


def _what(place: Place, one: Asked) -> str:
    if isinstance(one, Removal):
        return ", ".join(map(removals.name_of, one.decisions))
    text = "\n".join(one.lines) if isinstance(one, Passage) else one.learning["text"]
    return f"{place.label(one.page.path)}: {text}"


def notes(place: Place, found: Drift) -> Iterator[str]:
    """What is as it should be, or cannot be asked."""
    for trouble in found.troubles:
        yield click.style(printable(trouble), fg="yellow")
    for kind, words in _ON_BRANCH.items():
        ones = [one for one in found.elsewhere if one.found.kind == kind]
        files = ", ".join(dict.fromkeys(place.label(one.page.path) for one in ones))
        if ones:
            told = f"{plural(len(ones), 'rule')} {words[len(ones) != 1]} on this branch"
            yield printable(f"{told} ({files}); nothing to do")
    if found.foreign:
        entries = "1 entry is" if found.foreign == 1 else f"{found.foreign} entries are"
        yield f"{entries} not of this store: left alone"


def headline(one: Asked) -> str:
    if isinstance(one, Removal):
        from reflect_git.cli.removals import headline as of_removal

        return of_removal(one)
    call = one.call
    did = "Claude wrote this by itself" if isinstance(one, Passage) else _DID[one.author, one.found.kind]
    return f"{did} in session {call.session[:8]}, {ago(call.timestamp)} ago" if call else did
