"""Operations that the fault tests of a sync run in separate processes; no test library."""

from __future__ import annotations

import os

from reflect_git.store import recover
from reflect_git.store.repository import Store
from reflect_git.sync import exchange
from reflect_git.sync.exchange import SyncOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def sync(store: Store, env: Mapping[str, str]) -> None:
    recover.recover_store(store)
    report = exchange.sync(store, env, SyncOptions(pause=lambda seconds: None))
    os.write(1, "".join(f"{path}\n" for path in report.pulled).encode())


def move_many(store: Store, env: Mapping[str, str]) -> None:
    """Move main to the commit of the branch `next`, which has other files and lacks some."""
    from reflect_git.store.main import move_main

    with store.locked(5):
        recover.finish_interrupted(store)
        move_main.move(store, str(store.git.resolve("main")), str(store.git.resolve("next")), "sync: a move")
    os.write(1, b"moved\n")
