"""The bytes that files had before a commit: who takes it back while nothing has changed since gets those very bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reflect_git.adapters import live
from reflect_git.apply.plan import Plan
from reflect_git.apply.targets import Target
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.model.ids import fingerprint
from reflect_git.sitting import mirror, versions
from reflect_git.sitting.writing import Step
from reflect_git.store import backups
from reflect_git.store.layout import path_of
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.fold import History
    from reflect_git.store.repository import Store


def trailers_of(store: Store, commit: str) -> dict[str, list[str]]:
    """Name → values of the last paragraph of its message."""
    asked = ("log", "-1", "--no-show-signature", "--format=%(trailers:only,unfold)", "--end-of-options", commit)
    found: dict[str, list[str]] = {}
    for line in store.git.run(*asked).out.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition(": ")
        found.setdefault(name, []).append(value)
    return found


def commit_if_needed(sitting: Sitting, taken: Sequence[Decision]) -> str:
    """Of decisions that say nothing of what is in force, only their commit knows what the file was."""
    needed = [made for made in taken if is_of_file(sitting.scan.history, made)]
    if not needed:
        return ""
    asked = ("log", "-1", "--diff-filter=A", "--format=%H", MAIN, "--", path_of(needed[0]["id"]))
    return sitting.store.git.run(*asked).out.decode("ascii").strip()


def is_of_file(history: History, made: Decision) -> bool:
    """It changed a file and not what is in force: put back as approved, taken over from another machine, restored."""
    by_id = {one["id"]: one for one in history.decisions}
    while made["reopens"] in by_id:  # an undo of one is one, too
        made = by_id[made["reopens"]]
    return made["kind"] == "applied" or is_about_file(made)


def is_about_file(made: Decision) -> bool:
    """A restore, or the removal of what Claude wrote by itself: no learning is its subject."""
    return made["kind"] == "reverted" and not made["subject"].startswith(("LRN-", "SIG-"))


def exact(sitting: Sitting, commit: str, taken: Sequence[Decision], steps: Sequence[Step]) -> list[Step]:
    """The steps, with the bytes of before the commit where a file is still as the commit left it."""
    if not commit:
        return list(steps)
    found = {(step.plan.target.is_global, step.plan.path): step for step in steps}
    known = _bytes_before(sitting, commit, taken)
    for made in taken:
        target = _target_of(made)
        if target is None:
            continue
        where = target.is_global, target.path
        if where in known and (where in found or is_of_file(sitting.scan.history, made)):
            found[where] = _with_bytes(found.get(where), target, *known[where], made)
        elif is_of_file(sitting.scan.history, made):
            raise _changed_since(sitting, commit, target)
    return [step for step in found.values() if step.plan.before != step.plan.after]


def _with_bytes(step: Step | None, target: Target, now: bytes | None, was: bytes | None, made: Decision) -> Step:
    if step is None:
        return Step(Plan(target, now, was, made["subject"], "restore"))
    return Step(step.plan._replace(after=was), step.present, step.absent)


def _target_of(made: Decision) -> Target | None:
    return Target(made["target"]["kind"], made["target"]["path"]) if made["target"] else None


def _bytes_before(
    sitting: Sitting, commit: str, taken: Sequence[Decision]
) -> dict[tuple[bool, str], tuple[bytes | None, bytes | None]]:
    """File → its bytes now and before the commit, if they are now what the commit made of them."""
    store, place = sitting.store, sitting.place
    names = trailers_of(store, commit).get("Backup", [])
    kept = dict(backups.contents(store, names[0])) if names else {}
    mirrors = store.git.changes(f"{commit}^", commit, f"{mirror.FOLDER}/{store.machine}")[0] if kept else {}
    found = {}
    for made in taken:
        target = _target_of(made)
        blob = mirrors.get(versions.mirror_of(store, place, target)) if target else None
        if target is None or blob is None:
            continue
        path = place.path_of(target)
        now = live.read(path)
        left = mirror.head_of(next(store.git.blobs([blob]))).get("sha256")
        if path in kept and left == (None if now is None else fingerprint(now)):
            found[target.is_global, target.path] = now, kept[path]
    return found


def _changed_since(sitting: Sitting, commit: str, target: Target) -> ReflectError:
    names = trailers_of(sitting.store, commit).get("Backup", [])
    hint = f"what it was before is kept: reflect-git restore {names[0]}" if names else "edit it by hand"
    return ReflectError(f"'{target.path}' was changed since", hint, "changed", EXIT_DECISION)
