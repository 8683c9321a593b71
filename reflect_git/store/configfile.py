"""The store's own config: all changes in one synced rename, under git's own lock of the file."""

from __future__ import annotations

import os

from reflect_git.adapters import files
from reflect_git.errors import ReflectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Union

    from reflect_git.store.repository import Store

    Value = Union[None, str, list[str]]  # not set; one value; the values of a key that may be given more than once

_LIMIT = 1 << 20
_ATTEMPTS = 5


class ConfigLocked(ReflectError):
    def __init__(self) -> None:
        hint = "wait for it to end; 'reflect-git doctor' shows its age"
        super().__init__("another git process holds the store's config", hint, code="config-locked")


def replace(store: Store, changes: Mapping[str, Value]) -> None:
    """Set or, with None, remove keys. The caller holds the lock."""
    for _ in range(_ATTEMPTS):
        if _replace(store, changes):
            return
    raise ConfigLocked()


def require_free(store: Store) -> None:
    """Before a decision is recorded that could not be followed now."""
    if os.path.lexists(_path(store) + ".lock"):
        raise ConfigLocked()


def release(store: Store) -> None:
    """Remove a config.lock that is ours: the same inode as the draft of the process that died."""
    lock = f"{_path(store)}.lock"
    if files.is_same(lock, store.private_path("config")):
        files.remove(lock)


def _path(store: Store) -> str:
    return os.path.join(store.git_dir, "config")


def _replace(store: Store, changes: Mapping[str, Value]) -> bool:
    """False when somebody else changed the file meanwhile."""
    draft, live = store.private_path("config"), _path(store)
    files.discard(f"{draft}.lock")
    before = files.read_regular(live, _LIMIT)
    files.write_whole(draft, before, sync=False)
    for key, value in changes.items():
        _set(store, draft, key, value)
    files.write_whole(draft, files.read_regular(draft, _LIMIT))  # git does not sync it
    published = _publish(draft, live, before)
    files.remove(draft)
    return published


def _publish(draft: str, live: str, before: bytes) -> bool:
    lock = f"{live}.lock"
    try:
        files.link(draft, lock)
    except FileExistsError:
        raise ConfigLocked() from None
    try:
        unchanged = files.read_regular(live, _LIMIT) == before
        if unchanged:
            files.rename(lock, live)
    finally:
        files.discard(lock)
    if unchanged:
        files.sync_directory(os.path.dirname(live))
    return unchanged


def _set(store: Store, file: str, key: str, value: Value) -> None:
    values = value if isinstance(value, list) else [] if value is None else [value]
    store.git.run("config", "--file", file, "--unset-all", key, check=False)
    for one in values:
        store.git.run("config", "--file", file, "--add", key, one)
