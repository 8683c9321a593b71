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
from reflect_git.rules.approve import item_of, matches_text, target_of
from reflect_git.rules.write_change import Step, build_rewording_step
from reflect_git.targets import improvements, rules_file, target_files
from reflect_git.targets import plan as plans
from reflect_git.targets.plan import Plan
from reflect_git.targets.safe_text import RewordedError
from reflect_git.targets.target_files import AGENTS_IMPORT, Target

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Learning
    from reflect_git.rules.project_files import Place

    FileKey = tuple[bool, str]

_PENDING_SECTION = improvements.SECTIONS[0]
WAITING = "waiting"  # another machine approved it and it is not in a file here yet


@dataclass(frozen=True)
class RuleState:
    """A learning in force and, for an improvement, its section."""

    learning: Learning
    section: str = ""

    @property
    def target(self) -> Target:
        return target_of(self.learning)


@dataclass(frozen=True)
class RuleChange:
    """One learning before and after a change; None where it is not in force."""

    id: str
    old: RuleState | None
    new: RuleState | None

    @property
    def rule(self) -> RuleState:
        found = self.new or self.old
        assert found is not None
        return found


@dataclass
class FileChanges:
    """The resulting file changes.

    `not_here`: learnings whose files are not here. `notes`: what was left unchanged in a file. `without_entry`:
    learnings to remove whose file has no entry of theirs.
    """

    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_here: list[Learning] = field(default_factory=list)
    without_entry: set[str] = field(default_factory=set)


def diff_histories(before: History, after: History) -> list[RuleChange]:
    """List the learnings that differ between two histories."""
    old, new = _map_rules_in_force(before), _map_rules_in_force(after)
    listed = [RuleChange(identity, old.get(identity), new.get(identity)) for identity in {**old, **new}]
    return [one for one in listed if not (one.old and one.new and _get_content(one.old) == _get_content(one.new))]


def _map_rules_in_force(history: History) -> dict[str, RuleState]:
    return {one["id"]: RuleState(one, section_of(history, one)) for one in history.get_rules_in_force()}


def section_of(history: History, learning: Learning) -> str:
    """Return the section an improvement is in, by the last decision that was not reverted."""
    if target_of(learning).form != "improvements":
        return ""
    moved = [
        made["meta"].get("section")
        for made in history.decisions
        if made["subject"] == learning["id"] and made["id"] not in history.void_decisions
    ]
    return next((one for one in reversed(moved) if one in improvements.SECTIONS), _PENDING_SECTION)


def _get_content(rule: RuleState) -> tuple[object, ...]:
    return rule.target, item_of(rule.learning), rule.section


def plan_file_changes(place: Place, changed: Sequence[RuleChange], force: bool = False) -> FileChanges:
    """Return the file changes. Add before removing, so that our block is never empty in between."""
    found = FileChanges()
    near = [one for one in changed if all(place.is_in_scope(rule.learning) for rule in (one.old, one.new) if rule)]
    found.not_here += [one.rule.learning for one in changed if one not in near]
    desk = _FileEditor(place, found, force)
    gone, back = [one for one in near if not one.new], [one for one in near if not one.old]
    for one in near:
        if one.old and one.new:
            desk.change_rule(one.old, one.new)
    for one in gone[:]:
        heir = next((other for other in back if _is_replacement_of(one.rule, other.rule)), None)
        if heir and desk.swap_back(one.rule, heir.rule):
            gone.remove(one)
            back.remove(heir)
    for one in back:
        desk.add(one.rule)
    for one in gone:
        desk.remove(one.rule)
    found.steps += desk.steps()
    return found


def _is_replacement_of(new: RuleState, old: RuleState) -> bool:
    """Tell whether a rule had replaced another in its file."""
    is_same_file = (new.target.kind, new.target.path) == (old.target.kind, old.target.path)
    return is_same_file and new.target.form == "block" and old.learning["id"] in new.learning["supersedes"]


