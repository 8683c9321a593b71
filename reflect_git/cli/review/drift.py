"""The first part of a review: rules that differ from their files, text that Claude wrote, and records removed with git.

Changes by Claude come first. Nothing is written until the person answers, and each answer is stored at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git import audit
from reflect_git.cli.confirm import person
from reflect_git.cli.context import ago, one_line, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console, Ended
from reflect_git.cli.review_setup import find_approver
from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import Changed
from reflect_git.records.history import called
from reflect_git.records.ids import plural
from reflect_git.rules import project_commits, restore, revert
from reflect_git.rules.approver import Wish
from reflect_git.rules.drift import drift, line_owner, resolve_drift
from reflect_git.rules.drift.change_author import CLAUDE
from reflect_git.rules.drift.drift import Difference, Drift
from reflect_git.rules.drift.line_owner import Passage
from reflect_git.rules.restore import Removal
from reflect_git.rules.write_change import require_unrefused, shown
from reflect_git.store.main import user_git
from reflect_git.targets.plan import line_of_text

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import Desk
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place

    Asked = Difference | Passage | Removal
    from reflect_git.cli.output.console import Console
    from reflect_git.records.schema import By
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.drift.drift import Difference
    from reflect_git.rules.drift.line_owner import Passage
    from reflect_git.rules.restore import Removal
    from reflect_git.rules.revert import Reversal
    from reflect_git.targets.plan import Plan

_KEYS = {
    "b": "change the file as shown, in one commit",
    "f": "adopt the file's wording, in one commit",
    "x": "retire the rule, in one commit",
    "i": "ignore here until it changes",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
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
# What the project's own git history explains is reported, not asked.
_ON_BRANCH = {
    "missing": "missing",
    "different": "worded differently",
    drift.RETURNED: "still present but no longer in force",
}


def look(ctx: Context) -> tuple[Drift, list[Asked]]:
    """Return the differences here and those to ask about: changes by Claude first, then the rest."""
    store, env, place = ctx.store, ctx.env, ctx.place
    found = drift.look(store, env, place, ctx.scan.history)
    written = line_owner.look(store, env, place, found.pages, drift.left(store), drift.SECONDS)
    by_claude = [one for one in found.asked if one.author == CLAUDE]
    rest = [one for one in found.asked if one.author != CLAUDE]
    return found, [*by_claude, *written, *rest, *restore.look(store, ctx.scan.history)]


class Differences:
    def __init__(self, desk: Desk, console: Console, asked: Sequence[Asked]) -> None:
        self._desk = desk
        self._console = console
        self._asked = list(asked)
        self._seen: set[str] = set()
        self.answers: list[str] = []

    @property
    def open(self) -> int:
        """Count the differences that have no answer yet."""
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
        """Ask until there is an answer, or until the card has to be shown again."""
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
        """Carry out an answer. After each change of a file, check the others again, so that every diff is current."""
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
    """Return the card for a difference."""
    if isinstance(one, Removal):
        return RemovalCard(desk, one)

    return RuleCard(desk, one) if isinstance(one, Difference) else PassageCard(desk, one)


def listed(place: Place, asked: Sequence[Asked]) -> Iterator[str]:
    """Yield two lines for each difference, if nobody can be asked."""
    room = candidate_view.width()
    for number, one in enumerate(asked, 1):
        yield f"{number:>3}  {one_line(headline(one), room - 5)}"
        yield f"     {one_line(_what(place, one), room - 5)}"


def _what(place: Place, one: Asked) -> str:
    if isinstance(one, Removal):
        return ", ".join(map(restore.name_of, one.decisions))
    text = "\n".join(one.lines) if isinstance(one, Passage) else one.learning["text"]
    return f"{place.label(one.page.path)}: {text}"


def notes(place: Place, found: Drift) -> Iterator[str]:
    """Yield notes on differences that are fine, and on those that cannot be asked."""
    for trouble in found.troubles:
        yield click.style(printable(trouble), fg="yellow")
    for kind, words in _ON_BRANCH.items():
        ones = [one for one in found.elsewhere if one.found.kind == kind]
        files = ", ".join(dict.fromkeys(place.label(one.page.path) for one in ones))
        if ones:
            told = f"{plural(len(ones), 'rule')} {words} on this branch"
            yield printable(f"{told} ({files}); nothing to do")
    if found.foreign:
        yield f"{plural(found.foreign, 'entry', 'entries')} from another store: left alone"


def headline(one: Asked) -> str:
    if isinstance(one, Removal):
        return removal_headline(one)
    call = one.call
    did = "Claude wrote this by itself" if isinstance(one, Passage) else _DID[one.author, one.found.kind]
    return f"{did} in session {call.session[:8]}, {ago(call.timestamp)} ago" if call else did


PUT_BACK, AMENDED, RETIRED, LEFT = "put back", "amended", "retired", "ignored"
_LONGEST = 20
# A rule that is gone from its file has no wording there to keep: it can be retired.
_FOR_GOOD = {"missing": "x", "different": "f"}
_QUESTIONS = {drift.RETURNED: "Remove it"}


class RuleCard:
    """A rule that differs from its file. `able`: which of the keys that write something can do so."""

    meanings: Mapping[str, str] = {}

    def __init__(self, desk: Desk, one: Difference) -> None:
        self._desk, self._one = desk, one
        self._plan, self._trouble = self._planned()
        self.headline = headline(one)
        self.question = _QUESTIONS.get(one.found.kind, "Put it back")
        self.able = ("b" if self._plan else "") + (
            _FOR_GOOD[one.found.kind] if resolve_drift.may_be_for_good(one) else ""
        )

    def _planned(self) -> tuple[Plan | None, ReflectError | None]:
        try:
            return resolve_drift.put_back(self._desk.sitting, self._one), None
        except ReflectError as error:
            return None, error

    def show(self) -> None:
        one, found = self._one, self._one.found
        self._desk.say(*_texts(found.approved or one.learning["text"]), "")
        if found.live and found.kind == "different":
            self._desk.say(
                *(line for part in found.live.splitlines() for line in candidate_view.field("now reads", part))
            )
        path = self._desk.sitting.place.label(one.page.path)
        where = f"{path}, line {line_of_text(one.page.data, found)}" if found.line else path
        self._desk.say(*candidate_view.field("in" if found.line else "gone from", where))
        self._desk.say(*candidate_view.field("rule", one.learning["id"]))
        if self._trouble:
            self._desk.say(*candidate_view.field("refused", self._trouble.message, "red"))
            self._desk.say(*([candidate_view.way(self._trouble.hint, "red")] if self._trouble.hint else ()))
        if self._plan:
            self._desk.say("")
            self._desk.show_change(shown(self._desk.sitting.place, [self._plan]))

    def answer(self, key: str, console: Console) -> str:
        if key == "i":
            drift.leave(self._desk.sitting.store, self._one.mark)
            self._desk.say("ignored here until it changes")
            return LEFT
        self._desk.renew()
        return self._put_back() if key == "b" else self._for_good(console)

    def _put_back(self) -> str:
        if self._plan is None:
            return ""
        done = resolve_drift.carry_back(self._desk.sitting, self._one, self._plan, self._by())
        self._settled(f"put {done.learning} back into '{printable(done.target)}'", done.target)
        return PUT_BACK

    def _for_good(self, console: Console) -> str:
        sitting, one = self._desk.sitting, self._one
        if one.found.kind == "missing":
            resolve_drift.withdraw(sitting, one, self._by())
            self._settled(f"retired {one.learning['id']}")
            return RETIRED
        amendment = resolve_drift.for_good(sitting, one)
        require_unrefused(amendment.findings)
        if not self._is_sure(amendment, console):
            self._desk.say("nothing was changed")
            return ""
        done = resolve_drift.carry_on(sitting, one, amendment, self._by())
        self._settled(f"amended {one.learning['id']} to the file's wording", done.target)
        return AMENDED

    def _is_sure(self, amendment: Amendment, console: Console) -> bool:
        """Show a change of the file before asking, and have the rule's first word typed if there is a risk."""
        for found in amendment.findings:
            if found.kind == "mended":
                self._desk.say(*candidate_view.finding_lines(found, ""))
        if amendment.diff:
            self._desk.show_change(amendment.diff)
            if not console.confirms("change the file like this"):
                return False
        risks = [found for found in amendment.findings if found.kind == "risk"]
        for found in risks:
            self._desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
        return not risks or console.types_first_word(amendment.new["text"], "keep it anyway")

    def _by(self) -> By:
        learning = self._one.learning
        wish = Wish(learning["id"], learning["text"], learning["target"]["kind"])
        return find_approver(self._desk.front, self._desk.sitting, wish)[0]

    def _settled(self, said: str, changed: str = "") -> None:
        self._desk.settled(said, "" if self._one.page.target.is_global else changed)


