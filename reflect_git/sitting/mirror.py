"""Our part of each target as we last wrote it, kept on main: which version it is, and of which bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reflect_git.apply import finding
from reflect_git.apply.plan import Plan
from reflect_git.model.ids import digest
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.model.schema import Project
    from reflect_git.store.repository import Store

FOLDER = "targets"


def path_of(store: Store, plan: Plan, project: Project | None) -> str:
    """targets/<machine>/<project or global>/<file>."""
    return f"{FOLDER}/{store.machine}/{_folder(plan, project)}/{plan.path}"


def _folder(plan: Plan, project: Project | None) -> str:
    """A project's key may be any URL or path: its name, made plain, and a hash of the key."""
    if plan.target.is_global or project is None:
        return "global"
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in project["name"])[:40].strip("-")
    return f"{name or 'project'}-{digest('project', project['key'])[:8]}"


def version_of(store: Store, path: str) -> int:
    """0 where we never wrote it. As main has it: the person may have another branch checked out."""
    blob = store.git.tree(MAIN, path).get(path)
    return version_in(next(store.git.blobs([blob]), b"")) if blob else 0


def version_in(data: bytes) -> int:
    """The number that a mirror carries; 0 for what is no mirror."""
    name, _, number = data.split(b"\n", 1)[0].decode("utf-8", "replace").partition(": ")
    return int(number) if name == "version" and number.isdigit() else 0


def content(plan: Plan, version: int) -> bytes:
    """Version, hash of the whole file and which learning it was, then our block and nothing else of the file."""
    head = {"version": version, "sha256": plan.after_sha256, "learning": plan.learning, "change": plan.kind}
    lines = [f"{name}: {json.dumps(value)}" for name, value in head.items()]
    return "\n".join([*lines, "", ""]).encode() + _ours(plan)


def _ours(plan: Plan) -> bytes:
    if plan.after is None:
        return b""
    if plan.target.form == "rules":
        return plan.after
    if plan.target.form == "improvements":
        from reflect_git.apply import improvements

        return b"".join(entry.raw for entry in improvements.find(plan.after))
    block = finding.find(plan.after)
    return b"".join(entry.raw for entry in block.entries) if block else b""
