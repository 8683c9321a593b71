"""Count the questions that a review here would ask: the one number that `status` and the status line show."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from reflect_git import paths, workflow
from reflect_git.sitting.review import sit
from reflect_git.store import glance, reading

if TYPE_CHECKING:
    from reflect_git.review.candidate import Gathered
    from reflect_git.store.glance import Glance
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store


def count(store: Store, env: Mapping[str, str], scan: Scan, folder: str, seen_before: str) -> Glance:
    """Count as a review does, and keep it for the status line; `seen_before` is `glance.seen` before the scan."""
    now = time.time()
    judged, keys = judge(store, env, scan, folder)
    counted = glance.count(store, scan, now, judged, keys)
    glance.keep(store, paths.top_of(folder) or folder, counted, seen_before, now)
    glance.keep_judged(store, judged)
    return counted


def refresh(env: Mapping[str, str], folder: str) -> None:
    """Count again, for processes that nobody waits for."""
    store = workflow.open_store(env, create=False)
    before = glance.seen(store)
    count(store, env, reading.scan(store), folder, before)


def judge(store: Store, env: Mapping[str, str], scan: Scan, folder: str) -> tuple[dict[str, str], Collection[str]]:
    """Return what a review makes of each captured signal, and the keys of the project here.

    Signals of this project are judged by a review here, those of others by one of all.
    """
    here = sit(store, env, scan, folder)
    here.keep()
    keys, found = here.place.keys, _words(here.gathered)
    told = zip(scan.columns["id"], scan.columns["project"], strict=True)
    away = {one for one, project in told if keys and project and project["key"] not in keys}
    if away:
        everywhere = sit(store, env, scan, folder, everything=True)
        everywhere.keep()
        found |= {one: word for one, word in _words(everywhere.gathered).items() if one in away}
    waits = zip(scan.columns["id"], scan.columns["status"], strict=True)
    return {one: found.get(one, glance.WEAK) for one, status in waits if status == "captured"}, keys


def _words(gathered: Gathered) -> dict[str, str]:
    found = dict.fromkeys(gathered.settled, glance.SETTLED)
    for signals in gathered.questions:
        found.update(dict.fromkeys(signals, glance.strong(signals[0])))
    return found
