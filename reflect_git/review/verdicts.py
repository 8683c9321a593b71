"""What people said no to, and where that counts: a no to what one project wanted says nothing of another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.store.fold import History

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.review.spots import Spots


@dataclass(frozen=True)
class Verdict:
    """`noes` are the times of those that count, in order."""

    noes: tuple[str, ...] = ()
    never: bool = False


NONE = Verdict()


class Verdicts:
    def __init__(self, history: History, spots: Spots) -> None:
        self._history = history
        self._spots = spots
        self._by_key: dict[str, list[tuple[Decision, Collection[str]]]] = {}
        for key, decision in _noes(history):
            self._by_key.setdefault(key, []).append((decision, self._where(decision)))

    def of(self, keys: Iterable[str], spot: str) -> Verdict:
        said = [no for key in keys for no in self._by_key.get(key, ())] if self._by_key else []
        made = [one for one, where in said if not where or any(self._spots.has(spot, key) for key in where)]
        if not made:
            return NONE
        noes = sorted(one["timestamp"] for one in made if one["kind"] != "never")
        return Verdict(tuple(noes), any(one["kind"] == "never" for one in made))

    def _where(self, decision: Decision) -> Collection[str]:
        """The projects for which a no counts; none for everywhere. A decision that does not say so itself is older than
        that, and counts everywhere, as it did then: its signals are on one machine, and not for long."""
        learning = self._history.learnings.get(decision["subject"])
        if learning is not None:
            project = learning["project"] if learning["scope"] != "global" else None
            return [project["key"]] if project else ()
        return listed(decision["meta"]) if "projects" in decision["meta"] else ()


def listed(meta: Mapping[str, Any]) -> list[str]:
    """As the decision says; a form that no decision of ours has counts everywhere."""
    given = meta["projects"]
    return [key for key in given if isinstance(key, str)] if isinstance(given, list) else []


def _noes(history: History) -> Iterator[tuple[str, Decision]]:
    """Key and decision of each no that stands; who takes an approval back says no to it, too."""
    approved: dict[str, str | None] = {}
    for decision in history.decisions:
        if decision["kind"] == "approved":
            approved[decision["subject"]] = decision["key"]
        if decision["id"] in history.noes:
            key = approved.get(decision["subject"]) if decision["kind"] == "reverted" else decision["key"]
            if key:
                yield key, decision
