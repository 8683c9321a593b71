"""Run `reflect-git init` and `uninstall`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.cli import capture_switch
from reflect_git.cli.context import CliContext, get_cwd, printable
from reflect_git.cli.environment import STAMP_FILE
from reflect_git.cli.options import dry_run_option, json_option, yes_option
from reflect_git.cli.review_setup import print_diff
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.guards import entry, rebuild
from reflect_git.memory import schedule
from reflect_git.platform import claude_settings, files
from reflect_git.platform.git import find_git
from reflect_git.records.ids import plural
from reflect_git.rules import project_commits, uninstall
from reflect_git.rules.uninstall import ERASE, UNMARK, Change
from reflect_git.store import creation, remotes
from reflect_git.sync import urls

if TYPE_CHECKING:
    from reflect_git.store.repository import Store


@click.command()
@dry_run_option
@json_option
@click.pass_obj
def init_command(cli: CliContext, dry_run: bool) -> None:
    """Create the store. Running it again changes nothing."""
    root = service.locate_store(cli.env, cli.store_option)
    is_new = not os.path.lexists(os.path.join(root, ".git"))
    if dry_run and is_new:
        _print_store(cli, root, None, created=False, line=f"would create a store at '{root}'")
        return
    store = service.open_store(cli.env, cli.store_option, create=False) if dry_run else cli.open_store()
    if is_new:
        _print_store(cli, root, store.machine, created=True, line=f"created a store at '{root}'")
    else:
        _print_store(cli, root, store.machine, created=False, line=f"the store is at '{root}'")
    _print_next_steps(cli, is_new)


def _print_store(cli: CliContext, root: str, machine: str | None, created: bool, line: str) -> None:
    if cli.json:
        cli.print_json({"store": root, "machine": machine, "created": created})
        return
    cli.print_text(printable(line))
    if machine:
        cli.print_text(f"this machine is called '{machine}'")


def _print_next_steps(cli: CliContext, is_new: bool) -> None:
    if capture_switch.find_hooks(cli.env).state == capture_switch.NONE:
        cli.print_hint("init", capture_switch.NO_HOOKS_HINT)
    elif is_new:
        cli.print_hint("init", "store a first signal with 'reflect-git capture --type convention --content TEXT'")


@click.command()
@click.option("--unmark", is_flag=True, help="Remove the markers from instruction files; keep the text.")
@click.option("--erase", is_flag=True, help="Also remove all rules and delete the store.")
@yes_option
@dry_run_option
@json_option
@click.pass_obj
def uninstall_command(cli: CliContext, unmark: bool, erase: bool, dry_run: bool) -> None:
    """Remove the hooks from Claude Code; keep the store and the rules.

    --unmark and --erase change files in Claude Code's folder, in this project, and in projects known to the store.
    """
    if unmark and erase:
        raise ReflectError("--unmark and --erase cannot be used together", "use one of them", "usage", EXIT_USAGE)
    store = cli.find_store() if dry_run else _open_store_if_any(cli)
    how = UNMARK if unmark else ERASE if erase else ""
    found = list(uninstall.list_changes(store, cli.env, cli.scan(store), get_cwd(), how)) if store and how else []
    if not dry_run:
        _confirm_uninstall(cli, store, how, found)
    install = capture_switch.plan_hooks(cli.env, store, wanted=False)
    uncommitted = _find_uncommitted(cli, store, how, found, install)
    left = _list_remaining_steps(cli, remotes.get_url(store) if store and erase else "")
    has_entry = entry.entry_state(cli.env, cli.store_option) in (entry.PRESENT, entry.OUTDATED)
    if not dry_run:
        _apply_uninstall(cli, store, how, found)
    changed = install.path if install.has_changes or has_entry else ""
    _print_report(cli, _UninstallReport(store, how, found, changed, uncommitted, left), dry_run)


def _open_store_if_any(cli: CliContext) -> Store | None:
    """Return the swept store, or None if no store is there. The hooks are removed in either case."""
    return cli.open_store(create=False) if cli.find_store() else None


def _confirm_uninstall(cli: CliContext, store: Store | None, how: str, found: list[Change]) -> None:
    """List all changes to files and the store, then ask.

    Removing the hooks needs a person, too: no commit records it, and without hooks no answer of a person is recorded.
    """
    why = f"cannot run --{how} from inside Claude Code" if how else "cannot uninstall from inside Claude Code"
    more = "" if how else ", or type /reflect-toggle to switch capture off"
    cli.require_outside_client(why, ["uninstall", *([f"--{how}"] if how else [])], more)
    if not how:
        return
    for change in found:
        cli.print_note(printable(f"{change.path}: {plural(change.count, 'entry', 'entries')}"))
        if not cli.json:
            print_diff(cli, change.diff)
    if how == ERASE and store:
        cli.print_note(printable(f"{store.root}: the whole store, with history and backups"))
        for line in _list_plugin_removals(cli):
            cli.print_note(
                click.style("hint: the plugin would create a new store in the next session; first run:", fg="yellow")
            )
            cli.print_note(click.style(f"hint: {line}", fg="yellow"), as_is=True)  # whole, to be copied
    if (found or (how == ERASE and store)) and not cli.confirm("remove all of this?"):
        raise ReflectError("nothing was changed", code="declined")


def _apply_uninstall(cli: CliContext, store: Store | None, how: str, found: list[Change]) -> None:
    for change in found:
        uninstall.apply_change(change)
    if store:
        rebuild.remove_all(store, cli.env)
    else:
        entry.remove_entry(cli.env, cli.store_option)
    capture_switch.install_hooks(cli.env, store, wanted=False)
    _clean_up(cli, store)
    if store:
        schedule.remove(store, cli.env)
    if how == ERASE and store:
        shutil.rmtree(store.root)
        cli.opened_store = None  # there is nothing left to tidy up


def _clean_up(cli: CliContext, store: Store | None) -> None:
    """Remove the files that hooks and killed runs left around the store."""
    root = service.locate_store(cli.env, cli.store_option)
    shutil.rmtree(_get_cache_folder(cli), ignore_errors=True)
    capture_switch.remove_staging_file(cli.env, store)
    creation.remove_abandoned_drafts(os.path.dirname(root))
    files.remove(f"{root}.log")


def _get_cache_folder(cli: CliContext) -> str:
    """Return the folder in which the launcher caches the interpreter's name if the plugin is not installed."""
    base = cli.env.get("XDG_CACHE_HOME") or os.path.join(paths.home_dir(cli.env), ".cache")
    return os.path.join(base, "reflect-git")


