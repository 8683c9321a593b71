"""What the fault tests of answers to drift run in processes of their own."""

from __future__ import annotations

import os

from reflect_git.store.repository import Store
from tests.sitting import desk
from tests.sitting.desk import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _answer(store: Store, env: Mapping[str, str], answer: str) -> None:
    from reflect_git.sitting import drift, settle
    from reflect_git.store import sweep

    sweep.sweep(store)
    sitting = desk.sit(store, env)
    (one,) = drift.look(store, env, sitting.place, sitting.scan.history).asked
    if answer == "back":
        done = settle.carry_back(sitting, one, settle.put_back(sitting, one), BY)
    elif one.found.kind == "missing":
        done = settle.withdraw(sitting, one, BY)
    else:
        done = settle.carry_on(sitting, one, settle.for_good(sitting, one), BY)
    os.write(1, f"{done.commit}\n".encode())


def put_back(store: Store, env: Mapping[str, str]) -> None:
    _answer(store, env, "back")


def for_good(store: Store, env: Mapping[str, str]) -> None:
    _answer(store, env, "good")
