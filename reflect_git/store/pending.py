"""Pending captures: a capture is safe once its file is synced to disk; every later step can be repeated."""

from __future__ import annotations

import os

from reflect_git.platform import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.store.repository import Store


def write_record(store: Store, record: Mapping[str, Any]) -> bytes:
    """Write a record to pending/ and sync it; return its bytes. From then on it cannot be lost."""
    from reflect_git.records import yaml_form  # most commands only ask whether anything is pending

    data = yaml_form.emit(record)
    files.write_atomic(store.private_path("pending", f"{record['id']}.yaml"), data)
    return data


def write_records(store: Store, found: Iterable[Mapping[str, Any]]) -> None:
    """Write many records to pending/ and sync them. From then on none of them can be lost."""
    from reflect_git.records import yaml_form

    files.write_many(store.private_path("pending"), {f"{one['id']}.yaml": yaml_form.emit(one) for one in found})


def list_pending(store: Store) -> list[str]:
    """List the file names of uncommitted captures, oldest id first."""
    return [name for name in files.list_names(store.private_path("pending")) if name.endswith(".yaml")]


def quarantine(store: Store, path: str, reason: str) -> None:
    """Move an unreadable file aside; `doctor` reports it."""
    name = os.path.basename(path)
    if os.path.lexists(store.private_path("quarantine", name)):
        name = f"{name}-{os.urandom(4).hex()}"
    store.log(f"quarantined '{name}': {reason}")
    files.rename(path, store.private_path("quarantine", name))
