"""Run `reflect-git enable`, `disable`, `pause` and `resume`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from reflect_git.capture import service
from reflect_git.cli import capture_switch
from reflect_git.cli.capture_switch import (  # fmt: skip  # fmt: skip
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
    switch_on,
)
from reflect_git.cli.context import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import utc
from reflect_git.store import policy

if TYPE_CHECKING:
    from reflect_git.store.config_file import Value
    from reflect_git.store.repository import Store


@click.command()
@click.option("--project", metavar="[DIR]", is_flag=False, flag_value=".", help="In this project only; default: here.")
@dry_run_option
@json_option
@click.pass_obj
def enable_command(front: Front, project: str | None, dry_run: bool) -> None:
    """Switch capture on, everywhere or in a project. Ends a pause.

    Without --project and without the plugin, it also adds the hooks to Claude Code's settings.json.
    """
    store = store_for(front, dry_run)
    change = switch_on(store, hooks=True) if project is None else _in_project(store, project)
    if IGNORE in change.policies:  # a person said that nothing is captured there; no model takes that back
        why = "cannot enable an ignored project from inside Claude Code"
        front.require_outside(why, ["enable", "--project", change.project or "."])
    carry_out(front, store, change, dry_run)


def _in_project(store: Store | None, project: str) -> Change:
    folder = project_folder(os.path.realpath(project))
    before = stored(store, IGNORE)
    kept = [value for value in before if value != project_glob(project)]
    _require_nothing_else(folder, kept)
    policies: dict[str, Value] = {IGNORE: kept or None} if kept != before else {}
    spans = policy.ended(policy.spans_in(stored(store, policy.QUIET)), utc(), policy.mark_of(folder))
    settings: dict[str, Value] = {policy.QUIET: policy.written(spans)} if policies else {}
    undo = f"reflect-git disable --project '{folder}'"
    return Change(f"on in '{folder}'", undo, "on", policies, settings, project=folder)


def _require_nothing_else(folder: str, globs: list[str]) -> None:
    """Refuse if a .reflectignore or a wider glob also ignores the folder. The person has to remove those."""
    if os.path.lexists(os.path.join(folder, ".reflectignore")):
        raise ReflectError(
            f"'{folder}' has a .reflectignore", f"remove it: rm '{os.path.join(folder, '.reflectignore')}'", "ignored"
        )
    for value in globs:
        if service.matches(folder, value):
            raise ReflectError(
                f"'{folder}' is ignored by '{value}'", f"remove it: reflect-git config --unset {IGNORE} '{value}'",
                code="ignored",
            )  # fmt: skip


@click.command()
@click.option("--for", "span", metavar="TIME", help="Pause for this long: 30m, 2h, 3d.")
@click.option("--project", metavar="[DIR]", is_flag=False, flag_value=".", help="In this project only; default: here.")
@dry_run_option
@json_option
@click.pass_obj
def disable_command(front: Front, span: str | None, project: str | None, dry_run: bool) -> None:
    """Switch capture off, everywhere or in a project, for good or for a while.

    Without options, it also removes the hooks from Claude Code's settings.json. The plugin's hooks stay and do nothing.
    """
    if span is not None and project is not None:
        raise ReflectError("--for and --project cannot be used together", "use one of them", "usage", EXIT_USAGE)
    until = None if span is None else utc(time.time() + parse_span(span))
    store = store_for(front, dry_run)
    if project is not None:
        change = _disable_in_project(store, project)
    else:
        change = switch_off(store, hooks=False) if until is None else pause(store, until)
    carry_out(front, store, change, dry_run)


def _disable_in_project(store: Store | None, project: str) -> Change:
    if not os.path.isdir(project):
        raise ReflectError(f"'{project}' is not a folder", "use the folder of a project", "usage", EXIT_USAGE)
    folder, before = project_folder(os.path.realpath(project)), stored(store, IGNORE)
    known = project_glob(project) in before
    policies: dict[str, Value] = {} if known else {IGNORE: [*before, project_glob(project)]}
    undo = f"reflect-git enable --project '{folder}'"
    spans = policy.begun(policy.spans_in(stored(store, policy.QUIET)), utc(), mark=policy.mark_of(folder))
    settings: dict[str, Value] = {} if known else {policy.QUIET: policy.written(spans)}
    return Change(f"off in '{folder}'", undo, "ignored", policies, settings, project=folder)


@click.command()
@click.argument("span", metavar="[TIME]", required=False)
@dry_run_option
@json_option
@click.pass_obj
def pause_command(front: Front, span: str | None, dry_run: bool) -> None:
    """Pause capture for TIME (30m, 2h, 3d), or until 'resume'.

    The hooks stay installed and do nothing. What you say during the pause is never captured.

    Example: reflect-git pause 2h
    """
    until = None if span is None else utc(time.time() + parse_span(span))
    store = store_for(front, dry_run)
    carry_out(front, store, switch_off(store, hooks=None) if until is None else pause(store, until), dry_run)


@click.command()
@dry_run_option
@json_option
@click.pass_obj
def resume_command(front: Front, dry_run: bool) -> None:
    """Resume capture after 'pause' or 'disable'.

    If 'disable' removed the hooks, use 'enable' to add them again.
    """
    store = store_for(front, dry_run)
    carry_out(front, store, switch_on(store, hooks=None), dry_run)
    if not front.json and capture_switch.look(front.env).state == capture_switch.NONE:
        front.talk(click.style("hint: no hooks installed; run: reflect-git enable", fg="yellow"))
