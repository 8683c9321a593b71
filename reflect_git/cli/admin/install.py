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
from reflect_git.cli.context import Front, printable
from reflect_git.cli.environment import STAMP
from reflect_git.cli.options import dry_run_option, json_option, yes_option
from reflect_git.cli.review_setup import here, show_diff
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import claude_settings, files
from reflect_git.platform.git import find_program
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
def init_command(front: Front, dry_run: bool) -> None:
    """Create the store. Running it again changes nothing."""
    root = service.locate_store(front.env, front.store_option)
    is_new = not os.path.lexists(os.path.join(root, ".git"))
    if dry_run and is_new:
        _say(front, root, None, created=False, line=f"would create a store at '{root}'")
        return
    store = service.open_store(front.env, front.store_option, create=False) if dry_run else front.store()
    if is_new:
        _say(front, root, store.machine, created=True, line=f"created a store at '{root}'")
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
    if capture_switch.look(front.env).state == capture_switch.NONE:
        front.hint("init", capture_switch.BEGIN)
    elif is_new:
        front.hint("init", "store a first signal with 'reflect-git capture --type convention --content TEXT'")


@click.command()
@click.option("--unmark", is_flag=True, help="Remove the markers from instruction files; keep the text.")
@click.option("--erase", is_flag=True, help="Also remove all rules and delete the store.")
@yes_option
@dry_run_option
@json_option
@click.pass_obj
def uninstall_command(front: Front, unmark: bool, erase: bool, dry_run: bool) -> None:
    """Remove the hooks from Claude Code; keep the store and the rules.

    --unmark and --erase change files in your configuration folder, here, and in projects known to the store.
    """
    if unmark and erase:
        raise ReflectError("--unmark and --erase cannot be used together", "use one of them", "usage", EXIT_USAGE)
    store = front.store_if_any() if dry_run else _swept(front)
    how = UNMARK if unmark else ERASE if erase else ""
    found = list(uninstall.changes(store, front.env, front.scan(store), here(), how)) if store and how else []
    if not dry_run:
        _ask(front, store, how, found)
    wired = capture_switch.plan(front.env, store, wanted=False)
    uncommitted = _uncommitted(front, store, how, found, wired)
    left = _left(front, remotes.url_of(store) if store and erase else "")
    if not dry_run:
        _carry_out(front, store, how, found)
    _tell(front, _Leave(store, how, found, wired.path if wired.changes else "", uncommitted, left), dry_run)


def _swept(front: Front) -> Store | None:
    """Return the swept store, or None if no store is there. The hooks are removed in either case."""
    return front.store(create=False) if front.store_if_any() else None


def _ask(front: Front, store: Store | None, how: str, found: list[Change]) -> None:
    """List all changes to files and the store, then ask.

    Removing the hooks needs a person, too: no commit records it, and without hooks no answer of a person is recorded.
    """
    why = f"cannot run --{how} from inside Claude Code" if how else "cannot uninstall from inside Claude Code"
    more = "" if how else ", or type /reflect-toggle to switch capture off"
    front.require_outside(why, ["uninstall", *([f"--{how}"] if how else [])], more)
    if not how:
        return
    for change in found:
        front.talk(printable(f"{change.path}: {plural(change.count, 'entry', 'entries')}"))
        if not front.json:
            show_diff(front, change.diff)
    if how == ERASE and store:
        front.talk(printable(f"{store.root}: the whole store, with history and backups"))
        for line in _callers(front):
            front.talk(
                click.style("hint: the plugin would create a new store in the next session; first run:", fg="yellow")
            )
            front.talk(click.style(f"hint: {line}", fg="yellow"), as_is=True)  # whole, to be copied
    if (found or (how == ERASE and store)) and not front.confirm("remove all of this?"):
        raise ReflectError("nothing was changed", code="declined")


def _carry_out(front: Front, store: Store | None, how: str, found: list[Change]) -> None:
    for change in found:
        uninstall.carry_out(change)
    capture_switch.install_hooks(front.env, store, wanted=False)
    _clean_up(front, store)
    if how == ERASE and store:
        shutil.rmtree(store.root)
        front.opened = None  # there is nothing left to tidy up


def _clean_up(front: Front, store: Store | None) -> None:
    """Remove the files that hooks and killed runs left around the store."""
    root = service.locate_store(front.env, front.store_option)
    shutil.rmtree(_cache(front), ignore_errors=True)
    capture_switch.remove_left_behind(front.env, store)
    creation.remove_abandoned(os.path.dirname(root))
    files.remove(f"{root}.log")


def _cache(front: Front) -> str:
    """Return the folder in which the launcher caches the interpreter's name if the plugin is not installed."""
    base = front.env.get("XDG_CACHE_HOME") or os.path.join(paths.home_dir(front.env), ".cache")
    return os.path.join(base, "reflect-git")


