"""Snapshots of our part of each target on main: version numbers, hashes, and what changed elsewhere.

A snapshot is written with every change of a target, one folder per machine.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.rules.dismiss import find_declines, is_decline, is_rule_change
from reflect_git.store.repository import MAIN
from reflect_git.store.target_versions import FOLDER, GLOBAL_FOLDER, get_folder_suffix, parse_header
from reflect_git.targets import improvements, rules_file, target_page
from reflect_git.targets.plan import Plan
from reflect_git.targets.target_files import FORM_BY_KIND, Target
from reflect_git.targets.target_page import UnfitFileError

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, Project
    from reflect_git.rules.project_files import Place
    from reflect_git.store.repository import Store
    from reflect_git.store.target_versions import Version

_MAX_FOLDERS = 32


def path_of(store: Store, plan: Plan, project: Project | None) -> str:
    """Return targets/<machine>/<project or global>/<file>."""
    return f"{FOLDER}/{store.machine}/{_get_folder_name(plan, project)}/{plan.path}"


def _get_folder_name(plan: Plan, project: Project | None) -> str:
    """Return a folder name for a project: its name in plain characters, and a hash of its key, which may be any URL."""
    if plan.target.is_global or project is None:
        return GLOBAL_FOLDER
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in project["name"])[:40].strip("-")
    return f"{name or 'project'}-{get_folder_suffix(project['key'])}"


def read(store: Store, path: str) -> bytes:
    """Return a snapshot from main, or b"" if it does not exist; another branch may be checked out."""
    blob = store.git.tree(MAIN, path).get(path)
    return next(store.git.blobs([blob]), b"") if blob else b""


def _parse_number(data: bytes, name: str, most: int) -> int:
    """Return a number from the header, or 0 if it is invalid: a person or a remote may change a snapshot."""
    number = parse_header(data).get(name)
    return number if type(number) is int and 0 < number < most else 0


def format_snapshot(plan: Plan, version: int, folders: int = 0) -> bytes:
    """Return a snapshot: version, hash of the whole file, learning, then only our part of the file.

    `folders`: how many folders were created for the file, so that they can be removed with it.
    """
    head = {"version": version, "sha256": plan.after_sha256, "learning": plan.learning, "change": plan.kind}
    if folders:
        head["folders"] = folders
    lines = [f"{name}: {json.dumps(value)}" for name, value in head.items()]
    return "\n".join([*lines, "", ""]).encode() + _extract_our_part(plan)


def count_created_folders(known: bytes, plan: Plan, path: str) -> int:
    """Return how many folders were ever created for a file of ours."""
    before = _parse_number(known, "folders", _MAX_FOLDERS)
    return max(before, instruction_files.count_missing_folders(path)) if plan.before is None else before


def count_changed_folders(store: Store, where: str, plan: Plan, path: str) -> int:
    """Return how many folders are created or removed with the file, including those created for a file beside it."""
    if plan.before is None:
        return instruction_files.count_missing_folders(path)
    if plan.after is not None:
        return 0
    around = where.removesuffix(plan.path)
    mirrors = store.git.tree(MAIN, around)
    made = set()
    for name, data in zip(mirrors, store.git.blobs(list(mirrors.values())), strict=True):
        folder = name.removeprefix(around)
        for _ in range(_parse_number(data, "folders", _MAX_FOLDERS)):
            folder = _get_parent(folder)
            made.add(folder)
    count, folder = 0, _get_parent(plan.path)
    while folder in made:
        count, folder = count + 1, _get_parent(folder)
    return count


def _get_parent(path: str) -> str:
    """Return the parent of a relative path; it continues above the root, which may have been created as well."""
    return posixpath.normpath(posixpath.join(path, ".."))


def _extract_our_part(plan: Plan) -> bytes:
    try:
        return b"" if plan.after is None else _extract_entries(plan, plan.after)
    except UnfitFileError:  # a backup is restored whatever its bytes are
        return b""


def _extract_entries(plan: Plan, data: bytes) -> bytes:
    if plan.target.form == "rules":
        return data
    if plan.target.form == "improvements":
        return b"".join(entry.raw for entry in improvements.find_proposals(data))
    block = target_page.find_block(data)
    return b"".join(target_page.format_with_id(entry) for entry in block.entries) if block else b""


def find_pending_decisions(place: Place, history: History, machine: str) -> dict[str, Decision]:
    """Map each learning to its last decision, if it came from elsewhere or awaits its file and is not applied."""
    last = _map_last_decisions(history)
    taken = {
        str(made["meta"].get("of"))
        for made in history.decisions
        if made["kind"] == "applied" and made["machine"] == machine and made["id"] not in history.void_decisions
        if not is_decline(made)
    }
    declines = find_declines(history, machine)
    return {
        identity: made
        for identity, made in last.items()
        if (made["machine"] != machine or made["meta"].get("waits")) and identity not in declines
        if made["id"] not in taken and place.is_in_scope(history.learnings[identity])
    }


def _map_last_decisions(history: History) -> dict[str, Decision]:
    """Map each learning to the last decision that changes a file, ignoring those that only applied one."""
    by_id = {made["id"]: made for made in history.decisions}
    return {
        made["subject"]: made
        for made in history.decisions
        if made["subject"] in history.learnings and is_rule_change(by_id, made)
    }


def get_snapshot_path(store: Store, place: Place, target: Target) -> str:
    """Return the path of a target's snapshot."""
    return path_of(store, Plan(target, None, None, "", ""), place.project)


def find_version(listed: Sequence[Version], name: str) -> Version:
    """Return the version with a name such as `v7`."""
    number = name.removeprefix("v")
    found = [one for one in listed if number.isdigit() and one.number == int(number)]
    if not found:
        known = _format_range(listed[0].number) if listed else "it has no versions yet"
        raise ReflectError(f"there is no version '{name}' of it", known, code="unknown-version")
    return found[0]


def _format_range(last: int) -> str:
    return "there is v1 alone" if last == 1 else f"there are v1 to v{last}"


def read_entries_at(store: Store, at: Version, kind: str) -> dict[str, str]:
    """Map ids to texts of all entries in the file then, including other people's. `kind` is the target's kind."""
    return parse_entries(kind, next(store.git.blobs([at.blob])).partition(b"\n\n")[2])


def parse_entries(kind: str, data: bytes | None) -> dict[str, str]:
    """Map ids to texts of all entries in the bytes of a target of this kind."""
    form = FORM_BY_KIND.get(kind, "block")
    if form == "rules":
        rule = rules_file.parse(data or b"")
        return {rule.id: rule.words} if rule else {}
    if form == "improvements":
        return {entry.id: entry.text for entry in improvements.find_proposals(data)}
    block = target_page.find_block(data)
    return {entry.id: entry.text for entry in block.entries} if block else {}
