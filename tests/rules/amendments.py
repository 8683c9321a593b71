"""Operations that the fault tests of `edit` and `improvements` run in separate processes."""

from __future__ import annotations

import os

from reflect_git.store.repository import Store
from tests.rules import queues
from tests.rules.queues import BY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

REWORDED = "Install with pnpm."


def _amend(store: Store, env: Mapping[str, str], text: str, to: str) -> None:
    from reflect_git.rules import amend
    from reflect_git.store import recover

    recover.recover_store(store)
    queue = queues.open_queue(store, env)
    (rule,) = queue.scan.history.get_rules_in_force()
    done = amend.write_amendment(queue, amend.plan_amendment(queue, rule, amend.AmendRequest(text, to)), BY)
    os.write(1, f"{done.commit}\n".encode())


def reword(store: Store, env: Mapping[str, str]) -> None:
    _amend(store, env, REWORDED, "")


def shorten(store: Store, env: Mapping[str, str]) -> None:
    """Shorten the text to words it already had, so that only the missing ones show the change."""
    _amend(store, env, "Use pnpm", "")


def widen(store: Store, env: Mapping[str, str]) -> None:
    _amend(store, env, "", "global")
