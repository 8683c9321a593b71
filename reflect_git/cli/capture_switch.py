"""Capture: whether it is on in this folder, and how to switch it for good, for a while, or for one project."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reflect_git import __version__, paths
from reflect_git.capture import service
from reflect_git.cli.context import CliContext, format_duration, format_local_time, printable
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.guards import rebuild
from reflect_git.platform import claude_settings, files, system
from reflect_git.records.ids import parse_utc, utc, utc_precise
from reflect_git.rules import derived_files
from reflect_git.store import api, maintenance, policy
from reflect_git.store.local import settings_manifest

if TYPE_CHECKING:
    from reflect_git.records.schema import DecisionAuthor
    from reflect_git.store.config_file import Value
    from reflect_git.store.repository import Store

CAPTURE, PAUSED, IGNORE = "reflect.capture", policy.PAUSED_KEY, "reflect.ignore"
_LONGEST_PAUSE = 366 * 86400


@dataclass(frozen=True)
class CaptureState:
    """The state of capture in this folder, and the reason if it is off."""

    state: str
    until: str | None = None
    reason: str = ""

    def describe(self) -> str:
        if self.state == "paused":
            left = parse_utc(self.until or "") - time.time() + 60  # two hours, said a second later, are two hours
            return f"paused until {format_local_time(self.until or '')} ({format_duration(left)} left)"
        return f"{self.state} ({self.reason})" if self.reason else self.state


def get_capture_state(store: Store, env: Mapping[str, str], folder: str, now: float) -> CaptureState:
    """Return the state of capture in a folder, with the same checks in the same order as a hook."""
    if env.get("REFLECT_GIT_OFF") == "1":
        return CaptureState("off", reason="REFLECT_GIT_OFF is set")
    if not store.is_enabled("reflect.capture", True):
        return CaptureState("off", reason="switch it on with: reflect-git enable")
    if store.get_setting(PAUSED) > utc(now):
        return CaptureState("paused", store.get_setting(PAUSED))
    above = find_project_folder(folder)
    if service.is_ignored(store, folder) or service.is_ignored(store, above):
        return CaptureState("ignored", reason=f"in '{printable(above)}'")
    return CaptureState("on")


def find_project_folder(folder: str) -> str:
    """Return the top of the work tree around a folder, or the folder itself. Claude Code calls this the project."""
    current = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(current, ".git")):
        current, below = os.path.dirname(current), current
        if current == below:
            return os.path.abspath(folder)
    return current


@dataclass(frozen=True)
class SwitchChange:
    """The changes that a command makes. Policies and a pause are committed; other settings are not.

    `hooks` says whether Claude Code's settings should have our entries; None leaves them unchanged.
    """

    description: str
    undo_command: str
    state: str
    policies: Mapping[str, Value]
    settings: Mapping[str, Value]
    until: str | None = None
    project: str | None = None
    hooks: bool | None = None

    @property
    def changes_something(self) -> bool:
        return bool(self.policies or self.settings)


def open_store_unless_dry_run(cli: CliContext, dry_run: bool) -> Store | None:
    """Return the store. A dry run never creates one."""
    return cli.find_store() if dry_run else cli.open_store()


def get_stored_values(store: Store | None, key: str) -> list[str]:
    return list(store.get_values(key)) if store else []


def format_ignore_glob(folder: str) -> str:
    """Return the glob for a project in reflect.ignore, with `*`, `?` and `[` in its path escaped."""
    return glob.escape(find_project_folder(system.current.find_true_path(folder)))


def parse_span(span: str) -> int:
    """Return the seconds of a span such as 2h."""
    seconds = service.parse_duration(span)
    if seconds is None or not 0 < seconds <= _LONGEST_PAUSE:
        raise ReflectError(f"'{span}' is not a duration", "write 30m, 2h, 3d or 1w", "usage", EXIT_USAGE)
    return seconds


def plan_switch_off(store: Store | None, hooks: bool | None) -> SwitchChange:
    """Switch capture off everywhere until it is switched on; `hooks` as in Change."""
    off = store is not None and not store.is_enabled(CAPTURE, True)
    policies: dict[str, Value] = {} if off else {CAPTURE: "false"}
    settings: dict[str, Value] = {PAUSED: None} if get_stored_values(store, PAUSED) else {}
    return SwitchChange(
        "off", f"reflect-git {'resume' if hooks is None else 'enable'}", "off", policies, settings, hooks=hooks
    )


def plan_switch_on(store: Store | None, hooks: bool | None) -> SwitchChange:
    """Switch capture on everywhere and end a pause; `hooks` as in Change."""
    off = store is not None and not store.is_enabled(CAPTURE, True)
    settings: dict[str, Value] = {PAUSED: None} if get_stored_values(store, PAUSED) else {}
    spans = policy.parse_spans(get_stored_values(store, policy.QUIET_KEY))
    if spans != policy.end_spans(spans, utc()):
        settings[policy.QUIET_KEY] = policy.format_spans(policy.end_spans(spans, utc()))
    policies: dict[str, Value] = {CAPTURE: "true"} if off else {}
    return SwitchChange(
        "on", f"reflect-git {'pause' if hooks is None else 'disable'}", "on", policies, settings, hooks=hooks
    )


def plan_pause(store: Store | None, until: str) -> SwitchChange:
    """Pause capture everywhere until a time."""
    if store is not None and not store.is_enabled(CAPTURE, True):
        return SwitchChange("off", "reflect-git enable", "off", {}, {})
    spans = policy.start_span(
        policy.end_spans(policy.parse_spans(get_stored_values(store, policy.QUIET_KEY)), utc()), utc(), until
    )
    settings: dict[str, Value] = {PAUSED: until, policy.QUIET_KEY: policy.format_spans(spans)}
    return SwitchChange(f"paused until {format_local_time(until)}", "reflect-git resume", "paused", {}, settings, until)


def apply_switch(cli: CliContext, store: Store | None, change: SwitchChange, dry_run: bool) -> None:
    """Do it, and say what was done and how to undo it."""
    if change.hooks and not dry_run:
        plan_hooks(cli.env, store, True)  # report a settings file that we cannot change before switching anything
    commit = None
    if store is not None and not dry_run:
        commit = write_switch(
            store, change, service.get_author(store, service.get_channel(cli.env, cli.is_at_terminal))
        )
    install = _update_hooks(cli, store, change, dry_run)
    if cli.json:
        cli.print_json({
            "capture": change.state, "until": change.until, "project": change.project,
            "changed": change.changes_something or install.has_changes, "commit": commit,
            "hooks": install.state, "settings_file": install.path,
        })  # fmt: skip
        return
    if change.changes_something or not install.has_changes:
        verb = "is already" if not change.changes_something else "would be" if dry_run else "is"
        cli.print_text(printable(f"capture {verb} {change.description}"))
    if install.has_changes:
        _print_hook_change(cli, install, dry_run)
    if change.changes_something and not dry_run:
        cli.print_note(printable(f"{f'commit {commit[:10]}, ' if commit else ''}undo with: {change.undo_command}"))


def write_switch(store: Store, change: SwitchChange, by: DecisionAuthor) -> str | None:
    """Write the change; return the commit of its decision."""
    if change.policies:
        return policy.set_policies(store, change.policies, by, utc_precise(), unrecorded=change.settings)
    if change.until or (
        PAUSED in change.settings and store.get_setting(PAUSED) > utc()
    ):  # one that is over needs no word
        return policy.set_pause(store, change.until, by, utc_precise(), change.settings)
    if change.settings:
        policy.set_keys(store, change.settings)
    return None


def _update_hooks(cli: CliContext, store: Store | None, change: SwitchChange, dry_run: bool) -> HookInstall:
    if change.hooks is None:
        return find_hooks(cli.env)
    if dry_run or store is None:
        return plan_hooks(cli.env, store, change.hooks)
    try:
        if not change.hooks:  # first, so that the containers that our hooks brought become empty
            rebuild.remove_all(store, cli.env)
        install = install_hooks(cli.env, store, change.hooks)
        if change.hooks:
            derived_files.refresh_guards(store, cli.env, cli.scan(store))
        return install
    except (ReflectError, OSError) as error:
        said = error.message if isinstance(error, ReflectError) else f"{error.strerror}: '{error.filename}'"
        hint = error.hint if isinstance(error, ReflectError) else "check the permissions, then run it again"
        raise ReflectError(
            f"capture is {change.description}, but {said}", hint, getattr(error, "code", "system")
        ) from None


def _print_hook_change(cli: CliContext, install: HookInstall, dry_run: bool) -> None:
    where = f"'{_abbreviate_home(install.path, cli.env)}'"
    verb = "would be " if dry_run else ""
    if install.state == SETTINGS:
        said = f"hooks {verb}added to {where}; capture starts with the next session"
    elif install.state == PLUGIN:
        said = f"hooks {verb}removed from {where}; the plugin keeps its own"
    else:
        said = f"hooks {verb}removed from {where}; add them again with: reflect-git enable"
    cli.print_text(printable(said))
    if dry_run:
        cli.print_note(printable(_format_diff(install)), as_is=True)


def _format_diff(install: HookInstall) -> str:
    from difflib import unified_diff

    before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (install.before, install.after))
    return "\n".join(unified_diff(before, after, install.path, install.path, lineterm=""))


def _abbreviate_home(path: str, env: Mapping[str, str]) -> str:
    home = paths.home_dir(env)
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path


PLUGIN, SETTINGS, PROJECTS, NONE = "plugin", "settings", "projects", "none"
PLUGIN_ROOT = "REFLECT_GIT_PLUGIN_ROOT"  # set by bin/reflect-git of the plugin
NO_HOOKS_HINT = "no hooks installed; run 'reflect-git enable' or install the plugin"
_MAX_TRIES = 5


@dataclass(frozen=True)
class HookInstall:
    """The way Claude Code calls our hooks, and the change to its settings file.

    `path` is the file as its owner names it. `projects` are the folders in which the plugin is installed, if it is not
    installed for all.
    """

    state: str
    path: str
    before: bytes | None = None
    after: bytes | None = None
    manifest_entry: Mapping[str, Any] = field(default_factory=dict)
    projects: tuple[str, ...] = ()

    @property
    def has_changes(self) -> bool:
        return self.before != self.after


def find_hooks(env: Mapping[str, str]) -> HookInstall:
    """Find out how Claude Code calls our hooks now."""
    path = claude_settings.get_settings_path(paths.config_dir(env))
    try:
        data = claude_settings.read_settings(path)
        ours = claude_settings.has_our_hooks(data)
    except (ReflectError, OSError):  # unreadable for us is unreadable for Claude Code
        return HookInstall(PLUGIN if _is_called_by_plugin(env) else NONE, path)
    if claude_settings.has_plugin(data) or _is_called_by_plugin(env):
        return HookInstall(PLUGIN, path, data, data)
    if ours:
        return HookInstall(SETTINGS, path, data, data)
    some = tuple(folder for folder, _ in claude_settings.find_projects_with_plugin(paths.config_dir(env)))
    return HookInstall(PROJECTS if some else NONE, path, data, data, projects=some)


def plan_hooks(env: Mapping[str, str], store: Store | None, wanted: bool) -> HookInstall:
    """Plan the settings change that adds or removes our hooks. Raise an error if the file cannot be replaced."""
    install = _build_hook_plan(env, store, wanted)
    if install.has_changes:
        claude_settings.require_replaceable(install.path, paths.home_dir(env))
    return install


def _build_hook_plan(env: Mapping[str, str], store: Store | None, wanted: bool) -> HookInstall:
    path = claude_settings.get_settings_path(paths.config_dir(env))
    note = settings_manifest.load_entry(store, path)
    data = claude_settings.read_settings(path)
    plugin = claude_settings.has_plugin(data) or _is_called_by_plugin(env)  # it brings its own
    try:
        if wanted and not plugin:
            after, made = claude_settings.add_hooks(data, _load_hooks(), note.get("made"))
            blank = note["blank"] if "blank" in note else None if data is None else data.decode("utf-8-sig")
            kept = {"blank": blank} if claude_settings.DOCUMENT in made else {}
            return HookInstall(SETTINGS, path, data, after, {"made": made, **kept})
        left = claude_settings.remove_hooks(data, note.get("made"), note.get("blank"))
    except ReflectError as error:
        raise ReflectError(f"'{path}' {error.message}", error.hint, error.code) from None
    return HookInstall(PLUGIN if plugin else NONE, path, data, left)


def install_hooks(env: Mapping[str, str], store: Store | None, wanted: bool) -> HookInstall:
    """Add or remove our hooks in the settings file. Plan again if another program changed the file meanwhile."""
    with store.locked(api.LOCK_SECONDS) if store else nullcontext():
        for _ in range(_MAX_TRIES):
            install = plan_hooks(env, store, wanted)
            if not install.has_changes or _replace_settings(env, store, install):
                return install
    raise ReflectError(f"'{install.path}' is being changed by another program", "try again", code="busy")


def upgrade_installation(cli: CliContext, store: Store, before: str) -> None:
    """Add the hooks that are new to a settings file with our older ones, replace our files, and say what was done."""
    changed = ""
    try:
        if find_hooks(cli.env).state == SETTINGS:
            install = install_hooks(cli.env, store, wanted=True)
            changed = _abbreviate_home(install.path, cli.env) if install.has_changes else ""
        maintenance.upgrade_files(store)
    except (ReflectError, OSError) as error:
        said = error.message if isinstance(error, ReflectError) else str(error)
        cli.print_note(printable(f"warning: cannot upgrade everything: {said}"))
        return
    hooks = f"; updated the hooks in '{changed}'" if changed else ""
    cli.print_note(printable(f"upgraded from {before} to {__version__}{hooks}"))
    cli.print_note("new: guard, incidents, effect, digest, search, skills, panel; in review, 'n' now means no")


def find_staging_file(env: Mapping[str, str]) -> str:
    """Return the temporary file that a killed run left beside the settings file; empty if there is none."""
    path = claude_settings.get_staging_path(claude_settings.get_settings_path(paths.config_dir(env)))
    return path if os.path.isfile(path) and not os.path.islink(path) else ""


def remove_staging_file(env: Mapping[str, str], store: Store | None) -> str:
    """Under the lock: who writes a settings file holds it."""
    with store.locked(api.LOCK_SECONDS) if store else nullcontext():
        path = find_staging_file(env)
        if path:
            files.remove(path)
    return path


def _replace_settings(env: Mapping[str, str], store: Store | None, install: HookInstall) -> bool:
    """Replace the settings file. Return False if it changed meanwhile.

    The manifest is written first: if the run is killed in between, it lists entries that do not exist, which is
    harmless.
    """
    if store and install.manifest_entry:
        settings_manifest.write_entry(store, install.path, install.manifest_entry)
    done = claude_settings.replace_settings(install.path, paths.home_dir(env), install.before, install.after)
    if store and done and not install.manifest_entry and not claude_settings.list_guard_entries(install.after):
        settings_manifest.write_entry(store, install.path, None)
    return done


def _is_called_by_plugin(env: Mapping[str, str]) -> bool:
    """Return whether the plugin's own program is running. A plugin loaded for one session is in no settings file."""
    return bool(env.get("CLAUDECODE") and env.get(PLUGIN_ROOT))


def _load_hooks() -> claude_settings.Hooks:
    with open(paths.resource_path("hooks", "hooks.json"), "rb") as file:
        return claude_settings.build_hooks(file.read(), paths.resource_path("hooks", "launch.sh"))
