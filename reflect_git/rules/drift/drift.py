"""Compare rules in force with their files, and find who made each difference.

A finding is a question, not a decision.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from reflect_git.errors import ReflectError
from reflect_git.platform import files, instruction_files
from reflect_git.records.ids import digest, parse_utc
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules.approve import item_of, matches_text, target_of
from reflect_git.rules.drift.change_author import (
    BRANCH,
    CLAUDE,
    YOU,
    EditCall,
    HeadLookup,
    explains_finding,
    find_edit_calls,
)
from reflect_git.rules.snapshot import find_pending_decisions, parse_entries
from reflect_git.store.purge.purge_marks import PurgeMarks
from reflect_git.store.repository import MAIN
from reflect_git.store.target_versions import FOLDER, GLOBAL_FOLDER, get_folder_suffix
from reflect_git.targets import plan, target_files
from reflect_git.targets.plan import Finding
from reflect_git.targets.safe_text import is_same_text
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, Learning
    from reflect_git.rules.project_files import Place
    from reflect_git.store.repository import Store

RETURNED = "returned"  # an entry of a rule that is not in force, or belongs to another file
SEARCH_SECONDS = 1.0
_ID = re.compile(rb"LRN-[0-9]{8}-[0-9a-z]+")
_MAX_IGNORED = 5000
_MAX_RULE_FILES = 500


class TargetFile(NamedTuple):
    """An instruction file as it was read, and the rules that belong in it."""

    target: Target
    path: str
    data: bytes | None
    rules: tuple[Learning, ...] = ()


class Difference(NamedTuple):
    """A rule whose file differs from what was approved. `author` is branch, claude (by `call`) or you."""

    learning: Learning
    file: TargetFile
    found: Finding
    author: str = YOU
    call: EditCall | None = None

    @property
    def key(self) -> str:
        """Return the key to remember if a person ignores it: this state of this rule in this work tree."""
        return digest(self.file.path, self.learning["id"], self.found.kind, self.found.live)


class Drift(NamedTuple):
    """The differences found.

    `open_differences`: for a person to answer, Claude's first. `branch_differences`: not on this branch.
    `foreign_count`: number of entries with ids unknown to this store. `troubles`: files that cannot be parsed, and
    entries of purged rules.
    """

    open_differences: tuple[Difference, ...] = ()
    branch_differences: tuple[Difference, ...] = ()
    foreign_count: int = 0
    troubles: tuple[str, ...] = ()
    files: tuple[TargetFile, ...] = ()


def find_drift(
    store: Store, env: Mapping[str, str], place: Place, history: History, seconds: float = SEARCH_SECONDS
) -> Drift:
    """Compare every rule that this machine wrote here with its file; write nothing."""
    written, gone = _WrittenRules(store, place), PurgeMarks(store)
    arriving = _PendingDecisions(written, history, find_pending_decisions(place, history, store.machine))
    ours = [one for one in history.get_rules_in_force() if place.is_in_scope(one)]
    pages = tuple(page for one in list_target_files(place, ours) for page in _with_expected_rules(one, written))
    found: list[Difference] = []
    troubles: list[str] = []
    foreign = 0
    for page in pages:
        for one in _compare_file(page):
            learning = history.learnings.get(one.id)
            where = f"{place.label(page.path)}:{one.line}" if one.line else place.label(page.path)
            if one.kind == "marker":
                troubles.append(f"{where}: {one.live}")
            elif learning is None and gone.is_purged(one.id):
                troubles.append(f"{where}: '{one.id}' was purged, but is still here: delete the entry")
            elif learning is None:
                foreign += 1
            elif one.kind != "foreign":
                if not arriving.explains(page, one):
                    found.append(Difference(learning, page, one))
            # Otherwise it was reverted on another machine and is removed here later.
            elif not written.has_written(one.id, page.target):
                found.append(Difference(learning, page, one._replace(kind=RETURNED)))
    ignored = load_ignored(store)
    judged = _find_authors(store, env, place, history, [one for one in found if one.key not in ignored], seconds)
    asked = sorted((one for one in judged if one.author != BRANCH), key=lambda one: one.author != CLAUDE)
    elsewhere = tuple(one for one in judged if one.author == BRANCH)
    return Drift(tuple(asked), elsewhere, foreign, tuple(troubles), pages)


def _with_expected_rules(page: TargetFile, written: _WrittenRules) -> Iterator[TargetFile]:
    """Yield the file with the rules expected in it: those we wrote, and those that came with the file."""
    data = page.data or b""
    rules = tuple(
        one for one in page.rules if one["id"].encode() in data or written.has_written(one["id"], page.target)
    )
    if rules or page.data is not None:
        yield page._replace(rules=rules)


def _compare_file(page: TargetFile) -> list[Finding]:
    """Compare the file with its rules; report a file that cannot be parsed as one finding."""
    if not page.rules and b"LRN-" not in (page.data or b""):
        return []
    try:
        return plan.compare_file(page.target.form, page.data, [item_of(rule) for rule in page.rules])
    except ReflectError as error:  # not text, too large, or broken
        return [Finding("marker", "", live=error.message)]


class _WrittenRules:
    """The rules that this machine wrote: rules approved elsewhere, or only recorded, were never in a file here."""

    def __init__(self, store: Store, place: Place) -> None:
        self._store = store
        self._place = place

    @cached_property
    def _snapshots(self) -> dict[tuple[str, str], list[bytes]]:
        """Map (suffix of the snapshot folder, path of the file) to our part of it as last written."""
        found: dict[tuple[str, str], list[bytes]] = {}
        tree = self._store.git.tree(MAIN, f"{FOLDER}/{self._store.machine}")
        for path, data in zip(tree, self._store.git.blobs(list(tree.values())), strict=True):
            _, _, folder, name = path.split("/", 3)
            found.setdefault((folder.rpartition("-")[2], name), []).append(data.partition(b"\n\n")[2])
        return found

    def has_written(self, record_id: str, target: Target) -> bool:
        return any(self._find_snapshots(record_id, target))

    def get_texts(self, record_id: str, target: Target) -> list[str]:
        """Return the rule as we last wrote it into this file, for each key of the project."""
        return [parse_entries(target.kind, data).get(record_id, "") for data in self._find_snapshots(record_id, target)]

    def _find_snapshots(self, record_id: str, target: Target) -> Iterator[bytes]:
        folders = [GLOBAL_FOLDER] if target.is_global else map(get_folder_suffix, self._place.keys)
        for folder in folders:
            for data in self._snapshots.get((folder, target.path), ()):
                if record_id.encode() in _ID.findall(data):
                    yield data


class _PendingDecisions(NamedTuple):
    """Decisions made elsewhere since: nobody edited the file, it only lacks the decision."""

    written: _WrittenRules
    history: History
    decisions: Mapping[str, Decision]

    def explains(self, page: TargetFile, found: Finding) -> bool:
        """Tell whether the file has what we last wrote there or, if we never did, an earlier wording of the rule."""
        if found.kind != "different" or found.id not in self.decisions:
            return False
        texts = self.written.get_texts(found.id, page.target)
        if texts and not any(is_same_text(found.live, text) for text in texts):
            return False
        return any(matches_text(was, found.live) for was in self.history.get_versions(found.id))


def list_target_files(place: Place, rules: Iterable[Learning]) -> Iterator[TargetFile]:
    """Yield the files that rules belong in, and every other instruction file that exists."""
    listed: dict[str, TargetFile] = {}
    for rule in rules:
        for page in _read_target_file(place, target_of(rule)):
            before = listed.setdefault(page.path, page)
            listed[page.path] = before._replace(rules=(*before.rules, rule))
    for target in _list_usual_targets(place):
        for page in _read_target_file(place, target):
            if page.data is not None:
                listed.setdefault(page.path, page)
    yield from listed.values()


def _read_target_file(place: Place, target: Target) -> Iterator[TargetFile]:
    try:
        path = place.path_of(target)
        yield TargetFile(target, path, instruction_files.read(path))
    except (ReflectError, OSError):  # a link that leads outside, or a folder in its place: `approve` reports it
        return


def _list_usual_targets(place: Place) -> Iterator[Target]:
    """Yield the usual instruction files of the client and the project."""
    yield target_files.GLOBAL_TARGET
    if place.root:
        yield from (target_files.get_target_for_file(name, is_global=False) for name in target_files.USUAL_FILES)
    folders = (
        ("global-rules", place.config, "rules"), ("rules", place.root, ".claude/rules"),
        ("agent", place.root, target_files.AGENT_FOLDER),
    )  # fmt: skip
    for kind, base, folder in folders:
        for path in files.list_files(os.path.join(base, *folder.split("/")))[:_MAX_RULE_FILES] if base else ():
            if path.endswith(".md"):
                yield Target(kind, os.path.relpath(path, base))


def _find_authors(
    store: Store, env: Mapping[str, str], place: Place, history: History, found: list[Difference], seconds: float
) -> list[Difference]:
    """Return the differences with their authors."""
    if not found:
        return []
    last = {made["subject"]: made["timestamp"] for made in history.decisions}
    heads = HeadLookup(store.git.program)
    everywhere = any(one.file.target.is_global for one in found)
    since = min(last.get(one.learning["id"], "") for one in found)
    made = find_edit_calls(store, env, place, {one.file.path for one in found}, since, seconds, everywhere)
    return [_with_author(one, heads, made, last.get(one.learning["id"], "")) for one in found]


def _with_author(one: Difference, heads: HeadLookup, made: list[EditCall], since: str) -> Difference:
    """Return the difference with its author.

    Claude's transcript counts more than a commit: what Claude removed may not be in any commit yet.
    """
    page, found = one.file, one.found

    def state(data: bytes | None) -> Finding | None:
        return find_state(page, one.learning, data)

    later = (call for call in made if call.path == page.path and call.timestamp > since.removesuffix("Z"))
    call = next((call for call in later if explains_finding(call, page.data, found, state)), None)
    if heads.has_entry(page.path, page.data, found, state, page.target.is_global):
        moved = heads.get_checkout_time(page.path)
        if call is None or moved is None or parse_utc(call.timestamp) < moved:
            return one._replace(author=BRANCH)
    return one._replace(author=CLAUDE, call=call) if call else one


def find_state(page: TargetFile, learning: Learning, data: bytes | None) -> Finding | None:
    """Return the state of a rule in these bytes; None if it is as approved or cannot be parsed."""
    belongs = any(rule["id"] == learning["id"] for rule in page.rules)
    try:
        listed = plan.compare_file(page.target.form, data, [item_of(learning)] if belongs else [])
    except ReflectError:
        return None
    for one in listed:
        if one.id == learning["id"]:
            return one if belongs else one._replace(kind=RETURNED)
    return None


def load_ignored(store: Store) -> list[str]:
    """Return the marks of the differences that a person chose to ignore."""
    return (files.read_if_exists(store.private_path("left"), 1 << 24) or b"").decode("ascii", "replace").split()


def ignore_difference(store: Store, mark: str) -> None:
    """Ignore a difference on this machine until it changes."""
    known = load_ignored(store)
    if mark not in known:
        files.write_atomic(
            store.private_path("left"), "".join(f"{one}\n" for one in [*known, mark][-_MAX_IGNORED:]).encode()
        )
