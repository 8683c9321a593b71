"""The part of a review about rules that were broken again: guard the rule, reword it, retire it, or leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli.context import CliContext, format_age, one_line
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console
from reflect_git.cli.review.rule_changes import ask_until_decided, find_author, retire_rule, reword_rule
from reflect_git.cli.review_setup import format_undo_hint, mark_answer_used, open_queue
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.rules import approver
from reflect_git.rules.client_questions import build_broken_rule_request
from reflect_git.rules.guarding import broken_rules
from reflect_git.rules.guarding.broken_rules import BrokenRule

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.rules.context import Context

REWORDED, RETIRED, KEPT_UNCHANGED, GUARDED = "reworded", "retired", "kept unchanged", "guarded"
_GUARD_KEYS = {"h": "hint", "a": "ask", "d": "deny"}
_KEY_HELP = {
    "h": "guard it: remind Claude at each call that breaks it",
    "a": "guard it: Claude Code asks you before each call that breaks it",
    "d": "guard it: stop each call that breaks it",
    "e": "reword the rule in your editor; shows the change first",
    "x": "retire the rule; one commit removes it from its file",
    "n": "leave it as it is; ask again when 3 more sessions break it",
    "s": "skip; ask again in the next review",
    "v": "show the signals",
    "q": "quit; keep the rest for later",
    "?": "this help",
}
_MAX_QUOTES = 3


class BrokenRulesReview:
    def __init__(
        self, screen: ReviewScreen, console: Console, found: Sequence[BrokenRule], effects: Mapping[str, str]
    ) -> None:
        """Prepare the questions. `effects`: whether each rule helps, on one line."""
        self._screen = screen
        self._console = console
        self._broken_rules = list(found)
        self._effects = effects
        self.answers: list[str] = []

    @property
    def open_count(self) -> int:
        """Count the rules that have no answer yet."""
        return len(self._broken_rules) - len(self.answers)

    def run(self) -> None:
        """Ask about each; `q` ends the whole review."""
        for number, one in enumerate(self._broken_rules, 1):
            place = f"({number}/{len(self._broken_rules)})"
            self._screen.print_lines(
                "", click.style(f"Broken rule {number} of {len(self._broken_rules)} — {one.headline}", bold=True)
            )
            self._screen.print_lines(
                "", *candidate_view.format_text(one.rule["text"]), "", *_format_facts(self._screen, one, self._effects)
            )
            self._ask_rule(one, place)

    def _ask_rule(self, one: BrokenRule, place: str) -> None:
        can_guard = self._screen.can_guard(one.rule)
        left_out = {"" if one.signals else "v", *(() if can_guard else _GUARD_KEYS)}
        keys = [key for key in _KEY_HELP if key not in left_out]
        asked = "Guard, reword, retire or leave it" if can_guard else "Reword, retire or leave it"
        actions: dict[str, Callable[[], str]] = {
            **{key: partial(self._guard, one, mode) for key, mode in _GUARD_KEYS.items()},
            "e": partial(self._reword, one), "x": partial(self._retire, one), "n": partial(self._leave_unchanged, one),
            "v": partial(self._show_signals, one),
        }  # fmt: skip
        decided = ask_until_decided(
            self._screen, self._console, f"{place} {asked}", {key: _KEY_HELP[key] for key in keys}, actions
        )
        if decided:
            self.answers.append(decided)

    def _show_signals(self, one: BrokenRule) -> str:
        for signal in one.signals:
            self._screen.print_lines(*candidate_view.format_signal(signal))
        return ""

    def _reword(self, one: BrokenRule) -> str:
        return REWORDED if reword_rule(self._screen, self._console, one.rule, one.headline) else ""

    def _retire(self, one: BrokenRule) -> str:
        return RETIRED if retire_rule(self._screen, self._console, one.rule) else ""

    def _guard(self, one: BrokenRule, mode: str) -> str:
        agreed = self._screen.choose_guard(self._console, one.rule, mode)
        if agreed is None:
            self._screen.print_lines("nothing was changed")
            return ""
        self._screen.write_guard(one.rule["id"], *agreed)
        return GUARDED

    def _leave_unchanged(self, one: BrokenRule) -> str:
        broken_rules.leave_unchanged(self._screen.queue, one, find_author(self._screen, one.rule))
        self._screen.finish_answer(f"{one.rule['id']} unchanged; asked again when 3 more sessions break it")
        return KEPT_UNCHANGED


def _format_facts(screen: ReviewScreen, one: BrokenRule, effects: Mapping[str, str]) -> Iterator[str]:
    for quote in one.quotes[:_MAX_QUOTES]:
        yield from candidate_view.format_field("you said", f'"{quote}"')
    if not one.signals:
        yield from candidate_view.format_field("seen in", "tool calls that the rule forbids")
    yield from candidate_view.format_field("last", f"{format_age(one.last_broken)} ago")
    yield from candidate_view.format_field("in", screen.queue.place.label(one.rule["target"]["path"]))
    yield from candidate_view.format_field("rule", one.rule["id"])
    if effects.get(one.rule["id"]):
        yield from candidate_view.format_field("effect", effects[one.rule["id"]])


def format_list(found: Sequence[BrokenRule]) -> Iterator[str]:
    """Yield two lines for each rule, if nobody can be asked."""
    room = candidate_view.text_width()
    for one in found:
        yield f"{one.rule['id']}  {one.headline}"
        yield f"    {one_line(one.rule['text'], room - 4)}"


def _find_channel(cli: CliContext, ctx: Context, one: BrokenRule) -> tuple[str, str]:
    """Inside Claude Code a person must have picked it as the answer to a question about this rule."""
    if not approver.is_inside_client(cli.env):
        return service.get_channel(cli.env, cli.is_at_terminal), ""
    return "ask-user-question", approver.require_answer(
        ctx.store, cli.env, build_broken_rule_request(ctx, one, "leave")
    )


def leave_rule_unchanged(cli: CliContext, record_id: str, later: bool, never: bool, dry_run: bool) -> None:
    """Carry out `dismiss LRN`: the rule stays as it is."""
    if never:
        hint = f"to retire the rule: reflect-git revert {record_id}"
        raise ReflectError("--never is for proposed rules, not for approved ones", hint, "usage", EXIT_USAGE)
    queue = open_queue(cli, None, everything=True)
    one = broken_rules.get_broken_rule(queue, record_id)
    decisions: list[str] = []
    commit = None
    channel, answer = ("", "") if later else _find_channel(cli, queue, one)
    if not later and not dry_run:
        by = service.get_author(queue.store, channel)
        decisions, commit = broken_rules.leave_unchanged(queue, one, by, mark_answer_used(answer, one.rule["id"]))
    if cli.json:
        cli.print_json({"decision": decisions[0] if decisions else None, "decisions": decisions, "commit": commit})
        return
    would = "would leave" if dry_run else "left"
    cli.print_text(f"{one.rule['id']} skipped" if later else f"{would} {one.rule['id']} unchanged")
    if commit:
        cli.print_note(f"commit {commit[:10]}; asked again when 3 more sessions break it")
        cli.print_note(format_undo_hint(channel, commit))