def _find_uncommitted(
    cli: CliContext, store: Store | None, how: str, found: list[Change], install: capture_switch.HookInstall
) -> dict[str, list[str]]:
    """Return the files with uncommitted changes, by repository.

    With --erase, files that are only staged do not count: their learned text should not be committed.
    """
    changes = [(one.path, one.after) for one in found] + (
        [(install.path, install.after)] if install.has_changes else []
    )
    if not changes:
        return {}
    known = store.git.program if store else ""
    program = known or find_git(cli.env.get("PATH", ""), cli.env.get("CLAUDE_PROJECT_DIR", ""))
    return project_commits.find_uncommitted(program, changes, staged=how != ERASE)


class _UninstallReport(NamedTuple):
    """`uncommitted` are a person's own repositories, each with its files that are theirs to commit."""

    store: Store | None
    mode: str
    changes: list[Change]
    settings_path: str
    uncommitted: dict[str, list[str]]
    remaining_steps: list[str]


def _print_report(cli: CliContext, leave: _UninstallReport, dry_run: bool) -> None:
    kept = leave.store.root if leave.store and leave.mode != ERASE else None
    if cli.json:
        listed = [{"path": change.path, "entries": change.count, "diff": change.diff} for change in leave.changes]
        commits = [{"repository": top, "files": names} for top, names in leave.uncommitted.items()]
        settings = leave.settings_path or None
        cli.print_json(
            {"files": listed, "to_commit": commits, "settings": settings, "store": kept, "left": leave.remaining_steps}
        )
        return
    would = "would remove" if dry_run else "removed"
    if leave.settings_path:
        cli.print_text(printable(f"{would} our hooks from '{leave.settings_path}'"))
    for change in leave.changes:
        what = "the markers of" if leave.mode == UNMARK else ""
        entries = plural(change.count, "entry", "entries")
        cli.print_text(printable(f"{would} {f'{what} {entries}'.strip()} from '{change.path}'"))
    if leave.mode == ERASE and leave.store:
        cli.print_text(printable(f"{'would delete' if dry_run else 'deleted'} '{leave.store.root}'"))
    if kept:
        cli.print_text(printable(f"kept the store '{kept}' and all rules"))
    _print_remaining_steps(cli, leave, dry_run)


