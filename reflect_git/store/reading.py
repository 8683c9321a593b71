"""All records of the store: the union of inboxes, pending captures and main, through a cache that may be thrown away.

The cache knows which commits it was made from. When a branch moved, only the difference between the two trees is read;
when it did not, one `git for-each-ref` is all that is asked. Rebuilding gives the same.
"""

from __future__ import annotations

import json

from reflect_git.adapters import files, records
from reflect_git.adapters.git import GitError
from reflect_git.errors import ReflectError
from reflect_git.model.schema import VERSION
from reflect_git.store import spool
from reflect_git.store.fold import History, fold
from reflect_git.store.layout import MARKER, id_in
from reflect_git.store.repository import INBOX, MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Optional, Union

    from reflect_git.model.schema import Signal
    from reflect_git.store.repository import Store

    Reader = Callable[[bytes], dict[str, Any]]

_FORMAT = 2
_FOLDERS = {INBOX: ("signals", "exposure"), MAIN: ("learnings", "decisions", "tally", "exposure")}
# Below this many changed files, reading them again each time is cheaper than writing the cache anew.
_WORTH_WRITING = 64
_CACHE_LIMIT = 1 << 30


class Snapshot:
    """The store at one moment."""

    def __init__(self, found: Mapping[str, Mapping[str, Any]], unreadable: Mapping[str, str]) -> None:
        self.unreadable = dict(unreadable)
        self.newer = sorted(identity for identity, record in found.items() if record["version"] > VERSION)
        known = [record for record in found.values() if record["version"] <= VERSION]
        self.by_id: dict[str, Any] = {record["id"]: record for record in known}
        self.history = History(self._of("LRN"), self._of("DEC"), self._of("TLY"))
        self.signals: list[Signal] = fold(self._of("SIG"), self.history)
        self.by_id.update({signal["id"]: signal for signal in self.signals})

    def _of(self, prefix: str) -> list[Any]:
        return [record for identity, record in self.by_id.items() if identity.startswith(prefix)]


def read(store: Store, by_hand: Optional[Reader] = None) -> Snapshot:
    """Everything the store knows. `by_hand` reads files that a person edited, where the front can."""
    refs = store.git.refs(INBOX, MAIN)
    found: dict[str, dict[str, Any]] = {}
    unreadable: dict[str, str] = {}
    for name, prefix in (("inbox", INBOX), ("main", MAIN)):
        part = _Part(store, name, _FOLDERS[prefix], by_hand)
        part.refresh({ref: oid for ref, oid in refs.items() if ref.startswith(prefix)})
        for branch in part.branches.values():
            found.update((record["id"], record) for record in branch["rows"].values())
            unreadable.update(branch["unreadable"])
    _add_pending(store, found)
    return Snapshot(found, unreadable)


def _add_pending(store: Store, found: dict[str, dict[str, Any]]) -> None:
    for name in spool.pending(store):
        try:
            record = records.parse(files.read_regular(store.private_path("pending", name), records.MAX_BYTES + 1))
            records.check(record)
        except (ReflectError, OSError):  # being moved by a sweep, or about to be quarantined by one
            continue
        if record.get("id") == name[:-5]:
            found.setdefault(record["id"], record)


class _Part:
    """Some branches, kept in one cache file: branch → its commit, its records by path, and what could not be read."""

    def __init__(self, store: Store, name: str, folders: tuple[str, ...], by_hand: Optional[Reader]) -> None:
        self._store = store
        self._path = store.private_path("cache", f"{name}-rows.json")
        self._folders = folders
        self._by_hand = by_hand
        self._format = [_FORMAT, by_hand is not None]
        self.branches: dict[str, dict[str, Any]] = {}

    def refresh(self, tips: Mapping[str, str]) -> None:
        known = self._load()
        changed = len(set(known) - set(tips)) * _WORTH_WRITING
        for ref, tip in tips.items():
            branch = self.branches[ref] = known.get(ref) or {"tip": "", "rows": {}, "unreadable": {}}
            if branch["tip"] != tip:
                changed += self._update(branch, tip)
                branch["tip"] = tip
        if changed >= _WORTH_WRITING:
            self._save()

    def _update(self, branch: dict[str, Any], tip: str) -> int:
        """Bring the rows of one branch to another commit; returns how many changed."""
        added, gone = self._difference(branch, tip)
        for path in gone:
            branch["rows"].pop(path, None)
            branch["unreadable"].pop(path, None)
        added.pop(MARKER, None)
        for path, record in zip(added, self._parsed(list(added.values()))):
            self._take(branch, path, record)
        return len(added) + len(gone)

    def _difference(self, branch: Mapping[str, Any], tip: str) -> tuple[dict[str, str], list[str]]:
        if branch["tip"]:
            try:
                return self._store.git.changes(branch["tip"], tip, *self._folders)
            except GitError:  # the commit the cache was made from is pruned: all of it anew
                pass
        return self._store.git.tree(tip, *self._folders), [*branch["rows"], *branch["unreadable"]]

    def _parsed(self, blobs: list[str]) -> list[Union[dict[str, Any], ReflectError]]:
        """Each blob as a record, or as the reason why it is none."""
        data = list(self._store.git.blobs(blobs))
        parsed: list[Union[dict[str, Any], ReflectError]] = list(records.parse_many(data))
        for at, result in enumerate(parsed):
            if isinstance(result, ReflectError) and self._by_hand is not None:
                try:
                    parsed[at] = self._by_hand(data[at])
                except ReflectError as error:
                    parsed[at] = error
        return parsed

    @staticmethod
    def _take(branch: dict[str, Any], path: str, record: Union[dict[str, Any], ReflectError]) -> None:
        branch["rows"].pop(path, None)
        branch["unreadable"].pop(path, None)
        try:
            if isinstance(record, ReflectError):
                raise record
            records.check(record)
            if record.get("id") != id_in(path) or not id_in(path):
                raise ReflectError("its name is not its id")
        except ReflectError as error:
            branch["unreadable"][path] = error.message
            return
        branch["rows"][path] = record

    def _load(self) -> dict[str, dict[str, Any]]:
        try:
            cached = json.loads(files.read_regular(self._path, _CACHE_LIMIT))
            if cached["format"] != self._format:
                return {}
            branches: dict[str, dict[str, Any]] = cached["branches"]
            return {ref: branch for ref, branch in branches.items() if _is_branch(branch)}
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
        ):  # disposable, so never a reason
            return {}

    def _save(self) -> None:
        content = {"format": self._format, "branches": self.branches}
        text = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
        try:
            files.write_whole(self._path, text, sync=False)
        except OSError:  # read-only or full: the next one reads again
            pass


def _is_branch(branch: Any) -> bool:
    return (
        isinstance(branch["tip"], str) and isinstance(branch["unreadable"], dict) and isinstance(branch["rows"], dict)
    )
