"""What was gathered, kept until something it rests on has changed: a branch, an instruction file, an answer, the day.

Telling 10,000 signals apart and wording what they say takes half a second; most of the time nothing has changed since.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import reflect_git
from reflect_git.adapters import files
from reflect_git.model.ids import digest
from reflect_git.review.candidate import NAMES, Candidate, Gathered, Lazily, Near
from reflect_git.store import expiry

if TYPE_CHECKING:
    from reflect_git.store.repository import Store

_LIMIT = 1 << 26
# Where it is decided what is one thing, what is strong, and how it is said: another program gathers anew.
_PROGRAM = ("model", "review", "store")

Lists = dict[str, dict[int, dict[str, Any]]]


class Kept:
    """`place` is where somebody looks; `rests_on` all that what is gathered there follows from, but for the program."""

    def __init__(self, store: Store, place: Sequence[str], *rests_on: str) -> None:
        self._path = store.private_path("cache", f"{expiry.GATHERED}{digest(*place)[:16]}")
        self._seal = digest(_program(), *place, *rests_on)
        self._lists: Lists = {}

    def recall(self, anew: Callable[[], Gathered]) -> Gathered:
        """What was gathered, if it still holds; else anew. What was not looked at then is gathered when it is now."""
        kept = self._load()
        if kept is None:
            return anew()
        self._lists = {name: {int(at): made for at, made in kept["lists"][name].items()} for name in NAMES}
        whole = cache(anew)
        lists = {name: Lazily(kept["counts"][name], partial(self._one, whole, name)) for name in NAMES}
        return Gathered(
            **lists, gathered=kept["gathered"], known=kept["known"], place_of=lambda signal: whole().place_of(signal),
            settled=tuple(kept["settled"]), questions=tuple(map(tuple, kept["questions"])),
        )  # fmt: skip

    def _one(self, whole: Callable[[], Gathered], name: str, at: int) -> Candidate:
        def there() -> Candidate:
            found: Candidate = getattr(whole(), name)[at]
            return found

        made = self._lists[name].get(at)
        return Candidate.recalled(made, Near(lambda: there().near())) if made else there()

    def keep(self, gathered: Gathered) -> None:
        """With all that was looked at by now. It may be thrown away, so that a full disk is no reason."""
        fresh = {name: self._fresh(name, getattr(gathered, name)) for name in NAMES}
        if not any(fresh.values()) and self._lists:
            return
        self._lists = {name: {**self._lists.get(name, {}), **fresh[name]} for name in NAMES}
        counts = {name: len(getattr(gathered, name)) for name in NAMES}
        facts = {name: getattr(gathered, name) for name in ("gathered", "known", "settled", "questions")}
        kept = {"counts": counts, **facts, "lists": self._lists}
        try:
            files.write_whole(self._path, f"{self._seal}\n{json.dumps(kept)}".encode("ascii"), sync=False)
        except OSError:
            pass

    def _fresh(self, name: str, listed: Lazily) -> dict[int, dict[str, Any]]:
        known = self._lists.get(name, {})
        return {at: one.as_kept() for at, one in listed.made.items() if one.tells_more_than(known.get(at))}

    def _load(self) -> Mapping[str, Any] | None:
        try:
            seal, _, text = files.read_regular(self._path, _LIMIT).partition(b"\n")
            return json.loads(text) if seal == self._seal.encode() else None
        except (OSError, ValueError):
            return None


def _program() -> str:
    """Which version of the program this is, also where somebody works on it."""
    root = os.path.dirname(reflect_git.__file__)
    found = [entry for folder in _PROGRAM for entry in os.scandir(os.path.join(root, folder)) if entry.is_file()]
    stats = sorted((entry.name, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in found)
    return f"{reflect_git.__version__} {stats}"