def _uncommitted(
    front: Front, store: Store | None, how: str, found: list[Change], wired: capture_switch.Wiring
) -> dict[str, list[str]]:
    """Return the files with uncommitted changes, by repository.

    With --erase, files that are only staged do not count: their learned text should not be committed.
    """
    changes = [(one.path, one.after) for one in found] + ([(wired.path, wired.after)] if wired.changes else [])
    if not changes:
        return {}
    known = store.git.program if store else ""
    program = known or find_program(front.env.get("PATH", ""), front.env.get("CLAUDE_PROJECT_DIR", ""))
    return project_commits.left(program, changes, staged=how != ERASE)


class _Leave(NamedTuple):
    """`uncommitted` are a person's own repositories, each with its files that are theirs to commit."""

    store: Store | None
    how: str
    found: list[Change]
    settings: str
    uncommitted: dict[str, list[str]]
    left: list[str]


def _tell(front: Front, leave: _Leave, dry_run: bool) -> None:
    kept = leave.store.root if leave.store and leave.how != ERASE else None
    if front.json:
        listed = [{"path": change.path, "entries": change.count, "diff": change.diff} for change in leave.found]
        commits = [{"repository": top, "files": names} for top, names in leave.uncommitted.items()]
        settings = leave.settings or None
        front.data({"files": listed, "to_commit": commits, "settings": settings, "store": kept, "left": leave.left})
        return
    would = "would remove" if dry_run else "removed"
    if leave.settings:
        front.tell(printable(f"{would} our hooks from '{leave.settings}'"))
    for change in leave.found:
        what = "the markers of" if leave.how == UNMARK else ""
        entries = plural(change.count, "entry", "entries")
        front.tell(printable(f"{would} {f'{what} {entries}'.strip()} from '{change.path}'"))
    if leave.how == ERASE and leave.store:
        front.tell(printable(f"{'would delete' if dry_run else 'deleted'} '{leave.store.root}'"))
    if kept:
        front.tell(printable(f"kept the store '{kept}' and all rules"))
    _tell_what_is_left(front, leave, dry_run)


def _tell_what_is_left(front: Front, leave: _Leave, dry_run: bool) -> None:
    for top, names in leave.uncommitted.items():
        front.tell(printable(project_commits.commit(names, top, here(), "would change" if dry_run else "changed")))
    for line in leave.left:
        if line.startswith("remove"):
            front.tell(printable(f"then {line}"))
        else:
            front.out(printable(f"now run: {line}"))  # whole, to be copied


def _left(front: Front, remote: str) -> list[str]:
    """List commands for the rest: the running program, manual setup, and copies on remotes."""
    data = claude_settings.read_settings(claude_settings.settings_path(paths.config_dir(front.env)))
    found = _callers(front)
    if claude_settings.has_marketplace(data):
        found.append("claude plugin marketplace remove reflect-git")
    copies = _with_parents(claude_settings.copies(paths.config_dir(front.env)))
    found += [f"rm -r {shlex.quote(path)}    # a copy that Claude Code made" for path in copies]
    found.append(_program(sys.prefix))
    try:
        settings = json.loads(data or b"{}")
    except ValueError:
        settings = {}
    if isinstance(settings, dict) and "statusline.py" in json.dumps(settings.get("statusLine", "")):
        found.append("remove the 'statusLine' entry from Claude Code's settings.json")
    if remote:
        found.append(f"remove '{urls.shown(remote)}' from its host if no other machine needs it; it has your rules")
    return found


def _program(prefix: str) -> str:
    """Return the command that removes the running environment: the plugin's own, or one that the person created."""
    if os.path.isfile(os.path.join(prefix, STAMP)):
        return f"rm -r {shlex.quote(os.path.dirname(prefix))}    # the environment of this command"
    return "pipx uninstall reflect-git    # or however you installed it"


def _with_parents(copies: list[str]) -> list[str]:
    """Merge folders into their parent, up to the plugin's marketplace, if the parent contains nothing else."""
    gone = set(copies)
    for _ in ("the plugin", "its marketplace"):
        for parent in {os.path.dirname(path) for path in gone}:
            inside = {os.path.join(parent, name) for name in os.listdir(parent)}
            if inside <= gone:
                gone = gone - inside | {parent}
    return sorted(gone)


def _callers(front: Front) -> list[str]:
    """Return the commands that uninstall the plugin, so that its hooks are no longer called."""
    data = claude_settings.read_settings(claude_settings.settings_path(paths.config_dir(front.env)))
    found = ["claude plugin uninstall reflect-git@reflect-git"] if claude_settings.has_plugin(data) else []
    return found + [
        f"cd {shlex.quote(folder)} && claude plugin uninstall --scope {scope} reflect-git@reflect-git"
        for folder, scope in claude_settings.projects_with_plugin(paths.config_dir(front.env))
    ]
