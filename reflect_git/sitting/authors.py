"""Who changed an instruction file: the git of the project, which has another branch there; Claude, as its transcripts
tell; else the person."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from reflect_git.adapters.checkout import Checkout
from reflect_git.adapters.project import top_of

if TYPE_CHECKING:
    from reflect_git.apply.drift import Finding
    from reflect_git.sitting.calls import Call

BRANCH, CLAUDE, YOU = "branch", "claude", "you"
# What a file says of one entry; None where that is what was approved.
State = Callable[["bytes | None"], "Finding | None"]


def explains(call: Call, live: bytes | None, found: Finding, state: State) -> bool:
    """Did this call bring the entry into the state in which it was found?"""
    if call.texts:
        if found.live:
            return bool(call.shows(found.live))
        return any(found.id in text for text in call.texts) or call.shows(found.approved) == "certain"
    sides = call.sides((live or b"").decode("utf-8", "replace"))
    if sides is None:
        return False
    before, after = (None if text is None else text.encode("utf-8", "surrogatepass") for text in sides)
    made, was = state(after), state(before)
    return made is not None and made.is_same(found) and not (was and was.is_same(made) and not call.is_new)


class Heads:
    """What the HEAD of each work tree has, asked once."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._known: dict[str, Checkout | None] = {}

    def has(self, path: str, live: bytes | None, found: Finding, state: State, is_global: bool) -> bool:
        """Is the entry in the commit as it is in the file? Then a branch, a stash or a clone made it so.

        A file that git does not have and that is there is none of git's; nor is a global one that is in no commit.
        """
        checkout = self._checkout(path)
        if checkout is None:
            return False
        committed = checkout.file(path)
        if committed is None and (live is not None or is_global):
            return live is not None and checkout.is_unmerged(path)
        there = state(committed)
        return bool(there and there.is_same(found)) or checkout.is_unmerged(path)

    def moved(self, path: str) -> float | None:
        """When git last put other files there; None: nobody knows."""
        checkout = self._checkout(path)
        return checkout.moved() if checkout else None

    def _checkout(self, path: str) -> Checkout | None:
        folder = os.path.dirname(path)
        top = top_of(folder if os.path.isdir(folder) else _existing(folder))
        if top is None:
            return None
        if top not in self._known:
            checkout = Checkout(self._program, top)
            self._known[top] = checkout if checkout.has_commit() else None
        return self._known[top]


def _existing(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder
