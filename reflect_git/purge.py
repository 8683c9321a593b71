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
from reflect_git.platform.git import NOBODY
from reflect_git.records import yaml_form
from reflect_git.records.ids import ALPHABET, plural, utc, utc_precise
from reflect_git.records.purge_marks import id_mark
from reflect_git.records.search_text import PURGED, Sought, patterns_for, words_of
from reflect_git.records.yaml_form import RecordError
from reflect_git.rules import learnings_index, project_commits, revert
from reflect_git.rules.context import load_context
from reflect_git.store import api, inbox, recover
from reflect_git.store.purge import purge_main, purge_refs
from reflect_git.store.repository import MAIN, PURGES
from reflect_git.sync import store_paths
from reflect_git.sync.store_paths import Purge

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import By, Decision, Learning
    from reflect_git.rules.context import Context
    from reflect_git.rules.write_change import Approved
    from reflect_git.store.purge.purge_main import Found
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store

WAIT = 10.0
_ROUNDS = 100

Read = Callable[["Store"], "Snapshot"]
Written = tuple["Context", "Approved"]  # the context and the result of each reverted rule


@dataclass(frozen=True)
class Wish:
    """A request to purge: records by id, and every text that a pattern matches."""

    ids: frozenset[str]
    sought: Sought


@dataclass(frozen=True)
class Proposal:
    """A planned purge.

    `reverted`: rules in force, reverted first. `back`: rules they had replaced, which return. `stays`: learnings made
    from purged signals but worded differently; they must be named to be purged as well. `unreached`: places we cannot
    purge, as sentences.
    """

    wish: Wish
    found: Found
    reverted: tuple[Learning, ...]
    back: tuple[Learning, ...]
    unreached: tuple[str, ...]
    stays: tuple[Learning, ...] = ()

    @property
    def phrase(self) -> str:
        """Return what a person must type to confirm."""
        count = len(self.found.records)
        return f"purge {plural(count, 'record')}"


@dataclass(frozen=True)
class Done:
    """The result of a purge."""

    commit: str
    epoch: int
    records: tuple[str, ...]
    left: tuple[str, ...]
    written: list[Written]


def by_pattern(pattern: str) -> Wish:
    """Select every text that a regular expression matches; raise if it is invalid or matches everything."""
    try:
        sought = Sought([pattern])
    except re.error as error:
        raise ReflectError(
            f"'{pattern}' is not a pattern: {error}", "Python's 're' says how", "usage", EXIT_USAGE
        ) from None
    if sought.in_text(""):
        raise ReflectError(f"'{pattern}' matches everything", "give a narrower one", "usage", EXIT_USAGE)
    return Wish(frozenset(), sought)


def by_id(snapshot: Snapshot, prefix: str) -> Wish:
    """Select a record with its sources and decisions, and its words wherever else they are."""
    identity = api.find(snapshot.by_id, prefix)
    if not identity.startswith(("SIG-", "LRN-")):
        raise ReflectError(
            f"cannot purge '{identity}' alone", "use the id of a signal or rule, or --match REGEX", "usage"
        )
    ids = {identity}
    if identity.startswith("LRN-"):
        ids |= {one["id"] for one in snapshot.history.decisions if one["subject"] == identity}
        ids |= set(snapshot.history.learnings[identity]["signals"])
    return _meant(snapshot, ids)


def _meant(snapshot: Snapshot, ids: Collection[str]) -> Wish:
    """Select records, and their words wherever else they are."""
    words = {text for one in ids if one in snapshot.by_id for text in words_of(snapshot.by_id[one])}
    return Wish(frozenset(ids), Sought(patterns_for(words)))


def of_others(snapshot: Snapshot, purges: Iterable[Purge]) -> Wish:
    """Select what other machines purged and this one still has: learnings, and their words wherever else they are."""
    marks = store_paths.marks(purges)
    return _meant(snapshot, {one for one in snapshot.history.learnings if id_mark(one) in marks})


