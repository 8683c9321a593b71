"""The noes of this machine to what another one approved: which of them hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reflect_git.history.words import DECLINED, called

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.store.fold import History

CHANGING = ("approved", "amended", "reverted", "superseded")


def is_no(made: Decision) -> bool:
    """An `applied` decision that says: not here."""
    return called(made) == DECLINED


def declined(history: History, machine: str) -> dict[str, Decision]:
    """Learning → the no that holds: nobody took it back, and what it answered is still the last that was decided."""
    noes = {
        made["subject"]: made
        for made in history.decisions
        if is_no(made) and made["machine"] == machine and made["id"] not in history.void
    }
    if not noes:
        return {}
    by_id = {made["id"]: made for made in history.decisions}
    last = {
        made["subject"]: _meant(by_id, made)
        for made in history.decisions
        if made["subject"] in noes and made["kind"] in CHANGING and root_of(by_id, made)[0]["kind"] != "applied"
    }
    return {
        identity: made
        for identity, made in noes.items()
        if (answered := by_id.get(str(made["meta"].get("of")))) and last.get(identity) == _meant(by_id, answered)
    }


def _meant(by_id: Mapping[str, Decision], made: Decision) -> str:
    """The decision that stands by this one: a revert of a revert says what was said before both."""
    root, is_undone = root_of(by_id, made)
    return made["id"] if is_undone else root["id"]


def root_of(by_id: Mapping[str, Decision], made: Decision) -> tuple[Decision, bool]:
    """What a decision is about in the end, and whether it undoes that; a revert may be of a revert."""
    is_undone = False
    seen: set[str] = set()
    while made["kind"] == "reverted" and made["id"] not in seen:
        seen.add(made["id"])
        reopened = by_id.get(made["reopens"] or "")
        if reopened is None:
            break
        made, is_undone = reopened, not is_undone
    return made, is_undone
