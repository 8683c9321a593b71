"""What the fault tests of `edit` and `improvements` run in processes of their own."""

from __future__ import annotations

import os

from reflect_git.store.repository import Store
from tests.sitting import desk
from tests.sitting.desk import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

REWORDED = "Install with pnpm."


def _amend(store: Store, env: Mapping[str, str], text: str, to: str) -> None:
    from reflect_git.sitting import amend
    from reflect_git.store import sweep

    sweep.sweep(store)
    sitting = desk.sit(store, env)
    (rule,) = sitting.scan.history.in_force()
    done = amend.carry_out(sitting, amend.amend(sitting, rule, amend.Wanted(text, to)), BY)
    os.write(1, f"{done.commit}\n".encode())


def reword(store: Store, env: Mapping[str, str]) -> None:
    _amend(store, env, REWORDED, "")


def shorten(store: Store, env: Mapping[str, str]) -> None:
    """Words that stand in the old text already, so that only its absence tells."""
    _amend(store, env, "Use pnpm", "")


def widen(store: Store, env: Mapping[str, str]) -> None:
    _amend(store, env, "", "global")
