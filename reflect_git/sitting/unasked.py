"""What own machines decided, carried out without a question, for a person who switched that on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.sitting.waiting import REMOVE, Waiting, take, waiting
from reflect_git.store import chronicle, policy, signing
from reflect_git.store.layout import path_of

if TYPE_CHECKING:
    from reflect_git.model.schema import By
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.writing import Approved
    from reflect_git.store.repository import Store

APPLY = "reflect.sync.apply"
SIGNED = "reflect.sync.requireSigned"
ROAD = "own-machine"


def settle_arrived(sitting: Sitting, by: By) -> Approved | None:
    """One commit of all that can go in as it stands; what is risky, in trouble or not signed waits for review."""
    store, decisions = sitting.store, sitting.scan.history.decisions
    if store.setting(APPLY) != "auto":
        return None
    undecided = policy.undecided(store, decisions)  # the config alone can be written by anybody
    if APPLY in undecided:
        return None
    able = [one for one in waiting(sitting) if not one.own and one.trouble is None and not one.risks]
    if able and (SIGNED in undecided or store.switched(SIGNED, False)):
        able = _signed(store, able)
    try:
        return take(sitting, able, {**by, "road": ROAD}) if able else None
    except ReflectError as error:  # a file that changed meanwhile: review shows it
        store.log(f"taking over: {error}")
        return None


def _signed(store: Store, found: Sequence[Waiting]) -> list[Waiting]:
    """Those whose decision came in signed commits only, and whose words are the ones that were signed."""
    commits = _commits_of(store, {path_of(one.decision["id"]) for one in found})
    asked = [commit.id for listed in commits.values() for commit in listed if commit.is_signed]
    said = signing.verify(store, list(dict.fromkeys(asked)))
    return [
        one
        for one in found
        if (listed := commits.get(path_of(one.decision["id"])))
        and all(said.get(commit.id) == signing.GOOD for commit in listed)
        and (one.kind == REMOVE or one.decision["text"] == one.learning["text"])
    ]


def _commits_of(store: Store, paths: Collection[str]) -> dict[str, list[chronicle.Commit]]:
    """Path → every commit that brought or changed it."""
    found: dict[str, list[chronicle.Commit]] = {}
    for commit in chronicle.read(store):
        for change in commit.changes:
            if change.path in paths:
                found.setdefault(change.path, []).append(commit)
    return found
