"""Write files and records in ONE commit: shared by approvals, amendments and reverts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reflect_git.candidates import gate
from reflect_git.candidates.gate import RISK, Finding
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.platform import files, instruction_files
from reflect_git.records import yaml_form
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import snapshot
from reflect_git.store import api, target_versions
from reflect_git.store.purge.purge_marks import PurgeMarks
from reflect_git.store.repository import get_record_path
from reflect_git.targets.plan import Plan, format_diff

if TYPE_CHECKING:
    from reflect_git.records.schema import DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.project_files import Place
    from reflect_git.store.repository import Store
    from reflect_git.targets.target_files import Target


class Step(NamedTuple):
    """The change of one file. `present` and `absent` are texts that later show whether the step was done."""

    plan: Plan
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class WriteResult:
    """The result of a write. `backup` is empty if no file was touched; `others` are the other changed files."""

    learning: str
    commit: str
    backup: str
    target: str
    diff: str
    warnings: list[str] = field(default_factory=list)
    others: tuple[str, ...] = ()


def require_not_refused(findings: Iterable[Finding]) -> None:
    """Raise the first finding that refuses the change."""
    for found in findings:
        if found.kind == gate.REFUSED:
            raise ReflectError(found.message, found.hint, f"refused-{found.code}", EXIT_DECISION)


def build_steps(plans: Iterable[Plan]) -> list[Step]:
    """Return one step per file; its plans build on each other. Their ids show later whether it was done."""
    found: dict[tuple[bool, str], Step] = {}
    for plan in plans:
        present, absent = ((), (plan.learning,)) if plan.kind == "remove" else ((plan.learning,), ())
        place = plan.target.is_global, plan.path
        before = found.get(place, Step(plan))
        found[place] = Step(
            plan._replace(before=before.plan.before), (*before.present, *present), (*before.absent, *absent)
        )
    return list(found.values())


def build_rewording_step(plan: Plan, old: str, new: str) -> Step:
    """Return a step for a new wording: the id is there before and after, so the text shows whether it was done."""
    if plan.target.form == "improvements":
        return Step(plan)
    present, absent = ((), (old,)) if new in old else ((plan.learning, new), ())
    return Step(plan, present, absent)


def commit_change(
    ctx: Context, learning: str, taken: Sequence[Step], made: Sequence[Mapping[str, Any]], message: str,
    findings: Iterable[Finding] = (), check: Callable[[], None] | None = None,
) -> WriteResult:  # fmt: skip
    """Write the files and the records in one commit, or nothing. Unchanged files only get a new snapshot.

    `check` may still refuse, once the store is locked.
    """
    from reflect_git.store.main import approval  # imported late: proposing does not need it

    store, place = ctx.store, ctx.place
    require_links_allowed(store, place, [step.plan for step in taken], findings)
    for record in made:
        yaml_form.check(record)
    new = {get_record_path(record["id"]): yaml_form.emit(record) for record in made}
    changes, gone = [], PurgeMarks(store)
    for step in taken:
        where, path = snapshot.path_of(store, step.plan, place.project), place.path_of(step.plan.target)
        known = snapshot.read(store, where)
        folders = snapshot.count_created_folders(known, step.plan, path)
        if not gone.is_purged_snapshot(where):
            new[where] = gone.remove_entries(
                snapshot.format_snapshot(step.plan, target_versions.parse_version(known) + 1, folders)
            )
        if step.plan.before != step.plan.after:
            instruction_files.require_writable(path)
            instruction_files.require_single_name(path)
            around = snapshot.count_changed_folders(store, where, step.plan, path)
            changes.append(
                approval.FileChange(path, step.plan.before, step.plan.after, step.present, step.absent, around)
            )
    if not changes:
        message = message.replace("Backup: {backup}\n", "")
    label, *others = list_changed_files(place, [step.plan for step in taken]) or [""]
    done = approval.apply_changes(store, learning, changes, new, message, time.time(), check)
    remember_links(store, place, [step.plan for step in taken])
    changed = build_diff(place, (step.plan for step in taken))
    warnings = [found.message for found in findings]
    return WriteResult(learning, done.commit, done.backup, label, changed, warnings, tuple(others))


def list_changed_files(place: Place, plans: Iterable[Plan]) -> list[str]:
    """Return the changed files as a person would name them."""
    changed = (place.label_of(plan.target) for plan in plans if plan.before != plan.after)
    return list(dict.fromkeys(changed))


def build_diff(place: Place, plans: Iterable[Plan]) -> str:
    """Return the diff of all files."""
    return "".join(_build_file_diff(plan, place.diff_path(plan.target)) for plan in plans)


def _build_file_diff(plan: Plan, path: str) -> str:
    """Return the diff of one file, which may be binary if a backup is restored."""
    try:
        return format_diff(plan, path)
    except UnicodeDecodeError:
        return f"Binary files a/{path} and b/{path} differ\n"


def build_learning_message(
    ctx: Context, verb: str, learning: Learning, made: Sequence[Mapping[str, Any]], by: DecisionAuthor,
    more: Sequence[tuple[str, str]] = (),
) -> str:  # fmt: skip
    """Return the commit message for a learning: `verb: title`, and the trailers that the audit reads."""
    project = learning["project"] if learning["scope"] == "project" else None
    named = [
        *more, ("Learning-Id", learning["id"]), *(("Decision", record["id"]) for record in made),
        ("Target", learning["target"]["path"]), *([("Project", project["key"])] if project else []),
    ]  # fmt: skip
    return build_message(ctx, f"{verb}: {api.format_title(learning['title'] or learning['text'])}", named, by)


def build_message(ctx: Context, subject: str, named: Iterable[tuple[str, str]], by: DecisionAuthor) -> str:
    """Return a commit message. `named` are the specific trailers; session, machine and channel are added."""
    session = session_of(ctx, by)
    trailers = [
        *named, *([("Session", session)] if session else []), ("Machine", ctx.store.machine),
        ("Approved-By", by["road"]), ("Backup", "{backup}"),
    ]  # fmt: skip
    lines = [f"{name}: {' '.join(value.split())}" for name, value in trailers]
    return f"{subject}\n\n" + "\n".join(lines) + "\n"


def session_of(ctx: Context, by: DecisionAuthor) -> str:
    """Return the client session in which a person answered; "" for a terminal."""
    return ctx.env.get("CLAUDE_CODE_SESSION_ID", "") if by["road"] in ("ask-user-question", "keep") else ""


LINK_CODE = "link"
_ALLOWED_LINKS_FILE = "followed"
_LINK_HINT = "replace the link by a file, or choose another target"


class LinkNotAllowed(ReflectError):
    """A change would be written through a link without the person's consent."""

    def __init__(self, found: Finding) -> None:
        super().__init__(
            found.message,
            "an approval into it, or 'reflect-git revert', asks you once in a terminal",
            LINK_CODE,
            EXIT_DECISION,
        )


