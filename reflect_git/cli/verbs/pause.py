"""Pause capture: for a time, or until it is resumed."""

from __future__ import annotations

import time

import click

from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.switching import carry_out, parse_span, pause, store_for, switch_off
from reflect_git.model.ids import utc


@click.command()
@click.argument("span", metavar="[TIME]", required=False)
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, span: str | None, dry_run: bool) -> None:
    """Pause capture for TIME (30m, 2h, 3d), or until 'resume'.

    The hooks stay in Claude Code's settings and do nothing. What is said meanwhile is never captured.

    Example: reflect-git pause 2h
    """
    until = None if span is None else utc(time.time() + parse_span(span))
    store = store_for(front, dry_run)
    carry_out(front, store, switch_off(store, hooks=None) if until is None else pause(store, until), dry_run)
