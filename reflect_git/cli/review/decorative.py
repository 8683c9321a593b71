"""The parts of a review about decorative rules, unused skills, and rules whose time is over.

Each is kept, changed or retired.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from reflect_git.cli import guard_dialog
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console
from reflect_git.cli.review.rule_changes import ask_until_decided, retire_rule, reword_rule
from reflect_git.memory import staleness
from reflect_git.records.ids import plural
from reflect_git.rules.guarding import guards

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.records.schema import Learning

GUARDED, KEPT_AS_ADVICE, RETIRED = "guarded", "kept as advice", "retired"
KEPT, REWORDED = "still true", "reworded"
_ENDED_KEYS = {
    "y": "yes, still true: keep it for another lifetime",
    "e": "reword the rule in your editor; shows the change first",
    "x": "retire the rule; one commit removes it from its file",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
    "?": "this help",
}
_KEY_HELP = {
    "g": "guard it: choose what happens at a call that breaks it",
    "n": "no guard: keep it as advice; not asked again",
    "x": "retire the rule; one commit removes it from its file",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
    "?": "this help",
}


class DecorativeReview:
    def __init__(self, screen: ReviewScreen, console: Console, found: Sequence[tuple[Learning, str]]) -> None:
        """Prepare the questions. `found`: rules, and why each is decorative."""
        self._screen, self._console, self._found = screen, console, list(found)
        self.answers: list[str] = []

    def run(self) -> None:
        """Ask about each; `q` ends the whole review."""
        for number, (rule, why) in enumerate(self._found, 1):
            kind = "Unused skill" if "skill" in rule["meta"] else "Decorative rule"
            title = f"{kind} {number} of {len(self._found)} — {why}"
            _print_card(self._screen, rule, title)
            self._ask_rule(rule, f"({number}/{len(self._found)})")

    def _ask_rule(self, rule: Learning, place: str) -> None:
        can_guard = self._screen.can_guard(rule)
        keys = {key: text for key, text in _KEY_HELP.items() if key != "g" or can_guard}
        asked = "Guard it, keep it as advice, retire it" if can_guard else "Keep it as advice, retire it"
        actions = {"g": partial(self._guard, rule), "n": partial(self._keep, rule), "x": partial(self._retire, rule)}
        decided = ask_until_decided(self._screen, self._console, f"{place} {asked}", keys, actions)
        if decided:
            self.answers.append(decided)

    def _guard(self, rule: Learning) -> str:
        agreed = self._screen.choose_guard(self._console, rule)
        if agreed is None:
            self._screen.print_lines("nothing was changed")
            return ""
        self._screen.write_guard(rule["id"], *agreed)
        return GUARDED

    def _keep(self, rule: Learning) -> str:
        ctx = self._screen.queue
        guards.write_advice(
            ctx, rule, guard_dialog.find_guard_author(self._screen.cli, ctx, "keeping a rule as advice")
        )
        self._screen.finish_answer(f"{rule['id']} kept as advice; not asked again")
        return KEPT_AS_ADVICE

    def _retire(self, rule: Learning) -> str:
        return RETIRED if retire_rule(self._screen, self._console, rule) else ""


class EndedReview:
    def __init__(self, screen: ReviewScreen, console: Console, found: Sequence[tuple[Learning, str]]) -> None:
        """Prepare the questions. `found`: rules whose time is over, and why."""
        self._screen, self._console, self._found = screen, console, list(found)
        self.answers: list[str] = []

    def run(self) -> None:
        """Ask about each whether it is still true; `q` ends the whole review."""
        for number, (rule, why) in enumerate(self._found, 1):
            _print_card(self._screen, rule, f"Still true? {number} of {len(self._found)} — {why}")
            self._ask_rule(rule, why, f"({number}/{len(self._found)})")

    def _ask_rule(self, rule: Learning, why: str, place: str) -> None:
        actions = {
            "y": partial(self._keep, rule), "e": partial(self._reword, rule, why), "x": partial(self._retire, rule)
        }  # fmt: skip
        asked = f"{place} Keep it, edit it, retire it"
        decided = ask_until_decided(self._screen, self._console, asked, _ENDED_KEYS, actions)
        if decided:
            self.answers.append(decided)

    def _reword(self, rule: Learning, why: str) -> str:
        return REWORDED if reword_rule(self._screen, self._console, rule, why) else ""

    def _retire(self, rule: Learning) -> str:
        return RETIRED if retire_rule(self._screen, self._console, rule) else ""

    def _keep(self, rule: Learning) -> str:
        ctx = self._screen.queue
        staleness.write_keep(ctx, rule, guard_dialog.find_guard_author(self._screen.cli, ctx, "keeping a rule"))
        days = staleness.get_lifetime(ctx.store, rule["category"])
        again = f"asked again in {plural(days, 'day')}" if days else "not asked again"
        self._screen.finish_answer(f"{rule['id']} is still true; {again}")
        return KEPT


def _print_card(screen: ReviewScreen, rule: Learning, title: str) -> None:
    place = screen.queue.place.label(rule["target"]["path"])
    facts = [*candidate_view.format_field("in", place), *candidate_view.format_field("rule", rule["id"])]
    screen.print_lines("", click.style(title, bold=True), "", *candidate_view.format_text(rule["text"]), "", *facts)
