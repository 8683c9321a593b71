"""A capture is acknowledged when its file is synced to disk; everything after that can be done again."""

from __future__ import annotations

import os

from reflect_git.adapters import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.store.repository import Store


def acknowledge(store: Store, record: Mapping[str, Any]) -> bytes:
    """Write a record to pending/, synced. When this returns its bytes, it cannot be lost any more."""
    from reflect_git.adapters import records  # most commands only ask whether anything is pending

    data = records.emit(record)
    files.write_whole(store.private_path("pending", f"{record['id']}.yaml"), data)
    return data


def acknowledge_all(store: Store, found: Iterable[Mapping[str, Any]]) -> None:
    """As `acknowledge`, for many: when this returns, none of them can be lost any more."""
    from reflect_git.adapters import records

    files.write_together(store.private_path("pending"), {f"{one['id']}.yaml": records.emit(one) for one in found})


def pending(store: Store) -> list[str]:
    """File names of what waits for a commit, oldest id first."""
    return [name for name in files.names_in(store.private_path("pending")) if name.endswith(".yaml")]


def quarantine(store: Store, path: str, reason: str) -> None:
    """Set a file aside that cannot be read; `doctor` names it."""
    name = os.path.basename(path)
    if os.path.lexists(store.private_path("quarantine", name)):
        name = f"{name}-{os.urandom(4).hex()}"
    store.log(f"quarantined '{name}': {reason}")
    files.rename(path, store.private_path("quarantine", name))