def standing(snapshot: Snapshot, wish: Wish) -> list[Learning]:
    """List the rules in force that must leave their files first."""
    return list(_in_force(snapshot.history, wish, _touched(snapshot, wish)))


def propose(store: Store, env: Mapping[str, str], read: Read, wish: Wish, folder: str) -> Proposal:
    """Plan the purge; change nothing."""
    purge_main.require_ready(store)
    _require_narrow(store, wish)
    snapshot = read(store)
    found = purge_main.look(store, wish.sought, wish.ids, _about(snapshot))
    if found.is_empty:
        raise ReflectError("nothing in the store says that", "try it with 'git grep' in the store", code="no-match")
    touched = _touched(snapshot, wish)
    reverted = tuple(_in_force(snapshot.history, wish, touched))
    ctx = load_context(store, env, snapshot, folder)
    away = [one for one in reverted if not _there(ctx, one).place.reaches(one)]
    back = tuple(_back(ctx, snapshot.history, wish, touched))
    unreached = (*(_away(one) for one in away), *_named(store, wish), *_unreached(store, env))
    return Proposal(wish, found, reverted, back, unreached, tuple(_stays(snapshot.history, found)))


def _require_narrow(store: Store, wish: Wish) -> None:
    """Refuse a pattern that every purge record matches: it could never be purged."""
    said = store_paths.emit(Purge(1, utc(), store.machine, ()))
    for text in (PURGED, NOBODY, _subject(1), f"Machine: {store.machine}"):
        said += f"\n{text}".encode()
    if any(map(wish.sought.in_bytes, said.split(b"\n"))):
        raise ReflectError(
            "that is said by every purge, and by much else that is ours", "give a narrower pattern", "usage", EXIT_USAGE
        )


def _subject(count: int) -> str:
    return f"purge: {plural(count, 'record')}"


def _stays(history: History, found: Found) -> Iterator[Learning]:
    """Yield learnings that are not purged although one of their signals is: they say it in other words."""
    gone = set(found.records)
    for learning in history.learnings.values():
        if learning["id"] not in gone and not gone.isdisjoint(learning["signals"]):
            yield learning


def _touched(snapshot: Snapshot, wish: Wish) -> frozenset[str]:
    """Return the learnings affected by the purge: their approved record, or a decision about them."""
    told = (one for one in snapshot.decided.values() if one["id"].startswith(("LRN-", "DEC-")))
    goes = (one for one in told if one["id"] in wish.ids or _says(one, wish.sought))
    return frozenset(one["subject"] if one["id"].startswith("DEC-") else one["id"] for one in goes)


def _in_force(history: History, wish: Wish, touched: Collection[str]) -> Iterator[Learning]:
    """Yield the rules in force to revert: `touched`, or matching in their current wording."""
    for learning in history.in_force():
        if learning["id"] in touched or _says(learning, wish.sought):
            yield learning


def _says(record: Mapping[str, Any], sought: Sought) -> bool:
    try:
        data = yaml_form.emit(record)
    except RecordError:  # written by hand in a form we would not write, such as too many quotes once each is escaped
        data = json.dumps(record).encode()
    return sought.in_bytes(data)


def _back(ctx: Context, history: History, wish: Wish, touched: Collection[str]) -> list[Learning]:
    """Return the rules that come back once all are reverted; one revert may bring back another rule to purge."""
    made: list[Decision] = []
    before = {one["id"] for one in history.in_force()}
    while learning := next(_in_force(history, wish, touched), None):
        approval = next(one for one in history.decisions if one["id"] == learning["decision"])
        made += revert.reverted(ctx, revert.together(history, approval), utc_precise())
        history = revert.with_decisions(ctx, made)
    return [one for one in history.in_force() if one["id"] not in before]


def _there(ctx: Context, learning: Learning) -> Context:
    """Return the context of the project where its file is, if it is on this machine."""
    about = [one for one in ctx.scan.history.decisions if one["id"] == learning["decision"]]
    return project_commits.moved_to(ctx, about)