class PassageCard:
    """Lines that Claude wrote by itself."""

    meanings: Mapping[str, str] = {}

    def __init__(self, desk: Desk, passage: Passage) -> None:
        self._desk, self._passage = desk, passage
        self.headline = headline(passage)
        self.able = "b" if passage.plan else ""
        self.question = "Remove it" if passage.plan else "Ignore it"

    def show(self) -> None:
        passage = self._passage
        for line in passage.lines[:_LONGEST]:
            self._desk.say(*_texts(line))
        if len(passage.lines) > _LONGEST:
            self._desk.say(f"    … and {plural(len(passage.lines) - _LONGEST, 'more line')}")
        self._desk.say("", *candidate_view.field("in", self._desk.sitting.place.label(passage.page.path)))
        if passage.call.prompt:
            self._desk.say(*candidate_view.field("you typed", f'"{_brief(passage.call.prompt)}"'))
        if passage.plan:
            self._desk.say("")
            self._desk.show_change(shown(self._desk.sitting.place, [passage.plan]))
        else:
            self._desk.say(
                *candidate_view.field("note", "changed since, so it cannot be removed exactly: edit the file")
            )

    def answer(self, key: str, console: Console) -> str:
        if key == "i":
            drift.leave(self._desk.sitting.store, self._passage.mark)
            self._desk.say("ignored here until it changes")
            return LEFT
        self._desk.renew()
        target = self._passage.page.target
        wish = Wish(target.path, "\n".join(self._passage.lines), target.kind)
        by, _ = find_approver(self._desk.front, self._desk.sitting, wish)
        done = resolve_drift.take_back(self._desk.sitting, self._passage, by)
        changed = "" if target.is_global else done.target
        self._desk.settled(f"removed it from '{printable(done.target)}'", changed)
        return PUT_BACK


