"""Files changed and ONE commit that says why: what approvals, amendments and everything that takes them back share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import records
from reflect_git.apply.diff import diff
from reflect_git.apply.plan import Plan
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.review import gate
from reflect_git.sitting import mirror
from reflect_git.store import approval, memory
from reflect_git.store.approval import Change
from reflect_git.store.layout import path_of

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Learning
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.review import Sitting


@dataclass(frozen=True)
class Step:
    """One file. `present` and `absent` are texts by which one sees in it later that the step was taken."""

    plan: Plan
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Approved:
    """What was written; `backup` is empty where no file was touched."""

    learning: str
    commit: str
    backup: str
    target: str
    diff: str
    warnings: list[str] = field(default_factory=list)


def require_unrefused(findings: Iterable[Finding]) -> None:
    for found in findings:
        if found.kind == gate.REFUSED:
            raise ReflectError(found.message, found.way_out, f"refused-{found.code}", EXIT_DECISION)


def steps(plans: Iterable[Plan]) -> list[Step]:
    """One for each file: plans for the same file were made one upon the other. Their ids tell that they were made."""
    found: dict[tuple[bool, str], Step] = {}
    for plan in plans:
        present, absent = ((), (plan.learning,)) if plan.kind == "remove" else ((plan.learning,), ())
        place = plan.target.is_global, plan.path
        before = found.get(place, Step(plan))
        found[place] = Step(
            replace(plan, before=before.plan.before), (*before.present, *present), (*before.absent, *absent)
        )
    return list(found.values())


def write(
    sitting: Sitting, learning: str, taken: Sequence[Step], made: Sequence[Mapping[str, Any]], message: str,
    findings: Iterable[Finding] = (),
) -> Approved:  # fmt: skip
    """The files and the records in one commit, or neither."""
    store, place = sitting.store, sitting.place
    for record in made:
        records.check(record)
    new = {path_of(record["id"]): records.emit(record) for record in made}
    for step in taken:
        where = mirror.path_of(store, step.plan, place.project)
        new[where] = mirror.content(step.plan, mirror.version_of(store, where) + 1)
    changes = [
        Change(place.path_of(step.plan.target), step.plan.before, step.plan.after, step.present, step.absent)
        for step in taken
    ]
    if not changes:
        message = message.replace("Backup: {backup}\n", "")
    done = approval.carry_out(store, learning, changes, new, message, time.time())
    label = place.label(changes[0].path) if changes else ""
    shown = "".join(diff(step.plan) for step in taken)
    return Approved(learning, done.commit, done.backup, label, shown, [found.message for found in findings])


def message_of(
    sitting: Sitting, verb: str, learning: Learning, made: Sequence[Mapping[str, Any]], by: By,
    more: Sequence[tuple[str, str]] = (),
) -> str:  # fmt: skip
    """`verb: title` and the trailers, which are the audit."""
    project, session = learning["project"], session_of(sitting, by)
    decided = [record["id"] for record in made if record["id"].startswith("DEC-")]
    trailers = [
        *more, ("Learning-Id", learning["id"]), *(("Decision", one) for one in decided),
        ("Target", learning["target"]["path"]),
        *([("Project", project["key"])] if project and learning["scope"] == "project" else []),
        *([("Session", session)] if session else []),
        ("Machine", sitting.store.machine), ("Approved-By", by["road"]), ("Backup", "{backup}"),
    ]  # fmt: skip
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers]
    return f"{verb}: {memory.title(learning['title'] or learning['text'])}\n\n" + "\n".join(lines) + "\n"


def session_of(sitting: Sitting, by: By) -> str:
    """The session of the client in which a person answered; a terminal has none."""
    return sitting.env.get("CLAUDE_CODE_SESSION_ID", "") if by["road"] == "ask-user-question" else ""
