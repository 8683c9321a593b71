"""The part of a review about rules that were broken again: sharpen the rule, retire it, or leave it as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli.context import Front, ago, one_line, printable
from reflect_git.cli.output import candidate_view, console
from reflect_git.cli.output.console import Console, Ended
from reflect_git.cli.review_setup import find_approver, open_queue, used, way_back
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.instruction_files import Changed
from reflect_git.rules import amend, approver, recurring, revert
from reflect_git.rules.approver import Wish
from reflect_git.rules.client_questions import wish_about_broken
from reflect_git.rules.recurring import Broken
from reflect_git.rules.write_change import require_unrefused

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import Desk
    from reflect_git.records.schema import By, Learning
    from reflect_git.rules.context import Context

SHARPENED, RETIRED, KEPT = "reworded", "retired", "kept unchanged"
_KEYS = {
    "e": "reword the rule in your editor; shows the change first",
    "x": "retire the rule; one commit removes it from its file",
    "n": "leave it as it is; ask again when 3 more sessions break it",
    "s": "skip; ask again in the next review",
    "v": "show the signals",
    "q": "quit; keep the rest for later",
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
        """Count the rules that have no answer yet."""
        return len(self._found) - len(self.answers)

    def run(self) -> None:
        """Ask about each; `q` ends the whole review."""
        for number, one in enumerate(self._found, 1):
            place = f"({number}/{len(self._found)})"
            self._desk.say("", click.style(f"Broken rule {number} of {len(self._found)} — {one.headline}", bold=True))
            self._desk.say("", *candidate_view.text_lines(one.rule["text"]), "", *_facts(self._desk, one))
            self._ask(one, place)

    def _ask(self, one: Broken, place: str) -> None:
        keys = [key for key in _KEYS if key != "v" or one.said]
        while True:
            typed = self._console.key(f"{place} Reword, retire or leave it [{','.join(keys)}]? ")
            if typed == "q":
                raise Ended
            if typed == "s":
                return
            if typed == "v" and one.said:
                for signal in one.said:
                    self._desk.say(*candidate_view.signal_lines(signal))
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
        advice = [*console.ADVICE, "", f"{rule['id']} in {rule['target']['path']}", one.headline]
        saved = self._console.edit(sat.store, rule["text"], advice)
        if not saved or saved == rule["text"]:
            self._desk.say("nothing was changed")
            return ""
        amendment = amend.amend(sat, rule, amend.Wanted(saved))
        require_unrefused(amendment.findings)
        self._desk.show_change(amendment.diff)
        for found in amendment.findings:
            self._desk.say(*candidate_view.finding_lines(found, ""))
        is_risky = any(found.kind == "risk" for found in amendment.findings)
        is_meant = (
            self._console.types_first_word(amendment.new["text"], "use it anyway")
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
        self._desk.settled(f"{one.rule['id']} unchanged; asked again when 3 more sessions break it")
        return KEPT

    def _by(self, rule: Learning) -> By:
        wish = Wish(rule["id"], rule["text"], rule["target"]["kind"])
        return find_approver(self._desk.front, self._desk.sitting, wish)[0]

    def _settled(self, said: str, rule: Learning, changed: str) -> None:
        self._desk.settled(said, "" if rule["scope"] == "global" else changed)


def _facts(desk: Desk, one: Broken) -> Iterator[str]:
    for quote in one.quotes[:_QUOTED]:
        yield from candidate_view.field("you said", f'"{quote}"')
    if not one.said:
        yield from candidate_view.field("seen in", "tool calls that the rule forbids")
    yield from candidate_view.field("last", f"{ago(one.last)} ago")
    yield from candidate_view.field("in", desk.sitting.place.label(one.rule["target"]["path"]))
    yield from candidate_view.field("rule", one.rule["id"])


def listed(found: Sequence[Broken]) -> Iterator[str]:
    """Yield two lines for each rule, if nobody can be asked."""
    room = candidate_view.width()
    for one in found:
        yield f"{one.rule['id']}  {one.headline}"
        yield f"    {one_line(one.rule['text'], room - 4)}"


def _road(front: Front, ctx: Context, one: Broken) -> tuple[str, str]:
    """Inside Claude Code a person must have picked it as the answer to a question about this rule."""
    if not approver.is_inside_client(front.env):
        return service.road_of(front.env, front.at_terminal), ""
    return "ask-user-question", approver.answered(ctx.store, front.env, wish_about_broken(ctx, one, "leave"))


def leave(front: Front, identity: str, later: bool, never: bool, dry_run: bool) -> None:
    """Carry out `dismiss LRN`: the rule stays as it is."""
    if never:
        hint = f"to retire the rule: reflect-git revert {identity}"
        raise ReflectError("--never is for proposed rules, not for approved ones", hint, "usage", EXIT_USAGE)
    queue = open_queue(front, None, everything=True)
    one = recurring.find_one(queue, identity)
    decisions: list[str] = []
    commit = None
    road, answer = ("", "") if later else _road(front, queue, one)
    if not later and not dry_run:
        by = service.author(queue.store, road)
        decisions, commit = recurring.leave(queue, one, by, used(answer, one.rule["id"]))
    if front.json:
        front.data({"decision": decisions[0] if decisions else None, "decisions": decisions, "commit": commit})
        return
    would = "would leave" if dry_run else "left"
    front.tell(f"{one.rule['id']} skipped" if later else f"{would} {one.rule['id']} unchanged")
    if commit:
        front.talk(f"commit {commit[:10]}; asked again when 3 more sessions break it")
        front.talk(way_back(road, commit))
