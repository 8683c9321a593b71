"""The second part of a review: what was decided on own machines and is not in the files here yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.adapters.live import Changed
from reflect_git.cli import portrait
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.front import ago, one_line, printable
from reflect_git.cli.sittings import approver
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import effects, learnings_index, rivals
from reflect_git.sitting import waiting as arrived
from reflect_git.sitting.approve import target_of
from reflect_git.sitting.authority import Wish
from reflect_git.sitting.waiting import ADD, CHANGE, REMOVE, Waiting
from reflect_git.sitting.writing import shown

if TYPE_CHECKING:
    from reflect_git.apply.targets import Target
    from reflect_git.cli.desk import Desk
    from reflect_git.model.schema import By, Learning
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.rivals import Wording
    from reflect_git.sitting.writing import Step

TAKEN, GONE, DECLINED, CHOSEN = "taken over", "taken out", "not for this machine", "chosen"
_DID = {ADD: "approved", CHANGE: "changed", REMOVE: "taken back"}
_KEYS = {
    "y": "take it as shown: the file is changed, in one commit",
    "a": "take all of them over, after one question",
    "n": "no, not on this machine; the others keep it",
    "s": "skip for now: it comes again",
    "q": "quit: what is undecided waits",
    "?": "this help",
}


class Arrivals:
    def __init__(self, desk: Desk, console: Console, found: Sequence[Waiting]) -> None:
        self._desk = desk
        self._console = console
        self._found = list(found)
        self._skipped: set[str] = set()
        self.answers: list[str] = []

    @property
    def open(self) -> int:
        """How many are not in the files here yet."""
        return len(self._found)

    def run(self) -> None:
        """Until each was taken over or left for another time; `q` ends the whole review."""
        while left := [one for one in self._found if one.decision["id"] not in self._skipped]:
            total = len(self.answers) + len(self._found)
            number = f"{total - len(left) + 1} of {total}"
            place = f"({number.replace(' of ', '/')})"
            if left[0].wordings:
                self._show_wordings(left[0], number)
                self._ask_which(left[0], place)
            else:
                self._show(left[0], number)
                self._ask(left, place)

    def _show(self, one: Waiting, number: str) -> None:
        self._desk.say("", click.style(f"Rule {number} — {headline(one)}", bold=True), "")
        self._desk.say(*portrait.text_lines(one.learning["text"]), "")
        self._desk.say(*portrait.field("into" if one.kind == ADD else "in", self._where(target_of(one.learning))))
        self._desk.say(*portrait.field("rule", one.learning["id"]))
        for found in one.risks:
            self._desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
            self._desk.say(*([portrait.way(found.way_out, "red")] if found.code == "contradiction" else ()))
        if one.trouble:
            self._desk.say(*portrait.field("refused", one.trouble.message, "red"))
            self._desk.say(*([portrait.way(one.trouble.hint, "red")] if one.trouble.hint else ()))
        else:
            self._desk.say("")
            self._desk.show_change(one.diff)

    def _show_wordings(self, one: Waiting, number: str) -> None:
        self._desk.say("", click.style(f"Rule {number} — {headline(one)}", bold=True), "")
        self._desk.say(*portrait.field("in", self._where(target_of(one.learning))))
        self._desk.say(*portrait.field("rule", one.learning["id"]))
        for key, wording in enumerate(one.wordings, 1):
            made = wording.decision
            where = "here" if made["machine"] == self._desk.sitting.store.machine else f"on {made['machine']}"
            self._desk.say("", f"{key} - {where}, {ago(made['timestamp'])} ago", "")
            self._desk.say(*portrait.text_lines(wording.learning["text"]), "")
            for found in wording.findings:
                self._desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
            if wording.steps:
                self._desk.show_change(wording.diff)
            else:
                self._desk.say("the file here says so")

    def _ask_which(self, one: Waiting, place: str) -> None:
        """Until one of them holds, or it is left for another time."""
        numbers = {str(key): wording for key, wording in enumerate(one.wordings[:9], 1)}
        keys = [*numbers, "s", "q", "?"]
        while True:
            typed = self._console.key(f"{place} Which one holds [{','.join(keys)}]? ")
            if typed == "q":
                raise Ended
            if typed == "s":
                self._skipped.add(one.decision["id"])
                return
            if typed not in numbers:
                meanings = dict.fromkeys(numbers, "this one, on all your machines: an amendment, in one commit")
                self._help(keys, {**_KEYS, **meanings})
            elif not self._is_meant(numbers[typed].findings, numbers[typed].learning):
                self._desk.say("nothing was changed")
            elif self._is_chosen(one, numbers[typed]):
                return

    def _is_chosen(self, one: Waiting, wording: Wording) -> bool:
        """True if what is left has to be shown, as with what is taken over."""
        try:
            done = rivals.settle(self._desk.sitting, wording, self._by(wording.learning))
        except Changed as error:
            self._renew()
            self._say_changed(error, [one])
            return True
        except ReflectError as error:
            self._desk.say_error(error)
            return False
        self.answers.append(CHOSEN)
        self._desk.say(f"amended {one.learning['id']}, commit {done.commit[:10]}")
        self._note_changes(wording.steps)
        self._renew()
        return True

    def _where(self, target: Target) -> str:
        return where(self._desk.sitting.place, target)

    def _ask(self, left: Sequence[Waiting], place: str) -> None:
        """Until there is an answer, or it has to be shown anew."""
        able = [one for one in left if one.trouble is None]
        harmless = [one for one in able if not one.risks]
        out = {key for key, offered in (("y", left[0] in able), ("a", len(harmless) > 1), ("n", left[0].kind == ADD))
               if not offered}  # fmt: skip
        keys = [key for key in _KEYS if key not in out]
        while True:
            asked = "out" if left[0].kind == REMOVE else "over"
            typed = self._console.key(f"{place} Take it {asked} [{','.join(keys)}]? ")
            if typed == "q":
                raise Ended
            if typed not in keys or typed == "?":
                self._help(keys)
            elif typed == "s":
                self._skipped.add(left[0].decision["id"])
                return
            elif typed == "n":
                if self._is_declined(left[0]):
                    return
            elif typed == "y" and not self._is_meant(left[0].risks, left[0].learning):
                self._desk.say("nothing was changed")
            elif self._is_taken([left[0]] if typed == "y" else harmless):
                return

    def _is_declined(self, one: Waiting) -> bool:
        try:
            decision, _ = arrived.decline(self._desk.sitting, one, self._by(one.learning))
        except ReflectError as error:  # the store is busy, say: the question stays, and so does the review
            self._desk.say_error(error)
            return False
        self._desk.say(f"not on this machine: {decision}")
        self.answers.append(DECLINED)
        self._renew()
        return True

    def _renew(self) -> None:
        self._desk.renew()
        learnings_index.write(self._desk.sitting.store, self._desk.sitting.scan)
        self._found = arrived.waiting(self._desk.sitting)

    def _is_meant(self, risks: Sequence[Finding], learning: Learning) -> bool:
        """Have the rule's first word typed if there is a risk."""
        return not risks or self._console.types_first_word(learning["text"], "take it over all the same")

    def _is_taken(self, chosen: Sequence[Waiting]) -> bool:
        """True if what is left has to be shown: taken over, or not any more what it was."""
        if len(chosen) > 1 and not self._is_sure(chosen):
            return False
        try:
            done = arrived.take(self._desk.sitting, chosen, self._by(chosen[0].learning))
        except Changed as error:
            self._renew()
            self._say_changed(error, chosen)
            return True
        except ReflectError as error:
            self._desk.say_error(error)
            return False
        else:
            self.answers += [GONE if one.kind == REMOVE else TAKEN for one in chosen]
            self._desk.say(f"{_told(chosen)}, commit {done.commit[:10]}")
            self._note_changes([step for one in chosen for step in one.steps])
        self._renew()
        return True

    def _note_changes(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if not step.plan.target.is_global:
                self._desk.note_change(step.plan.path)

    def _say_changed(self, error: Changed, chosen: Sequence[Waiting]) -> None:
        """The plan that was shown does not fit any more: another one is made, and shown; or there is no need of any."""
        left = {one.decision["id"] for one in self._found}
        is_left = any(one.decision["id"] in left for one in chosen)
        then = "here is what would change now" if is_left else "it says that already, and nothing is left to do"
        self._desk.say(printable(f"{error.message}: {then}"))

    def _is_sure(self, chosen: Sequence[Waiting]) -> bool:
        """The total of each file, and one question."""
        for step in effects.of(self._desk.sitting.place, [one.shift for one in chosen]).steps:
            self._desk.say("", *portrait.field("into", self._where(step.plan.target)), "")
            self._desk.show_change(shown(self._desk.sitting.place, [step.plan]))
        return self._console.confirms(f"take over {plural(len(chosen), 'rule')}")

    def _by(self, learning: Learning) -> By:
        wish = Wish(learning["id"], learning["text"], learning["target"]["kind"])
        return approver(self._desk.front, self._desk.sitting, wish)[0]

    def _help(self, keys: Sequence[str], meanings: Mapping[str, str] = _KEYS) -> None:
        self._desk.explain({key: meanings[key] for key in keys})


def _told(chosen: Sequence[Waiting]) -> str:
    what = chosen[0].learning["id"] if len(chosen) == 1 else plural(len(chosen), "rule")
    return f"took {what} out" if all(one.kind == REMOVE for one in chosen) else f"took over {what}"


def headline(one: Waiting) -> str:
    if one.wordings:
        return f"reworded on {plural(len(one.wordings), 'machine')}, which did not know of each other"
    where = "here" if one.own else f"on {one.decision['machine']}"
    return f"{_DID[one.kind]} {where}, {ago(one.decision['timestamp'])} ago"


def where(place: Place, target: Target) -> str:
    """As a person names it: the file of the project and that of all projects have one name."""
    return place.label(place.named(target))


def listed(place: Place, found: Sequence[Waiting]) -> Iterator[str]:
    """Two lines each, for where nobody can be asked."""
    room = portrait.width()
    for number, one in enumerate(found, 1):
        head = f"{headline(one)} → {where(place, target_of(one.learning))}"
        yield f"{number:>3}  {one_line(head, room - 5)}"
        yield f"     {one_line(printable(one.learning['text']), room - 5)}"
