"""Cache which project a folder belongs to: asking git takes 2 of the 36 ms of a hook."""

from __future__ import annotations

import os

from reflect_git.platform import files
from reflect_git.platform.project import get_repository, get_root_key, identify_project, top_of
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from reflect_git.records.schema import Project
    from reflect_git.store.repository import Store

_MAX_PROJECTS, _MAX_WORK_TREES = 200, 50


def get_project(store: Store, folder: str) -> Project:
    """Return the project of a folder.

    git is asked again if the project's config changed, and every time for a project known only by its path. A deleted
    project keeps its last answer.
    """
    known = _load(store)
    top = top_of(folder) or _find_deleted_project(known, os.path.realpath(folder))
    owner, stamp = _get_repository_stamp(top)
    entry = known.get(owner)
    if entry and (entry.get("stamp") == stamp or _is_deleted(top)):
        linked = _add_work_tree(entry, owner, top)
        if linked != entry.get("linked", []):
            _cache_project(store, known, owner, {**entry, "linked": linked})
        project: Project = entry["project"]
        return project
    found = identify_project(store.git.program, _choose_folder(owner, top))
    if stamp and not found["key"].startswith("path:"):
        linked = _add_work_tree(entry or {}, owner, top)
        entry = {**_get_aliases(entry, found["key"]), "stamp": stamp, "project": found, "linked": linked}
        _cache_project(store, known, owner, entry)
    return found


def list_other_keys(store: Store, folder: str) -> list[str]:
    """List the other keys of this project: its first commit, former addresses, and the path of the main work tree.

    Another repository in the same folder has another first commit and shares none of these.
    """
    top = top_of(folder)
    if top is None:
        return []
    owner, _ = _get_repository_stamp(top)
    path = [f"path:{owner}"] if owner != top else []
    known = _load(store)
    entry = known.get(owner)
    if not entry:
        return path
    if entry.get("rooted") != entry["stamp"]:
        root = get_root_key(store.git.program, _choose_folder(owner, top)) or ""
        former = entry.get("former", []) if root and entry.get("root") == root else []
        entry = {**entry, "rooted": entry["stamp"], "root": root, "former": former}
        _cache_project(store, known, owner, entry)
    return [key for key in (entry["root"], *entry["former"], *path) if key]


def _get_repository_stamp(top: str) -> tuple[str, list[int]]:
    """Return one folder for all work trees of a project, and a stamp of its config.

    The stamp changes when remotes change; it is empty without a repository.
    """
    try:
        owner, config = get_repository(top)
        status = os.stat(config)
    except OSError:
        return top, []
    return owner, [status.st_ino, status.st_size, status.st_mtime_ns]


def _choose_folder(owner: str, top: str) -> str:
    """Return the folder to ask: the main work tree if it exists. A linked one may have another first commit."""
    return owner if os.path.exists(os.path.join(owner, ".git")) else top


def _add_work_tree(entry: dict[str, Any], owner: str, top: str) -> list[str]:
    """Return the known linked work trees. They come and go, but signals in them belong to the project."""
    seen: list[str] = entry.get("linked", [])
    return seen if top in (owner, *seen) else [*seen, top][-_MAX_WORK_TREES:]


def _find_deleted_project(known: dict[str, Any], folder: str) -> str:
    """Return the project that a deleted folder was in; otherwise the folder itself."""
    above = folder
    while _is_deleted(above):
        for owner, entry in known.items():
            if above in (owner, *entry.get("linked", [])):
                return owner
        above = os.path.dirname(above)
    return folder


def _is_deleted(folder: str) -> bool:
    return not os.path.lexists(folder)


def _get_aliases(entry: Optional[dict[str, Any]], key: str) -> dict[str, Any]:
    """Return the former keys and root commit of a project whose address changed."""
    if not entry:
        return {}
    former = [name for name in (*entry.get("former", []), entry["project"]["key"]) if name != key]
    return {"former": list(dict.fromkeys(former)), "root": entry.get("root", "")}


def _cache_project(store: Store, known: dict[str, Any], top: str, entry: dict[str, Any]) -> None:
    """Cache git's answer, unless the path or address contains a secret."""
    from reflect_git.redact import redact  # once for each project

    if any(redact(text) != text for text in (top, *entry["project"].values(), *entry.get("linked", []))):
        return
    known.pop(top, None)
    known[top] = entry
    _save(store, dict(list(known.items())[-_MAX_PROJECTS:]))


def list_folders(store: Store) -> list[str]:
    """List the folders of known projects that still exist."""
    return [top for top in _load(store) if os.path.exists(os.path.join(top, ".git"))]


def list_keys(store: Store) -> list[list[str]]:
    """List all keys that each known project ever had."""
    return [
        [entry["project"]["key"], *(key for key in (entry.get("root"), *entry.get("former", [])) if key), f"path:{top}"]
        for top, entry in _load(store).items()
    ]


def _load(store: Store) -> dict[str, Any]:
    try:
        known = json_form.loads(
            files.read_regular(store.private_path("projects.json"), 1 << 20).decode("utf-8", "replace")
        )
    except (OSError, ValueError, RecursionError):
        return {}
    listed = known.items() if isinstance(known, dict) else ()
    return {top: one for top, one in listed if isinstance(one, dict) and isinstance(one.get("project"), dict)}


def _save(store: Store, known: dict[str, Any]) -> None:
    try:
        files.write_atomic(store.private_path("projects.json"), json_form.dumps(known), sync=False)
    except OSError:  # git is asked again next time
        pass
