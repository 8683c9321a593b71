"""The cards of a review's first part: a rule that differs from its file, and lines that Claude wrote by itself.

Each is shown with the change that would undo it; an answer is carried out at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from reflect_git.apply.drift import line_of_text
from reflect_git.cli import portrait
from reflect_git.cli.differences import headline
from reflect_git.cli.front import printable
from reflect_git.cli.sittings import approver
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import drift, settle
from reflect_git.sitting.authority import Wish
from reflect_git.sitting.authors import CLAUDE
from reflect_git.sitting.writing import require_unrefused, shown

if TYPE_CHECKING:
    from reflect_git.apply.plan import Plan
    from reflect_git.cli.console import Console
    from reflect_git.cli.desk import Desk
    from reflect_git.model.schema import By
    from reflect_git.sitting.amend import Amendment
    from reflect_git.sitting.drift import Difference
    from reflect_git.sitting.passages import Passage

PUT_BACK, AMENDED, RETIRED, LEFT = "put back", "amended", "retired", "left as it is"
_LONGEST = 20
# A rule that is gone from its file has no wording there to keep: it can be retired.
_FOR_GOOD = {"missing": "x", "different": "f"}
_QUESTIONS = {drift.RETURNED: "Take it out"}


class RuleCard:
    """A rule that differs from its file. `able`: which of the keys that write something can do so."""

    meanings: Mapping[str, str] = {}

    def __init__(self, desk: Desk, one: Difference) -> None:
        self._desk, self._one = desk, one
        self._plan, self._trouble = self._planned()
        self.headline = headline(one)
        self.question = _QUESTIONS.get(one.found.kind) or ("Take it back" if one.author == CLAUDE else "Put it back")
        self.able = ("b" if self._plan else "") + (_FOR_GOOD[one.found.kind] if settle.may_be_for_good(one) else "")

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
        where = f"{path}, line {line_of_text(one.page.data, found)}" if found.line else path
        self._desk.say(*portrait.field("in" if found.line else "gone from", where))
        self._desk.say(*portrait.field("rule", one.learning["id"]))
        if self._trouble:
            self._desk.say(*portrait.field("refused", self._trouble.message, "red"))
            self._desk.say(*([portrait.way(self._trouble.hint, "red")] if self._trouble.hint else ()))
        if self._plan:
            self._desk.say("")
            self._desk.show_change(shown(self._desk.sitting.place, [self._plan]))

    def answer(self, key: str, console: Console) -> str:
        if key == "i":
            drift.leave(self._desk.sitting.store, self._one.mark)
            self._desk.say("ignored in this work tree")
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
            self._settled(f"retired {one.learning['id']}")
            return RETIRED
        amendment = settle.for_good(sitting, one)
        require_unrefused(amendment.findings)
        if not self._is_sure(amendment, console):
            self._desk.say("nothing was changed")
            return ""
        done = settle.carry_on(sitting, one, amendment, self._by())
        self._settled(f"amended {one.learning['id']}: it says what the file says", done.target)
        return AMENDED

    def _is_sure(self, amendment: Amendment, console: Console) -> bool:
        """Show a change of the file before asking, and have the rule's first word typed if there is a risk."""
        for found in amendment.findings:
            if found.kind == "mended":
                self._desk.say(*portrait.finding_lines(found, ""))
        if amendment.diff:
            self._desk.show_change(amendment.diff)
            if not console.confirms("change the file like this"):
                return False
        risks = [found for found in amendment.findings if found.kind == "risk"]
        for found in risks:
            self._desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
        return not risks or console.types_first_word(amendment.new["text"], "keep it all the same")

    def _by(self) -> By:
        learning = self._one.learning
        wish = Wish(learning["id"], learning["text"], learning["target"]["kind"])
        return approver(self._desk.front, self._desk.sitting, wish)[0]

    def _settled(self, said: str, changed: str = "") -> None:
        self._desk.settled(said, "" if self._one.page.target.is_global else changed)


class PassageCard:
    """Lines that Claude wrote by itself."""

    meanings: Mapping[str, str] = {}

    def __init__(self, desk: Desk, passage: Passage) -> None:
        self._desk, self._passage = desk, passage
        self.headline = headline(passage)
        self.able = "b" if passage.plan else ""
        self.question = "Take it back" if passage.plan else "Leave it"

    def show(self) -> None:
        passage = self._passage
        for line in passage.lines[:_LONGEST]:
            self._desk.say(*_texts(line))
        if len(passage.lines) > _LONGEST:
            self._desk.say(f"    … and {plural(len(passage.lines) - _LONGEST, 'more line')}")
        self._desk.say("", *portrait.field("in", self._desk.sitting.place.label(passage.page.path)))
        if passage.call.prompt:
            self._desk.say(*portrait.field("you typed", f'"{_brief(passage.call.prompt)}"'))
        if passage.plan:
            self._desk.say("")
            self._desk.show_change(shown(self._desk.sitting.place, [passage.plan]))
        else:
            self._desk.say(*portrait.field("note", "it was changed since, so it cannot be taken back exactly: edit it"))

    def answer(self, key: str, console: Console) -> str:
        if key == "i":
            drift.leave(self._desk.sitting.store, self._passage.mark)
            self._desk.say("ignored in this work tree")
            return LEFT
        self._desk.renew()
        target = self._passage.page.target
        wish = Wish(target.path, "\n".join(self._passage.lines), target.kind)
        by, _ = approver(self._desk.front, self._desk.sitting, wish)
        done = settle.take_back(self._desk.sitting, self._passage, by)
        changed = "" if target.is_global else done.target
        self._desk.settled(f"took it out of '{printable(done.target)}'", changed)
        return PUT_BACK


def _texts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from portrait.text_lines(line)


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:199]}…"
