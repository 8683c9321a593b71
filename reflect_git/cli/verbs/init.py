"""Make the store, or say that it is there."""

from __future__ import annotations

import os

import click

from reflect_git import workflow
from reflect_git.cli import wiring
from reflect_git.cli.front import Front, printable
from reflect_git.cli.options import dry_run_option, json_option


@click.command()
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, dry_run: bool) -> None:
    """Make the store. Done again, it changes nothing."""
    root = workflow.locate_store(front.env, front.store_option)
    is_new = not os.path.lexists(os.path.join(root, ".git"))
    if dry_run and is_new:
        _say(front, root, None, created=False, line=f"would make a store at '{root}'")
        return
    store = workflow.open_store(front.env, front.store_option, create=False) if dry_run else front.store()
    if is_new:
        _say(front, root, store.machine, created=True, line=f"made a store at '{root}'")
    else:
        _say(front, root, store.machine, created=False, line=f"the store is at '{root}'")
    _next_steps(front, is_new)


def _say(front: Front, root: str, machine: str | None, created: bool, line: str) -> None:
    if front.json:
        front.data({"store": root, "machine": machine, "created": created})
        return
    front.tell(printable(line))
    if machine:
        front.tell(f"this machine is called '{machine}'")


def _next_steps(front: Front, is_new: bool) -> None:
    if wiring.look(front.env).state == wiring.NONE:
        front.hint("init", wiring.BEGIN)
    elif is_new:
        front.hint("init", "'reflect-git capture --type convention --content TEXT' stores a first signal")
