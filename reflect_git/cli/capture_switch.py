"""Capture: whether it is on in this folder, and how to switch it for good, for a while, or for one project."""

from __future__ import annotations

import glob
import json
import os
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.capture import service
from reflect_git.cli.context import Front, age, local_time, printable
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform import claude_settings, files
from reflect_git.records.ids import seconds_of, utc, utc_precise
from reflect_git.store import api, policy

if TYPE_CHECKING:
    from reflect_git.store.config_file import Value
    from reflect_git.store.repository import Store

CAPTURE, PAUSED, IGNORE = "reflect.capture", policy.PAUSED, "reflect.ignore"
_LONGEST_PAUSE = 366 * 86400


@dataclass(frozen=True)
class Capture:
    """The state of capture in this folder, and the reason if it is off."""

    state: str
    until: str | None = None
    reason: str = ""

    def said(self) -> str:
        if self.state == "paused":
            left = seconds_of(self.until or "") - time.time() + 60  # two hours, said a second later, are two hours
            return f"paused until {local_time(self.until or '')} ({age(left)} left)"
        return f"{self.state} ({self.reason})" if self.reason else self.state


def capture_here(store: Store, env: Mapping[str, str], folder: str, now: float) -> Capture:
    """Return the state of capture in a folder, with the same checks in the same order as a hook."""
    if env.get("REFLECT_GIT_OFF") == "1":
        return Capture("off", reason="REFLECT_GIT_OFF is set")
    if not store.switched("reflect.capture", True):
        return Capture("off", reason="switch it on with: reflect-git enable")
    if store.setting(PAUSED) > utc(now):
        return Capture("paused", store.setting(PAUSED))
    above = project_folder(folder)
    if service.is_ignored(store, folder) or service.is_ignored(store, above):
        return Capture("ignored", reason=f"in '{printable(above)}'")
    return Capture("on")


def project_folder(folder: str) -> str:
    """Return the top of the work tree around a folder, or the folder itself. Claude Code calls this the project."""
    current = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(current, ".git")):
        current, below = os.path.dirname(current), current
        if current == below:
            return os.path.abspath(folder)
    return current


@dataclass(frozen=True)
class Change:
    """The changes that a command makes. Policies and a pause are committed; other settings are not.

    `hooks` says whether Claude Code's settings should have our entries; None leaves them unchanged.
    """

    said: str
    undo: str
    state: str
    policies: Mapping[str, Value]
    settings: Mapping[str, Value]
    until: str | None = None
    project: str | None = None
    hooks: bool | None = None

    @property
    def changes_something(self) -> bool:
        return bool(self.policies or self.settings)


def store_for(front: Front, dry_run: bool) -> Store | None:
    """Return the store. A dry run never creates one."""
    return front.store_if_any() if dry_run else front.store()


def stored(store: Store | None, key: str) -> list[str]:
    return list(store.values(key)) if store else []


def project_glob(folder: str) -> str:
    """Return the glob for a project in reflect.ignore, with `*`, `?` and `[` in its path escaped."""
    return glob.escape(project_folder(os.path.realpath(folder)))


def parse_span(span: str) -> int:
    """Return the seconds of a span such as 2h."""
    seconds = service.parse_duration(span)
    if seconds is None or not 0 < seconds <= _LONGEST_PAUSE:
        raise ReflectError(f"'{span}' is not a duration", "write 30m, 2h, 3d or 1w", "usage", EXIT_USAGE)
    return seconds


def switch_off(store: Store | None, hooks: bool | None) -> Change:
    """Switch capture off everywhere until it is switched on; `hooks` as in Change."""
    off = store is not None and not store.switched(CAPTURE, True)
    policies: dict[str, Value] = {} if off else {CAPTURE: "false"}
    settings: dict[str, Value] = {PAUSED: None} if stored(store, PAUSED) else {}
    return Change(
        "off", f"reflect-git {'resume' if hooks is None else 'enable'}", "off", policies, settings, hooks=hooks
    )


def switch_on(store: Store | None, hooks: bool | None) -> Change:
    """Switch capture on everywhere and end a pause; `hooks` as in Change."""
    off = store is not None and not store.switched(CAPTURE, True)
    settings: dict[str, Value] = {PAUSED: None} if stored(store, PAUSED) else {}
    spans = policy.spans_in(stored(store, policy.QUIET))
    if spans != policy.ended(spans, utc()):
        settings[policy.QUIET] = policy.written(policy.ended(spans, utc()))
    policies: dict[str, Value] = {CAPTURE: "true"} if off else {}
    return Change("on", f"reflect-git {'pause' if hooks is None else 'disable'}", "on", policies, settings, hooks=hooks)