def _texts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from candidate_view.text_lines(line)


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:199]}…"


KEPT, REMOVALS_RETIRED = "left in force", "retired"
_MOST = 20


class RemovalCard:
    """`able`: which of the keys that write something can do so."""

    question = "Retire it"
    meanings: Mapping[str, str] = {
        "x": "retire it: revert what the commit removed",
        "i": "keep it in force; do not ask again",
    }

    def __init__(self, desk: Desk, removal: Removal) -> None:
        self._desk, self._removal = desk, removal
        self._sitting = project_commits.moved_to(desk.sitting, removal.decisions)
        self._reversal, self._trouble = self._proposed()
        self.headline = removal_headline(removal)
        self.able = "x" if self._reversal else ""

    def _proposed(self) -> tuple[Reversal | None, ReflectError | None]:
        try:
            return revert.propose(self._sitting, self._removal.chosen), None
        except ReflectError as error:
            return None, error

    def show(self) -> None:
        desk, history = self._desk, self._sitting.scan.history
        for made in self._removal.decisions[:_MOST]:
            desk.say(*candidate_view.text_lines(revert.title_of(history, [made])))
            desk.say(*candidate_view.field(called(made), f"{restore.name_of(made)}, in force again"), "")
        if len(self._removal.decisions) > _MOST:
            desk.say(f"    … and {len(self._removal.decisions) - _MOST} more", "")
        if self._trouble:
            desk.say_error(self._trouble)
        if self._reversal:
            desk.say(*(line for note in self._reversal.notes for line in candidate_view.field("note", note)))
            desk.show_change(self._reversal.diff)

    def answer(self, key: str, _: Console) -> str:
        front, commit = self._desk.front, self._removal.commit
        by = person(front, self._sitting)
        if key == "i" or self._reversal is None:
            audit.leave_removed(self._sitting.store, front.env, time.time(), front.scan, commit, by)
            self._desk.settled("kept in force")
            return KEPT
        done = revert.carry_out(self._sitting, self._reversal, by)
        user_git.forget_removed(self._sitting.store, commit)
        self._desk.settled(f"retired it, commit {done.commit[:10]}", self._changed(done.target))
        return REMOVALS_RETIRED

    def _changed(self, target: str) -> str:
        """Return the target if it is a file of the current project, else an empty text."""
        is_here = self._sitting.place.root == self._desk.sitting.place.root
        return target if is_here and not target.startswith(("/", "~")) else ""


def removal_headline(removal: Removal) -> str:
    return f"your commit {removal.commit[:10]} removed this from the store"
