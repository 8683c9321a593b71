"""A project that is on this machine, in another folder than the one we are in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from reflect_git.adapters import live
from reflect_git.errors import ReflectError
from reflect_git.sitting import places
from reflect_git.sitting.approve import target_of
from reflect_git.store import projects

if TYPE_CHECKING:
    from reflect_git.model.schema import Decision, Learning
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting


def moved_to(sitting: Sitting, decisions: Sequence[Decision]) -> Sitting:
    """The sitting at the place where the files of these decisions are; as it is if they are here, or nowhere."""
    known = sitting.scan.history.learnings
    learnings = [known[made["subject"]] for made in decisions if made["subject"] in known]
    absent = [one for one in learnings if not sitting.place.reaches(one)]
    if not absent:
        return sitting
    found = [place for place in _places(sitting, absent[0]) if place.reaches(absent[0])]
    having = [place for place in found if _has_entry(place, absent[0])]
    return sitting._replace(place=(having or found)[0]) if found else sitting


def _places(sitting: Sitting, learning: Learning) -> Iterator[Place]:
    named = places.named_by_path([learning], sitting.place.home)
    for root in (*named, *reversed(projects.tops(sitting.store))):
        yield places.place(sitting.store, sitting.env, root)


def _has_entry(place: Place, learning: Learning) -> bool:
    try:
        data = live.read(place.path_of(target_of(learning)))
    except ReflectError:
        return False
    return learning["id"].encode() in (data or b"")
