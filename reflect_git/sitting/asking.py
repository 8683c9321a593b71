"""The audit trail asked of git: one `git log` for all commits, one `git cat-file` for what the records add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters.objects import Objects
from reflect_git.history.words import FORMAT
from reflect_git.model.ids import seconds_of
from reflect_git.store.repository import INBOX, MAIN

if TYPE_CHECKING:
    from reflect_git.adapters.child import Child
    from reflect_git.store.repository import Store


# Commits whose lines fit into a pipe, as a rule: git is done before anybody reads them. Of years of sessions one in six
# is told, so that twenty are hardly ever not among them: another process would take a tenth of the time of a `log`.
AT_FIRST = 400


class Asked:
    """Both at work, and nobody listens yet: what reads the answers takes as long to load as git to find them.

    Times are UTC; `inboxes`: also what was captured.
    """

    def __init__(self, store: Store, since: str = "", until: str = "", inboxes: bool = False) -> None:
        self._store = store
        # In git's words, whose other options for it know no year after 2099.
        ages = ("max-age", since), ("min-age", until)
        span = [f"--{name}={int(seconds_of(moment))}" for name, moment in ages if moment]
        refs = [*([f"--glob={INBOX}*"] if inboxes else ()), MAIN]
        self._at_first = AT_FIRST if not span and not inboxes else 0
        first = [f"--max-count={self._at_first}"] if self._at_first else []
        self.log = self._started(*first, *span, *refs)  # before the other: it has more to do
        try:
            self.objects = Objects(store.git, warm=f"{MAIN}:decisions")
        except BaseException:
            self.log.drop()
            raise

    def rest(self, tip: str, count: int) -> Child | None:
        """What comes after the first ones, which began with `tip`; None if these were all.

        One process for all would go on to the end of a long history, on the processor that its reader needs. Inboxes
        may have begun anew meanwhile, and in a span the first one is no tip: such a question is put once.
        """
        return self._started(f"--skip={count}", tip) if tip and count == self._at_first else None

    def _started(self, *words: str) -> Child:
        return self._store.git.start("log", f"--format={FORMAT}", "--encoding=UTF-8", *words, "--")
