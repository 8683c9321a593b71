"""What another machine purged is taken out here, too, if the person says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reflect_git import workflow
from reflect_git.cli.front import Front, printable
from reflect_git.cli.sittings import here
from reflect_git.cli.taking import advise_of_all
from reflect_git.errors import ReflectError
from reflect_git.sitting import purge
from reflect_git.workflow.syncing import Report, Wishes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.model.schema import Learning
    from reflect_git.store.repository import Store
    from reflect_git.sync.epoch import Purge


def follow(front: Front, store: Store, report: Report, sync: Callable[[Wishes], Report]) -> Report:
    """Ask; then rules of it leave their files, as they did on the machine that purged, and the store forgets it."""
    snapshot = front.snapshot(store)
    wish = purge.of_others(snapshot, report.purges)
    if not _agrees(front, store.machine, report.purges, purge.standing(snapshot, wish)):
        return report
    agreed = report.purges
    written = purge.make_way(store, front.env, front.snapshot, wish, workflow.author(store, "terminal"), here())
    advise_of_all(front, written)
    try:
        report = sync(Wishes(agrees=lambda purges: list(purges) == agreed))
    except ReflectError as error:
        hint = "rules of it have left their files; run 'reflect-git sync' again to take the rest out"
        raise ReflectError(error.message, hint, error.code, error.exit_code) from error
    if not report.purges:
        _tell(front, report)
    return report


def _agrees(front: Front, us: str, purges: Sequence[Purge], standing: Sequence[Learning]) -> bool:
    """--yes does not answer this: it deletes, and a remote asked for it."""
    machines = {one.machine for one in purges}
    who = sorted(machines - {us} or machines)
    last = max(one.timestamp for one in purges)[:10]
    front.talk(printable(f"{', '.join(who)} took records out of all history, last on {last}"))
    for learning in standing:
        file = learning["target"]["path"]
        front.talk(printable(f"a rule of '{file}' goes, too: {learning['id']}: {learning['text']}"))
    return front.is_yes("take them out here, too?")


def _tell(front: Front, report: Report) -> None:
    if report.left is None:
        front.talk("its records are gone from this store")
        return
    if not report.left:
        front.talk("it is gone from this store")
    for place in report.left:
        front.talk(printable(f"still in the store: {place}"))
    if report.left:
        front.talk("'reflect-git purge --match' takes that out, too")