def _away(learning: Learning) -> str:
    project = learning["project"] or {"name": ""}
    return f"'{learning['target']['path']}' of the project '{project['name']}', which is not here: {learning['id']}"


def _named(store: Store, wish: Wish) -> Iterator[str]:
    for tip in purge_refs.branches(store):
        if wish.sought.in_text(tip.ref):
            yield f"'{tip.ref}', which is called so: rename it"


def _unreached(store: Store, env: Mapping[str, str]) -> Iterator[str]:
    """Yield places that a purge cannot reach."""
    remotes = store.git.run("remote").out.decode("utf-8", "replace").split()
    if remotes:
        yield f"the remote '{remotes[0]}', until the next 'reflect-git sync' and the host's own clean-up"
    yield "other clones of the store, until they sync"
    yield "commits of the projects' own repositories"
    yield f"transcripts of Claude Code below '{paths.projects_dir(env)}'"


def carry_out(store: Store, env: Mapping[str, str], read: Read, proposal: Proposal, by: By, folder: str) -> Done:
    """Revert the rules in force, then purge all history."""
    wish = proposal.wish
    before = {one for listed in _about(read(store)).values() for one in listed}
    written = make_way(store, env, read, wish, by, folder)
    with store.locked(WAIT):
        recover.finish_interrupted(store)
        inbox.commit_all(store)
        about = _about(read(store))
        found = purge_main.look(store, wish.sought, wish.ids, about)
        # The reverts just made are purged with their rules and not reported.
        own = {one for listed in about.values() for one in listed} - before
        told = tuple(one for one in found.records if one not in own)
        number, new, marks = _announced(store, found)
        commit = purge_main.carry_out(store, found, wish.sought, marks, new, _subject(len(told)))
    learnings_index.write(store, read(store))
    return Done(commit, number, told, tuple(purge_main.remains(store, wish.sought)), written)


def _about(snapshot: Snapshot) -> dict[str, list[str]]:
    """Map each learning to the decisions about it, which are purged with it."""
    found: dict[str, list[str]] = {}
    for identity, made in snapshot.decided.items():
        if identity.startswith("DEC-") and made["subject"].startswith("LRN-"):
            found.setdefault(made["subject"], []).append(identity)
    return found


def make_way(store: Store, env: Mapping[str, str], read: Read, wish: Wish, by: By, folder: str) -> list[Written]:
    """Revert rules one by one: a revert may bring back a replaced rule that must be reverted as well."""
    written: list[Written] = []
    for _ in range(_ROUNDS):
        snapshot = read(store)
        # Computed again each time: the last revert is itself a decision, and names its author.
        learning = next(iter(standing(snapshot, wish)), None)
        if learning is None:
            return written
        ctx = _there(load_context(store, env, snapshot, folder), learning)
        chosen = revert.find(ctx, learning["id"])
        done = revert.carry_out(ctx, revert.propose(ctx, chosen, revert.Wanted(force=True)), by)
        written.append((ctx, done))
    raise ReflectError("rules come back as others are reverted", "revert them one by one", code="failed")


def _announced(store: Store, found: Found) -> tuple[int, dict[str, bytes], list[str]]:
    """Return the epoch, the files on main that announce the purge, and their marks."""
    marks = store_paths.marks_of(found.records, found.blobs, found.mirrors)
    number, now = store_paths.following(store.git.tree(MAIN, PURGES)), utc()
    new = {}
    for start in range(0, max(1, len(marks)), store_paths.MOST_MARKS):
        made = Purge(number, now, store.machine, tuple(marks[start : start + store_paths.MOST_MARKS]))
        new[store_paths.path_for(number, _name())] = store_paths.emit(made)
    return number, new, marks


def _name() -> str:
    return "".join(ALPHABET[byte % 32] for byte in os.urandom(8))
