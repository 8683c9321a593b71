"""The compiled table of guards in force on this machine."""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records import json_form
from reflect_git.records.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Optional

    from reflect_git.store.repository import Store


class Guard(NamedTuple):
    """A rule that is enforced. `project`: the key of the only project where it applies; None for all."""

    learning: str
    mode: str
    matcher: dict[str, Any]
    text: str
    instead: str
    project: Optional[str]
    number: str = ""


def write_table(store: Store, guards: Sequence[Guard]) -> None:
    """Write the table that the hook reads; without guards, remove it."""
    path = store.private_path("cache", "guards.json")
    if not guards:
        files.discard(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    files.write_atomic(path, json_form.dumps([guard._asdict() for guard in guards]), sync=False)
