"""Open or create the store, and give a copied store a new machine name."""

from __future__ import annotations

import os
import time

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.platform import processes, system
from reflect_git.platform.git import Git, find_git
from reflect_git.records.ids import ALPHABET, digest
from reflect_git.store.repository import INBOX, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.store.config_file import Value


def locate_store(env: Mapping[str, str], override: str = "") -> str:
    """Return where the store is or will be. A project's own git config has no influence."""
    if override:
        return os.path.abspath(override)
    if env.get("REFLECT_GIT_HOME") or not paths.may_configure_home(env):
        return paths.store_home(env)
    return paths.store_home(env, get_global_setting(env, "reflect.home"))


def get_global_setting(env: Mapping[str, str], key: str) -> Optional[str]:
    """Return a key of the user's global git config, or None. No store is needed."""
    program = find_git(env.get("PATH", ""), env.get("CLAUDE_PROJECT_DIR", ""))
    return Git(program, "/", git_dir=os.devnull, user=env).get_global_setting(key)


def open_or_create(root: str, env: Mapping[str, str]) -> Store:
    """Return the store at `root`; create it if it is missing."""
    if not os.path.lexists(os.path.join(root, ".git")):
        from reflect_git.store import creation  # once for each store

        creation.create_store(root, env)
    store = Store(root, env)
    if is_copied(store):
        _require_not_shared(store)
        _rename_copied(store)
    return store


_IN_USE_SECONDS = 3600.0


def _require_not_shared(store: Store) -> None:
    """Refuse a store on a network file system that another machine has just used: locks do not hold across machines."""
    host = store.machine.rpartition("-")[0]
    if not host or host == processes.get_host_name():
        return
    kind = system.current.find_network_type(store.root)
    ago = time.time() - max(map(_get_change_time, (store.private_path(), store.private_path("pending"))))
    if kind and ago < _IN_USE_SECONDS:
        raise ReflectError(
            f"this store is on a network file system ({kind}) and in use on '{host}'",
            "use it on one machine at a time: wait an hour, or give this one a store of its own with REFLECT_GIT_HOME",
            "shared-store",
        )


def _get_change_time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _rename_copied(store: Store) -> None:
    try:
        with store.locked(1.0):
            store.reload()
            if is_copied(store):
                rename_machine(store)
    # capturing under the old name is better than not at all; the next command tries again
    except ReflectError as error:
        store.log(f"this store was copied or moved, its name stays for now: {error}")


def get_binding(root: str) -> str:
    """Return a hash of this machine and path, to recognise a copied store."""
    return _hash_binding(system.current.get_machine_id() or "", root)


def _hash_binding(machine_id: str, root: str) -> str:
    return digest(machine_id, os.path.realpath(root))[:16]


def new_machine_name() -> str:
    """Return a new machine name: the host name and four random letters."""
    return processes.get_host_name() + "-" + "".join(ALPHABET[byte % 32] for byte in os.urandom(4))


def is_copied(store: Store) -> bool:
    """Return whether the store was copied or moved from another machine or path.

    While the system does not tell its id, no: else the store would take a new name, and another one the next time.
    """
    machine_id = system.current.get_machine_id()
    return machine_id is not None and store.get_setting("reflect.binding") != _hash_binding(machine_id, store.root)


def rename_machine(store: Store) -> None:
    """Give the store and its inbox a new machine name. The caller holds the lock."""
    from reflect_git.store import config_file
    from reflect_git.store.main import journal  # a store is copied once, if ever

    for path, begun in journal.load_entries(store):
        if begun.get("kind") == "rename":
            journal.move_stale_locks(store, path, begun)
            return finish_rename(store, path, begun)
    facts = {"old": store.machine, "new": new_machine_name()}
    store.log(f"this store was copied or moved: '{facts['old']}' goes on as '{facts['new']}'")
    path = journal.begin(store, "rename", ("packed-refs.lock",), facts)
    try:
        finish_rename(store, path, facts)
    except config_file.ConfigLocked:  # nothing has happened yet
        journal.end(path)
        raise


def finish_rename(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Rename the machine in names, config and refs. Every step can be repeated."""
    from reflect_git.store import config_file, machines
    from reflect_git.store.main import journal, ref_updates

    config_file.remove_own_lock(store)
    machines.record_rename(store, facts["old"])  # decisions under the old name stay ours
    changes: dict[str, Value] = {"reflect.machine": facts["new"], "reflect.binding": get_binding(store.root)}
    if store.get_setting(machines.OWN_KEY):
        changes[machines.OWN_KEY] = " ".join(
            sorted({*machines.get_configured_names(store), facts["old"], facts["new"]})
        )
    store.change_config(changes)
    old, new = f"{INBOX}{facts['old']}/", f"{INBOX}{facts['new']}/"
    moves = [
        f"create {new}{ref[len(old) :]} {commit}\ndelete {ref} {commit}\n"
        for ref, commit in store.git.refs(old).items()
    ]
    ref_updates.update(store, "".join(moves))
    journal.end(path)
