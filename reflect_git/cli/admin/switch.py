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
    SwitchChange,
    apply_switch,
    find_project_folder,
    format_ignore_glob,
    get_stored_values,
    open_store_unless_dry_run,
    parse_span,
    plan_pause,
    plan_switch_off,
    plan_switch_on,
)
from reflect_git.cli.context import CliContext
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import system
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
def enable_command(cli: CliContext, project: str | None, dry_run: bool) -> None:
    """Switch capture on, everywhere or in a project. Ends a pause.

    Without --project and without the plugin, it also adds the hooks to Claude Code's settings.json.
    """
    store = open_store_unless_dry_run(cli, dry_run)
    change = plan_switch_on(store, hooks=True) if project is None else _enable_in_project(store, project)
    if IGNORE in change.policies:  # a person said that nothing is captured there; no model takes that back
        why = "cannot enable an ignored project from inside Claude Code"
        cli.require_outside_client(why, ["enable", "--project", change.project or "."])
    apply_switch(cli, store, change, dry_run)


def _enable_in_project(store: Store | None, project: str) -> SwitchChange:
    folder = find_project_folder(system.current.find_true_path(project))
    before = get_stored_values(store, IGNORE)
    kept = [value for value in before if value != format_ignore_glob(project)]
    _require_not_ignored(folder, kept)
    policies: dict[str, Value] = {IGNORE: kept or None} if kept != before else {}
    spans = policy.end_spans(
        policy.parse_spans(get_stored_values(store, policy.QUIET_KEY)), utc(), policy.hash_folder(folder)
    )
    settings: dict[str, Value] = {policy.QUIET_KEY: policy.format_spans(spans)} if policies else {}
    undo = f"reflect-git disable --project '{folder}'"
    return SwitchChange(f"on in '{folder}'", undo, "on", policies, settings, project=folder)


def _require_not_ignored(folder: str, globs: list[str]) -> None:
    """Refuse if a .reflectignore or a wider glob also ignores the folder. The person has to remove those."""
    if os.path.lexists(os.path.join(folder, ".reflectignore")):
        raise ReflectError(
            f"'{folder}' has a .reflectignore", f"remove it: rm '{os.path.join(folder, '.reflectignore')}'", "ignored"
        )
    for value in globs:
        if service.matches_glob(folder, value):
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
def disable_command(cli: CliContext, span: str | None, project: str | None, dry_run: bool) -> None:
    """Switch capture off, everywhere or in a project, for good or for a while.

    Without options, it also removes the hooks from Claude Code's settings.json. The plugin's hooks stay and do nothing.
    """
    if span is not None and project is not None:
        raise ReflectError("--for and --project cannot be used together", "use one of them", "usage", EXIT_USAGE)
    until = None if span is None else utc(time.time() + parse_span(span))
    store = open_store_unless_dry_run(cli, dry_run)
    if project is not None:
        change = _disable_in_project(store, project)
    else:
        change = plan_switch_off(store, hooks=False) if until is None else plan_pause(store, until)
    apply_switch(cli, store, change, dry_run)


def _disable_in_project(store: Store | None, project: str) -> SwitchChange:
    if not os.path.isdir(project):
        raise ReflectError(f"'{project}' is not a folder", "use the folder of a project", "usage", EXIT_USAGE)
    folder, before = find_project_folder(system.current.find_true_path(project)), get_stored_values(store, IGNORE)
    known = format_ignore_glob(project) in before
    policies: dict[str, Value] = {} if known else {IGNORE: [*before, format_ignore_glob(project)]}
    undo = f"reflect-git enable --project '{folder}'"
    spans = policy.start_span(
        policy.parse_spans(get_stored_values(store, policy.QUIET_KEY)), utc(), mark=policy.hash_folder(folder)
    )
    settings: dict[str, Value] = {} if known else {policy.QUIET_KEY: policy.format_spans(spans)}
    return SwitchChange(f"off in '{folder}'", undo, "ignored", policies, settings, project=folder)


@click.command()
@click.argument("span", metavar="[TIME]", required=False)
@dry_run_option
@json_option
@click.pass_obj
def pause_command(cli: CliContext, span: str | None, dry_run: bool) -> None:
    """Pause capture for TIME (30m, 2h, 3d), or until 'resume'.

    The hooks stay installed and do nothing. What you say during the pause is never captured.

    Example: reflect-git pause 2h
    """
    until = None if span is None else utc(time.time() + parse_span(span))
    store = open_store_unless_dry_run(cli, dry_run)
    apply_switch(cli, store, plan_switch_off(store, hooks=None) if until is None else plan_pause(store, until), dry_run)


@click.command()
@dry_run_option
@json_option
@click.pass_obj
def resume_command(cli: CliContext, dry_run: bool) -> None:
    """Resume capture after 'pause' or 'disable'.

    If 'disable' removed the hooks, use 'enable' to add them again.
    """
    store = open_store_unless_dry_run(cli, dry_run)
    apply_switch(cli, store, plan_switch_on(store, hooks=None), dry_run)
    if not cli.json and capture_switch.find_hooks(cli.env).state == capture_switch.NONE:
        cli.print_note(click.style("hint: no hooks installed; run: reflect-git enable", fg="yellow"))
