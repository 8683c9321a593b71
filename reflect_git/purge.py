"""Purge a text from everything that is ours: revert the rules that say it, then rewrite history."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.git import COMMITTER
from reflect_git.records import yaml_form
from reflect_git.records.ids import ALPHABET, plural, utc, utc_precise
from reflect_git.records.purge_marks import id_mark
from reflect_git.records.search_text import PURGED, TextSearch, build_patterns, get_free_texts
from reflect_git.records.yaml_form import RecordError
from reflect_git.rules import project_commits, revert
from reflect_git.rules.context import load_context
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.store import api, inbox, recover
from reflect_git.store.purge import purge_main, purge_refs
from reflect_git.store.repository import MAIN, PURGES_FOLDER
from reflect_git.sync import store_paths
from reflect_git.sync.store_paths import Purge

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.write_change import WriteResult
    from reflect_git.store.purge.purge_main import PurgePreview
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store

LOCK_SECONDS = 10.0
_MAX_ROUNDS = 100

ReadSnapshot = Callable[["Store"], "Snapshot"]
RevertedRule = tuple["Context", "WriteResult"]  # the context and the result of each reverted rule


@dataclass(frozen=True)
class PurgeRequest:
    """A request to purge: records by id, and every text that a pattern matches."""

    ids: frozenset[str]
    search: TextSearch


@dataclass(frozen=True)
class PurgePlan:
    """A planned purge.

    `to_revert`: rules in force, reverted first. `reinstated`: rules they had replaced, which return. `unpurged`:
    learnings made from purged signals but worded differently; they must be named to be purged as well. `unreached`:
    places we cannot purge, as sentences.
    """

    request: PurgeRequest
    found: PurgePreview
    to_revert: tuple[Learning, ...]
    reinstated: tuple[Learning, ...]
    unreached: tuple[str, ...]
    unpurged: tuple[Learning, ...] = ()

    @property
    def phrase(self) -> str:
        """Return what a person must type to confirm."""
        count = len(self.found.records)
        return f"purge {plural(count, 'record')}"


@dataclass(frozen=True)
class PurgeResult:
    """The result of a purge."""

    commit: str
    epoch: int
    records: tuple[str, ...]
    remaining: tuple[str, ...]
    reverted_rules: list[RevertedRule]


def select_by_pattern(pattern: str) -> PurgeRequest:
    """Select every text that a regular expression matches; raise if it is invalid or matches everything."""
    try:
        sought = TextSearch([pattern])
    except re.error as error:
        raise ReflectError(
            f"'{pattern}' is not a pattern: {error}", "Python's 're' says how", "usage", EXIT_USAGE
        ) from None
    if sought.matches_text(""):
        raise ReflectError(f"'{pattern}' matches everything", "give a narrower one", "usage", EXIT_USAGE)
    return PurgeRequest(frozenset(), sought)


def select_by_id(snapshot: Snapshot, prefix: str) -> PurgeRequest:
    """Select a record with its sources and decisions, and its words wherever else they are."""
    digests = [one for one in snapshot.other_records.values() if one["id"].startswith("DIG-")]
    expired = {cited for one in digests for line in one["lines"] for cited in line["ids"]}
    record_id = api.find_id({*snapshot.by_id, *expired}, prefix)
    if not record_id.startswith(("SIG-", "LRN-", "EVL-")):
        raise ReflectError(
            f"cannot purge '{record_id}' alone", "use the id of a signal, rule or evaluation, or --match REGEX", "usage"
        )
    ids = {record_id}
    if record_id.startswith("LRN-"):
        ids |= {one["id"] for one in snapshot.history.decisions if one["subject"] == record_id}
        ids |= (
            set(snapshot.history.learnings[record_id]["signals"]) if record_id in snapshot.history.learnings else set()
        )
    return _select_records(snapshot, ids)


def _select_records(snapshot: Snapshot, ids: Collection[str]) -> PurgeRequest:
    """Select records, and their words wherever else they are."""
    words = {text for one in ids if one in snapshot.by_id for text in get_free_texts(snapshot.by_id[one])}
    return PurgeRequest(frozenset(ids), TextSearch(build_patterns(words)))


def select_purged_elsewhere(snapshot: Snapshot, purges: Iterable[Purge]) -> PurgeRequest:
    """Select what other machines purged and this one still has: learnings, and their words wherever else they are."""
    marks = store_paths.collect_marks(purges)
    return _select_records(snapshot, {one for one in snapshot.history.learnings if id_mark(one) in marks})


def list_rules_to_revert(snapshot: Snapshot, request: PurgeRequest) -> list[Learning]:
    """List the rules in force that must leave their files first."""
    return list(_find_rules_in_force(snapshot.history, request, _find_affected(snapshot, request)))


def plan_purge(
    store: Store, env: Mapping[str, str], read: ReadSnapshot, request: PurgeRequest, folder: str
) -> PurgePlan:
    """Plan the purge; change nothing."""
    purge_main.require_ready(store)
    _require_narrow(store, request)
    snapshot = read(store)
    found = purge_main.preview_purge(store, request.search, request.ids, _map_decisions(snapshot))
    if found.is_empty:
        raise ReflectError("nothing in the store says that", "try it with 'git grep' in the store", code="no-match")
    touched = _find_affected(snapshot, request)
    reverted = tuple(_find_rules_in_force(snapshot.history, request, touched))
    ctx = load_context(store, env, snapshot, folder)
    away = [one for one in reverted if not _with_project(ctx, one).place.is_in_scope(one)]
    back = tuple(_find_reinstated(ctx, snapshot.history, request, touched))
    unreached = (
        *(_format_unreachable_file(one) for one in away),
        *_find_matching_branches(store, request),
        *_list_unreached(store, env),
    )
    return PurgePlan(request, found, reverted, back, unreached, tuple(_find_unpurged(snapshot.history, found)))


def _require_narrow(store: Store, request: PurgeRequest) -> None:
    """Refuse a pattern that every purge record matches: it could never be purged."""
    said = store_paths.emit_purge(Purge(1, utc(), store.machine, ()))
    for text in (PURGED, COMMITTER, _format_subject(1), f"Machine: {store.machine}"):
        said += f"\n{text}".encode()
    if any(map(request.search.matches_bytes, said.split(b"\n"))):
        raise ReflectError(
            "that is said by every purge, and by much else that is ours", "give a narrower pattern", "usage", EXIT_USAGE
        )


def _format_subject(count: int) -> str:
    return f"purge: {plural(count, 'record')}"


def _find_unpurged(history: History, found: PurgePreview) -> Iterator[Learning]:
    """Yield learnings that are not purged although one of their signals is: they say it in other words."""
    gone = set(found.records)
    for learning in history.learnings.values():
        if learning["id"] not in gone and not gone.isdisjoint(learning["signals"]):
            yield learning


def _find_affected(snapshot: Snapshot, request: PurgeRequest) -> frozenset[str]:
    """Return the learnings affected by the purge: their approved record, or a decision about them."""
    told = (one for one in snapshot.main_records.values() if one["id"].startswith(("LRN-", "DEC-")))
    goes = (one for one in told if one["id"] in request.ids or _matches_record(one, request.search))
    return frozenset(one["subject"] if one["id"].startswith("DEC-") else one["id"] for one in goes)


def _find_rules_in_force(history: History, request: PurgeRequest, touched: Collection[str]) -> Iterator[Learning]:
    """Yield the rules in force to revert: `touched`, or matching in their current wording."""
    for learning in history.get_rules_in_force():
        if learning["id"] in touched or _matches_record(learning, request.search):
            yield learning


def _matches_record(record: Mapping[str, Any], sought: TextSearch) -> bool:
    try:
        data = yaml_form.emit(record)
    except RecordError:  # written by hand in a form we would not write, such as too many quotes once each is escaped
        data = json.dumps(record).encode()
    return sought.matches_bytes(data)


def _find_reinstated(ctx: Context, history: History, request: PurgeRequest, touched: Collection[str]) -> list[Learning]:
    """Return the rules that come back once all are reverted; one revert may bring back another rule to purge."""
    made: list[Decision] = []
    before = {one["id"] for one in history.get_rules_in_force()}
    while learning := next(_find_rules_in_force(history, request, touched), None):
        approval = next(one for one in history.decisions if one["id"] == learning["decision"])
        made += revert.build_reverts(ctx, revert.find_batch(history, approval), utc_precise())
        history = revert.with_decisions(ctx, made)
    return [one for one in history.get_rules_in_force() if one["id"] not in before]


def _with_project(ctx: Context, learning: Learning) -> Context:
    """Return the context of the project where its file is, if it is on this machine."""
    about = [one for one in ctx.scan.history.decisions if one["id"] == learning["decision"]]
    return project_commits.with_project_of(ctx, about)


def _format_unreachable_file(learning: Learning) -> str:
    project = learning["project"] or {"name": ""}
    return f"'{learning['target']['path']}' of the project '{project['name']}', which is not here: {learning['id']}"


def _find_matching_branches(store: Store, request: PurgeRequest) -> Iterator[str]:
    for tip in purge_refs.list_user_refs(store):
        if request.search.matches_text(tip.ref):
            yield f"'{tip.ref}', which is called so: rename it"


def _list_unreached(store: Store, env: Mapping[str, str]) -> Iterator[str]:
    """Yield places that a purge cannot reach."""
    remotes = store.git.run("remote").out.decode("utf-8", "replace").split()
    if remotes:
        yield f"the remote '{remotes[0]}', until the next 'reflect-git sync' and the host's own clean-up"
    yield "other clones of the store, until they sync"
    yield "commits of the projects' own repositories"
    yield f"transcripts of Claude Code below '{paths.projects_dir(env)}'"


def run_purge(
    store: Store, env: Mapping[str, str], read: ReadSnapshot, proposal: PurgePlan, by: DecisionAuthor, folder: str
) -> PurgeResult:
    """Revert the rules in force, then purge all history."""
    request = proposal.request
    before = {one for listed in _map_decisions(read(store)).values() for one in listed}
    written = revert_rules(store, env, read, request, by, folder)
    with store.locked(LOCK_SECONDS):
        recover.finish_interrupted(store)
        inbox.commit_all(store)
        about = _map_decisions(read(store))
        found = purge_main.preview_purge(store, request.search, request.ids, about)
        # The reverts just made are purged with their rules and not reported.
        own = {one for listed in about.values() for one in listed} - before
        told = tuple(one for one in found.records if one not in own)
        number, new, marks = _build_announcement(store, found)
        commit = purge_main.run_purge(store, found, request.search, marks, new, _format_subject(len(told)))
    refresh_derived_files(store, env, read(store))
    return PurgeResult(commit, number, told, tuple(purge_main.find_remains(store, request.search)), written)


def _map_decisions(snapshot: Snapshot) -> dict[str, list[str]]:
    """Map each learning to the decisions about it, which are purged with it."""
    found: dict[str, list[str]] = {}
    for record_id, made in snapshot.main_records.items():
        if record_id.startswith("DEC-") and made["subject"].startswith("LRN-"):
            found.setdefault(made["subject"], []).append(record_id)
    return found


def revert_rules(
    store: Store, env: Mapping[str, str], read: ReadSnapshot, request: PurgeRequest, by: DecisionAuthor, folder: str
) -> list[RevertedRule]:
    """Revert rules one by one: a revert may bring back a replaced rule that must be reverted as well."""
    written: list[RevertedRule] = []
    for _ in range(_MAX_ROUNDS):
        snapshot = read(store)
        # Computed again each time: the last revert is itself a decision, and names its author.
        learning = next(iter(list_rules_to_revert(snapshot, request)), None)
        if learning is None:
            return written
        ctx = _with_project(load_context(store, env, snapshot, folder), learning)
        chosen = revert.select_by_name(ctx, learning["id"])
        done = revert.write_revert(ctx, revert.plan_revert(ctx, chosen, revert.RevertOptions(force=True)), by)
        written.append((ctx, done))
    raise ReflectError("rules come back as others are reverted", "revert them one by one", code="failed")


def _build_announcement(store: Store, found: PurgePreview) -> tuple[int, dict[str, bytes], list[str]]:
    """Return the epoch, the files on main that announce the purge, and their marks."""
    marks = store_paths.build_marks(found.records, found.blobs, found.snapshots)
    number, now = store_paths.get_next_epoch(store.git.tree(MAIN, PURGES_FOLDER)), utc()
    new = {}
    for start in range(0, max(1, len(marks)), store_paths.MAX_MARKS):
        made = Purge(number, now, store.machine, tuple(marks[start : start + store_paths.MAX_MARKS]))
        new[store_paths.build_purge_path(number, _build_name())] = store_paths.emit_purge(made)
    return number, new, marks


def _build_name() -> str:
    return "".join(ALPHABET[byte % 32] for byte in os.urandom(8))
