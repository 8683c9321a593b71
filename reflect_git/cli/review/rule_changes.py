"""Ask about a rule in force during a review, and change it: reword it in the editor, or retire it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.cli.context import printable
from reflect_git.cli.output import candidate_view, console
from reflect_git.cli.output.console import InputEnded
from reflect_git.cli.review_setup import find_approver
from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import FileChanged
from reflect_git.rules import amend, revert
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.write_change import require_not_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reflect_git.cli.output.console import Console
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.records.schema import DecisionAuthor, Learning


def ask_until_decided(
    screen: ReviewScreen, keyboard: Console, asked: str, keys: Mapping[str, str],
    actions: Mapping[str, Callable[[], str]],
) -> str:  # fmt: skip
    """Ask until an action decides something; return what, or "" if the person skips. `q` ends the whole review.

    `keys` maps each key to its help. An action returns "" if it decided nothing.
    """
    while True:
        typed = keyboard.read_key(f"{asked} [{','.join(keys)}]? ")
        if typed == "q":
            raise InputEnded
        if typed == "s":
            return ""
        if typed not in keys or typed not in actions:
            screen.print_keys(keys)
            continue
        try:
            screen.reload()
            if decided := actions[typed]():
                return decided
        except (FileChanged, ReflectError) as error:
            screen.print_error(error)


def reword_rule(screen: ReviewScreen, keyboard: Console, rule: Learning, headline: str) -> bool:
    """Open the editor, show the change and ask; return whether the rule was changed."""
    ctx = screen.queue
    advice = [*console.EDIT_ADVICE, "", f"{rule['id']} in {rule['target']['path']}", headline]
    saved = keyboard.edit_text(ctx.store, rule["text"], advice)
    if not saved or saved == rule["text"]:
        screen.print_lines("nothing was changed")
        return False
    amendment = amend.plan_amendment(ctx, rule, amend.AmendRequest(saved))
    require_not_refused(amendment.findings)
    screen.show_change(amendment.diff)
    for found in amendment.findings:
        screen.print_lines(*candidate_view.format_finding(found, ""))
    is_risky = any(found.kind == "risk" for found in amendment.findings)
    is_meant = (
        keyboard.confirm_first_word(amendment.new["text"], "use it anyway")
        if is_risky
        else keyboard.confirm("change the rule like this")
    )
    if not is_meant:
        screen.print_lines("nothing was changed")
        return False
    done = amend.write_amendment(ctx, amendment, find_author(screen, rule))
    _finish_change(screen, f"amended {done.learning} in '{printable(done.target)}'", rule, done.target)
    return True


def retire_rule(screen: ReviewScreen, keyboard: Console, rule: Learning) -> bool:
    """Show the change and ask; return whether the rule was retired."""
    ctx = screen.queue
    reversal = revert.plan_revert(ctx, revert.select_by_name(ctx, rule["id"]))
    screen.show_change(reversal.diff)
    if not keyboard.confirm("retire the rule"):
        screen.print_lines("nothing was changed")
        return False
    done = revert.write_revert(ctx, reversal, find_author(screen, rule))
    _finish_change(screen, f"retired {rule['id']}", rule, done.target)
    return True


def find_author(screen: ReviewScreen, rule: Learning) -> DecisionAuthor:
    """Return the person who decides about a rule."""
    return find_approver(screen.cli, screen.queue, ApprovalRequest(rule["id"], rule["text"], rule["target"]["kind"]))[0]


def _finish_change(screen: ReviewScreen, said: str, rule: Learning, changed: str) -> None:
    screen.finish_answer(said, "" if rule["scope"] == "global" else changed)
