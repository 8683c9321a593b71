"""A text taken out of everything that is ours: first the rules that say it are reverted, then history is made anew."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git import paths
from reflect_git.adapters import records
from reflect_git.adapters.git import NOBODY
from reflect_git.adapters.records import RecordError
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import ALPHABET, utc, utc_precise
from reflect_git.model.marks import id_mark
from reflect_git.model.sought import PURGED, Sought, patterns_for, words_of
from reflect_git.sitting import elsewhere, learnings_index, revert, review
from reflect_git.store import forgetting, inbox, memory, purging, sweep
from reflect_git.store.layout import PURGES
from reflect_git.store.repository import MAIN
from reflect_git.sync import epoch
from reflect_git.sync.epoch import Purge

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision, Learning
    from reflect_git.sitting.review import Sitting
    from reflect_git.sitting.writing import Approved
    from reflect_git.store.fold import History
    from reflect_git.store.purging import Found
    from reflect_git.store.reading import Snapshot
    from reflect_git.store.repository import Store

WAIT = 10.0
_ROUNDS = 100

Read = Callable[["Store"], "Snapshot"]
Written = tuple["Sitting", "Approved"]  # a file that a rule left, and where that was


@dataclass(frozen=True)
class Wish:
    """What is to go: records by id, and every text that a pattern finds."""

    ids: frozenset[str]
    sought: Sought


@dataclass(frozen=True)
class Proposal:
    """`reverted` are in force and go first, `back` are rules they had replaced and that come back by it.

    `stays` are learnings made of signals that go, in words that are not sought: they have to be named to go, too.
    `unreached` is what stays where we cannot go, in words.
    """

    wish: Wish
    found: Found
    reverted: tuple[Learning, ...]
    back: tuple[Learning, ...]
    unreached: tuple[str, ...]
    stays: tuple[Learning, ...] = ()

    @property
    def phrase(self) -> str:
        """What a person has to type."""
        count = len(self.found.records)
        return f"purge {plural(count, 'record')}"


@dataclass(frozen=True)
class Done:
    commit: str
    epoch: int
    records: tuple[str, ...]
    left: tuple[str, ...]
    written: list[Written]


def by_pattern(pattern: str) -> Wish:
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
    """A record with what was made from it and of it, and its words wherever else they stand."""
    identity = memory.find(snapshot.by_id, prefix)
    if not identity.startswith(("SIG-", "LRN-")):
        raise ReflectError(f"'{identity}' is no text of its own", "give a signal, a learning or --match REGEX", "usage")
    ids = {identity}
    if identity.startswith("LRN-"):
        ids |= {one["id"] for one in snapshot.history.decisions if one["subject"] == identity}
        ids |= set(snapshot.history.learnings[identity]["signals"])
    return _meant(snapshot, ids)


def _meant(snapshot: Snapshot, ids: Collection[str]) -> Wish:
    """Records, and their words wherever else they stand."""
    words = {text for one in ids if one in snapshot.by_id for text in words_of(snapshot.by_id[one])}
    return Wish(frozenset(ids), Sought(patterns_for(words)))


def of_others(snapshot: Snapshot, purges: Iterable[Purge]) -> Wish:
    """What other machines purged, as far as this one has it: learnings, and their words wherever else they stand."""
    marks = epoch.marks(purges)
    return _meant(snapshot, {one for one in snapshot.history.learnings if id_mark(one) in marks})


def standing(snapshot: Snapshot, wish: Wish) -> list[Learning]:
    """Rules in force that have to leave their files first."""
    return list(_in_force(snapshot.history, wish, _touched(snapshot, wish)))


def propose(store: Store, env: Mapping[str, str], read: Read, wish: Wish, folder: str) -> Proposal:
    """All that would go. Nothing is changed."""
    purging.require_ready(store)
    _require_narrow(store, wish)
    snapshot = read(store)
    found = purging.look(store, wish.sought, wish.ids, _about(snapshot))
    if found.is_empty:
        raise ReflectError("nothing in the store says that", "try it with 'git grep' in the store", code="no-match")
    touched = _touched(snapshot, wish)
    reverted = tuple(_in_force(snapshot.history, wish, touched))
    sitting = review.sit(store, env, snapshot, folder, everything=True)
    away = [one for one in reverted if not _there(sitting, one).place.reaches(one)]
    back = tuple(_back(sitting, snapshot.history, wish, touched))
    unreached = (*(_away(one) for one in away), *_named(store, wish), *_unreached(store, env))
    return Proposal(wish, found, reverted, back, unreached, tuple(_stays(snapshot.history, found)))


def _require_narrow(store: Store, wish: Wish) -> None:
    """What every purge says itself would never be gone."""
    said = epoch.emit(Purge(1, utc(), store.machine, ()))
    for text in (PURGED, NOBODY, _subject(1), f"Machine: {store.machine}"):
        said += f"\n{text}".encode()
    if any(map(wish.sought.in_bytes, said.split(b"\n"))):
        raise ReflectError(
            "that is said by every purge, and by much else that is ours", "give a narrower pattern", "usage", EXIT_USAGE
        )


def _subject(count: int) -> str:
    return f"purge: {plural(count, 'record')}"


def _stays(history: History, found: Found) -> Iterator[Learning]:
    """A learning says in other words what its signals said."""
    gone = set(found.records)
    for learning in history.learnings.values():
        if learning["id"] not in gone and not gone.isdisjoint(learning["signals"]):
            yield learning


def _touched(snapshot: Snapshot, wish: Wish) -> frozenset[str]:
    """Learnings of which anything goes: the record as it was approved, or a decision about it."""
    told = (one for one in snapshot.decided.values() if one["id"].startswith(("LRN-", "DEC-")))
    goes = (one for one in told if one["id"] in wish.ids or _says(one, wish.sought))
    return frozenset(one["subject"] if one["id"].startswith("DEC-") else one["id"] for one in goes)


def _in_force(history: History, wish: Wish, touched: Collection[str]) -> Iterator[Learning]:
    """Those that have to go: `touched`, or as they read now."""
    for learning in history.in_force():
        if learning["id"] in touched or _says(learning, wish.sought):
            yield learning


def _says(record: Mapping[str, Any], sought: Sought) -> bool:
    try:
        data = records.emit(record)
    except RecordError:  # a hand wrote what we would not, such as quotes that are too many once each is escaped
        data = json.dumps(record).encode()
    return sought.in_bytes(data)


def _back(sitting: Sitting, history: History, wish: Wish, touched: Collection[str]) -> list[Learning]:
    """What is in force when all of it was reverted, and is not now; one may bring back another that has to go, too."""
    made: list[Decision] = []
    before = {one["id"] for one in history.in_force()}
    while learning := next(_in_force(history, wish, touched), None):
        approval = next(one for one in history.decisions if one["id"] == learning["decision"])
        made += revert.reverted(sitting, revert.together(history, approval), utc_precise())
        history = revert.with_decisions(sitting, made)
    return [one for one in history.in_force() if one["id"] not in before]


def _there(sitting: Sitting, learning: Learning) -> Sitting:
    """Where its file is, if that is anywhere on this machine."""
    about = [one for one in sitting.scan.history.decisions if one["id"] == learning["decision"]]
    return elsewhere.moved_to(sitting, about)


def _away(learning: Learning) -> str:
    project = learning["project"] or {"name": ""}
    return f"'{learning['target']['path']}' of the project '{project['name']}', which is not here: {learning['id']}"


def _named(store: Store, wish: Wish) -> Iterator[str]:
    for tip in forgetting.branches(store):
        if wish.sought.in_text(tip.ref):
            yield f"'{tip.ref}', which is called so: rename it"


def _unreached(store: Store, env: Mapping[str, str]) -> Iterator[str]:
    remotes = store.git.run("remote").out.decode("utf-8", "replace").split()
    if remotes:
        yield f"the remote '{remotes[0]}', until the next 'reflect-git sync' and the host's own clean-up"
    yield "other clones of the store, until they sync"
    yield "commits of the projects' own repositories"
    yield f"transcripts of Claude Code below '{paths.projects_dir(env)}'"


def carry_out(store: Store, env: Mapping[str, str], read: Read, proposal: Proposal, by: By, folder: str) -> Done:
    """Revert what is in force, then take it out of all history."""
    wish = proposal.wish
    before = {one for listed in _about(read(store)).values() for one in listed}
    written = make_way(store, env, read, wish, by, folder)
    with store.locked(WAIT):
        sweep.finish_interrupted(store)
        inbox.commit_all(store)
        about = _about(read(store))
        found = purging.look(store, wish.sought, wish.ids, about)
        # What took its rules out of their files a moment ago goes with them, and is not told of.
        own = {one for listed in about.values() for one in listed} - before
        told = tuple(one for one in found.records if one not in own)
        number, new, marks = _announced(store, found)
        commit = purging.carry_out(store, found, wish.sought, marks, new, _subject(len(told)))
    learnings_index.write(store, read(store))
    return Done(commit, number, told, tuple(purging.remains(store, wish.sought)), written)


def _about(snapshot: Snapshot) -> dict[str, list[str]]:
    """Learning → decisions about it, which go with it."""
    found: dict[str, list[str]] = {}
    for identity, made in snapshot.decided.items():
        if identity.startswith("DEC-") and made["subject"].startswith("LRN-"):
            found.setdefault(made["subject"], []).append(identity)
    return found


def make_way(store: Store, env: Mapping[str, str], read: Read, wish: Wish, by: By, folder: str) -> list[Written]:
    """Rules leave their files, one after another: what one replaced comes back with its revert, and may have to go."""
    written: list[Written] = []
    for _ in range(_ROUNDS):
        snapshot = read(store)
        # Asked anew each time: the revert before is a decision, too, and names who made it.
        learning = next(iter(standing(snapshot, wish)), None)
        if learning is None:
            return written
        sitting = _there(review.sit(store, env, snapshot, folder, everything=True), learning)
        chosen = revert.find(sitting, learning["id"])
        done = revert.carry_out(sitting, revert.propose(sitting, chosen, revert.Wanted(force=True)), by)
        written.append((sitting, done))
    raise ReflectError("rules come back as others are reverted", "revert them one by one", code="failed")


def _announced(store: Store, found: Found) -> tuple[int, dict[str, bytes], list[str]]:
    """The epoch, the files that say on main what is gone, and their marks."""
    marks = epoch.marks_of(found.records, found.blobs, found.mirrors)
    number, now = epoch.following(store.git.tree(MAIN, PURGES)), utc()
    new = {}
    for start in range(0, max(1, len(marks)), epoch.MOST_MARKS):
        made = Purge(number, now, store.machine, tuple(marks[start : start + epoch.MOST_MARKS]))
        new[epoch.path_for(number, _name())] = epoch.emit(made)
    return number, new, marks


def _name() -> str:
    return "".join(ALPHABET[byte % 32] for byte in os.urandom(8))
