"""The last decision on this machine. An undo is itself the last one then, so that a second undoes the first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.sitting.revert import Chosen
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.repository import Store

_AT_ONCE = 50
_PERSONS = ("terminal", "ask-user-question")


def last(sitting: Sitting, only_persons: bool = True) -> Chosen:
    """What was decided in the newest commit of this machine, or in the newest by which a person decided something.

    In the order of commits: a clock that was wrong once does not make a decision the last one for ever.
    """
    known = {made["id"]: made for made in sitting.scan.history.decisions}
    for commit, named in _commits(sitting.store):
        decisions = tuple(known[one] for one in named if one in known)
        mine = [made for made in decisions if made["machine"] == sitting.store.machine and not _is_follow_up(made)]
        if mine and (not only_persons or any(made["by"]["road"] in _PERSONS for made in mine)):
            return Chosen(decisions, commit)
    raise ReflectError("nothing was decided on this machine yet", "see 'reflect-git review'", code="nothing")


def _is_follow_up(made: Decision) -> bool:
    """It only carried out what was decided before."""
    return made["kind"] == "applied" and bool(made["meta"].get("settled"))


def _commits(store: Store) -> Iterator[tuple[str, list[str]]]:
    """(commit, decisions that it names), newest first, as many as are asked for."""
    form = "--format=%H %(trailers:key=Decision,valueonly,separator=%x20)"
    skip = 0
    while True:
        asked = (
            "log",
            "--no-show-signature",
            f"--skip={skip}",
            f"--max-count={_AT_ONCE}",
            form,
            MAIN,
            "--",
            "decisions",
        )
        lines = store.git.run(*asked).out.decode("utf-8", "replace").splitlines()
        for line in lines:
            commit, *named = line.split()
            yield commit, named
        if len(lines) < _AT_ONCE:
            return
        skip += len(lines)
