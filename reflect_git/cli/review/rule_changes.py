"""Change a rule in force during a review: reword it in the editor, or retire it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.cli.context import printable
from reflect_git.cli.output import candidate_view, console
from reflect_git.cli.review_setup import find_approver
from reflect_git.rules import amend, revert
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.write_change import require_not_refused

if TYPE_CHECKING:
    from reflect_git.cli.output.console import Console
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.records.schema import DecisionAuthor, Learning


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
