"""The first part of a review, one after the other: rules that differ from their files, what Claude wrote by itself, and
what the person's own git took out of the store.

What Claude did comes first. Nothing is written until the person answers, and each answer is stored at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.adapters.live import Changed
from reflect_git.apply.diff import diff
from reflect_git.cli import portrait
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.front import ago, one_line, printable
from reflect_git.cli.removals import RemovalCard
from reflect_git.cli.removals import headline as removal_headline
from reflect_git.cli.sittings import approver
from reflect_git.errors import ReflectError
from reflect_git.sitting import drift, passages, removals, settle
from reflect_git.sitting.authority import Wish
from reflect_git.sitting.authors import CLAUDE
from reflect_git.sitting.drift import Difference, Drift
from reflect_git.sitting.passages import Passage
from reflect_git.sitting.removals import Removal
from reflect_git.sitting.writing import require_unrefused

if TYPE_CHECKING:
    from reflect_git.apply.plan import Plan
    from reflect_git.cli.desk import Desk
    from reflect_git.model.schema import By
    from reflect_git.sitting.amend import Amendment
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting

    Asked = Difference | Passage | Removal

PUT_BACK, FOR_GOOD, LEFT = "put back", "for good", "left as it is"
_LONGEST = 20
_KEYS = {
    "b": "put it back as shown: the file is changed, in one commit",
    "g": "make it so for good: {}",
    "l": "leave it so in this work tree: not asked again unless it changes",
    "n": "not now: it comes again",
    "q": "quit: what is undecided waits",
    "?": "this help",
}
_OUTCOME = {"missing": "the rule is taken back", "different": "the rule reads so from now on"}
_QUESTIONS = {drift.RETURNED: "Take it out"}
_DID = {
    (CLAUDE, "missing"): "Claude removed this rule",
    (CLAUDE, "different"): "Claude changed this rule",
    (CLAUDE, drift.RETURNED): "Claude brought this rule back",
    ("you", "missing"): "you removed this rule",
    ("you", "different"): "you changed this rule",
    ("you", drift.RETURNED): "you brought this rule back",
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

    def run(self) -> None:
        """Until each was answered or left for another time; `q` ends the whole review."""
        while left := self._left():
            one, number = left[0], f"{len(self._seen) + 1} of {len(self._seen) + len(left)}"
            card = _card(self._desk, one)
            self._desk.say("", click.style(f"Change {number} — {card.headline}", bold=True), "")
            card.show()
            self._ask(card, one.mark, f"({number.replace(' of ', '/')})")

    def _left(self) -> list[Asked]:
        return [one for one in self._asked if one.mark not in self._seen]

    def _ask(self, card: RuleCard | PassageCard | RemovalCard, mark: str, place: str) -> None:
        """Until there is an answer, or it has to be shown anew."""
        while True:
            keys = [key for key in _KEYS if key not in "bg" or key in card.able]
            typed = self._console.key(f"{place} {card.question} [{','.join(keys)}]? ")
            if typed == "q":
                raise Ended
            if typed == "n":
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
        for key in keys:
            meaning = card.meanings.get(key) or _KEYS[key].format(card.outcome)
            self._desk.say(click.style(f"{key} - {meaning}", fg="red", bold=True))


def _card(desk: Desk, one: Asked) -> RuleCard | PassageCard | RemovalCard:
    if isinstance(one, Removal):
        return RemovalCard(desk, one)
    return RuleCard(desk, one) if isinstance(one, Difference) else PassageCard(desk, one)


class RuleCard:
    """A rule that differs from its file. `able`: which of the keys that write something can do so."""

    meanings: Mapping[str, str] = {}

    def __init__(self, desk: Desk, one: Difference) -> None:
        self._desk, self._one = desk, one
        self._plan, self._trouble = self._planned()
        self.headline = _headline(one)
        self.question = _QUESTIONS.get(one.found.kind) or ("Take it back" if one.author == CLAUDE else "Put it back")
        self.outcome = _OUTCOME.get(one.found.kind, "")
        self.able = ("b" if self._plan else "") + ("g" if settle.may_be_for_good(one) else "")

    def _planned(self) -> tuple[Plan | None, ReflectError | None]:
        try:
            return settle.put_back(self._desk.sitting, self._one), None
        except ReflectError as error:
            return None, error

    def show(self) -> None:
        one, found = self._one, self._one.found
        self._desk.say(*_texts(found.approved or one.learning["text"]), "")
        if found.live and found.kind == "different":
            self._desk.say(*(line for part in found.live.splitlines() for line in portrait.field("now reads", part)))
        path = self._desk.sitting.place.label(one.page.path)
        where = f"{path}, line {found.line}" if found.line else path
        self._desk.say(*portrait.field("in" if found.line else "gone from", where))
        self._desk.say(*portrait.field("rule", one.learning["id"]))
        if self._trouble:
            self._desk.say(*portrait.field("refused", self._trouble.message, "red"))
            self._desk.say(*(portrait.field("", f"→ {self._trouble.hint}", "red") if self._trouble.hint else ()))
        if self._plan:
            self._desk.say("")
            self._desk.show_change(diff(self._plan))

    def answer(self, key: str, console: Console) -> str:
        if key == "l":
            drift.leave(self._desk.sitting.store, self._one.mark)
            self._desk.say("left as it is in this work tree")
            return LEFT
        self._desk.renew()
        return self._put_back() if key == "b" else self._for_good(console)

    def _put_back(self) -> str:
        if self._plan is None:
            return ""
        done = settle.carry_back(self._desk.sitting, self._one, self._plan, self._by())
        self._settled(f"put {done.learning} back into '{printable(done.target)}'", done.target)
        return PUT_BACK

    def _for_good(self, console: Console) -> str:
        sitting, one = self._desk.sitting, self._one
        if one.found.kind == "missing":
            settle.withdraw(sitting, one, self._by())
            self._settled(f"took {one.learning['id']} back for good")
            return FOR_GOOD
        amendment = settle.for_good(sitting, one)
        require_unrefused(amendment.findings)
        if not self._is_sure(amendment, console):
            self._desk.say("nothing was changed")
            return ""
        done = settle.carry_on(sitting, one, amendment, self._by())
        self._settled(f"{one.learning['id']} reads so from now on", done.target)
        return FOR_GOOD

    def _is_sure(self, amendment: Amendment, console: Console) -> bool:
        """A risk takes a typed yes; a change of the file is shown before it is answered."""
        for found in amendment.findings:
            if found.kind == "mended":
                self._desk.say(*portrait.finding_lines(found, ""))
        if amendment.diff:
            self._desk.show_change(amendment.diff)
            if console.line("the file is changed so [y,n]? ") != "y":
                return False
        risks = [found for found in amendment.findings if found.kind == "risk"]
        for found in risks:
            self._desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
        return not risks or console.line("type 'yes' to keep it all the same: ") == "yes"

    def _by(self) -> By:
        learning = self._one.learning
        wish = Wish(learning["id"], learning["text"], learning["target"]["kind"])
        return approver(self._desk.front, self._desk.sitting, wish)[0]

    def _settled(self, said: str, changed: str = "") -> None:
        self._desk.settled(said, "" if self._one.page.target.is_global else changed)


class PassageCard:
    """Lines that Claude wrote by itself."""

    outcome = ""
    meanings: Mapping[str, str] = {}

    def __init__(self, desk: Desk, passage: Passage) -> None:
        self._desk, self._passage = desk, passage
        self.headline = _headline(passage)
        self.able = "b" if passage.plan else ""
        self.question = "Take it back" if passage.plan else "Leave it"

    def show(self) -> None:
        passage = self._passage
        for line in passage.lines[:_LONGEST]:
            self._desk.say(*_texts(line))
        if len(passage.lines) > _LONGEST:
            self._desk.say(f"    … and {portrait.plural(len(passage.lines) - _LONGEST, 'more line')}")
        self._desk.say("", *portrait.field("in", self._desk.sitting.place.label(passage.page.path)))
        if passage.call.prompt:
            self._desk.say(*portrait.field("you typed", f'"{_brief(passage.call.prompt)}"'))
        if passage.plan:
            self._desk.say("")
            self._desk.show_change(diff(passage.plan))
        else:
            self._desk.say(*portrait.field("note", "it was changed since, so it cannot be taken back exactly: edit it"))

    def answer(self, key: str, console: Console) -> str:
        if key == "l":
            drift.leave(self._desk.sitting.store, self._passage.mark)
            self._desk.say("left as it is in this work tree")
            return LEFT
        self._desk.renew()
        target = self._passage.page.target
        wish = Wish(target.path, "\n".join(self._passage.lines), target.kind)
        by, _ = approver(self._desk.front, self._desk.sitting, wish)
        done = settle.take_back(self._desk.sitting, self._passage, by)
        changed = "" if target.is_global else done.target
        self._desk.settled(f"took it out of '{printable(done.target)}'", changed)
        return PUT_BACK


def listed(place: Place, asked: Sequence[Asked]) -> Iterator[str]:
    """Two lines each, for where nobody can be asked."""
    room = portrait.width()
    for number, one in enumerate(asked, 1):
        yield f"{number:>3}  {one_line(_headline(one), room - 5)}"
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
    if found.elsewhere:
        count = len(found.elsewhere)
        files = ", ".join(dict.fromkeys(place.label(one.page.path) for one in found.elsewhere))
        verb = "is" if count == 1 else "are"
        yield printable(f"{portrait.plural(count, 'rule')} {verb} not on this branch ({files}); nothing to do")
    if found.foreign:
        entries = "1 entry is" if found.foreign == 1 else f"{found.foreign} entries are"
        yield f"{entries} not of this store: left alone"


def _headline(one: Asked) -> str:
    if isinstance(one, Removal):
        return removal_headline(one)
    call = one.call
    did = "Claude wrote this by itself" if isinstance(one, Passage) else _DID[one.author, one.found.kind]
    return f"{did} in session {call.session[:8]}, {ago(call.timestamp)} ago" if call else did


def _texts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from portrait.text_lines(line)


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:199]}…"
