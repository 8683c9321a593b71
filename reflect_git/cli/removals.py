"""What a commit of the person's took out of the store: it was put back, and may have been meant for good."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from reflect_git.cli import portrait
from reflect_git.cli.taking import person
from reflect_git.errors import ReflectError
from reflect_git.history.words import called
from reflect_git.sitting import audit, elsewhere, removals, revert
from reflect_git.store.care import guard

if TYPE_CHECKING:
    from reflect_git.cli.console import Console
    from reflect_git.cli.desk import Desk
    from reflect_git.sitting.removals import Removal
    from reflect_git.sitting.revert import Reversal

KEPT, RETIRED = "left in force", "retired"
_MOST = 20


class RemovalCard:
    """`able`: which of the keys that write something can do so."""

    question = "Retire it"
    meanings: Mapping[str, str] = {
        "x": "retire: revert what the commit took out, in one commit",
        "i": "leave it in force: not asked again",
    }

    def __init__(self, desk: Desk, removal: Removal) -> None:
        self._desk, self._removal = desk, removal
        self._sitting = elsewhere.moved_to(desk.sitting, removal.decisions)
        self._reversal, self._trouble = self._proposed()
        self.headline = headline(removal)
        self.able = "x" if self._reversal else ""

    def _proposed(self) -> tuple[Reversal | None, ReflectError | None]:
        try:
            return revert.propose(self._sitting, self._removal.chosen), None
        except ReflectError as error:
            return None, error

    def show(self) -> None:
        desk, history = self._desk, self._sitting.scan.history
        for made in self._removal.decisions[:_MOST]:
            desk.say(*portrait.text_lines(revert.title_of(history, [made])))
            desk.say(*portrait.field(called(made), f"{removals.name_of(made)}, in force again"), "")
        if len(self._removal.decisions) > _MOST:
            desk.say(f"    … and {len(self._removal.decisions) - _MOST} more", "")
        if self._trouble:
            desk.say_error(self._trouble)
        if self._reversal:
            desk.say(*(line for note in self._reversal.notes for line in portrait.field("note", note)))
            desk.show_change(self._reversal.diff)

    def answer(self, key: str, _: Console) -> str:
        front, commit = self._desk.front, self._removal.commit
        by = person(front, self._sitting)
        if key == "i" or self._reversal is None:
            audit.leave_removed(self._sitting.store, front.env, time.time(), front.scan, commit, by)
            self._desk.settled("left in force")
            return KEPT
        done = revert.carry_out(self._sitting, self._reversal, by)
        guard.forget_removed(self._sitting.store, commit)
        self._desk.settled(f"retired it, commit {done.commit[:10]}", self._changed(done.target))
        return RETIRED

    def _changed(self, target: str) -> str:
        """A file of the project in which the person sits."""
        is_here = self._sitting.place.root == self._desk.sitting.place.root
        return target if is_here and not target.startswith(("/", "~")) else ""


def headline(removal: Removal) -> str:
    return f"commit {removal.commit[:10]} of yours took this out of the store"
