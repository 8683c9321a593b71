"""The last decision on this machine. An undo is itself the last one then, so that a second undoes the first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.sitting.revert import Chosen, switches
from reflect_git.store.layout import PURGES, id_in
from reflect_git.store.repository import MAIN

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision
    from reflect_git.sitting.review import Sitting
    from reflect_git.store.repository import Store

_AT_ONCE = 50
_PERSONS = ("terminal", "ask-user-question")


def last(sitting: Sitting, only_persons: bool = True) -> Chosen:
    """What was decided in the newest commit of this machine, or in the newest by which a person decided something.

    A switched policy is passed over: it is switched by its own command. So is a decision about a learning that was
    purged, and a purge since then is not undone in its place. In the order of commits: a clock that was wrong once does
    not make a decision the last one for ever.
    """
    learnings = sitting.scan.history.learnings
    known = {made["id"]: made for made in sitting.scan.history.decisions}
    for commit, named in _commits(sitting.store):
        decisions = tuple(known[one] for one in named if one in known)
        there = [made for made in decisions if not made["subject"].startswith("LRN-") or made["subject"] in learnings]
        mine = [made for made in there if made["machine"] == sitting.store.machine and not _is_passed_over(made)]
        if mine and (not only_persons or any(made["by"]["road"] in _PERSONS for made in mine)):
            _require_no_purge(sitting.store, commit, mine)
            return Chosen(decisions, commit)
    # Whoever took over a purge has the decisions of before it, without the commits that made them.
    is_after = bool(sitting.store.git.tree(MAIN, PURGES))
    raise ReflectError(
        "nothing was decided here since a purge, and what came last before it is not known"
        if is_after
        else "nothing was decided about a learning or a signal on this machine yet",
        "take back any learning with 'reflect-git revert LRN-…'; policies are switched with 'reflect-git config'",
        code="nothing",
    )  # fmt: skip


def _require_no_purge(store: Store, commit: str, before: list[Decision]) -> None:
    """A purge is the last thing that was done here: who says undo means that, and nothing can give it back."""
    form = "--format=%cs %(trailers:key=Machine,valueonly,unfold,separator=%x20)"
    asked = ("log", "--no-show-signature", "--diff-filter=A", form, f"{commit}..{MAIN}", "--", PURGES)
    told = [line.split() for line in store.git.run(*asked).out.decode("utf-8", "replace").splitlines()]
    here = [day for day, *machines in told if store.machine in machines]
    if here:
        made = before[0]
        name = made["id"] if len(before) == 1 else commit[:10]
        raise ReflectError(
            f"the last thing done here was a purge, on {here[0]}, which cannot be undone",
            f"what was decided before it ({made['kind']}: {made['subject']}) is taken back with "
            f"'reflect-git revert {name}'", code="purged",
        )  # fmt: skip


def _is_passed_over(made: Decision) -> bool:
    """It only carried out what was decided before, or switched a policy."""
    return (made["kind"] == "applied" and bool(made["meta"].get("settled"))) or switches(made)


def _commits(store: Store) -> Iterator[tuple[str, list[str]]]:
    """(commit, decisions that it names and brought), newest first, as many as are asked for.

    Whoever writes to the remote can name any decision in a commit, and bring none that is here already.
    """
    form = "--format=%x00%H %(trailers:key=Decision,valueonly,unfold,separator=%x20)"
    skip = 0
    while True:
        asked = (
            "log",
            "--no-show-signature",
            f"--skip={skip}",
            f"--max-count={_AT_ONCE}",
            "--name-only",
            "--diff-filter=A",
            form,
            MAIN,
            "--",
            "decisions",
        )
        told = store.git.run(*asked).out.decode("utf-8", "replace").split("\0")[1:]
        for one in told:
            head, *paths = one.split("\n")
            commit, *named = head.split()
            brought = {id_in(path) for path in paths}
            yield commit, [name for name in named if name in brought]
        if len(told) < _AT_ONCE:
            return
        skip += len(told)
