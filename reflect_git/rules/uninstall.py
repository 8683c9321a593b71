"""Find our entries in all instruction files on this machine, and unmark or erase them on uninstall."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.rules import project_files
from reflect_git.rules.approve import item_of
from reflect_git.rules.drift import drift
from reflect_git.store.local import projects
from reflect_git.targets import improvements, markdown, rules_file, target_page
from reflect_git.targets import plan as plans
from reflect_git.targets import target_page as pages
from reflect_git.targets.plan import Plan, format_diff
from reflect_git.targets.target_files import SKILL_FILE
from reflect_git.targets.target_page import Page

if TYPE_CHECKING:
    from reflect_git.records.schema import Learning
    from reflect_git.rules.drift.drift import TargetFile
    from reflect_git.rules.project_files import Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

UNMARK, ERASE = "unmark", "erase"
_FOLDERS = ("reflect", "rules", "skills", "agents", ".claude")  # that an approval may have created


@dataclass(frozen=True)
class Change:
    """The change of one file. `count` is the number of our learnings in it."""

    path: str
    before: bytes
    after: bytes | None
    count: int
    diff: str


def list_changes(store: Store, env: Mapping[str, str], scan: Scan, folder: str, how: str) -> Iterator[Change]:
    """Yield the change of every file with entries of this store: global files, known projects and `folder`."""
    known = scan.history.learnings
    out: Callable[[TargetFile, list[Learning]], bytes | None] = _unmark_file if how == UNMARK else _erase_file
    for place, page in _list_target_files(store, env, scan, folder):
        ours = [known[identity] for identity in _list_ids(page) if identity in known]
        if ours and page.data is not None:
            instruction_files.require_single_name(page.path)
            after = out(page, ours)
            plan = Plan(page.target, page.data, after, ours[0]["id"], "remove")
            yield Change(page.path, page.data, after, len(ours), format_diff(plan, place.diff_path(page.target)))


def _list_target_files(
    store: Store, env: Mapping[str, str], scan: Scan, folder: str
) -> Iterator[tuple[Place, TargetFile]]:
    seen: set[str] = set()
    everyone = list(scan.history.learnings.values())
    home = paths.home_dir(env)
    for top in dict.fromkeys(
        (folder, *projects.list_folders(store), *project_files.find_path_projects(everyone, home), home)
    ):
        place = project_files.find_place(store, env, top)
        here = [one for one in everyone if place.is_in_scope(one)]
        for page in drift.list_target_files(place, here):
            if page.path not in seen:
                seen.add(page.path)
                yield place, page


def _list_ids(page: TargetFile) -> list[str]:
    """Return the ids of the learnings in a file; empty if the file cannot be parsed."""
    try:
        if page.target.form == "rules":
            rule = rules_file.parse(page.data) if page.data is not None else None
            return [rule.id] if rule else []
        if page.target.form == "improvements":
            return [entry.id for entry in improvements.find_proposals(page.data)]
        block = target_page.find_block(page.data)
    except ReflectError:
        return []
    return list(dict.fromkeys(entry.id for entry in block.entries)) if block else []


def _unmark_file(page: TargetFile, ours: list[Learning]) -> bytes:
    return unmark(page.target.form, page.data or b"", {one["id"] for one in ours})


def _erase_file(page: TargetFile, ours: list[Learning]) -> bytes | None:
    """Remove our entries, including those reworded by hand: the person was warned."""
    data = page.data
    for learning in ours:
        data = plans.remove(page.target, data, item_of(learning), force=True).after
    return data


def apply_change(change: Change) -> None:
    """Write the file if it is still what was shown; also remove empty folders that were created for it."""
    instruction_files.replace(change.path, change.before, change.after)
    folder, name = os.path.split(change.path)
    ours = (os.path.basename(folder) if name == SKILL_FILE else "", *_FOLDERS)
    while change.after is None and os.path.basename(folder) in ours:
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)


_ID_LINE = re.compile(r"\s*id\s*:\s*[\"']?LRN-[0-9]{8}-[0-9a-z]+[\"']?\s*")


def unmark(form: str, data: bytes, ours: Collection[str]) -> bytes:
    """Remove the ids of learnings in `ours`; entries of colleagues belong to their tools and stay."""
    if form == "rules":
        rule = rules_file.parse(data)
        return _remove_id_line(data) if rule and rule.id in ours else data
    page = pages.read_page(data)
    if form == "improvements":
        starts = [entry.start for entry in improvements.find_proposals(data) if entry.id in ours]
        return _remove_markers(page, starts).data
    block = target_page.locate_block(page)
    if block is None:
        return data
    listed = {rule.id for rule in block.listed_rules}
    starts = [entry.start for entry in block.entries if entry.id in ours and entry.id not in listed]
    if block.pair and all(entry.id in ours for entry in block.entries):
        starts += block.pair
    elif listed:
        rules = [rule for rule in block.listed_rules if rule.id not in ours]
        first, last = block.header
        page = page.splice(first, last, target_page.render_marker(block.notes, rules) + page.newline_at(first))
    return _remove_markers(page, starts).data


def _remove_markers(page: Page, marks: Collection[int]) -> Page:
    """Remove each mark with the blank line below it, or above it at the end of a file."""
    for line in sorted(marks, reverse=True):
        below = line + 1 < len(page.lines)
        end = line + 2 if below and page.is_empty_line(line + 1) else line + 1
        start = line - 1 if not below and page.is_empty_line(line - 1) else line
        page = page.splice(start, end, "")
    return page


def _remove_id_line(data: bytes) -> bytes:
    """Remove our id line from the front matter, or the front matter if nothing else is in it."""
    page = pages.read_page(data)
    end = markdown.count_front_matter_lines(list(page.lines))
    kept = [line for line in page.lines[1 : end - 1] if not _ID_LINE.fullmatch(line.rstrip("\r\n"))]
    if any(line.strip() for line in kept):
        return page.splice(1, end - 1, "".join(kept)).data
    return page.splice(0, page.next_text(end), "").data
