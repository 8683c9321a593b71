"""Operations that the fault tests of answers to drift run in separate processes."""

from __future__ import annotations

import os

from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _answer(store: Store, env: Mapping[str, str], answer: str) -> None:
    from reflect_git.rules.drift import drift, resolve_drift
    from reflect_git.store import recover

    recover.sweep(store)
    queue = queues.sit(store, env)
    (one,) = drift.look(store, env, queue.place, queue.scan.history).asked
    if answer == "back":
        done = resolve_drift.carry_back(queue, one, resolve_drift.put_back(queue, one), BY)
    elif one.found.kind == "missing":
        done = resolve_drift.withdraw(queue, one, BY)
    else:
        done = resolve_drift.carry_on(queue, one, resolve_drift.for_good(queue, one), BY)
    os.write(1, f"{done.commit}\n".encode())


def put_back(store: Store, env: Mapping[str, str]) -> None:
    _answer(store, env, "back")


def for_good(store: Store, env: Mapping[str, str]) -> None:
    _answer(store, env, "good")