def pause(store: Store | None, until: str) -> Change:
    """Pause capture everywhere until a time."""
    if store is not None and not store.switched(CAPTURE, True):
        return Change("off", "reflect-git enable", "off", {}, {})
    spans = policy.begun(policy.ended(policy.spans_in(stored(store, policy.QUIET)), utc()), utc(), until)
    settings: dict[str, Value] = {PAUSED: until, policy.QUIET: policy.written(spans)}
    return Change(f"paused until {local_time(until)}", "reflect-git resume", "paused", {}, settings, until)


def carry_out(front: Front, store: Store | None, change: Change, dry_run: bool) -> None:
    """Do it, and say what was done and how to undo it."""
    if change.hooks and not dry_run:
        plan(front.env, store, True)  # report a settings file that we cannot change before switching anything
    commit = None if dry_run or store is None else _switch(front, store, change)
    wired = _wire(front, store, change, dry_run)
    if front.json:
        front.data({
            "capture": change.state, "until": change.until, "project": change.project,
            "changed": change.changes_something or wired.changes, "commit": commit,
            "hooks": wired.state, "settings_file": wired.path,
        })  # fmt: skip
        return
    if change.changes_something or not wired.changes:
        verb = "is already" if not change.changes_something else "would be" if dry_run else "is"
        front.tell(printable(f"capture {verb} {change.said}"))
    if wired.changes:
        _tell_wiring(front, wired, dry_run)
    if change.changes_something and not dry_run:
        front.talk(printable(f"{f'commit {commit[:10]}, ' if commit else ''}undo with: {change.undo}"))


def _switch(front: Front, store: Store, change: Change) -> str | None:
    """Write the change; return the commit of its decision."""
    by = service.author(store, service.road_of(front.env, front.at_terminal))
    if change.policies:
        return policy.switch(store, change.policies, by, utc_precise(), unrecorded=change.settings)
    if change.until or (PAUSED in change.settings and store.setting(PAUSED) > utc()):  # one that is over needs no word
        return policy.switch_pause(store, change.until, by, utc_precise(), change.settings)
    if change.settings:
        policy.set_keys(store, change.settings)
    return None


def _wire(front: Front, store: Store | None, change: Change, dry_run: bool) -> Wiring:
    if change.hooks is None:
        return look(front.env)
    if dry_run or store is None:
        return plan(front.env, store, change.hooks)
    try:
        return install_hooks(front.env, store, change.hooks)
    except (ReflectError, OSError) as error:
        said = error.message if isinstance(error, ReflectError) else f"{error.strerror}: '{error.filename}'"
        hint = error.hint if isinstance(error, ReflectError) else "check the permissions, then run it again"
        raise ReflectError(f"capture is {change.said}, but {said}", hint, getattr(error, "code", "system")) from None


def _tell_wiring(front: Front, wired: Wiring, dry_run: bool) -> None:
    where = f"'{_abbreviate(wired.path, front.env)}'"
    verb = "would be " if dry_run else ""
    if wired.state == SETTINGS:
        said = f"hooks {verb}added to {where}; capture starts with the next session"
    elif wired.state == PLUGIN:
        said = f"hooks {verb}removed from {where}; the plugin keeps its own"
    else:
        said = f"hooks {verb}removed from {where}; add them again with: reflect-git enable"
    front.tell(printable(said))
    if dry_run:
        front.talk(printable(_diff(wired)), as_is=True)


def _diff(wired: Wiring) -> str:
    from difflib import unified_diff

    before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (wired.before, wired.after))
    return "\n".join(unified_diff(before, after, wired.path, wired.path, lineterm=""))


def _abbreviate(path: str, env: Mapping[str, str]) -> str:
    home = paths.home_dir(env)
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path


PLUGIN, SETTINGS, PROJECTS, NONE = "plugin", "settings", "projects", "none"
PLUGIN_ROOT = "REFLECT_GIT_PLUGIN_ROOT"  # set by bin/reflect-git of the plugin
BEGIN = "no hooks installed; run 'reflect-git enable' or install the plugin"
_TRIES = 5


@dataclass(frozen=True)
class Wiring:
    """The way Claude Code calls our hooks, and the change to its settings file.

    `path` is the file as its owner names it. `projects` are the folders in which the plugin is installed, if it is not
    installed for all.
    """

    state: str
    path: str
    before: bytes | None = None
    after: bytes | None = None
    note: Mapping[str, Any] = field(default_factory=dict)
    projects: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        return self.before != self.after


