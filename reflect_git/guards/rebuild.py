"""Build the table of guards again from the decisions on main, and keep the entry in Claude Code's settings in step."""

from __future__ import annotations

import os

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.guards.entry import install_entry, remove_entry
from reflect_git.guards.table import MODES, Guard, get_script_path, get_stamp_path, write_table
from reflect_git.platform import files
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.records.history import History
    from reflect_git.store.repository import Store

_KINDS = ("guarded", "unguarded")


def find_guards(history: History) -> list[Guard]:
    """Return the guards that are in force: of each rule in force the last decision about its guard counts."""
    last = {}
    for made in history.decisions:
        if made["kind"] in _KINDS and made["id"] not in history.void_decisions:
            last[made["subject"]] = made
    found = []
    for learning in history.get_rules_in_force():
        decision = last.get(learning["id"])
        if decision is None or decision["kind"] != "guarded":
            continue
        meta, project = decision["meta"], learning["project"]
        mode, matcher = meta.get("mode"), meta.get("matcher")
        if mode not in MODES or not isinstance(matcher, dict):
            continue
        instead = str(meta.get("instead") or matcher.get("instead") or "")
        key = project["key"] if project and learning["scope"] != "global" else None
        found.append(Guard(learning["id"], mode, matcher, learning["text"], instead, key))
    return found


def is_outdated(store: Store) -> bool:
    """Return whether main changed since the table was built, or the script names a program that is gone."""
    stamp = files.read_if_exists(get_stamp_path(store.git_dir), 4096) or b""
    if stamp.decode("ascii", "replace") != (store.git.resolve(MAIN) or ""):
        return True
    script = files.read_if_exists(get_script_path(store.git_dir), 1 << 16)
    return script is not None and os.fsencode(paths.resource_path("hooks", "guard.py")) not in script


def rebuild_table(store: Store, env: Mapping[str, str]) -> int:
    """Write the table of the guards in force and add or remove the entry; return the number of guards.

    While capture is switched off with `disable` there is neither a table nor an entry.
    """
    from reflect_git.store.reading import reader

    tip = store.git.resolve(MAIN) or ""
    guards = find_guards(reader.scan(store).history) if store.is_enabled("reflect.capture", True) else []
    write_table(store, guards, tip)
    try:
        (install_entry if guards else remove_entry)(env, store.root)
    except (ReflectError, OSError) as error:  # the settings of somebody who links or locks them; `doctor` says so
        store.log(f"guards: {error}")
    return len(guards)


def delete_old_firings(store: Store, now: float) -> None:
    """Delete the logs of sessions that are older than signals may become."""
    from reflect_git.store import expiry

    folder = store.private_path("firings")
    for name in files.list_names(folder):
        path = os.path.join(folder, name)
        try:
            if now - os.lstat(path).st_mtime > expiry.get_ttl_days(store) * expiry.DAY:
                files.remove(path)
        except FileNotFoundError:
            continue


def remove_all(store: Store, env: Mapping[str, str]) -> bool:
    """Remove the entry, the script and the table; return whether the settings changed."""
    changed = remove_entry(env, store.root)
    write_table(store, [])
    return changed
