"""Switch capture on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from reflect_git import workflow
from reflect_git.cli.front import Front
from reflect_git.cli.options import dry_run_option, json_option
from reflect_git.cli.switching import (
    IGNORE,
    Change,
    carry_out,
    project_folder,
    project_glob,
    store_for,
    stored,
    switch_on,
)  # fmt: skip
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc
from reflect_git.store import quiet

if TYPE_CHECKING:
    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store


@click.command()
@click.option("--project", metavar="[DIR]", is_flag=False, flag_value=".", help="In this project only; default: here.")
@dry_run_option
@json_option
@click.pass_obj
def command(front: Front, project: str | None, dry_run: bool) -> None:
    """Switch capture on, everywhere or in a project. Ends a pause.

    Everywhere also means that Claude Code calls the hooks: without the plugin they are added to its settings.json.
    """
    store = store_for(front, dry_run)
    change = switch_on(store, hooks=True) if project is None else _in_project(store, project)
    if IGNORE in change.policies:  # a person said that nothing is captured there; no model takes that back
        why = "what is ignored cannot be captured again from inside Claude Code"
        front.require_outside(why, ["enable", "--project", change.project or "."])
    carry_out(front, store, change, dry_run)


def _in_project(store: Store | None, project: str) -> Change:
    folder = project_folder(os.path.realpath(project))
    before = stored(store, IGNORE)
    kept = [value for value in before if value != project_glob(project)]
    _require_nothing_else(folder, kept)
    policies: dict[str, Value] = {IGNORE: kept or None} if kept != before else {}
    spans = quiet.ended(quiet.spans_in(stored(store, quiet.QUIET)), utc(), quiet.mark_of(folder))
    settings: dict[str, Value] = {quiet.QUIET: quiet.written(spans)} if policies else {}
    undo = f"reflect-git disable --project '{folder}'"
    return Change(f"on in '{folder}'", undo, "on", policies, settings, project=folder)


def _require_nothing_else(folder: str, globs: list[str]) -> None:
    """What a person wrote on purpose for more than this folder is theirs to take back."""
    if os.path.lexists(os.path.join(folder, ".reflectignore")):
        raise ReflectError(
            f"'{folder}' has a .reflectignore", f"remove it: rm '{os.path.join(folder, '.reflectignore')}'", "ignored"
        )
    for value in globs:
        if workflow.matches(folder, value):
            raise ReflectError(
                f"'{folder}' is ignored by '{value}'", f"take it back: reflect-git config --unset {IGNORE} '{value}'",
                code="ignored",
            )  # fmt: skip
