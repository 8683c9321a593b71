"""Switch capture off: for good, for a while, or for a project."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from reflect_git import workflow
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.switching import (
    CAPTURE,
    IGNORE,
    PAUSED,
    Change,
    carry_out,
    project_folder,
    project_glob,
    store_for,
    stored,
)  # fmt: skip
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.ids import utc
from reflect_git.store import quiet

if TYPE_CHECKING:
    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store

_LONGEST = 366 * 86400


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
    until = None if span is None else utc(time.time() + _seconds(span))
    store = store_for(front, dry_run)
    if project is not None:
        change = _in_project(store, project)
    else:
        change = _everywhere(store) if until is None else _for_a_while(store, until)
    carry_out(front, store, change, dry_run)


def _seconds(span: str) -> int:
    seconds = workflow.parse_duration(span)
    if seconds is None or not 0 < seconds <= _LONGEST:
        raise ReflectError(f"'{span}' is not a span of time", "write 30m, 2h, 3d or 1w", "usage", EXIT_USAGE)
    return seconds


def _everywhere(store: Store | None) -> Change:
    off = store is not None and not store.switched(CAPTURE, True)
    policies: dict[str, Value] = {} if off else {CAPTURE: "false"}
    settings: dict[str, Value] = {PAUSED: None} if stored(store, PAUSED) else {}
    return Change("off", "reflect-git enable", "off", policies, settings, hooks=False)


def _for_a_while(store: Store | None, until: str) -> Change:
    if store is not None and not store.switched(CAPTURE, True):
        return Change("off, for good", "reflect-git enable", "off", {}, {})
    spans = quiet.begun(quiet.ended(quiet.spans_in(stored(store, quiet.QUIET)), utc()), utc(), until)
    settings: dict[str, Value] = {PAUSED: until, quiet.QUIET: quiet.written(spans)}
    return Change(f"paused until {until}", "reflect-git enable", "paused", {}, settings, until)


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