def check_link(store: Store, place: Place, target: Target) -> list[Finding]:
    """Return the risk that a link leads to another file, unless the person has agreed to it before."""
    if not target.is_global:
        return []
    path, real = place.unresolved_path(target), place.path_of(target)
    if real == os.path.join(os.path.realpath(place.config), *target.path.split("/")) or real in _load_allowed_links(
        store
    ):
        return []
    return [
        Finding(RISK, LINK_CODE, f"'{place.label(path)}' is a link: '{place.label(real)}' would be changed", _LINK_HINT)
    ]


def require_single_names(place: Place, plans: Iterable[Plan]) -> None:
    """Refuse to change a file that has hard links, before anybody is asked about the change."""
    for target in _list_changed_targets(plans):
        instruction_files.require_single_name(place.path_of(target))


def check_links(store: Store, place: Place, plans: Iterable[Plan]) -> list[Finding]:
    """Return the link risks of all files that would change."""
    return [found for target in _list_changed_targets(plans) for found in check_link(store, place, target)]


def require_links_allowed(store: Store, place: Place, plans: Iterable[Plan], asked: Iterable[Finding]) -> None:
    """Raise if a link was not among the findings that the person agreed to."""
    known = set(asked)
    for found in check_links(store, place, plans):
        if found not in known:
            raise LinkNotAllowed(found)


def remember_links(store: Store, place: Place, plans: Iterable[Plan]) -> None:
    """Remember that a person agreed to the links among these files."""
    fresh = [place.path_of(target) for target in _list_changed_targets(plans) if check_link(store, place, target)]
    if fresh:
        known = "".join(f"{path}\n" for path in dict.fromkeys((*_load_allowed_links(store), *fresh)))
        files.write_atomic(store.private_path(_ALLOWED_LINKS_FILE), os.fsencode(known), sync=False)


def _list_changed_targets(plans: Iterable[Plan]) -> list[Target]:
    return [plan.target for plan in plans if plan.before != plan.after]


def _load_allowed_links(store: Store) -> list[str]:
    return os.fsdecode(files.read_if_exists(store.private_path(_ALLOWED_LINKS_FILE)) or b"").split("\n")
