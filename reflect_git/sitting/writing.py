"""Files changed and ONE commit that says why: what approvals, amendments and everything that takes them back share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live, records
from reflect_git.apply.diff import diff
from reflect_git.apply.plan import Plan
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.model.tuples import NamedTuple
from reflect_git.review import gate
from reflect_git.sitting import links, mirror
from reflect_git.sitting.gone import Gone
from reflect_git.store import memory
from reflect_git.store.layout import path_of

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Learning
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting


class Step(NamedTuple):
    """One file. `present` and `absent` are texts by which one sees in it later that the step was taken."""

    plan: Plan
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Approved:
    """What was written; `backup` is empty where no file was touched, `others` are those beside the target that were."""

    learning: str
    commit: str
    backup: str
    target: str
    diff: str
    warnings: list[str] = field(default_factory=list)
    others: tuple[str, ...] = ()


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
            plan._replace(before=before.plan.before), (*before.present, *present), (*before.absent, *absent)
        )
    return list(found.values())


def reworded(plan: Plan, old: str, new: str) -> Step:
    """The id is in the file before and after other words are put in its place, so the text has to tell."""
    if plan.target.form == "improvements":
        return Step(plan)
    present, absent = ((), (old,)) if new in old else ((plan.learning, new), ())
    return Step(plan, present, absent)


def write(
    sitting: Sitting, learning: str, taken: Sequence[Step], made: Sequence[Mapping[str, Any]], message: str,
    findings: Iterable[Finding] = (),
) -> Approved:  # fmt: skip
    """The files and the records in one commit, or neither. A file that stays as it is is mirrored, and not touched."""
    from reflect_git.store import approval  # who only proposes does without

    store, place = sitting.store, sitting.place
    links.require_asked(store, place, [step.plan for step in taken], findings)
    for record in made:
        records.check(record)
    new = {path_of(record["id"]): records.emit(record) for record in made}
    changes, gone = [], Gone(store)
    for step in taken:
        where, path = mirror.path_of(store, step.plan, place.project), place.path_of(step.plan.target)
        known = mirror.read(store, where)
        folders = mirror.folders_made(known, step.plan, path)
        if not gone.has_mirror(where):
            new[where] = gone.cut(mirror.content(step.plan, mirror.version_in(known) + 1, folders))
        if step.plan.before != step.plan.after:
            live.require_writable(path)
            live.require_single_name(path)
            around = mirror.folders_with(store, where, step.plan, path)
            changes.append(approval.Change(path, step.plan.before, step.plan.after, step.present, step.absent, around))
    if not changes:
        message = message.replace("Backup: {backup}\n", "")
    label, *others = labels(place, [step.plan for step in taken]) or [""]
    done = approval.carry_out(store, learning, changes, new, message, time.time())
    links.follow(store, place, [step.plan for step in taken])
    changed = shown(place, (step.plan for step in taken))
    warnings = [found.message for found in findings]
    return Approved(learning, done.commit, done.backup, label, changed, warnings, tuple(others))


def labels(place: Place, plans: Iterable[Plan]) -> list[str]:
    """The files that change, as a person names them."""
    changed = (place.label_of(plan.target) for plan in plans if plan.before != plan.after)
    return list(dict.fromkeys(changed))


def shown(place: Place, plans: Iterable[Plan]) -> str:
    """The change of each file as people see it."""
    return "".join(_shown(plan, place.shown(plan.target)) for plan in plans)


def _shown(plan: Plan, path: str) -> str:
    """What a backup brings back need not be a text."""
    try:
        return diff(plan, path)
    except UnicodeDecodeError:
        return f"Binary files a/{path} and b/{path} differ\n"


def message_of(
    sitting: Sitting, verb: str, learning: Learning, made: Sequence[Mapping[str, Any]], by: By,
    more: Sequence[tuple[str, str]] = (),
) -> str:  # fmt: skip
    """`verb: title` and the trailers, which are the audit."""
    project = learning["project"] if learning["scope"] == "project" else None
    named = [
        *more, ("Learning-Id", learning["id"]), *(("Decision", record["id"]) for record in made),
        ("Target", learning["target"]["path"]), *([("Project", project["key"])] if project else []),
    ]  # fmt: skip
    return message(sitting, f"{verb}: {memory.title(learning['title'] or learning['text'])}", named, by)


def message(sitting: Sitting, subject: str, named: Iterable[tuple[str, str]], by: By) -> str:
    """`named` are the trailers that say what it is about; who and where is the same for all."""
    session = session_of(sitting, by)
    trailers = [
        *named, *([("Session", session)] if session else []), ("Machine", sitting.store.machine),
        ("Approved-By", by["road"]), ("Backup", "{backup}"),
    ]  # fmt: skip
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers]
    return f"{subject}\n\n" + "\n".join(lines) + "\n"


def session_of(sitting: Sitting, by: By) -> str:
    """The session of the client in which a person answered; a terminal has none."""
    return sitting.env.get("CLAUDE_CODE_SESSION_ID", "") if by["road"] == "ask-user-question" else ""
