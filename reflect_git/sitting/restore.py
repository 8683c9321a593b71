"""A backup back in its place, byte for byte; what is in force follows what the file says then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_git.adapters import live
from reflect_git.apply import targets
from reflect_git.apply.page import Unfit
from reflect_git.apply.plan import Plan
from reflect_git.apply.targets import Target
from reflect_git.errors import ReflectError
from reflect_git.model.ids import utc_precise
from reflect_git.sitting import effects, links, revert, to_version
from reflect_git.sitting.approve import target_of
from reflect_git.sitting.revert import Reversal
from reflect_git.sitting.versions import entries_in
from reflect_git.sitting.writing import Approved, Step
from reflect_git.store import backups, memory

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.backups import Kept
    from reflect_git.store.repository import Store

_PREFIX = "backup/"


@dataclass(frozen=True)
class Restoring:
    """One change, whole. `dropped` were approved since and go, `back` were taken back since and come again."""

    backup: str
    reversal: Reversal
    dropped: tuple[Learning, ...]
    back: tuple[Learning, ...]

    @property
    def diff(self) -> str:
        return self.reversal.diff


def find(store: Store, name: str) -> Kept:
    """The one backup whose name has this part; with or without `backup/`."""
    listed = backups.kept(store)
    part = name.strip().removeprefix(_PREFIX).lower()
    exact = [one for one in listed if one.name.lower() == f"{_PREFIX}{part}"]
    found = exact or [one for one in listed if part and part in one.name.lower()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ReflectError(f"no backup '{name}'", "list them with 'reflect-git restore'", code="unknown-backup")
    some = ", ".join(one.name for one in found[:5]) + (", …" if len(found) > 5 else "")
    raise ReflectError(f"'{name}' is part of {len(found)} names", f"one of: {some}", code="ambiguous-backup")


def propose(sitting: Sitting, backup: Kept) -> Restoring:
    """The exact change, and which learnings it puts out of force or in force again. Nothing is written."""
    plans = [_plan(sitting, path, data) for path, data in backups.contents(sitting.store, backup.name)]
    plans = [plan for plan in plans if plan.before != plan.after]
    if not plans:
        raise ReflectError("the files are as they were then", code="unchanged")
    links.require_single_names(sitting.place, plans)
    taken = [made for plan in plans for made in _decisions(sitting, plan)]
    now = utc_precise()
    followed = revert.reverted(sitting, taken, now)
    shifted = effects.shifts(sitting.scan.history, revert.with_decisions(sitting, followed))
    made = (*(_restored(sitting, plan, backup.name, now) for plan in plans), *followed)
    steps = tuple(_step(plan, followed) for plan in plans)
    names = ", ".join(plan.path for plan in plans)
    return Restoring(
        backup.name,
        Reversal(sitting.place, f"{names} as of {backup.time[:16].replace('T', ' ')}", made, steps),
        tuple(one.old.learning for one in shifted if one.old and not one.new),
        tuple(one.new.learning for one in shifted if one.new and not one.old),
    )  # fmt: skip


def _plan(sitting: Sitting, path: str, data: bytes | None) -> Plan:
    return Plan(_target(sitting, path), live.read(path), data, "", "restore")


def _target(sitting: Sitting, path: str) -> Target:
    """Which target a file is: one that learnings name leads there, else what it is called tells."""
    place = sitting.place
    known = [target_of(one) for one in sitting.scan.history.learnings.values() if place.reaches(one)]
    for target in dict.fromkeys(known):
        try:
            if place.path_of(target) == path:
                return target
        except ReflectError:
            continue
    for base, is_global in ((place.config, True), (place.root, False)):
        if base and path.startswith(base.rstrip("/") + "/"):
            return targets.of_file(path[len(base.rstrip("/")) + 1 :], is_global)
    raise ReflectError(
        f"'{path}' is in no project that is here", "see it with 'git show BACKUP:backup/1' in the store", code="target"
    )


def _decisions(sitting: Sitting, plan: Plan) -> list[Decision]:
    """What has to be taken back for the store to say what the file will say."""
    present, wanted = _entries(plan, plan.before), _entries(plan, plan.after)
    return to_version.take_back(sitting, plan.target, wanted, present)


def _entries(plan: Plan, data: bytes | None) -> dict[str, str]:
    try:
        return entries_in(plan.target.kind, data)
    except Unfit:  # restored all the same, and nothing of ours can be read in it
        return {}


def _restored(sitting: Sitting, plan: Plan, backup: str, now: str) -> Decision:
    """About the file, so that a restore that changes no rule is a decision, too."""
    target = plan.target
    return memory.decision(
        sitting.store, "reverted", target.path, revert.NOBODY, now,
        target={"kind": target.kind, "path": target.path}, meta={"restored": backup},
    )  # fmt: skip


def _step(plan: Plan, followed: Sequence[Decision]) -> Step:
    present, wanted = _entries(plan, plan.before), _entries(plan, plan.after)
    about = {made["subject"] for made in followed}
    come = tuple(identity for identity in wanted if identity in about and identity not in present)
    go = tuple(identity for identity in present if identity in about and identity not in wanted)
    return Step(plan, come, go)


def carry_out(sitting: Sitting, restoring: Restoring, by: By, asked: Iterable[Finding] = ()) -> Approved:
    """Another backup, the bytes, one commit; then the files are read again."""
    done = revert.carry_out(sitting, restoring.reversal, by, asked)
    for step in restoring.reversal.steps:
        path = sitting.place.path_of(step.plan.target)
        if live.read(path) != step.plan.after:
            raise live.Changed(path)
    return done
