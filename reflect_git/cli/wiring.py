"""How Claude Code comes to call us: through the plugin, through entries in its settings file, or not at all.

A manifest in the store says what was written into which settings file, so that it can be taken out exactly.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.adapters import claude, claudehooks, files
from reflect_git.errors import ReflectError
from reflect_git.store import memory

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

PLUGIN, SETTINGS, PROJECTS, NONE = "plugin", "settings", "projects", "none"
PLUGIN_ROOT = "REFLECT_GIT_PLUGIN_ROOT"  # set by bin/reflect-git of the plugin
BEGIN = "nothing calls it yet: 'reflect-git enable' has Claude Code call it, or install the plugin"
_TRIES = 5


@dataclass(frozen=True)
class Wiring:
    """What calls us, and what has to change in the settings file for that. `path` is the file as its owner names it,
    `projects` are the folders in which the plugin was installed, if it was not for all of them."""

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
    """What calls us now."""
    path = claude.settings_path(paths.config_dir(env))
    try:
        data = claude.read_settings(path)
        ours = claudehooks.has_ours(data)
    except (ReflectError, OSError):  # unreadable for us is unreadable for Claude Code
        return Wiring(PLUGIN if _plugin_called_us(env) else NONE, path)
    if claude.has_plugin(data) or _plugin_called_us(env):
        return Wiring(PLUGIN, path, data, data)
    if ours:
        return Wiring(SETTINGS, path, data, data)
    some = tuple(folder for folder, _ in claude.projects_with_plugin(paths.config_dir(env)))
    return Wiring(PROJECTS if some else NONE, path, data, data, projects=some)


def plan(env: Mapping[str, str], store: Store | None, wanted: bool) -> Wiring:
    """What it takes that hooks call us, or that none in the settings file does; refused if it cannot be done."""
    wiring = _plan(env, store, wanted)
    if wiring.changes:
        claude.require_replaceable(wiring.path, paths.home_dir(env))
    return wiring


def _plan(env: Mapping[str, str], store: Store | None, wanted: bool) -> Wiring:
    path = claude.settings_path(paths.config_dir(env))
    note = _manifest(store).get(os.path.realpath(path), {})
    data = claude.read_settings(path)
    plugin = claude.has_plugin(data) or _plugin_called_us(env)  # it brings its own
    try:
        if wanted and not plugin:
            after, made = claudehooks.with_hooks(data, _hooks(), note.get("made"))
            blank = note["blank"] if "blank" in note else None if data is None else data.decode("utf-8-sig")
            kept = {"blank": blank} if claudehooks.DOCUMENT in made else {}
            return Wiring(SETTINGS, path, data, after, {"made": made, **kept})
        left = claudehooks.without_hooks(data, note.get("made"), note.get("blank"))
    except ReflectError as error:
        raise ReflectError(f"'{path}' {error.message}", error.hint, error.code) from None
    return Wiring(PLUGIN if plugin else NONE, path, data, left)


def carry_out(env: Mapping[str, str], store: Store | None, wanted: bool) -> Wiring:
    """Make it so. Another program may write the file meanwhile: then it is planned anew on what that one wrote."""
    with store.locked(memory.WAIT) if store else nullcontext():
        for _ in range(_TRIES):
            wiring = plan(env, store, wanted)
            if not wiring.changes or _replace(env, store, wiring):
                return wiring
    raise ReflectError(f"'{wiring.path}' is being changed by another program", "try again", code="busy")


def left_behind(env: Mapping[str, str]) -> str:
    """What a killed run left beside the settings file; empty for nothing."""
    path = claude.staging_path(claude.settings_path(paths.config_dir(env)))
    return path if os.path.isfile(path) and not os.path.islink(path) else ""


def remove_left_behind(env: Mapping[str, str], store: Store | None) -> str:
    """Under the lock: who writes a settings file holds it."""
    with store.locked(memory.WAIT) if store else nullcontext():
        path = left_behind(env)
        if path:
            files.remove(path)
    return path


def _replace(env: Mapping[str, str], store: Store | None, wiring: Wiring) -> bool:
    """The manifest first: a kill in between leaves a note about entries that are not there, which harms nobody."""
    if store and wiring.note:
        _remember(store, wiring.path, wiring.note)
    done = claude.replace_settings(wiring.path, paths.home_dir(env), wiring.before, wiring.after)
    if store and done and not wiring.note:
        _remember(store, wiring.path, None)
    return done


def _plugin_called_us(env: Mapping[str, str]) -> bool:
    """A plugin that is loaded for one session stands in no settings file; but then its own program was run."""
    return bool(env.get("CLAUDECODE") and env.get(PLUGIN_ROOT))


def _hooks() -> claudehooks.Hooks:
    with open(paths.resource("hooks", "hooks.json"), "rb") as file:
        return claudehooks.hooks_for(file.read(), paths.resource("hooks", "launch.sh"))


def _manifest(store: Store | None) -> dict[str, Any]:
    """Settings file → what we made in it."""
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
