"""Refresh what is derived from the rules in force: LEARNINGS.md, and the guards of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reflect_git.rules import learnings_index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

TABLE_PATH = ("cache", "guards.json")


def refresh_derived_files(store: Store, env: Mapping[str, str], scan: Scan) -> None:
    """Write the index of learnings and compile the guards; every command that changes rules calls this."""
    learnings_index.write(store, scan)
    refresh_guards(store, env, scan)


def refresh_guards(store: Store, env: Mapping[str, str], scan: Scan) -> None:
    """Compile the guards in force, and install or remove the entry in the client's settings.

    Does nothing in a store that has no guards and had none.
    """
    is_compiled = os.path.exists(store.private_path(*TABLE_PATH))
    if not is_compiled and not any(made["kind"] == "guarded" for made in scan.history.decisions):
        return
    from reflect_git.guards import entry, table  # few stores have guards
    from reflect_git.rules.guards import list_guards

    guards = list_guards(scan.history, store.machine)
    table.write_table(store, guards)
    if guards:
        entry.install_entry(env)
    elif is_compiled:
        entry.remove_entry(env)
