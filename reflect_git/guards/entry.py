"""Add the guards' entry to Claude Code's user settings, remove it, and find out whether it is there.

The entry runs the script that `table` writes. It is there only while a guard exists, so that nobody else pays for it.
"""

from __future__ import annotations

import os

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.guards.table import get_script_path, read_table
from reflect_git.platform import claude_settings
from reflect_git.store import opening
from reflect_git.store.local import settings_manifest
from reflect_git.store.repository import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    Env = Mapping[str, str]

PRESENT, MISSING, OUTDATED, UNREADABLE = "present", "missing", "outdated", "unreadable"
_MAX_TRIES = 5
_LOCK_SECONDS = 10.0


def install_entry(env: Env, root: str = "") -> bool:
    """Add the entry to the user settings, or correct it; return whether the file changed."""
    return _change_settings(env, root, True)


def remove_entry(env: Env, root: str = "") -> bool:
    """Remove the entry from the user settings; return whether the file changed."""
    return _change_settings(env, root, False)


def entry_state(env: Env, root: str = "") -> str:
    """Return whether the user settings have the entry of this store: PRESENT, MISSING, OUTDATED or UNREADABLE."""
    try:
        found = claude_settings.list_guard_entries(claude_settings.read_settings(_get_settings_path(env)))
    except (ReflectError, OSError):
        return UNREADABLE
    events = _list_events(os.path.join(opening.locate_store(env, root), ".git"))
    if set(events) - {event for event, _ in found}:
        return MISSING
    return PRESENT if found == [(event, get_entry_command(env, root, event)) for event in sorted(events)] else OUTDATED


def _list_events(git_dir: str) -> list[str]:
    """List the events that the guards of the table are about; without a table, that of tool calls."""
    guards = read_table(git_dir)
    events = {claude_settings.STOP_EVENT if "requires" in one.matcher else claude_settings.CALL_EVENT for one in guards}
    return sorted(events) or [claude_settings.CALL_EVENT]


def get_entry_command(env: Env, root: str = "", event: str = claude_settings.CALL_EVENT) -> list[str]:
    """Return the program of an event's entry and its arguments."""
    script = get_script_path(os.path.join(opening.locate_store(env, root), ".git"))
    handler = claude_settings.build_guard_hooks(script, [event])[event][0]["hooks"][0]
    return [handler["command"], *handler["args"]]


def _change_settings(env: Env, root: str, wanted: bool) -> bool:
    """Write the settings with or without the entry. Plan again if another program changed the file meanwhile."""
    place = opening.locate_store(env, root)
    if not os.path.isdir(os.path.join(place, ".git")):
        return not wanted and bool(_write_settings(env, None, "", False))
    store = Store(place, env)
    with store.locked(_LOCK_SECONDS):
        for _ in range(_MAX_TRIES):
            changed = _write_settings(env, store, get_script_path(store.git_dir), wanted)
            if changed is not None:
                return changed
    raise ReflectError(f"'{_get_settings_path(env)}' is being changed by another program", "try again", code="busy")


def _write_settings(env: Env, store: Optional[Store], script: str, wanted: bool) -> Optional[bool]:
    """Return whether the file changed; None if another program changed it first."""
    path = _get_settings_path(env)
    before = claude_settings.read_settings(path)
    note = settings_manifest.load_entry(store, path)
    made: list[str] = []
    after: Optional[bytes]
    try:
        if store and wanted:
            events = _list_events(store.git_dir)
            after, made = claude_settings.add_guard_entry(before, script, note.get("made"), events)
        else:
            after = claude_settings.remove_guard_entry(before, note.get("made"), note.get("blank"))
    except ReflectError as error:
        raise ReflectError(f"'{path}' {error.message}", error.hint, error.code) from None
    if after == before:
        return False
    if store and wanted:
        settings_manifest.write_entry(store, path, _build_note(note, made, before))
    if not claude_settings.replace_settings(path, paths.home_dir(env), before, after):
        return None
    if store and not wanted and not claude_settings.has_our_hooks(after):
        settings_manifest.write_entry(store, path, None)
    return True


def _build_note(note: Mapping[str, Any], made: list[str], before: Optional[bytes]) -> dict[str, Any]:
    """Return the note about a settings file: what we created, and what it was if we created the document."""
    if claude_settings.DOCUMENT not in made:
        return {"made": made}
    blank = note["blank"] if "blank" in note else None if before is None else before.decode("utf-8-sig")
    return {"made": made, "blank": blank}


def _get_settings_path(env: Env) -> str:
    return claude_settings.get_settings_path(paths.config_dir(env))
