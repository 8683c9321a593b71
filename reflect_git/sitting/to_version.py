"""Which decisions to take back so that a file has the entries it once had."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from reflect_git.apply import targets
from reflect_git.apply.targets import Target
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.sitting import places, versions
from reflect_git.sitting.approve import says, target_of
from reflect_git.sitting.revert import Chosen, without
from reflect_git.sitting.versions import entries_at
from reflect_git.store.layout import id_in

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision, Learning
    from reflect_git.sitting.review import Sitting


def version(sitting: Sitting, to: str, name: str) -> Chosen:
    """All that came after version `name` of a target."""
    target, listed = _with_versions(sitting, to)
    at = versions.version(listed, name)
    wanted = entries_at(sitting.store, at, target.kind)
    history = sitting.scan.history
    in_force = {one["id"] for one in history.in_force() if _is_at(sitting, one, target)}
    known = {id_in(path) for path in sitting.store.git.tree(at.commit, "learnings")}
    decisions = take_back(sitting, target, wanted, in_force, known)
    if not decisions:
        raise ReflectError(f"'{target.path}' has the entries of {name} already", code="unchanged")
    return Chosen(tuple(decisions), title=f"{target.path} to v{at.number}")


def _with_versions(sitting: Sitting, to: str) -> tuple[Target, list[versions.Version]]:
    """The target that is meant; without a word the project's file if it has versions, else the global one."""
    if to.partition(":")[0] in ("rules", "global-rules"):
        raise ReflectError("a rules file holds one learning", "revert it by its id", "usage", EXIT_USAGE)
    around = places.surroundings(sitting.place)
    names = [to] if to else [*(["project"] if sitting.place.root else []), "global"]
    for name in names:
        target = targets.resolve(name, around, "")
        listed = versions.versions(sitting.store, versions.mirror_of(sitting.store, sitting.place, target))
        if listed:
            return target, listed
    raise ReflectError(
        "nothing was ever written there", "choose a file with --to-target, see 'reflect-git approve --help'",
        code="unknown-version",
    )  # fmt: skip


def _is_at(sitting: Sitting, learning: Learning, target: Target) -> bool:
    return sitting.place.reaches(learning) and _same_file(target_of(learning), target)


def _same_file(one: Target, other: Target) -> bool:
    return (one.is_global, one.path) == (other.is_global, other.path)


def take_back(
    sitting: Sitting, target: Target, wanted: Mapping[str, str], present: Collection[str], known: Collection[str] = ()
) -> list[Decision]:
    """So that what is in force in a file is `wanted`, id → text; `present` are the ids that are in it now.

    A learning that was `known` then and moved in later moves out again; any other is taken back.
    """
    history = sitting.scan.history
    in_force = {one["id"]: one for one in history.in_force()}
    found: dict[str, Decision] = {}
    for identity in dict.fromkeys((*present, *wanted)):
        learning = history.learnings.get(identity)
        if learning is None or not sitting.place.reaches(learning):
            continue
        if identity in wanted:
            listed = [*history.against(identity), *_rewordings(sitting, learning, wanted[identity], target)]
        elif identity in in_force:
            listed = _departure(sitting, learning, target, identity in known)
        else:
            listed = []
        found.update({made["id"]: made for made in listed})
    return list(found.values())


def _rewordings(sitting: Sitting, learning: Learning, text: str, target: Target) -> list[Decision]:
    """The last changes of it, as many as it takes until it says this, there; none if it never did."""
    if says(learning, text) and _same_file(target_of(learning), target):
        return []
    for last in _last_amendments(sitting, learning["id"]):
        was = without(sitting, last).learnings[learning["id"]]
        if says(was, text) and _same_file(target_of(was), target):
            return last
    return []


def _departure(sitting: Sitting, learning: Learning, target: Target, is_known: bool) -> list[Decision]:
    """Out of the file: to where it was before, or out of force."""
    if is_known:
        for last in _last_amendments(sitting, learning["id"]):
            if not _same_file(target_of(without(sitting, last).learnings[learning["id"]]), target):
                return last
    return [made for made in sitting.scan.history.decisions if made["id"] == learning["decision"]]


def _last_amendments(sitting: Sitting, identity: str) -> Iterator[list[Decision]]:
    """The last one that stands, the last two, and so on."""
    history = sitting.scan.history
    standing = [
        made
        for made in history.decisions
        if made["kind"] == "amended" and made["subject"] == identity and made["id"] not in history.void
    ]
    for count in range(1, len(standing) + 1):
        yield standing[-count:]
