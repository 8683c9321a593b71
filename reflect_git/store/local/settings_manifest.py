"""Remember which containers we created in each of Claude Code's settings files, to remove them with our entries."""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Optional

    from reflect_git.store.repository import Store

_FILE = "settings.json"


def load_entry(store: Optional[Store], path: str) -> dict[str, Any]:
    """Return what we noted about a settings file: `made`, and `blank` if we created the document."""
    return _load_manifest(store).get(os.path.realpath(path), {})


def write_entry(store: Store, path: str, note: Optional[Mapping[str, Any]]) -> None:
    """Note what we created in a settings file; None removes the note."""
    known = _load_manifest(store)
    known.pop(os.path.realpath(path), None)
    if note is not None:
        known[os.path.realpath(path)] = dict(note)
    target = store.private_path(_FILE)
    if known:
        files.write_atomic(target, json_form.dumps(known), scratch=store.private_path("cache"))
    else:
        files.remove(target)


def _load_manifest(store: Optional[Store]) -> dict[str, dict[str, Any]]:
    data = None if store is None else files.read_if_exists(store.private_path(_FILE))
    try:
        known = json_form.loads((data or b"{}").decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return {path: note for path, note in known.items() if isinstance(note, dict)} if isinstance(known, dict) else {}
