"""What waits for a person's answer, here and now."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc
from reflect_git.review.candidates import Candidate, Gathered, candidates
from reflect_git.review.matcher import backtest
from reflect_git.sitting import places
from reflect_git.store import expiry, memory

if TYPE_CHECKING:
    from reflect_git.review.baseline import Statement
    from reflect_git.sitting.places import Place
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

BACKTEST_SECONDS = 1.0
_BACKTEST_DAYS = 60


@dataclass(frozen=True)
class Sitting:
    """The store, the place and what waits there."""

    store: Store
    env: Mapping[str, str]
    place: Place
    scan: Scan
    said: list[Statement]
    gathered: Gathered

    def find(self, prefix: str) -> Candidate:
        """The candidate that an id, or the beginning of one, belongs to; any signal of its group names it."""
        listed = self.scan.columns["id"]
        identity = memory.find(listed, prefix)
        found = self.gathered.of(identity)
        if found is None:
            status = self.scan.columns["status"][listed.index(identity)]
            why = "is said already" if status == "captured" else f"is {status}"
            raise ReflectError(
                f"'{identity}' waits for no answer: it {why}", f"see 'reflect-git show {identity}'", "no-candidate"
            )
        return found


def sit(store: Store, env: Mapping[str, str], scan: Scan, folder: str, everything: bool = False) -> Sitting:
    """Gather what waits for an answer in a project, or everywhere."""
    here = places.place(store, env, folder)
    said = places.baselines(here)
    keys = [] if everything else here.keys
    captured = scan.whole(scan.select(status="captured"))
    gathered = candidates(
        captured, scan.history, said, project=keys, now=utc(), shown=expiry.shown(store)
    )  # fmt: skip
    return Sitting(store, env, here, scan, said, gathered)


def tried(sitting: Sitting, candidate: Candidate) -> Candidate:
    """With how often its matcher would have applied in past sessions of the project."""
    if candidate.matcher is None:
        return candidate
    found = backtest(candidate.matcher, _calls(sitting))
    return replace(candidate, backtest=found)


def _calls(sitting: Sitting) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Tool calls of past sessions here, newest transcript first, for as long as one may wait."""
    from reflect_git.adapters.transcript import Reader

    deadline, oldest = time.monotonic() + BACKTEST_SECONDS, time.time() - _BACKTEST_DAYS * 86400
    folder = os.path.dirname(places.memory_dir(sitting.place))
    try:
        listed = [entry for entry in os.scandir(folder) if entry.name.endswith(".jsonl")]
    except OSError:
        return
    for entry in sorted(listed, key=lambda entry: -entry.stat().st_mtime):
        if entry.stat().st_mtime < oldest or time.monotonic() > deadline:
            return
        try:
            for turn in Reader(entry.path, projects=paths.projects_dir(sitting.env), deadline=deadline):
                if turn.kind == "tool" and turn.tool:
                    yield turn.timestamp, turn.tool, turn.input
        except (ReflectError, OSError):
            continue
