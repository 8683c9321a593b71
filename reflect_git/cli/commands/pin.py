"""Run `reflect-git pin` and `unpin`: keep a rule from being reverted automatically."""

from __future__ import annotations

import click

from reflect_git.cli import options
from reflect_git.cli.context import CliContext, one_line
from reflect_git.cli.guard_dialog import find_guard_author
from reflect_git.cli.options import dry_run_option, json_option, reason_option
from reflect_git.cli.review_setup import format_undo_hint, open_context
from reflect_git.rules.automatic import limits

_WIDTH = 100


@click.command()
@click.argument("name", metavar="LRN", callback=options.resolve_numbers, shell_complete=options.complete_rules)
@reason_option
@dry_run_option
@json_option
@click.pass_obj
def pin_command(cli: CliContext, name: str, reason: str, dry_run: bool) -> None:
    """Pin a rule: nothing reverts it automatically.

    You can still edit and revert it yourself. The pin holds on all your machines.

    \b
    Example:
      reflect-git pin LRN-20260211-4c8d2a1f
    """
    _change_pin(cli, name, reason, dry_run, is_pin=True)


@click.command()
@click.argument("name", metavar="LRN", callback=options.resolve_numbers, shell_complete=options.complete_rules)
@reason_option
@dry_run_option
@json_option
@click.pass_obj
def unpin_command(cli: CliContext, name: str, reason: str, dry_run: bool) -> None:
    """End the pin of a rule. The rule itself does not change.

    \b
    Example:
      reflect-git unpin LRN-20260211-4c8d2a1f
    """
    _change_pin(cli, name, reason, dry_run, is_pin=False)


def _change_pin(cli: CliContext, name: str, reason: str, dry_run: bool, is_pin: bool) -> None:
    ctx = open_context(cli, writes=not dry_run)
    rule = limits.plan_pin(ctx, name) if is_pin else limits.plan_unpin(ctx, name)
    decision = commit = None
    channel = ""
    if not dry_run:
        by = find_guard_author(cli, ctx, "pinning a rule" if is_pin else "ending a pin")
        decision, commit = (limits.write_pin if is_pin else limits.write_unpin)(ctx, rule, by, reason)
        channel = by["road"]
    if cli.json:
        cli.print_json({"learning": rule["id"], "pinned": is_pin, "decision": decision, "commit": commit})
        return
    would = "would pin" if is_pin else "would end the pin of"
    done = "pinned" if is_pin else "ended the pin of"
    cli.print_text(f"{would if dry_run else done} {rule['id']}" + (f", commit {commit[:10]}" if commit else ""))
    cli.print_line(f"    {one_line(rule['text'], _WIDTH - 4)}")
    if commit:
        cli.print_note(format_undo_hint(channel, commit))
