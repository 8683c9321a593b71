"""The user's own git at work in the store while main has to move: how long it has the way, and how main is got then."""

from __future__ import annotations

import os
import time

from reflect_git.errors import ReflectError
from reflect_git.store.repository import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Optional

    from reflect_git.adapters.child import Child
    from reflect_git.store.repository import Store

_SILENT = 1.0  # seconds before a person is told what is waited for
LONG_WAIT = "core.filesRefLockTimeout=1000"  # milliseconds for which our transaction waits for a lock on main


class IndexLocked(ReflectError):
    """Another git, not ours, kept main from moving."""

    def __init__(self, store: Store, seconds: float) -> None:
        if os.path.lexists(os.path.join(store.git_dir, "index.lock")):
            hint = "wait for it to end; 'reflect-git doctor' shows its age"
            super().__init__("another git process holds the store's index", hint, code="index-locked")
        else:
            said = f"your git kept writing to '{store.root}' for {seconds:.0f} s; nothing was changed"
            super().__init__(said, "run it again when that has ended", code="git-busy")


class Wait:
    """Wait for a quiet moment of the user's git for half of the time; then try all the same, until the time is up."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._began = time.monotonic()

    @property
    def is_patient(self) -> bool:
        return time.monotonic() < self._began + self._seconds / 2

    def pause(self) -> None:
        """Wait for a moment, say so after a second, and give up in the end."""
        waited = time.monotonic() - self._began
        if waited > self._seconds:
            raise IndexLocked(self._store, self._seconds)
        if waited > _SILENT:
            self._store.say_waiting(f"waiting for your git, which is writing to '{self._store.root}'")
        time.sleep(0.01)


class HeldMain:
    """`with HeldMain(store, old):` – a lock on main, held by a transaction that changes nothing, for a `with` block.

    A loop of commits moves main every few milliseconds, and a commit of ours takes longer than that. A commit of the
    user's that meets the lock waits a tenth of a second for it. Without a commit to hold main at, nothing is held.
    """

    def __init__(self, store: Store, old: str) -> None:
        self._store = store
        self._old = old
        self._child: Optional[Child] = None
        self.is_lost = False  # main is elsewhere by now

    def __enter__(self) -> HeldMain:
        if self._old:
            self._child = self._store.git.start("update-ref", "--stdin")
            self._child.send(f"start\nverify {MAIN} {self._old}\nprepare\n".encode())
            self.is_lost = [self._child.line(), self._child.line()] != [b"start: ok", b"prepare: ok"]
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.release()

    def release(self) -> None:
        """Let the next one have it: its input ends, and the transaction is aborted."""
        child, self._child = self._child, None
        if child is not None:
            child.finish()
