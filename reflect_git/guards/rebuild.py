"""Bring table, script and entry in step with the guards in force, and find out whether they are."""

from __future__ import annotations

import os

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.guards.entry import install_entry, remove_entry
from reflect_git.guards.table import get_script_path, get_stamp_path, write_table
from reflect_git.platform import files
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.guards.table import Guard
    from reflect_git.store.repository import Store


def is_outdated(store: Store) -> bool:
    """Return whether main changed since the table was built, or the script runs another installation."""
    stamp = files.read_if_exists(get_stamp_path(store.git_dir), 4096) or b""
    if stamp.decode("ascii", "replace") != (store.git.resolve(MAIN) or ""):
        return True
    script = files.read_if_exists(get_script_path(store.git_dir), 1 << 16)
    return script is not None and os.fsencode(paths.resource_path("hooks", "guard.py")) not in script


def apply_guards(store: Store, env: Mapping[str, str], guards: Sequence[Guard], stamp: str) -> None:
    """Write the table of these guards, and add or remove the entry.

    `stamp` is the commit of main that they were read from. While capture is switched off with `disable`, there is
    neither a table nor an entry.
    """
    wanted = guards if store.is_enabled("reflect.capture", True) else []
    write_table(store, wanted, stamp)
    try:
        (install_entry if wanted else remove_entry)(env, store.root)
    except (ReflectError, OSError) as error:  # settings that we cannot write; `status`, `audit` and `doctor` say so
        store.log(f"guards: {error}")


def remove_all(store: Store, env: Mapping[str, str]) -> None:
    """Remove the entry, the script and the table."""
    remove_entry(env, store.root)
    write_table(store, [])


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
