"""Our part of each target as we last wrote it, kept on main: which version it is, and of which bytes."""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live
from reflect_git.apply import finding
from reflect_git.apply.page import Unfit
from reflect_git.apply.plan import Plan
from reflect_git.model.ids import digest
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.model.schema import Project
    from reflect_git.store.repository import Store

FOLDER, EVERYWHERE = "targets", "global"
_MOST = 10**9  # of a version
_DEEPEST = 32


def path_of(store: Store, plan: Plan, project: Project | None) -> str:
    """targets/<machine>/<project or global>/<file>."""
    return f"{FOLDER}/{store.machine}/{_folder(plan, project)}/{plan.path}"


def _folder(plan: Plan, project: Project | None) -> str:
    """A project's key may be any URL or path: its name, made plain, and a hash of the key."""
    if plan.target.is_global or project is None:
        return EVERYWHERE
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in project["name"])[:40].strip("-")
    return f"{name or 'project'}-{mark_of(project['key'])}"


def mark_of(key: str) -> str:
    """How the folder of a project's mirrors ends, whatever the project is called."""
    return digest("project", key)[:8]


def read(store: Store, path: str) -> bytes:
    """Empty where we never wrote it. As main has it: the person may have another branch checked out."""
    blob = store.git.tree(MAIN, path).get(path)
    return next(store.git.blobs([blob]), b"") if blob else b""


def version_in(data: bytes) -> int:
    """The number that a mirror carries; 0 for what is no mirror."""
    return _number_in(data, "version", _MOST)


def _number_in(data: bytes, name: str, most: int) -> int:
    """0 for what is no number, or none that we would write: a mirror is a file that a person or a remote may change."""
    number = head_of(data).get(name)
    return number if type(number) is int and 0 < number < most else 0


def head_of(data: bytes) -> dict[str, Any]:
    """What stands above the entries: version, sha256 of the file, learning, change, and folders if we made any."""
    found: dict[str, Any] = {}
    for line in data.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(": ")
        try:
            found[name] = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return found


def content(plan: Plan, version: int, folders: int = 0) -> bytes:
    """Version, hash of the whole file and which learning it was, then our block and nothing else of the file.

    `folders`: how many folders were made for the file, so that they go with it.
    """
    head = {"version": version, "sha256": plan.after_sha256, "learning": plan.learning, "change": plan.kind}
    if folders:
        head["folders"] = folders
    lines = [f"{name}: {json.dumps(value)}" for name, value in head.items()]
    return "\n".join([*lines, "", ""]).encode() + _ours(plan)


def folders_made(known: bytes, plan: Plan, path: str) -> int:
    """How many folders were ever made for a file of ours."""
    before = _number_in(known, "folders", _DEEPEST)
    return max(before, live.missing_folders(path)) if plan.before is None else before


def folders_with(store: Store, where: str, plan: Plan, path: str) -> int:
    """How many folders come with the file, or may go with it: those that were made for it, or for one beside it."""
    if plan.before is None:
        return live.missing_folders(path)
    if plan.after is not None:
        return 0
    around = where.removesuffix(plan.path)
    mirrors = store.git.tree(MAIN, around)
    made = set()
    for name, data in zip(mirrors, store.git.blobs(list(mirrors.values())), strict=True):
        folder = name.removeprefix(around)
        for _ in range(_number_in(data, "folders", _DEEPEST)):
            folder = _above(folder)
            made.add(folder)
    count, folder = 0, _above(plan.path)
    while folder in made:
        count, folder = count + 1, _above(folder)
    return count


def _above(path: str) -> str:
    """The folder of a relative path; above the first one it goes on, since that may have been made, too."""
    return posixpath.normpath(posixpath.join(path, ".."))


def _ours(plan: Plan) -> bytes:
    try:
        return b"" if plan.after is None else _entries(plan, plan.after)
    except Unfit:  # the bytes of a backup come back whatever they are
        return b""


def _entries(plan: Plan, data: bytes) -> bytes:
    if plan.target.form == "rules":
        return data
    if plan.target.form == "improvements":
        from reflect_git.apply import improvements

        return b"".join(entry.raw for entry in improvements.find(data))
    block = finding.find(data)
    return b"".join(finding.with_id(entry) for entry in block.entries) if block else b""
