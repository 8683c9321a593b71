"""What the fault tests of a sync run in processes of their own; no test library."""

from __future__ import annotations

import os

from reflect_git.store import sweep
from reflect_git.store.repository import Store
from reflect_git.workflow import syncing
from reflect_git.workflow.syncing import Wishes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def sync(store: Store, env: Mapping[str, str]) -> None:
    sweep.sweep(store)
    report = syncing.sync(store, env, Wishes(pause=lambda seconds: None))
    os.write(1, "".join(f"{path}\n" for path in report.pulled).encode())


def move_many(store: Store, env: Mapping[str, str]) -> None:
    """To the commit of the branch `next`, which has other files, and lacks some."""
    from reflect_git.store import moves

    with store.locked(5):
        sweep.finish_interrupted(store)
        moves.move(store, str(store.git.resolve("main")), str(store.git.resolve("next")), "sync: a move")
    os.write(1, b"moved\n")
