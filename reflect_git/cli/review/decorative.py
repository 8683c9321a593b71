"""The part of a review about decorative rules and unused skills: guard it, keep it, or retire it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.cli import guard_dialog
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console, InputEnded
from reflect_git.cli.review_setup import find_approver
from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import FileChanged
from reflect_git.rules import revert
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.guarding import guards

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.records.schema import Learning

GUARDED, KEPT_AS_ADVICE, RETIRED = "guarded", "kept as advice", "retired"
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
            place = self._screen.queue.place.label(rule["target"]["path"])
            facts = [*candidate_view.format_field("in", place), *candidate_view.format_field("rule", rule["id"])]
            self._screen.print_lines(
                "", click.style(title, bold=True), "", *candidate_view.format_text(rule["text"]), "", *facts
            )
            self._ask_rule(rule, f"({number}/{len(self._found)})")

    def _ask_rule(self, rule: Learning, place: str) -> None:
        can_guard = self._screen.can_guard(rule)
        keys = {key: text for key, text in _KEY_HELP.items() if key != "g" or can_guard}
        asked = "Guard it, keep it as advice, retire it" if can_guard else "Keep it as advice, retire it"
        while True:
            typed = self._console.read_key(f"{place} {asked} [{','.join(keys)}]? ")
            if typed == "q":
                raise InputEnded
            if typed == "s":
                return
            if typed not in keys or typed == "?":
                self._screen.print_keys(keys)
            elif said := self._apply_answer(rule, typed):
                self.answers.append(said)
                return

    def _apply_answer(self, rule: Learning, key: str) -> str:
        """Carry it out; empty if nothing was decided."""
        try:
            self._screen.reload()
            return {"g": self._guard, "n": self._keep, "x": self._retire}[key](rule)
        except (FileChanged, ReflectError) as error:
            self._screen.print_error(error)
            return ""

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
        ctx = self._screen.queue
        reversal = revert.plan_revert(ctx, revert.select_by_name(ctx, rule["id"]))
        self._screen.show_change(reversal.diff)
        if not self._console.confirm("retire the rule"):
            self._screen.print_lines("nothing was changed")
            return ""
        wish = ApprovalRequest(rule["id"], rule["text"], rule["target"]["kind"])
        done = revert.write_revert(ctx, reversal, find_approver(self._screen.cli, ctx, wish)[0])
        self._screen.finish_answer(f"retired {rule['id']}", "" if rule["scope"] == "global" else done.target)
        return RETIRED
