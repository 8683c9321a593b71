"""Compute how each file on this machine changes when the rules in force change.

Entries are found by their id. Entries deleted by hand stay deleted; entries reworded by hand are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.platform import instruction_files
from reflect_git.rules.approve import item_of, says, target_of
from reflect_git.rules.write_change import Step, reworded
from reflect_git.targets import improvements, rules_file, targets
from reflect_git.targets import plan as plans
from reflect_git.targets.inert import Reworded
from reflect_git.targets.plan import Plan
from reflect_git.targets.targets import AGENTS_IMPORT, Target

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Learning
    from reflect_git.rules.project_files import Place

    Where = tuple[bool, str]

_PENDING = improvements.SECTIONS[0]
WAITING = "waiting"  # another machine approved it and it is not in a file here yet


@dataclass(frozen=True)
class Rule:
    """A learning in force and, for an improvement, its section."""

    learning: Learning
    section: str = ""

    @property
    def target(self) -> Target:
        return target_of(self.learning)


@dataclass(frozen=True)
class Shift:
    """One learning before and after a change; None where it is not in force."""

    id: str
    old: Rule | None
    new: Rule | None

    @property
    def rule(self) -> Rule:
        found = self.new or self.old
        assert found is not None
        return found


@dataclass
class Effects:
    """The resulting file changes.

    `waits`: learnings whose files are not here. `notes`: what was left unchanged in a file. `left`: learnings to remove
    whose file has no entry of theirs.
    """

    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    waits: list[Learning] = field(default_factory=list)
    left: set[str] = field(default_factory=set)


def shifts(before: History, after: History) -> list[Shift]:
    """List the learnings that differ between two histories."""
    old, new = _rules(before), _rules(after)
    listed = [Shift(identity, old.get(identity), new.get(identity)) for identity in {**old, **new}]
    return [one for one in listed if not (one.old and one.new and _substance(one.old) == _substance(one.new))]


def _rules(history: History) -> dict[str, Rule]:
    return {one["id"]: Rule(one, section_of(history, one)) for one in history.in_force()}


def section_of(history: History, learning: Learning) -> str:
    """Return the section an improvement is in, by the last decision that was not reverted."""
    if target_of(learning).form != "improvements":
        return ""
    moved = [
        made["meta"].get("section")
        for made in history.decisions
        if made["subject"] == learning["id"] and made["id"] not in history.void
    ]
    return next((one for one in reversed(moved) if one in improvements.SECTIONS), _PENDING)


def _substance(rule: Rule) -> tuple[object, ...]:
    return rule.target, item_of(rule.learning), rule.section


def of(place: Place, changed: Sequence[Shift], force: bool = False) -> Effects:
    """Return the file changes. Add before removing, so that our block is never empty in between."""
    found = Effects()
    near = [one for one in changed if all(place.reaches(rule.learning) for rule in (one.old, one.new) if rule)]
    found.waits += [one.rule.learning for one in changed if one not in near]
    desk = _Desk(place, found, force)
    gone, back = [one for one in near if not one.new], [one for one in near if not one.old]
    for one in near:
        if one.old and one.new:
            desk.alter(one.old, one.new)
    for one in gone[:]:
        heir = next((other for other in back if _is_in_place_of(one.rule, other.rule)), None)
        if heir and desk.swap(one.rule, heir.rule):
            gone.remove(one)
            back.remove(heir)
    for one in back:
        desk.add(one.rule)
    for one in gone:
        desk.remove(one.rule)
    found.steps += desk.steps()
    return found


def _is_in_place_of(new: Rule, old: Rule) -> bool:
    """Tell whether a rule had replaced another in its file."""
    is_same_file = (new.target.kind, new.target.path) == (old.target.kind, old.target.path)
    return is_same_file and new.target.form == "block" and old.learning["id"] in new.learning["supersedes"]


class _Desk:
    """The files as they are, with a series of changes applied on top."""

    def __init__(self, place: Place, found: Effects, force: bool) -> None:
        self._place = place
        self._found = found
        self._force = force
        self._steps: dict[Where, Step] = {}

    def steps(self) -> list[Step]:
        return [step for step in self._steps.values() if step.plan.before != step.plan.after]

    def alter(self, old: Rule, new: Rule) -> None:
        """Change the text, the section or the file of a rule."""
        if (old.target.kind, old.target.path) != (new.target.kind, new.target.path):
            self.add(new)
            self.remove(old)
            return
        if item_of(old.learning) != item_of(new.learning):
            self._take(old, lambda data: self._replaced(data, old, new))
        if old.section != new.section:
            self._take(new, lambda data: Step(plans.move(new.target, data or b"", new.learning["id"], new.section)))

    def _replaced(self, data: bytes | None, old: Rule, new: Rule) -> Step:
        try:
            plan = plans.replace(old.target, data or b"", item_of(old.learning), item_of(new.learning), self._force)
        except Reworded as error:
            if not says(new.learning, error.live):
                raise
            return Step(Plan(old.target, data, data, new.learning["id"], "replace"))  # the file already has this text
        return reworded(plan, old.learning["text"], new.learning["text"])

    def swap(self, new: Rule, old: Rule) -> bool:
        """Restore the old rule in place of the new one; return False if the new one is no longer there."""

        def swapped(data: bytes | None) -> Step:
            plan = plans.replace(new.target, data or b"", item_of(new.learning), item_of(old.learning), self._force)
            return Step(plan, (old.learning["id"],), (new.learning["id"],))

        return self._take(new, swapped, silent=True)

    def add(self, rule: Rule) -> None:
        def added(data: bytes | None) -> Step:
            _require_room(rule, data)
            plan = plans.add(_opened(self._place, rule.target, data), data, item_of(rule.learning))
            if rule.section not in ("", _PENDING):
                moved = plans.move(rule.target, plan.after or b"", rule.learning["id"], rule.section)
                plan = plan._replace(after=moved.after)
            return Step(plan, (rule.learning["id"],))

        self._take(rule, added)

    def remove(self, rule: Rule) -> None:
        def removed(data: bytes | None) -> Step:
            return Step(
                plans.remove(rule.target, data, item_of(rule.learning), self._force), (), (rule.learning["id"],)
            )

        if not self._take(rule, removed):
            self._found.left.add(rule.learning["id"])

    def _take(self, rule: Rule, change: Callable[[bytes | None], Step], silent: bool = False) -> bool:
        """Apply a change on top of earlier ones; note a missing or duplicate entry and return False."""
        target, identity = rule.target, rule.learning["id"]
        where = target.is_global, target.path
        known = self._steps.get(where)
        data = known.plan.after if known else instruction_files.read(self._place.path_of(target))
        try:
            step = change(data)
        except ReflectError as error:
            if error.code not in ("missing", "duplicate"):
                raise
            if not silent:
                state = "has no entry" if error.code == "missing" else "has an entry already"
                self._found.notes.append(f"'{target.path}' {state} of '{identity}': it is left as it is")
            return False
        self._steps[where] = _joined(known, step)
        return True


def _require_room(rule: Rule, data: bytes | None) -> None:
    """Raise if the rule's own file now belongs to somebody else."""
    if rule.target.form != "rules" or data is None:
        return
    found = rules_file.parse(data)
    if found is None or found.id != rule.learning["id"]:
        raise ReflectError(f"'{rule.target.path}' is not ours any more", "move it out of the way", code="target")


def _joined(first: Step | None, then: Step) -> Step:
    """Merge two steps on the same file."""
    if first is None:
        return then
    plan = then.plan._replace(before=first.plan.before)
    return Step(plan, (*first.present, *then.present), (*first.absent, *then.absent))


def _opened(place: Place, target: Target, data: bytes | None) -> Target:
    """Import AGENTS.md in a new CLAUDE.md beside it; Claude Code would otherwise stop reading AGENTS.md."""
    if data is not None or target.kind not in ("project", "dir"):
        return target
    beside = os.path.join(place.root, os.path.dirname(target.path), targets.AGENTS_FILE)
    return target._replace(opening=AGENTS_IMPORT) if os.path.lexists(beside) else target
