"""What is ours in instruction files, wherever they are on this machine, and how to take it out when one leaves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.adapters import live
from reflect_git.apply import finding, improvements, rulesfile
from reflect_git.apply import plan as plans
from reflect_git.apply.diff import diff
from reflect_git.apply.plan import Plan
from reflect_git.apply.unmark import unmark
from reflect_git.errors import ReflectError
from reflect_git.sitting import drift, places
from reflect_git.sitting.approve import item_of
from reflect_git.store import projects

if TYPE_CHECKING:
    from reflect_git.model.schema import Learning
    from reflect_git.sitting.drift import Page
    from reflect_git.sitting.places import Place
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

UNMARK, ERASE = "unmark", "erase"


@dataclass(frozen=True)
class Change:
    """A file of which something goes. `count` is how many learnings of ours it has."""

    path: str
    before: bytes
    after: bytes | None
    count: int
    diff: str


def changes(store: Store, env: Mapping[str, str], scan: Scan, folder: str, how: str) -> Iterator[Change]:
    """Every file that has entries of this store: the global ones, and those of projects that are known or `folder`."""
    known = scan.history.learnings
    out: Callable[[Page, list[Learning]], bytes | None] = _unmarked if how == UNMARK else _erased
    for place, page in _pages(store, env, scan, folder):
        ours = [known[identity] for identity in _ids(page) if identity in known]
        if ours and page.data is not None:
            live.require_single_name(page.path)
            after = out(page, ours)
            plan = Plan(page.target, page.data, after, ours[0]["id"], "remove")
            yield Change(page.path, page.data, after, len(ours), diff(plan, place.shown(page.target)))


def _pages(store: Store, env: Mapping[str, str], scan: Scan, folder: str) -> Iterator[tuple[Place, Page]]:
    seen: set[str] = set()
    everyone = list(scan.history.learnings.values())
    home = paths.home_dir(env)
    for top in dict.fromkeys((folder, *projects.tops(store), *places.named_by_path(everyone, home), home)):
        place = places.place(store, env, top)
        here = [one for one in everyone if place.reaches(one)]
        for page in drift.pages_here(place, here):
            if page.path not in seen:
                seen.add(page.path)
                yield place, page


def _ids(page: Page) -> list[str]:
    """The learnings that a file marks as such; one that cannot be read has none that we could take out."""
    try:
        if page.target.form == "rules":
            rule = rulesfile.parse(page.data) if page.data is not None else None
            return [rule.id] if rule else []
        if page.target.form == "improvements":
            return [entry.id for entry in improvements.find(page.data)]
        block = finding.find(page.data)
    except ReflectError:
        return []
    return list(dict.fromkeys(entry.id for entry in block.entries)) if block else []


def _unmarked(page: Page, ours: list[Learning]) -> bytes:
    return unmark(page.target.form, page.data or b"", {one["id"] for one in ours})


def _erased(page: Page, ours: list[Learning]) -> bytes | None:
    """Also what was reworded by hand since: it was told that it would go."""
    data = page.data
    for learning in ours:
        data = plans.remove(page.target, data, item_of(learning), force=True).after
    return data


def carry_out(change: Change) -> None:
    """The file, if it still is what was shown; a folder that was made for it and is empty now goes as well."""
    live.replace(change.path, change.before, change.after)
    folder = os.path.dirname(change.path)
    while change.after is None and os.path.basename(folder) in ("reflect", "rules", ".claude"):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)
