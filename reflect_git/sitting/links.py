"""A global instruction file behind a link, as people keep dotfiles: it is followed once a person said yes to that.

Which files were written through a link is known on this machine alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from reflect_git.adapters import files, live
from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.review.risks import RISK, Finding

if TYPE_CHECKING:
    from reflect_git.apply.plan import Plan
    from reflect_git.apply.targets import Target
    from reflect_git.sitting.places import Place
    from reflect_git.store.repository import Store

CODE = "link"
_FOLLOWED = "followed"
_WAY_OUT = "replace the link by a file, or choose another target"


class Unfollowed(ReflectError):
    """Something would be written through a link, and nobody was asked."""

    def __init__(self, found: Finding) -> None:
        super().__init__(
            found.message,
            "an approval into it, or 'reflect-git revert', asks you once in a terminal",
            CODE,
            EXIT_DECISION,
        )


def unfollowed(store: Store, place: Place, target: Target) -> list[Finding]:
    """That another file than the one that is named would be changed, if that was never said yes to."""
    if not target.is_global:
        return []
    path, real = place.named(target), place.path_of(target)
    if real == os.path.join(os.path.realpath(place.config), *target.path.split("/")) or real in _followed(store):
        return []
    return [Finding(RISK, CODE, f"'{place.label(path)}' is a link: '{place.label(real)}' would be changed", _WAY_OUT)]


def require_single_names(place: Place, plans: Iterable[Plan]) -> None:
    """Refuse to change a file that has hard links, before anybody is asked about the change."""
    for target in _changed(plans):
        live.require_single_name(place.path_of(target))


def in_the_way(store: Store, place: Place, plans: Iterable[Plan]) -> list[Finding]:
    """Of every file that would change."""
    return [found for target in _changed(plans) for found in unfollowed(store, place, target)]


def require_asked(store: Store, place: Place, plans: Iterable[Plan], asked: Iterable[Finding]) -> None:
    known = set(asked)
    for found in in_the_way(store, place, plans):
        if found not in known:
            raise Unfollowed(found)


def follow(store: Store, place: Place, plans: Iterable[Plan]) -> None:
    """A person said yes to the links among these files: they are not asked about again."""
    fresh = [place.path_of(target) for target in _changed(plans) if unfollowed(store, place, target)]
    if fresh:
        known = "".join(f"{path}\n" for path in dict.fromkeys((*_followed(store), *fresh)))
        files.write_whole(store.private_path(_FOLLOWED), os.fsencode(known), sync=False)


def _changed(plans: Iterable[Plan]) -> list[Target]:
    return [plan.target for plan in plans if plan.before != plan.after]


def _followed(store: Store) -> list[str]:
    return os.fsdecode(files.read_if_there(store.private_path(_FOLLOWED)) or b"").split("\n")
