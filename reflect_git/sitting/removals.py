"""Decisions whose records the person's own git took out of main: they were put back, and it is asked what was meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reflect_git.model.schema import SWITCHING_KINDS
from reflect_git.model.tuples import NamedTuple
from reflect_git.store.care import guard

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.sitting.revert import Chosen
    from reflect_git.store.fold import History
    from reflect_git.store.repository import Store


class Removal(NamedTuple):
    """One commit of theirs, and what stands again of all that it took out."""

    commit: str
    decisions: tuple[Decision, ...]

    @property
    def mark(self) -> str:
        return f"removed {self.commit}"

    @property
    def chosen(self) -> Chosen:
        """All of it, to be taken back."""
        from reflect_git.sitting.revert import Chosen  # who only looks does without

        return Chosen(self.decisions)


def look(store: Store, history: History) -> list[Removal]:
    """The oldest first; what was taken back since, or left in force, is not asked any more."""
    listed: dict[str, list[str]] = {}
    for record, commit in guard.removed(store).items():
        listed.setdefault(commit, []).append(record)
    found = [Removal(commit, tuple(standing(history, records))) for commit, records in listed.items()]
    return [one for one in found if one.decisions]


def standing(history: History, records: Iterable[str]) -> list[Decision]:
    """Of decisions and learnings, by their ids: the decisions that still say something, and can be taken back."""
    known = history.learnings
    named = {known[one]["decision"] if one in known else one for one in records}
    in_force = {one["id"] for one in history.in_force()}
    return [
        made
        for made in history.decisions
        if made["id"] in named and made["id"] not in history.void and made["kind"] not in SWITCHING_KINDS
        and (made["kind"] != "approved" or made["subject"] in in_force)
    ]  # fmt: skip


def name_of(made: Decision) -> str:
    """By which `revert` takes it back: a rule by its own id, with what it replaced; anything else by the decision."""
    if made["kind"] == "approved":
        return made["subject"]
    return str(made["meta"].get("by") or made["id"]) if made["kind"] == "superseded" else made["id"]
