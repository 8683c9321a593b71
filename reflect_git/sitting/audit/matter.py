"""What an audit looks at, read once, and what it has to say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reflect_git.model.ids import digest
from reflect_git.sitting.gone import Gone
from reflect_git.store import chronicle, signing
from reflect_git.store.care.case import DECIDE, ERROR, NOTE, WARNING
from reflect_git.store.chronicle import ADDED, Commit
from reflect_git.store.layout import PURGES
from reflect_git.store.repository import MAIN
from reflect_git.sync import epoch

if TYPE_CHECKING:
    from reflect_git.apply.targets import Target
    from reflect_git.model.schema import Decision, Learning
    from reflect_git.sitting.places import Place
    from reflect_git.store.reading import Scan
    from reflect_git.store.repository import Store

__all__ = ["DECIDE", "ERROR", "NOTE", "WARNING", "Finding", "Line", "Matter", "Sheet"]


@dataclass(frozen=True)
class Finding:
    """`subject` is an id, a commit or a key; `accepted` is the decision by which a person took it as it is.

    `file` is as its project names it, `path` where it lies on this machine: two projects have a CLAUDE.md each.
    """

    code: str
    severity: str
    subject: str
    message: str
    hint: str
    file: str = ""
    line: int = 0
    accepted: str = ""
    path: str = ""

    @property
    def key(self) -> str:
        """By which a person can accept it: another state of the same thing is another finding."""
        return digest("finding", self.code, self.subject, self.file, self.message)[:8]

    @property
    def needs_decision(self) -> bool:
        return self.severity in (DECIDE, ERROR) and not self.accepted


@dataclass(frozen=True)
class Matter:
    """`folder` is where the person stands: a project that may be known from nowhere else."""

    store: Store
    env: Mapping[str, str]
    now: float
    read: Callable[[Store], Scan]
    folder: str = ""

    def git(self, *words: str) -> str:
        """A command for the store, to be pasted: names in it may be anybody's."""
        return shlex.join(("git", "-C", self.store.root, *words))

    @cached_property
    def commits(self) -> list[Commit]:
        """Of main, oldest first."""
        return list(reversed(chronicle.read(self.store)))

    @cached_property
    def there(self) -> dict[str, str]:
        """Path → blob of all that main has now."""
        return self.store.git.tree(MAIN)

    @cached_property
    def scan(self) -> Scan:
        return self.read(self.store)

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        return self._records("DEC")

    @cached_property
    def learnings(self) -> dict[str, Learning]:
        """As they were approved; what amendments made of them is in `scan.history`."""
        return self._records("LRN")

    def _records(self, prefix: str) -> dict[str, Any]:
        return {one: record for one, record in self.scan.others.items() if one.startswith(prefix)}

    @cached_property
    def in_force(self) -> dict[str, Learning]:
        return {one["id"]: one for one in self.scan.history.in_force()}

    @cached_property
    def purged(self) -> Gone:
        """What was purged."""
        return Gone(self.store)

    def is_purged(self, commit: Commit) -> bool:
        """Whether it was made anew by a purge, without the records it had."""
        gone = commit.trailers.get("Purged", [])
        return bool(gone) and all(map(self.purged.has, gone))

    def purge_before(self, commit: Commit) -> str:
        """The purge, among those that main has, because of which it says to bring files without their history."""
        named = [one for one in commit.trailers.get(epoch.AFTER, []) if one.startswith(f"{PURGES}/")]
        return next((one for one in reversed(named) if one in self.there), "")

    @cached_property
    def signatures(self) -> dict[str, str]:
        """Commit → what git says of its signature; those that have one."""
        return signing.verify(self.store, [one.id for one in self.commits if one.is_signed])

    @cached_property
    def brought(self) -> dict[str, Commit]:
        """Path → the commit that first added it; whoever adds it again restores it."""
        found: dict[str, Commit] = {}
        for commit in self.commits:
            for change in commit.changes:
                if change.kind == ADDED:
                    found.setdefault(change.path, commit)
        return found


@dataclass(frozen=True)
class Line:
    """One learning in a file: `number` counts from 1; `at_home`: where an entry of ours stands."""

    id: str
    text: str
    number: int
    at_home: bool = True


@dataclass(frozen=True)
class Sheet:
    """A target on this machine: its bytes, the learnings in them, and the mirrors of it on main."""

    place: Place
    target: Target
    path: str
    data: bytes | None
    lines: tuple[Line, ...]
    mirrors: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.place.label(self.path)


def said(commit: Commit) -> str:
    """A commit as a person finds it again."""
    return f"commit {commit.id[:10]} by {commit.committer}"