class _FileEditor:
    """The files as they are, with a series of changes applied on top."""

    def __init__(self, place: Place, found: FileChanges, force: bool) -> None:
        self._place = place
        self._changes = found
        self._force = force
        self._steps: dict[FileKey, Step] = {}

    def steps(self) -> list[Step]:
        return [step for step in self._steps.values() if step.plan.before != step.plan.after]

    def change_rule(self, old: RuleState, new: RuleState) -> None:
        """Change the text, the section or the file of a rule."""
        if (old.target.kind, old.target.path) != (new.target.kind, new.target.path):
            self.add(new)
            self.remove(old)
            return
        if item_of(old.learning) != item_of(new.learning):
            self._apply_change(old, lambda data: self._replace_entry(data, old, new))
        if old.section != new.section:
            self._apply_change(
                new, lambda data: Step(plans.move(new.target, data or b"", new.learning["id"], new.section))
            )

    def _replace_entry(self, data: bytes | None, old: RuleState, new: RuleState) -> Step:
        try:
            plan = plans.replace(old.target, data or b"", item_of(old.learning), item_of(new.learning), self._force)
        except RewordedError as error:
            if not matches_text(new.learning, error.live):
                raise
            return Step(Plan(old.target, data, data, new.learning["id"], "replace"))  # the file already has this text
        return build_rewording_step(plan, old.learning["text"], new.learning["text"])

    def swap_back(self, new: RuleState, old: RuleState) -> bool:
        """Restore the old rule in place of the new one; return False if the new one is no longer there."""

        def swapped(data: bytes | None) -> Step:
            plan = plans.replace(new.target, data or b"", item_of(new.learning), item_of(old.learning), self._force)
            return Step(plan, (old.learning["id"],), (new.learning["id"],))

        return self._apply_change(new, swapped, silent=True)

    def add(self, rule: RuleState) -> None:
        def added(data: bytes | None) -> Step:
            _require_own_file(rule, data)
            plan = plans.add(_with_agents_import(self._place, rule.target, data), data, item_of(rule.learning))
            if rule.section not in ("", _PENDING_SECTION):
                moved = plans.move(rule.target, plan.after or b"", rule.learning["id"], rule.section)
                plan = plan._replace(after=moved.after)
            return Step(plan, (rule.learning["id"],))

        self._apply_change(rule, added)

    def remove(self, rule: RuleState) -> None:
        def removed(data: bytes | None) -> Step:
            return Step(
                plans.remove(rule.target, data, item_of(rule.learning), self._force), (), (rule.learning["id"],)
            )

        if not self._apply_change(rule, removed):
            self._changes.without_entry.add(rule.learning["id"])

    def _apply_change(self, rule: RuleState, change: Callable[[bytes | None], Step], silent: bool = False) -> bool:
        """Apply a change on top of earlier ones; note a missing or duplicate entry and return False."""
        target, record_id = rule.target, rule.learning["id"]
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
                self._changes.notes.append(f"'{target.path}' {state} of '{record_id}': it is left as it is")
            return False
        self._steps[where] = _merge_steps(known, step)
        return True


def _require_own_file(rule: RuleState, data: bytes | None) -> None:
    """Raise if the rule's own file now belongs to somebody else."""
    if rule.target.form != "rules" or data is None:
        return
    found = rules_file.parse(data)
    if found is None or found.id != rule.learning["id"]:
        raise ReflectError(f"'{rule.target.path}' is not ours any more", "move it out of the way", code="target")


def _merge_steps(first: Step | None, then: Step) -> Step:
    """Merge two steps on the same file."""
    if first is None:
        return then
    plan = then.plan._replace(before=first.plan.before)
    return Step(plan, (*first.present, *then.present), (*first.absent, *then.absent))


def _with_agents_import(place: Place, target: Target, data: bytes | None) -> Target:
    """Import AGENTS.md in a new CLAUDE.md beside it; Claude Code would otherwise stop reading AGENTS.md."""
    if data is not None or target.kind not in ("project", "dir"):
        return target
    beside = os.path.join(place.root, os.path.dirname(target.path), target_files.AGENTS_FILE)
    return target._replace(opening=AGENTS_IMPORT) if os.path.lexists(beside) else target
