"""Refresh what is derived from the rules in force: LEARNINGS.md, and the guards of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store


def refresh_derived_files(store: Store, env: Mapping[str, str], scan: Scan) -> None:
    """Write the index of learnings and compile the guards; every command that changes rules calls this."""
    from reflect_git.targets import learnings_index  # it loads the Markdown parser; lists of rules do not write it

    learnings_index.write(store, scan)
    refresh_guards(store, env, scan)


def refresh_guards(store: Store, env: Mapping[str, str], scan: Scan) -> int:
    """Compile the guards in force, and add or remove the entry in the client's settings; return how many there are.

    Does nothing in a store that has no guards and had none.
    """
    from reflect_git.guards import rebuild, stored, table  # few stores have guards

    stamp = store.git.resolve(MAIN) or ""
    is_compiled = os.path.exists(stored.get_table_path(store.git_dir))
    if not is_compiled and not any(made["kind"] == "guarded" for made in scan.history.decisions):
        table.write_stamp(store, stamp)
        return 0
    from reflect_git.rules.guarding.guards import list_guards

    guards = list_guards(scan.history, store.machine)
    rebuild.apply_guards(store, env, guards, stamp)
    return len(guards)
