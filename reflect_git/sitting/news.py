"""What was decided and is not carried out here: on another own machine, or here while the project was not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.sitting.declining import CHANGING, declined, is_no, root_of

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.sitting.places import Place
    from reflect_git.store.fold import History


def news_for(place: Place, history: History, machine: str) -> dict[str, Decision]:
    """Learning → the last decision about it, if that came from elsewhere or waits for its file, and was not taken."""
    last = _last(history)
    taken = {
        str(made["meta"].get("of"))
        for made in history.decisions
        if made["kind"] == "applied" and made["machine"] == machine and made["id"] not in history.void
        if not is_no(made)
    }
    noes = declined(history, machine)
    return {
        identity: made
        for identity, made in last.items()
        if (made["machine"] != machine or made["meta"].get("waits")) and identity not in noes
        if made["id"] not in taken and place.reaches(history.learnings[identity])
    }


def _last(history: History) -> dict[str, Decision]:
    """Learning → the last decision about it that was to change a file; not that which carried one out."""
    by_id = {made["id"]: made for made in history.decisions}
    return {
        made["subject"]: made
        for made in history.decisions
        if made["kind"] in CHANGING and made["subject"] in history.learnings
        if root_of(by_id, made)[0]["kind"] != "applied"
    }
