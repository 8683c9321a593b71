"""The part of a review about rules that were broken again: sharpen the rule, retire it, or leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git import workflow
from reflect_git.adapters.live import Changed
from reflect_git.cli import drafts, portrait
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.front import Front, ago, one_line, printable
from reflect_git.cli.sittings import approver, sitting, used, way_back
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import amend, authority, recurring, revert
from reflect_git.sitting.ask import wish_about_broken
from reflect_git.sitting.authority import Wish
from reflect_git.sitting.recurring import Broken
from reflect_git.sitting.writing import require_unrefused

if TYPE_CHECKING:
    from reflect_git.cli.desk import Desk
    from reflect_git.model.schema import By, Learning
    from reflect_git.sitting.review import Sitting

SHARPENED, RETIRED, KEPT = "sharpened", "retired", "kept as it is"
_KEYS = {
    "e": "edit: sharpen the rule in your editor; the change is shown before it is written",
    "x": "retire the rule: it leaves its file, in one commit",
    "n": "no, leave it as it is: asked again if three more sessions break it",
    "s": "skip for now: it comes again",
    "v": "show the signals",
    "q": "quit: what is undecided waits",
    "?": "this help",
}
_QUOTED = 3


class BrokenRules:
    def __init__(self, desk: Desk, console: Console, found: Sequence[Broken]) -> None:
        self._desk = desk
        self._console = console
        self._found = list(found)
        self.answers: list[str] = []

    @property
    def open(self) -> int:
        """How many have no answer yet."""
        return len(self._found) - len(self.answers)

    def run(self) -> None:
        """Ask about each; `q` ends the whole review."""
        for number, one in enumerate(self._found, 1):
            place = f"({number}/{len(self._found)})"
            self._desk.say("", click.style(f"Broken rule {number} of {len(self._found)} — {one.headline}", bold=True))
            self._desk.say("", *portrait.text_lines(one.rule["text"]), "", *_facts(self._desk, one))
            self._ask(one, place)

    def _ask(self, one: Broken, place: str) -> None:
        keys = [key for key in _KEYS if key != "v" or one.said]
        while True:
            typed = self._console.key(f"{place} Sharpen, retire or leave it [{','.join(keys)}]? ")
            if typed == "q":
                raise Ended
            if typed == "s":
                return
            if typed == "v" and one.said:
                for signal in one.said:
                    self._desk.say(*portrait.signal_lines(signal))
            elif typed not in keys or typed == "?":
                self._desk.explain({key: _KEYS[key] for key in keys})
            elif said := self._answer(one, typed):
                self.answers.append(said)
                return

    def _answer(self, one: Broken, key: str) -> str:
        """Carry it out; empty if nothing was decided."""
        try:
            self._desk.renew()
            return {"e": self._sharpen, "x": self._retire, "n": self._leave}[key](one)
        except (Changed, ReflectError) as error:
            self._desk.say_error(error)
            return ""

    def _sharpen(self, one: Broken) -> str:
        sat, rule = self._desk.sitting, one.rule
        advice = [*drafts.ADVICE, "", f"{rule['id']} in {rule['target']['path']}", one.headline]
        saved = self._console.edit(sat.store, rule["text"], advice)
        if not saved or saved == rule["text"]:
            self._desk.say("nothing was changed")
            return ""
        amendment = amend.amend(sat, rule, amend.Wanted(saved))
        require_unrefused(amendment.findings)
        self._desk.show_change(amendment.diff)
        for found in amendment.findings:
            self._desk.say(*portrait.finding_lines(found, ""))
        is_risky = any(found.kind == "risk" for found in amendment.findings)
        is_meant = (
            self._console.types_first_word(amendment.new["text"], "use it all the same")
            if is_risky
            else self._console.confirms("change the rule like this")
        )
        if not is_meant:
            self._desk.say("nothing was changed")
            return ""
        done = amend.carry_out(sat, amendment, self._by(rule))
        self._settled(f"amended {done.learning} in '{printable(done.target)}'", rule, done.target)
        return SHARPENED

    def _retire(self, one: Broken) -> str:
        sat, rule = self._desk.sitting, one.rule
        reversal = revert.propose(sat, revert.find(sat, rule["id"]))
        self._desk.show_change(reversal.diff)
        if not self._console.confirms("retire the rule"):
            self._desk.say("nothing was changed")
            return ""
        done = revert.carry_out(sat, reversal, self._by(rule))
        self._settled(f"retired {rule['id']}", rule, done.target)
        return RETIRED

    def _leave(self, one: Broken) -> str:
        recurring.leave(self._desk.sitting, one, self._by(one.rule))
        self._desk.settled(f"{one.rule['id']} stays as it is; asked again after three more sessions")
        return KEPT

    def _by(self, rule: Learning) -> By:
        wish = Wish(rule["id"], rule["text"], rule["target"]["kind"])
        return approver(self._desk.front, self._desk.sitting, wish)[0]

    def _settled(self, said: str, rule: Learning, changed: str) -> None:
        self._desk.settled(said, "" if rule["scope"] == "global" else changed)


def _facts(desk: Desk, one: Broken) -> Iterator[str]:
    for quote in one.quotes[:_QUOTED]:
        yield from portrait.field("you said", f'"{quote}"')
    if not one.said:
        yield from portrait.field("seen in", "calls that the rule forbids")
    yield from portrait.field("last", f"{ago(one.last)} ago")
    yield from portrait.field("in", desk.sitting.place.label(one.rule["target"]["path"]))
    yield from portrait.field("rule", one.rule["id"])


def listed(found: Sequence[Broken]) -> Iterator[str]:
    """Two lines each, for where nobody can be asked."""
    room = portrait.width()
    for one in found:
        yield f"{one.rule['id']}  {one.headline}"
        yield f"    {one_line(one.rule['text'], room - 4)}"


def _road(front: Front, sat: Sitting, one: Broken) -> tuple[str, str]:
    """Inside Claude Code a person must have picked it as the answer to a question about this rule."""
    if not authority.is_inside_client(front.env):
        return workflow.road_of(front.env, front.at_terminal), ""
    return "ask-user-question", authority.answered(sat.store, front.env, wish_about_broken(sat, one, "leave"))


def leave(front: Front, identity: str, later: bool, never: bool, dry_run: bool) -> None:
    """Carry out `dismiss LRN`: the rule stays as it is."""
    if never:
        hint = f"to take the rule back: reflect-git revert {identity}"
        raise ReflectError("--never is for what waits, not for a rule", hint, "usage", EXIT_USAGE)
    sat = sitting(front, None, everything=True)
    one = recurring.find_one(sat, identity)
    decisions: list[str] = []
    commit = None
    road, answer = ("", "") if later else _road(front, sat, one)
    if not later and not dry_run:
        by = workflow.author(sat.store, road)
        decisions, commit = recurring.leave(sat, one, by, used(answer, one.rule["id"]))
    if front.json:
        front.data({"decision": decisions[0] if decisions else None, "decisions": decisions, "commit": commit})
        return
    would = "would leave" if dry_run else "left"
    front.tell(f"{one.rule['id']} is asked about again later" if later else f"{would} {one.rule['id']} as it is")
    if commit:
        front.talk(f"commit {commit[:10]}; it is asked once more when three further sessions broke it")
        front.talk(way_back(road, commit))
