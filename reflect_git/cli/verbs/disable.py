"""Switch capture off: for good, for a while, or for a project."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.switching import (
    IGNORE,
    Change,
    carry_out,
    parse_span,
    pause,
    project_folder,
    project_glob,
    store_for,
    stored,
    switch_off,
)  # fmt: skip
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.ids import utc
from reflect_git.store import quiet

if TYPE_CHECKING:
    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store


@click.command()
@click.option("--for", "span", metavar="TIME", help="Only for a while: 30m, 2h, 3d.")
@click.option("--project", metavar="[DIR]", is_flag=False, flag_value=".", help="In this project only; default: here.")
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, span: str | None, project: str | None, dry_run: bool) -> None:
    """Switch capture off, everywhere or in a project, for good or for a while.

    Everywhere and for good also takes our hooks out of Claude Code's settings.json; those of the plugin stay, and do
    nothing.
    """
    if span is not None and project is not None:
        raise ReflectError("--for and --project do not go together", "give one of them", "usage", EXIT_USAGE)
    until = None if span is None else utc(time.time() + parse_span(span))
    store = store_for(front, dry_run)
    if project is not None:
        change = _in_project(store, project)
    else:
        change = switch_off(store, hooks=False) if until is None else pause(store, until)
    carry_out(front, store, change, dry_run)


def _in_project(store: Store | None, project: str) -> Change:
    if not os.path.isdir(project):
        raise ReflectError(f"'{project}' is not a folder", "name the folder of a project", "usage", EXIT_USAGE)
    folder, before = project_folder(os.path.realpath(project)), stored(store, IGNORE)
    known = project_glob(project) in before
    policies: dict[str, Value] = {} if known else {IGNORE: [*before, project_glob(project)]}
    undo = f"reflect-git enable --project '{folder}'"
    spans = quiet.begun(quiet.spans_in(stored(store, quiet.QUIET)), utc(), mark=quiet.mark_of(folder))
    settings: dict[str, Value] = {} if known else {quiet.QUIET: quiet.written(spans)}
    return Change(f"off in '{folder}'", undo, "ignored", policies, settings, project=folder)
