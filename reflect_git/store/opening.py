"""The door of the store: there, ours, and under a name that nobody else writes with."""

from __future__ import annotations

import os

from reflect_git.errors import ReflectError
from reflect_git.store import identity
from reflect_git.store.repository import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def open_or_create(root: str, env: Mapping[str, str]) -> Store:
    """The store at `root`; made if there is none yet."""
    if not os.path.lexists(os.path.join(root, ".git")):
        from reflect_git.store import creation  # once in a store's life

        creation.create(root, env)
    store = Store(root, env)
    if identity.is_copied(store):
        _take_new_name(store)
    return store


def _take_new_name(store: Store) -> None:
    try:
        with store.locked(1.0):
            store.reload()
            if identity.is_copied(store):
                identity.rename(store)
    except ReflectError as error:  # better captured under the old name than not at all; the next one asks again
        store.log(f"this store was copied or moved, its name stays for now: {error}")
