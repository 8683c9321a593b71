"""The audit trail asked of git: one `git log` for all commits, one `git cat-file` for what the records add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters.objects import Objects
from reflect_git.history.words import FORMAT
from reflect_git.model.ids import seconds_of
from reflect_git.store.repository import INBOX, MAIN

if TYPE_CHECKING:
    from reflect_git.adapters.git import Child
    from reflect_git.store.repository import Store


AT_FIRST = 200  # commits whose lines fit into a pipe: git is done and gone before anybody reads them


class Asked:
    """Both at work, and nobody listens yet: what reads the answers takes as long to load as git to find them.

    Times are UTC; `inboxes`: also what was captured.
    """

    def __init__(self, store: Store, since: str = "", until: str = "", inboxes: bool = False) -> None:
        self._store = store
        # In git's words, whose other options for it know no year after 2099.
        ages = ("max-age", since), ("min-age", until)
        span = [f"--{name}={int(seconds_of(moment))}" for name, moment in ages if moment]
        self._question = (*span, *([f"--glob={INBOX}*"] if inboxes else ()), MAIN, "--")
        self.log = self._started(f"--max-count={AT_FIRST}")  # before the other: it has more to do
        try:
            self.objects = Objects(store.git)
        except BaseException:
            self.log.drop()
            raise

    def rest(self) -> Child:
        """What comes after the first ones, and perhaps some of those again if a commit was made meanwhile.

        One process for all would go on to the end of a long history, on the processor that its reader needs.
        """
        return self._started(f"--skip={AT_FIRST}")

    def _started(self, part: str) -> Child:
        return self._store.git.start("log", f"--format={FORMAT}", "--encoding=UTF-8", part, *self._question)
