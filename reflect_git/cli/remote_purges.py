"""Purges of other machines, repeated here if the person agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reflect_git import purge
from reflect_git.capture import service
from reflect_git.cli.confirm import advise_of_all
from reflect_git.cli.context import Front, printable
from reflect_git.cli.review_setup import here
from reflect_git.errors import ReflectError
from reflect_git.records.ids import local_day, seconds_of
from reflect_git.sync.exchange import Report, Wishes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.records.schema import Learning
    from reflect_git.store.repository import Store
    from reflect_git.sync.store_paths import Purge


def follow(front: Front, store: Store, report: Report, sync: Callable[[Wishes], Report]) -> Report:
    """Ask; then rules of it leave their files, as they did on the machine that purged, and the store forgets it."""
    snapshot = front.snapshot(store)
    wish = purge.of_others(snapshot, report.purges)
    if not _agrees(front, store.machine, report.purges, purge.standing(snapshot, wish)):
        return report
    agreed = report.purges
    written = purge.make_way(store, front.env, front.snapshot, wish, service.author(store, "terminal"), here())
    advise_of_all(front, written)
    try:
        report = sync(Wishes(agrees=lambda purges: list(purges) == agreed))
    except ReflectError as error:
        hint = "the rules are removed from their files; purge the rest with: reflect-git sync"
        raise ReflectError(error.message, hint, error.code, error.exit_code) from error
    if not report.purges:
        _tell(front, report)
    return report


def _agrees(front: Front, us: str, purges: Sequence[Purge], standing: Sequence[Learning]) -> bool:
    """Ask whether to repeat the purges. --yes does not answer this: it deletes, and a remote asked for it."""
    machines = {one.machine for one in purges}
    who = sorted(machines - {us} or machines)
    last = local_day(seconds_of(max(one.timestamp for one in purges)))
    front.talk(printable(f"{', '.join(who)} purged records, last on {last}"))
    for learning in standing:
        file = learning["target"]["path"]
        front.talk(printable(f"removes a rule from '{file}': {learning['id']}: {learning['text']}"))
    return front.is_yes("purge them here too?")


def _tell(front: Front, report: Report) -> None:
    if report.left is None:
        front.talk("purged from this store")
        return
    if not report.left:
        front.talk("purged from this store")
    for place in report.left:
        front.talk(printable(f"still in the store: {place}"))
    if report.left:
        front.talk("purge that with: reflect-git purge --match REGEX")
