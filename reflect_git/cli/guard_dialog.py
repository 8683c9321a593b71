"""Show what a guard would have matched, ask which matches are wrong, and write it: for `guard` and for a review."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reflect_git.candidates.candidate import format_day
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, one_line, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.review_setup import find_approver
from reflect_git.errors import ReflectError
from reflect_git.guards.form import except_call
from reflect_git.records.ids import plural
from reflect_git.rules.client_questions import build_broken_rule_request
from reflect_git.rules.derived_files import refresh_guards
from reflect_git.rules.guarding.broken_rules import find_broken_rules, plan_reminder
from reflect_git.rules.guarding.guard_backtest import Backtest, run_backtest
from reflect_git.rules.guarding.guards import MODE_HELP, STOP_HELP, GuardPlan, require_usable, write_guard

if TYPE_CHECKING:
    from reflect_git.records.schema import DecisionAuthor
    from reflect_git.rules.context import Context

MAX_SHOWN = 20
MODE_KEYS = {"w": "watch", "h": "hint", "a": "ask", "d": "deny"}
_PROGRESS_SECONDS = 1.0
WRONG_QUESTION = "numbers of wrong matches, Enter for none, q to cancel: "


def describe_mode(plan: GuardPlan) -> str:
    """Return what the mode of a plan does."""
    return (STOP_HELP if "requires" in plan.matcher else MODE_HELP)[plan.mode]


def backtest_guard(cli: CliContext, ctx: Context, plan: GuardPlan) -> Backtest:
    """Run the backtest of a plan. After a second, a person at a terminal sees how far it is."""
    started, is_shown = time.monotonic(), sys.stderr.isatty() and not cli.json
    shown: list[int] = []

    def show_progress(number: int, count: int) -> None:
        percent = 100 * number // max(1, count)
        if is_shown and time.monotonic() - started > _PROGRESS_SECONDS and percent not in shown[-1:]:
            shown.append(percent)
            sys.stderr.write(f"\rreading past sessions: {percent}% ")
            sys.stderr.flush()

    found = run_backtest(ctx, plan.rule, plan.matcher, show_progress)
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
    return found


def format_backtest(found: Backtest, matcher: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sum, then each distinct match with its number, count and last date."""
    if not found.sessions:
        yield "no past calls to try it on: Claude Code has kept no transcripts where the rule applies"
        return
    if not found.matches:
        yield f"it would have matched nothing in {plural(found.sessions, 'session')}, {plural(found.days, 'day')}"
        return
    last, unit = found.matches[0], "turn" if "requires" in matcher else "call"
    yield (
        f"{plural(found.calls, unit)} in {plural(found.days, 'day')}, in {found.hits} of "
        f"{plural(found.sessions, 'session')}; last: `{one_line(last.text, 60)}` {format_day(last.last)}"
    )
    room = candidate_view.text_width()
    for number, match in enumerate(found.matches[:MAX_SHOWN], 1):
        tail = f"  {match.times}×, last {format_day(match.last)}"
        yield f"{number:>3}  {one_line(match.text, max(20, room - 5 - len(tail)))}{tail}"
    if len(found.matches) > MAX_SHOWN:
        yield f"     and {len(found.matches) - MAX_SHOWN} more; all of them: --test --json"


def confirm_matches(
    cli: CliContext, ctx: Context, plan: GuardPlan, read_line: Callable[[str], str], show: Callable[[str], None]
) -> tuple[GuardPlan, Backtest] | None:
    """Show the backtest until the person marks no more matches as wrong; None if they cancel."""
    from reflect_git.cli.review.screen import parse_numbers

    while True:
        found = backtest_guard(cli, ctx, plan)
        for line in format_backtest(found, plan.matcher):
            show(printable(line))
        if not found.matches:
            return plan, found
        while True:
            typed = read_line(WRONG_QUESTION).strip()
            if typed in ("", "none", "y", "yes"):
                return plan, found
            if typed in ("q", "n", "no"):
                return None
            offered = {str(number): number for number in range(1, min(len(found.matches), MAX_SHOWN) + 1)}
            chosen = parse_numbers(typed, offered)
            if chosen:
                break
            show("type numbers from the list, such as '1,3-5'")
        plan = _except_matches(plan, found, chosen, show)


def _except_matches(plan: GuardPlan, found: Backtest, chosen: list[int], show: Callable[[str], None]) -> GuardPlan:
    """Return the plan with an exception for each chosen match."""
    for number in chosen:
        match = found.matches[number - 1]
        made = except_call(plan.matcher, match.call)
        if made is None:
            show(printable(f"cannot except '{one_line(match.text, 60)}' alone; use --except or another --match"))
            continue
        changed = replace(plan, matcher=made)
        try:
            require_usable(changed)
        except ReflectError as error:
            show(printable(f"cannot except '{one_line(match.text, 60)}': {error.message}"))
            continue
        plan = changed
    return plan


def find_guard_author(cli: CliContext, ctx: Context, what: str) -> DecisionAuthor:
    """Return the person who decides about a guard. Inside Claude Code nobody may: guards are there to stop it.

    A reminder that a person chose there is another matter, see `find_reminder_author`.
    """
    if cli.is_inside_client:
        raise ReflectError(
            f"{what} needs a person: cannot do it inside Claude Code", "run it in a terminal", "approval"
        )
    at_terminal = cli.is_at_terminal and not cli.no_input
    channel = service.require_approval(ctx.store, cli.env, at_terminal, ctx.scan.history.decisions, what)
    return service.get_author(ctx.store, channel)


def find_reminder_author(cli: CliContext, ctx: Context, plan: GuardPlan) -> tuple[DecisionAuthor, str]:
    """Return who decides, and the answer in Claude Code by which a person chose this reminder for a broken rule."""
    broken = next((one for one in find_broken_rules(ctx) if one.rule["id"] == plan.rule["id"]), None)
    if broken is None or plan != plan_reminder(ctx, plan.rule):
        return find_guard_author(cli, ctx, "a guard"), ""
    return find_approver(cli, ctx, build_broken_rule_request(ctx, broken, "guard"))


def write_and_compile(
    cli: CliContext,
    ctx: Context,
    plan: GuardPlan,
    found: Backtest,
    by: DecisionAuthor,
    basis: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """Write the guard and switch it on; return the ids of the decision and the commit."""
    decision, commit = write_guard(ctx, plan, found.figures, by, basis)
    refresh_guards(ctx.store, cli.env, cli.scan(ctx.store))
    return decision, commit
