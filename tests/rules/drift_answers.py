"""Operations that the fault tests of answers to drift run in separate processes."""

from __future__ import annotations

import os

from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _apply_answer(store: Store, env: Mapping[str, str], answer: str) -> None:
    from reflect_git.rules.drift import drift, resolve_drift
    from reflect_git.store import recover

    recover.recover_store(store)
    queue = queues.open_queue(store, env)
    (one,) = drift.find_drift(store, env, queue.place, queue.scan.history).open_differences
    if answer == "back":
        done = resolve_drift.write_rule_restore(queue, one, resolve_drift.plan_rule_restore(queue, one), BY)
    elif one.found.kind == "missing":
        done = resolve_drift.withdraw_rule(queue, one, BY)
    else:
        done = resolve_drift.write_adoption(queue, one, resolve_drift.plan_adoption(queue, one), BY)
    os.write(1, f"{done.commit}\n".encode())


def restore_rule(store: Store, env: Mapping[str, str]) -> None:
    _apply_answer(store, env, "back")


def adopt_file_wording(store: Store, env: Mapping[str, str]) -> None:
    _apply_answer(store, env, "good")