def look(env: Mapping[str, str]) -> Wiring:
    """Find out how Claude Code calls our hooks now."""
    path = claude_settings.settings_path(paths.config_dir(env))
    try:
        data = claude_settings.read_settings(path)
        ours = claude_settings.has_ours(data)
    except (ReflectError, OSError):  # unreadable for us is unreadable for Claude Code
        return Wiring(PLUGIN if _plugin_called_us(env) else NONE, path)
    if claude_settings.has_plugin(data) or _plugin_called_us(env):
        return Wiring(PLUGIN, path, data, data)
    if ours:
        return Wiring(SETTINGS, path, data, data)
    some = tuple(folder for folder, _ in claude_settings.projects_with_plugin(paths.config_dir(env)))
    return Wiring(PROJECTS if some else NONE, path, data, data, projects=some)


def plan(env: Mapping[str, str], store: Store | None, wanted: bool) -> Wiring:
    """Plan the settings change that adds or removes our hooks. Raise an error if the file cannot be replaced."""
    wiring = _plan(env, store, wanted)
    if wiring.changes:
        claude_settings.require_replaceable(wiring.path, paths.home_dir(env))
    return wiring


def _plan(env: Mapping[str, str], store: Store | None, wanted: bool) -> Wiring:
    path = claude_settings.settings_path(paths.config_dir(env))
    note = _manifest(store).get(os.path.realpath(path), {})
    data = claude_settings.read_settings(path)
    plugin = claude_settings.has_plugin(data) or _plugin_called_us(env)  # it brings its own
    try:
        if wanted and not plugin:
            after, made = claude_settings.with_hooks(data, _hooks(), note.get("made"))
            blank = note["blank"] if "blank" in note else None if data is None else data.decode("utf-8-sig")
            kept = {"blank": blank} if claude_settings.DOCUMENT in made else {}
            return Wiring(SETTINGS, path, data, after, {"made": made, **kept})
        left = claude_settings.without_hooks(data, note.get("made"), note.get("blank"))
    except ReflectError as error:
        raise ReflectError(f"'{path}' {error.message}", error.hint, error.code) from None
    return Wiring(PLUGIN if plugin else NONE, path, data, left)


def install_hooks(env: Mapping[str, str], store: Store | None, wanted: bool) -> Wiring:
    """Add or remove our hooks in the settings file. Plan again if another program changed the file meanwhile."""
    with store.locked(api.WAIT) if store else nullcontext():
        for _ in range(_TRIES):
            wiring = plan(env, store, wanted)
            if not wiring.changes or _replace(env, store, wiring):
                return wiring
    raise ReflectError(f"'{wiring.path}' is being changed by another program", "try again", code="busy")


def left_behind(env: Mapping[str, str]) -> str:
    """Return the temporary file that a killed run left beside the settings file; empty if there is none."""
    path = claude_settings.staging_path(claude_settings.settings_path(paths.config_dir(env)))
    return path if os.path.isfile(path) and not os.path.islink(path) else ""


def remove_left_behind(env: Mapping[str, str], store: Store | None) -> str:
    """Under the lock: who writes a settings file holds it."""
    with store.locked(api.WAIT) if store else nullcontext():
        path = left_behind(env)
        if path:
            files.remove(path)
    return path


def _replace(env: Mapping[str, str], store: Store | None, wiring: Wiring) -> bool:
    """Replace the settings file. Return False if it changed meanwhile.

    The manifest is written first: if the run is killed in between, it lists entries that do not exist, which is
    harmless.
    """
    if store and wiring.note:
        _remember(store, wiring.path, wiring.note)
    done = claude_settings.replace_settings(wiring.path, paths.home_dir(env), wiring.before, wiring.after)
    if store and done and not wiring.note:
        _remember(store, wiring.path, None)
    return done


def _plugin_called_us(env: Mapping[str, str]) -> bool:
    """Return whether the plugin's own program is running. A plugin loaded for one session is in no settings file."""
    return bool(env.get("CLAUDECODE") and env.get(PLUGIN_ROOT))


def _hooks() -> claude_settings.Hooks:
    with open(paths.resource("hooks", "hooks.json"), "rb") as file:
        return claude_settings.hooks_for(file.read(), paths.resource("hooks", "launch.sh"))


def _manifest(store: Store | None) -> dict[str, Any]:
    """Load our entries in each settings file, by path."""
    data = None if store is None else files.read_if_there(store.private_path("settings.json"))
    try:
        known = json.loads(data or b"{}")
    except ValueError:
        return {}
    return {path: note for path, note in known.items() if isinstance(note, dict)} if isinstance(known, dict) else {}


def _remember(store: Store, path: str, note: Mapping[str, Any] | None) -> None:
    known = _manifest(store)
    known.pop(os.path.realpath(path), None)
    if note is not None:
        known[os.path.realpath(path)] = dict(note)
    target = store.private_path("settings.json")
    if known:
        text = json.dumps(known, indent=2)
        files.write_whole(target, text.encode("ascii"), scratch=store.private_path("cache"))
    else:
        files.remove(target)
