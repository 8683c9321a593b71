"""The audit's inputs, each read once, and the form of its findings."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reflect_git.records.ids import digest
from reflect_git.store.lost_signals import DECIDE, ERROR, NOTE, WARNING
from reflect_git.store.main import commit_log, signing
from reflect_git.store.main.commit_log import ADDED, Commit
from reflect_git.store.purge.purge_marks import PurgeMarks
from reflect_git.store.repository import MAIN, PURGES_FOLDER
from reflect_git.sync import store_paths

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision, Learning
    from reflect_git.rules.project_files import Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store
    from reflect_git.targets.target_files import Target

__all__ = ["DECIDE", "ERROR", "NOTE", "WARNING", "Finding", "EntryLine", "AuditContext", "AuditedFile"]


@dataclass(frozen=True)
class Finding:
    """One result of an audit.

    `subject`: an id, a commit or a key. `accepted`: the decision by which a person accepted it. `file`: as its project
    names it. `path`: where it is on this machine, since every project may have a CLAUDE.md.
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
        """Return the key for accepting it: another state of the same thing is another finding."""
        return digest("finding", self.code, self.subject, self.file, self.message)[:8]

    @property
    def needs_decision(self) -> bool:
        return self.severity in (DECIDE, ERROR) and not self.accepted


@dataclass(frozen=True)
class AuditContext:
    """Everything an audit reads. `folder` is the current folder: its project may be known from nowhere else."""

    store: Store
    env: Mapping[str, str]
    now: float
    read: Callable[[Store], Scan]
    folder: str = ""

    def format_git_command(self, *words: str) -> str:
        """Return a shell-quoted git command for the store, to be pasted: it may contain untrusted names."""
        return shlex.join(("git", "-C", self.store.root, *words))

    @cached_property
    def commits(self) -> list[Commit]:
        """Return the commits of main, oldest first."""
        return list(reversed(commit_log.read(self.store)))

    @cached_property
    def main_tree(self) -> dict[str, str]:
        """Map the paths on main to their blobs."""
        return self.store.git.tree(MAIN)

    @cached_property
    def scan(self) -> Scan:
        return self.read(self.store)

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        return self._records("DEC")

    @cached_property
    def learnings(self) -> dict[str, Learning]:
        """Return the learnings as approved; `scan.history` has them with their amendments."""
        return self._records("LRN")

    def _records(self, prefix: str) -> dict[str, Any]:
        return {one: record for one, record in self.scan.other_records.items() if one.startswith(prefix)}

    @cached_property
    def in_force(self) -> dict[str, Learning]:
        return {one["id"]: one for one in self.scan.history.get_rules_in_force()}

    @cached_property
    def purged(self) -> PurgeMarks:
        """Return what was purged."""
        return PurgeMarks(self.store)

    def is_purged(self, commit: Commit) -> bool:
        """Tell whether a purge rewrote the commit and removed its records."""
        gone = commit.trailers.get("Purged", [])
        return bool(gone) and all(map(self.purged.is_purged, gone))

    def find_purge_before(self, commit: Commit) -> str:
        """Return the purge on main that explains why a commit adds files without their history, or ""."""
        named = [
            one for one in commit.trailers.get(store_paths.PURGE_TRAILER, []) if one.startswith(f"{PURGES_FOLDER}/")
        ]
        return next((one for one in reversed(named) if one in self.main_tree), "")

    @cached_property
    def signatures(self) -> dict[str, str]:
        """Map signed commits to git's verdict on their signature."""
        return signing.verify_commits(self.store, [one.id for one in self.commits if one.is_signed])

    @cached_property
    def added_by(self) -> dict[str, Commit]:
        """Map each path to the commit that first added it; adding it again is a restore."""
        found: dict[str, Commit] = {}
        for commit in self.commits:
            for change in commit.changes:
                if change.kind == ADDED:
                    found.setdefault(change.path, commit)
        return found


@dataclass(frozen=True)
class EntryLine:
    """One learning in a file: `number` counts from 1; `is_in_place`: it is where our entries belong."""

    id: str
    text: str
    number: int
    is_in_place: bool = True


@dataclass(frozen=True)
class AuditedFile:
    """A target on this machine: its bytes, the learnings in it, and its snapshots on main."""

    place: Place
    target: Target
    path: str
    data: bytes | None
    lines: tuple[EntryLine, ...]
    snapshots: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.place.label(self.path)


def format_commit(commit: Commit) -> str:
    """Return how a commit is named in messages."""
    return f"commit {commit.id[:10]} by {commit.committer}"
