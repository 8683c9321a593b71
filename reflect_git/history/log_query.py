"""Query git for the log: one `git log` for all commits, one `git cat-file` for their records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.platform.background_git import ObjectReader
from reflect_git.records.history import LOG_FORMAT
from reflect_git.records.ids import parse_utc
from reflect_git.store.repository import INBOX, MAIN

if TYPE_CHECKING:
    from reflect_git.platform.git import GitProcess
    from reflect_git.store.repository import Store


# Usually the lines of this many commits fit into a pipe, so git finishes before anybody reads them. In years of
# sessions one commit in six is shown, so twenty are almost always among them. Another process would take a tenth of the
# time of a `log`.
FIRST_COMMITS = 400


class LogQuery:
    """Both git processes, started early: loading the code that reads their output takes as long as git's work.

    Times are UTC; `inboxes`: include captures.
    """

    def __init__(self, store: Store, since: str = "", until: str = "", inboxes: bool = False) -> None:
        self._store = store
        # git's low-level options: its others accept no year after 2099.
        ages = ("max-age", since), ("min-age", until)
        span = [f"--{name}={int(parse_utc(moment))}" for name, moment in ages if moment]
        refs = [*([f"--glob={INBOX}*"] if inboxes else ()), MAIN]
        self._first_count = FIRST_COMMITS if not span and not inboxes else 0
        first = [f"--max-count={self._first_count}"] if self._first_count else []
        self.log = self._start_log(*first, *span, *refs)  # started first: it has more to do
        try:
            self.objects = ObjectReader(store.git, warm=f"{MAIN}:decisions")
        except BaseException:
            self.log.drop()
            raise

    def start_rest(self, tip: str, count: int) -> GitProcess | None:
        """Return a process for the commits after the first ones, which began with `tip`; None if those were all.

        A single process would run to the end of a long history, on the processor that its reader needs. Inboxes may
        have been replaced in the meantime, and in a time span the first commit is not a tip: such queries run once.
        """
        return self._start_log(f"--skip={count}", tip) if tip and count == self._first_count else None

    def _start_log(self, *words: str) -> GitProcess:
        return self._store.git.start("log", f"--format={LOG_FORMAT}", "--encoding=UTF-8", *words, "--")
