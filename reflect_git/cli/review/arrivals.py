"""The second part of a review: what was decided on own machines and is not in the files here yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import ago, one_line, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console, Ended
from reflect_git.cli.review_setup import find_approver
from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import Changed
from reflect_git.records.ids import plural
from reflect_git.rules import arrivals, file_changes, learnings_index
from reflect_git.rules import arrivals as arrived
from reflect_git.rules.approve import target_of
from reflect_git.rules.approver import Wish
from reflect_git.rules.arrivals import ADD, CHANGE, REMOVE, Waiting
from reflect_git.rules.write_change import shown

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.cli.review.screen import Desk
    from reflect_git.records.schema import By, Learning
    from reflect_git.rules.arrivals import Wording
    from reflect_git.rules.project_files import Place
    from reflect_git.rules.write_change import Step
    from reflect_git.targets.targets import Target

TAKEN, GONE, DECLINED, CHOSEN = "applied here", "removed here", "declined here", "chosen"
_DID = {ADD: "approved", CHANGE: "changed", REMOVE: "reverted"}
_KEYS = {
    "y": "change the file as shown, in one commit",
    "a": "apply all of them, after one question",
    "n": "not on this machine; the others keep it",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
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
        """Count the decisions that are not in the files here yet."""
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
        self._desk.say(*candidate_view.text_lines(one.learning["text"]), "")
        self._desk.say(*candidate_view.field("into" if one.kind == ADD else "in", self._where(target_of(one.learning))))
        self._desk.say(*candidate_view.field("rule", one.learning["id"]))
        for found in one.risks:
            self._desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
            self._desk.say(*([candidate_view.way(found.way_out, "red")] if found.code == "contradiction" else ()))
        if one.trouble:
            self._desk.say(*candidate_view.field("refused", one.trouble.message, "red"))
            self._desk.say(*([candidate_view.way(one.trouble.hint, "red")] if one.trouble.hint else ()))
        else:
            self._desk.say("")
            self._desk.show_change(one.diff)

    def _show_wordings(self, one: Waiting, number: str) -> None:
        self._desk.say("", click.style(f"Rule {number} — {headline(one)}", bold=True), "")
        self._desk.say(*candidate_view.field("in", self._where(target_of(one.learning))))
        self._desk.say(*candidate_view.field("rule", one.learning["id"]))
        for key, wording in enumerate(one.wordings, 1):
            made = wording.decision
            where = "here" if made["machine"] == self._desk.sitting.store.machine else f"on {made['machine']}"
            self._desk.say("", f"{key}  {where}, {ago(made['timestamp'])} ago", "")
            self._desk.say(*candidate_view.text_lines(wording.learning["text"]), "")
            for found in wording.findings:
                self._desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
            if wording.steps:
                self._desk.show_change(wording.diff)
            else:
                self._desk.say("the file here has this wording")

    def _ask_which(self, one: Waiting, place: str) -> None:
        """Until one of them holds, or it is left for another time."""
        numbers = {str(key): wording for key, wording in enumerate(one.wordings[:9], 1)}
        keys = [*numbers, "s", "q", "?"]
        while True:
            typed = self._console.key(f"{place} Which wording [{','.join(keys)}]? ")
            if typed == "q":
                raise Ended
            if typed == "s":
                self._skipped.add(one.decision["id"])
                return
            if typed not in numbers:
                meanings = dict.fromkeys(numbers, "use this wording on all your machines, in one commit")
                self._help(keys, {**_KEYS, **meanings})
            elif not self._is_meant(numbers[typed].findings, numbers[typed].learning):
                self._desk.say("nothing was changed")
            elif self._is_chosen(one, numbers[typed]):
                return

    def _is_chosen(self, one: Waiting, wording: Wording) -> bool:
        """Apply the chosen wording. Return True if the remaining ones have to be shown again."""
        try:
            done = arrivals.settle(self._desk.sitting, wording, self._by(wording.learning))
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
        """Ask until there is an answer, or until the change has to be shown again."""
        able = [one for one in left if one.trouble is None]
        harmless = [one for one in able if not one.risks]
        out = {key for key, offered in (("y", left[0] in able), ("a", len(harmless) > 1), ("n", left[0].kind == ADD))
               if not offered}  # fmt: skip
        keys = [key for key in _KEYS if key not in out]
        while True:
            asked = "Remove" if left[0].kind == REMOVE else "Apply"
            typed = self._console.key(f"{place} {asked} it here [{','.join(keys)}]? ")
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
        self._desk.say(f"declined on this machine, {decision}")
        self.answers.append(DECLINED)
        self._renew()
        return True

    def _renew(self) -> None:
        self._desk.renew()
        learnings_index.write(self._desk.sitting.store, self._desk.sitting.scan)
        self._found = arrived.waiting(self._desk.sitting)

    def _is_meant(self, risks: Sequence[Finding], learning: Learning) -> bool:
        """Have the rule's first word typed if there is a risk."""
        return not risks or self._console.types_first_word(learning["text"], "apply it anyway")

    def _is_taken(self, chosen: Sequence[Waiting]) -> bool:
        """Apply the chosen decisions. Return True if the remaining ones have to be shown again."""
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
        """Say that the files changed since the diff was shown, and whether anything is left to apply."""
        left = {one.decision["id"] for one in self._found}
        is_left = any(one.decision["id"] in left for one in chosen)
        then = "here is what would change now" if is_left else "nothing left to do"
        self._desk.say(printable(f"{error.message}: {then}"))

    def _is_sure(self, chosen: Sequence[Waiting]) -> bool:
        """Show the total change of each file and ask once."""
        for step in file_changes.of(self._desk.sitting.place, [one.shift for one in chosen]).steps:
            self._desk.say("", *candidate_view.field("into", self._where(step.plan.target)), "")
            self._desk.show_change(shown(self._desk.sitting.place, [step.plan]))
        return self._console.confirms(f"apply {plural(len(chosen), 'rule')}")

    def _by(self, learning: Learning) -> By:
        wish = Wish(learning["id"], learning["text"], learning["target"]["kind"])
        return find_approver(self._desk.front, self._desk.sitting, wish)[0]

    def _help(self, keys: Sequence[str], meanings: Mapping[str, str] = _KEYS) -> None:
        self._desk.explain({key: meanings[key] for key in keys})


def _told(chosen: Sequence[Waiting]) -> str:
    what = chosen[0].learning["id"] if len(chosen) == 1 else plural(len(chosen), "rule")
    return f"removed {what}" if all(one.kind == REMOVE for one in chosen) else f"applied {what}"


def headline(one: Waiting) -> str:
    if one.wordings:
        return f"reworded differently on {plural(len(one.wordings), 'machine')}"
    where = "here" if one.own else f"on {one.decision['machine']}"
    return f"{_DID[one.kind]} {where}, {ago(one.decision['timestamp'])} ago"


def where(place: Place, target: Target) -> str:
    """Return the display path of a target, which tells the project's file from the one for all projects."""
    return place.label(place.named(target))


def listed(place: Place, found: Sequence[Waiting]) -> Iterator[str]:
    """Yield two lines for each decision, if nobody can be asked."""
    room = candidate_view.width()
    for number, one in enumerate(found, 1):
        head = f"{headline(one)} → {where(place, target_of(one.learning))}"
        yield f"{number:>3}  {one_line(head, room - 5)}"
        yield f"     {one_line(printable(one.learning['text']), room - 5)}"
