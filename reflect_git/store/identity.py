"""Which machine this store writes as.

Two machines that write under one name would make the same inbox diverge. So the name is bound to the system's own id
and to the store's path: a restored backup or a cloned disk takes a new name before its first write.
"""

from __future__ import annotations

import os

from reflect_git.adapters import host
from reflect_git.model.ids import ALPHABET, digest
from reflect_git.store.repository import INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.store.configfile import Value
    from reflect_git.store.repository import Store


def binding(root: str) -> str:
    return digest(host.machine_id(), os.path.realpath(root))[:16]


def new_name() -> str:
    return host.short_name() + "-" + "".join(ALPHABET[byte % 32] for byte in os.urandom(4))


def is_copied(store: Store) -> bool:
    return store.setting("reflect.binding") != binding(store.root)


def rename(store: Store) -> None:
    """Take a new name, and our inbox with it: what is in this copy lives and goes here. The caller holds the lock."""
    from reflect_git.store import configfile, journal  # a store is copied once in its life, if ever

    for path, begun in journal.standing(store):
        if begun.get("kind") == "rename":
            journal.bury_locks(store, path, begun)
            return finish(store, path, begun)
    facts = {"old": store.machine, "new": new_name()}
    store.log(f"this store was copied or moved: '{facts['old']}' goes on as '{facts['new']}'")
    path = journal.begin(store, "rename", ("packed-refs.lock",), facts)
    try:
        finish(store, path, facts)
    except configfile.ConfigLocked:  # nothing has happened yet
        journal.end(path)
        raise


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Every step can be done again."""
    from reflect_git.store import configfile, journal, machines, refwrites

    configfile.release(store)
    machines.renamed(store, facts["old"])  # what was decided under the old name stays ours
    changes: dict[str, Value] = {"reflect.machine": facts["new"], "reflect.binding": binding(store.root)}
    if store.setting(machines.OWN):
        changes[machines.OWN] = " ".join(sorted({*machines.listed(store), facts["old"], facts["new"]}))
    store.change_config(changes)
    old, new = f"{INBOX}{facts['old']}/", f"{INBOX}{facts['new']}/"
    moves = [
        f"create {new}{ref[len(old) :]} {commit}\ndelete {ref} {commit}\n"
        for ref, commit in store.git.refs(old).items()
    ]
    refwrites.update(store, "".join(moves))
    journal.end(path)