def _print_remaining_steps(cli: CliContext, leave: _UninstallReport, dry_run: bool) -> None:
    for top, names in leave.uncommitted.items():
        cli.print_text(
            printable(
                project_commits.format_commit_advice(names, top, get_cwd(), "would change" if dry_run else "changed")
            )
        )
    for line in leave.remaining_steps:
        if line.startswith("remove"):
            cli.print_text(printable(f"then {line}"))
        else:
            cli.print_line(printable(f"now run: {line}"))  # whole, to be copied


def _list_remaining_steps(cli: CliContext, remote: str) -> list[str]:
    """List commands for the rest: the running program, manual setup, and copies on remotes."""
    data = claude_settings.read_settings(claude_settings.get_settings_path(paths.config_dir(cli.env)))
    found = _list_plugin_removals(cli)
    if claude_settings.has_marketplace(data):
        found.append("claude plugin marketplace remove reflect-git")
    copies = _merge_into_parents(claude_settings.list_plugin_copies(paths.config_dir(cli.env)))
    found += [f"rm -r {shlex.quote(path)}    # a copy that Claude Code made" for path in copies]
    found.append(_format_program_removal(sys.prefix))
    try:
        settings = json.loads(data or b"{}")
    except ValueError:
        settings = {}
    if isinstance(settings, dict) and "statusline.py" in json.dumps(settings.get("statusLine", "")):
        found.append("remove the 'statusLine' entry from Claude Code's settings.json")
    if remote:
        found.append(
            f"remove '{urls.format_url(remote)}' from its host if no other machine needs it; it has your rules"
        )
    return found


def _format_program_removal(prefix: str) -> str:
    """Return the command that removes the running environment: the plugin's own, or one that the person created."""
    if os.path.isfile(os.path.join(prefix, STAMP_FILE)):
        return f"rm -r {shlex.quote(os.path.dirname(prefix))}    # the environment of this command"
    return "pipx uninstall reflect-git    # or however you installed it"


def _merge_into_parents(copies: list[str]) -> list[str]:
    """Merge folders into their parent, up to the plugin's marketplace, if the parent contains nothing else."""
    gone = set(copies)
    for _ in ("the plugin", "its marketplace"):
        for parent in {os.path.dirname(path) for path in gone}:
            inside = {os.path.join(parent, name) for name in os.listdir(parent)}
            if inside <= gone:
                gone = gone - inside | {parent}
    return sorted(gone)


def _list_plugin_removals(cli: CliContext) -> list[str]:
    """Return the commands that uninstall the plugin, so that its hooks are no longer called."""
    data = claude_settings.read_settings(claude_settings.get_settings_path(paths.config_dir(cli.env)))
    found = ["claude plugin uninstall reflect-git@reflect-git"] if claude_settings.has_plugin(data) else []
    return found + [
        f"cd {shlex.quote(folder)} && claude plugin uninstall --scope {scope} reflect-git@reflect-git"
        for folder, scope in claude_settings.find_projects_with_plugin(paths.config_dir(cli.env))
    ]
