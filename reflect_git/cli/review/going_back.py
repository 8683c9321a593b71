"""The part of a review about changes that made sessions worse: go back, or keep them; and what auto-revert did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import format_age, format_local_time, one_line, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console
from reflect_git.cli.review.rule_changes import ask_until_decided, find_author
from reflect_git.effect import going_back
from reflect_git.errors import ReflectError
from reflect_git.rules import revert

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.effect.going_back import WayBack
    from reflect_git.records.schema import Decision, Learning
    from reflect_git.rules.context import Context

TAKEN_BACK, KEPT, PUT_BACK = "taken back", "kept", "put back"
_DONE_HELP = {
    "y": "fine; the rule stays reverted",
    "b": "put it back; one commit undoes the revert",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
    "?": "this help",
}
_APPLIED_HELP = {
    "y": "keep it",
    "b": "take it back; one commit restores the file",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
    "?": "this help",
}
_PROPOSAL_HELP = {
    "y": "go back as shown; one commit changes the file",
    "n": "keep it; ask again after 20 more sessions",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
    "?": "this help",
}


class GoingBackReview:
    def __init__(
        self, screen: ReviewScreen, console: Console, done: Sequence[Decision], proposed: Sequence[WayBack]
    ) -> None:
        self._screen, self._console = screen, console
        self._done, self._proposed = list(done), list(proposed)
        self.answers: list[str] = []

    @property
    def open_count(self) -> int:
        """Count the questions that have no answer yet."""
        return len(self._done) + len(self._proposed) - len(self.answers)

    def run(self) -> None:
        """Ask about what was done first, then about each proposal; `q` ends the whole review."""
        for made in self._done:
            rule = self._screen.queue.scan.history.learnings[made["subject"]]
            if made["kind"] == "approved":
                self._show("Autopilot applied this rule", rule, format_applied(rule, made))
                keys = {"y": partial(self._accept, made), "b": partial(self._undo, made)}
                self._ask("Keep it", _APPLIED_HELP, keys)
                continue
            self._show("Auto-revert took this rule back", rule, format_done(made))
            self._ask("Leave it so", _DONE_HELP, {"y": partial(self._accept, made), "b": partial(self._undo, made)})
        for number, one in enumerate(self._proposed, 1):
            title = f"Sessions became worse {number} of {len(self._proposed)} — {one.question}"
            shown = self._show_proposal(title, one)
            if shown is not None:
                asked = "Take it back" if one.back_to is None else f"Back to v{one.back_to}"
                keys = {"y": partial(self._go_back, one, shown), "n": partial(self._keep, one)}
                self._ask(asked, _PROPOSAL_HELP, keys)

    def _show(self, title: str, rule: Learning, facts: Iterator[str]) -> None:
        self._screen.print_lines("", click.style(title, bold=True), "")
        self._screen.print_lines(*candidate_view.format_text(rule["text"]), "", *facts)

    def _show_proposal(self, title: str, one: WayBack) -> str | None:
        """Show the reason and the exact change; return its diff, or None if it cannot be made."""
        self._screen.print_lines("", click.style(title, bold=True), "", *format_facts(one), "")
        try:
            _, plan = going_back.plan_way_back(self._screen.queue, one)
        except ReflectError as error:
            self._screen.print_error(error)
            return None
        self._screen.show_change(plan.diff)
        for note in plan.notes:
            self._screen.print_lines(printable(note))
        self._screen.print_lines("")
        return plan.diff

    def _ask(self, asked: str, meanings: dict[str, str], actions: Mapping[str, Callable[[], str]]) -> None:
        decided = ask_until_decided(self._screen, self._console, asked, meanings, actions)
        if decided:
            self.answers.append(decided)

    def _go_back(self, one: WayBack, shown: str) -> str:
        there, plan = going_back.plan_way_back(self._screen.queue, one)
        if plan.diff != shown:
            raise ReflectError(
                "the file was changed meanwhile", "skip it, and run 'reflect-git review' again", "changed"
            )
        done = revert.write_revert(there, plan, find_author(self._screen, one.rules[0]))
        self._finish_answer(f"took back {plan.label}, commit {done.commit[:10]}", one.rules[0], done.target)
        return TAKEN_BACK

    def _keep(self, one: WayBack) -> str:
        going_back.keep(self._screen.queue, one, find_author(self._screen, one.rules[0]))
        self._screen.finish_answer("kept; asked again after 20 more sessions")
        return KEPT

    def _accept(self, made: Decision) -> str:
        ctx = self._screen.queue
        going_back.accept_revert(ctx, made, find_author(self._screen, ctx.scan.history.learnings[made["subject"]]))
        state = "in force" if made["kind"] == "approved" else "reverted"
        self._screen.finish_answer(f"{made['subject']} stays {state}")
        return KEPT

    def _undo(self, made: Decision) -> str:
        ctx = self._screen.queue
        rule = ctx.scan.history.learnings[made["subject"]]
        plan = revert.plan_revert(ctx, revert.select_by_name(ctx, made["id"]))
        done = revert.write_revert(ctx, plan, find_author(self._screen, rule))
        is_applied = made["kind"] == "approved"
        self._finish_answer(f"{'took' if is_applied else 'put'} back {rule['id']}", rule, done.target)
        return TAKEN_BACK if is_applied else PUT_BACK

    def _finish_answer(self, said: str, rule: Learning, changed: str) -> None:
        self._screen.finish_answer(said, "" if rule["scope"] == "global" else changed)


def format_applied(rule: Learning, made: Decision) -> Iterator[str]:
    """Yield where a rule was written, and when."""
    yield from candidate_view.format_field("file", rule["target"]["path"])
    yield from candidate_view.format_field("learned from", ", ".join(rule["signals"][:3]))
    yield from candidate_view.format_field("done", f"{format_age(made['timestamp'])} ago, {made['id']}")


def format_done(made: Decision) -> Iterator[str]:
    yield from candidate_view.format_field("reason", made["reason"])
    yield from candidate_view.format_field("done", f"{format_age(made['timestamp'])} ago, {made['id']}")


def format_facts(one: WayBack) -> Iterator[str]:
    """Yield why, where, how urgent, and why nothing was done without a question."""
    yield from candidate_view.format_field("reason", one.reason)
    if one.drop:
        sure = f"{one.drop.factor:.0f}" if one.drop.factor < 1000 else "more than 1000"
        figures = f"{one.drop.before} sessions before, {one.drop.after} after; {sure} times more likely than no change"
        yield from candidate_view.format_field("scores", figures)
    for rule in one.rules:
        yield from candidate_view.format_field("rule", f"{rule['id']}  {rule['text']}")
    if one.priority:
        yield from candidate_view.format_field("priority", f"{one.priority} of 5")
    for block in one.blocks:
        until = f" (until {format_local_time(block.until)})" if block.until else ""
        yield from candidate_view.format_field("not automatic", f"{block.reason}{until}")


def format_list(ctx: Context, done: Sequence[Decision], proposed: Sequence[WayBack]) -> Iterator[str]:
    """Yield two lines for each, if nobody can be asked."""
    room = candidate_view.text_width()
    for made in done:
        applied = "applied by autopilot: keep it, or take it back"
        said = applied if made["kind"] == "approved" else f"taken back by auto-revert: {made['reason']}"
        yield f"{made['subject']}  {said}"
        yield f"    {one_line(ctx.scan.history.learnings[made['subject']]['text'], room - 4)}"
    for one in proposed:
        yield f"{one.rules[0]['id']}  {one.question} {one.reason}"
        yield f"    {one_line(one.rules[0]['text'], room - 4)}"
