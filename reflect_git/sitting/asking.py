"""The audit trail asked of git: one `git log` for all commits, one `git cat-file` for what the records add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reflect_git.adapters.objects import Objects
from reflect_git.history.words import FORMAT
from reflect_git.model.ids import seconds_of
from reflect_git.store.repository import INBOX, MAIN

if TYPE_CHECKING:
    from reflect_git.store.repository import Store


class Asked:
    """Both at work, and nobody listens yet: what reads the answers takes as long to load as git to find them.

    Times are UTC; `inboxes`: also what was captured.
    """

    def __init__(self, store: Store, since: str = "", until: str = "", inboxes: bool = False) -> None:
        # In git's words, whose other options for it know no year after 2099.
        ages = ("max-age", since), ("min-age", until)
        span = [f"--{name}={int(seconds_of(moment))}" for name, moment in ages if moment]
        refs = [*([f"--glob={INBOX}*"] if inboxes else ()), MAIN]
        # The first one has more to do.
        self.log = store.git.start("log", f"--format={FORMAT}", "--encoding=UTF-8", *span, *refs, "--")
        try:
            self.objects = Objects(store.git)
        except BaseException:
            self.log.drop()
            raise
