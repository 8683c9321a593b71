"""Remember corrections that no reminder has counted yet: one line for each, a hash of the folder and the id.

Disposable: without the file nobody is reminded, and nothing else depends on it.
"""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records.ids import folder_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.store.repository import Store

_MIN_CONFIDENCE = 2
_MAX_LINES = 2000
_MAX_BYTES = 1 << 20


def add_corrections(store: Store, top: str, signals: Iterable[Mapping[str, Any]]) -> None:
    """Remember the strong ones of these new signals, if the user typed them in this project."""
    strong = [
        one["id"]
        for one in signals
        if one["trust"] in ("user_typed", "user_feedback")
        and one["confidence"] >= _MIN_CONFIDENCE
        and one["meta"].get("durable")
    ]
    known = _load_lines(store) if strong else []
    added = [line for one in strong if (line := f"{folder_digest(top)} {one}") not in known]
    if added:
        _save_lines(store, [*known, *added][-_MAX_LINES:])


def count_new(store: Store, top: str) -> int:
    """Return how many corrections in this project no reminder has counted yet."""
    return sum(line.startswith(folder_digest(top)) for line in _load_lines(store))


def forget_new(store: Store, top: str) -> None:
    """Forget those of this project, once a reminder has counted them."""
    _save_lines(store, [line for line in _load_lines(store) if not line.startswith(folder_digest(top))])


def _load_lines(store: Store) -> list[str]:
    try:
        return (files.read_if_exists(_get_path(store), _MAX_BYTES) or b"").decode("ascii", "replace").split("\n")[:-1]
    except OSError:
        return []


def _save_lines(store: Store, lines: Iterable[str]) -> None:
    try:
        files.write_atomic(_get_path(store), "".join(f"{line}\n" for line in lines).encode("ascii"), sync=False)
    except OSError:  # a full disk: nobody is reminded
        pass


def _get_path(store: Store) -> str:
    return os.path.join(store.private, "corrections")
