"""Which project a folder belongs to, remembered: asking git costs a hook 2 of its 36 ms."""

from __future__ import annotations

import os

from reflect_git.adapters import files, jsontext
from reflect_git.adapters.project import top_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from reflect_git.model.schema import Project
    from reflect_git.store.repository import Store

_REMEMBERED = 200


def project_of(store: Store, folder: str) -> Project:
    """Asked of git again when the project's config changed; a project known by its path alone is asked every time."""
    top = top_of(folder) or os.path.realpath(folder)
    stamp = _stamp(top)
    known = _load(store)
    entry = known.get(top)
    if stamp and entry and entry.get("stamp") == stamp:
        project: Project = entry["project"]
        return project
    from reflect_git.adapters.project import identify

    found = identify(store.git.program, top)
    if stamp and not found["key"].startswith("path:"):
        _remember(store, known, top, {**_aliases(entry, found["key"]), "stamp": stamp, "project": found})
    return found


def other_keys(store: Store, folder: str) -> list[str]:
    """What else this project is called: by its first commit, and by every address that it had in this folder.

    Another repository in the same folder has another first commit, and nothing of this.
    """
    top = top_of(folder) or ""
    known = _load(store)
    entry = known.get(top)
    if not entry:
        return []
    if entry.get("rooted") != entry["stamp"]:
        from reflect_git.adapters.project import root_key

        root = root_key(store.git.program, top) or ""
        former = entry.get("former", []) if root and entry.get("root") == root else []
        entry = {**entry, "rooted": entry["stamp"], "root": root, "former": former}
        _remember(store, known, top, entry)
    return [key for key in (entry["root"], *entry["former"]) if key]


def _aliases(entry: Optional[dict[str, Any]], key: str) -> dict[str, Any]:
    """Of a project whose address changed: what it was called, and by which commit it can be known again."""
    if not entry:
        return {}
    former = [name for name in (*entry.get("former", []), entry["project"]["key"]) if name != key]
    return {"former": list(dict.fromkeys(former)), "root": entry.get("root", "")}


def _remember(store: Store, known: dict[str, Any], top: str, entry: dict[str, Any]) -> None:
    known.pop(top, None)
    known[top] = entry
    _save(store, dict(list(known.items())[-_REMEMBERED:]))


def tops(store: Store) -> list[str]:
    """The folders of projects that are remembered and still there."""
    return [top for top in _load(store) if os.path.isdir(top)]


def _stamp(top: str) -> list[int]:
    """The config file tells of remotes; a work tree's `.git` is a file that never changes, so it is not remembered."""
    try:
        status = os.stat(os.path.join(top, ".git", "config"))
    except OSError:
        return []
    return [status.st_ino, status.st_size, status.st_mtime_ns]


def _load(store: Store) -> dict[str, Any]:
    try:
        known = jsontext.loads(
            files.read_regular(store.private_path("projects.json"), 1 << 20).decode("utf-8", "replace")
        )
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def _save(store: Store, known: dict[str, Any]) -> None:
    import json

    try:
        files.write_whole(store.private_path("projects.json"), json.dumps(known).encode(), sync=False)
    except OSError:  # asked again next time
        pass
