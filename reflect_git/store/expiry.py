"""Signals go after their time; what they said is forgotten, that they were there is kept as a line in a tally.

A new generation of the inbox starts with the tree of the living and the old branch is deleted: with no branch, reflog
or backup that holds them, upkeep can really take them out of the object store.
"""

from __future__ import annotations

import time

from reflect_git.adapters import files, records
from reflect_git.adapters.git import NOBODY
from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import random_id, seconds_of, utc
from reflect_git.model.schema import VERSION
from reflect_git.store import copies, inbox, journal, keeping, mainline, refwrites
from reflect_git.store.fold import session_hash
from reflect_git.store.layout import id_in, path_of
from reflect_git.store.repository import INBOX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, Optional

    from reflect_git.model.schema import Signal, Tally
    from reflect_git.store.reading import Snapshot
    from reflect_git.store.repository import Store

DAY = 86400
TTL = 14
UNSEEN_TTL = 90
GATHERED = "candidates-"  # how caches begin that hold what signals say
_LINES = 400  # of a tally: stays below the size of a record
_PRECIOUS_TRUST = ("user_typed", "user_feedback")


def lifetime(store: Store) -> int:
    """Days a signal lives: reflect.ttl."""
    text = store.setting("reflect.ttl", str(TTL))
    return max(1, int(text)) if text.isdigit() else TTL


def goes_on(signal: Signal, ttl: int, shown: Collection[str], first_seen: Optional[float] = None) -> float:
    """The moment at which a signal goes: `ttl` days after it was stored, or first seen if its own date cannot be right.

    A promoted one stays; a sure one in the user's own words waits until a person has seen it.
    """
    if signal["status"] == "promoted":
        return float("inf")
    stored = seconds_of(signal["stored"]) if first_seen is None else first_seen
    waits = signal["trust"] in _PRECIOUS_TRUST and signal["confidence"] >= 2 and signal["status"] == "captured"
    days = max(ttl, UNSEEN_TTL) if waits and signal["id"] not in shown else ttl
    return stored + days * DAY


def expired(store: Store, snapshot: Snapshot, now: float, first_seen: Mapping[str, float]) -> list[Signal]:
    """Signals of this machine whose time is over."""
    ttl, seen = lifetime(store), shown(store)
    own = set(own_signals(store))
    return [s for s in snapshot.signals if s["id"] in own and goes_on(s, ttl, seen, first_seen.get(s["id"])) <= now]


def undated(store: Store, snapshot: Snapshot, now: float) -> list[str]:
    """Signals stored before the store was made, or tomorrow: the clock was wrong, and their age is not known."""
    born = seconds_of(store.setting("reflect.born"))
    stored = ((signal["id"], seconds_of(signal["stored"])) for signal in snapshot.signals)
    return [identity for identity, when in stored if when < born - DAY or when > now + DAY]


def shown(store: Store) -> set[str]:
    """Ids a person has seen in a review on this machine."""
    text = files.read_if_there(store.private_path("shown"), 1 << 24) or b""
    return set(text.decode("ascii", "replace").split())


def own_signals(store: Store) -> list[str]:
    return [id_in(path) for path in store.git.tree(inbox.start_inbox(store), "signals") if id_in(path)]


def expire(store: Store, gone: list[Signal], now: float) -> None:
    """Let these signals go. The caller holds the lock, and nothing is pending or interrupted."""
    if not gone:
        return
    old = inbox.start_inbox(store)
    if store.git.checked_out() == old:  # the user looks at it; it cannot be taken from under their feet
        store.log(f"'{old}' is checked out: {plural(len(gone), 'signal')} left for now")
        return
    number = int(old.rpartition("/")[2]) + 1
    facts = {
        "old": old,
        "new": f"{INBOX}{store.machine}/{number:04d}",
        "gone": [signal["id"] for signal in gone],
        "tallies": {path_of(tally["id"]): records.emit(tally).decode("utf-8") for tally in tally_of(store, gone, now)},
    }
    standing = journal.begin(store, "roll", (f"{facts['old']}.lock", f"{facts['new']}.lock", "packed-refs.lock"), facts)
    finish(store, standing, facts)


def finish(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Let them go, or go on with it where a process died: every step knows whether it was done.

    If not even the first could be done, the journal goes: captures must not wait for it until the user's git is ready.
    """
    tallies = {name: text.encode("utf-8") for name, text in facts["tallies"].items()}
    try:
        mainline.record(
            store, tallies, f"roll: {plural(len(facts['gone']), 'signal')} went\n\nMachine: {store.machine}\n"
        )
    except (ReflectError, OSError):
        if not mainline.has(store, tallies):
            journal.end(path)
        raise
    _roll(store, path, facts)


def _roll(store: Store, standing: str, facts: Mapping[str, Any]) -> None:
    refs = store.git.refs(f"{INBOX}{store.machine}/")
    if facts["old"] in refs:
        if facts["new"] not in refs:
            _start_generation(store, refs[facts["old"]], facts["new"], facts["gone"])
        refwrites.update(store, f"delete {facts['old']} {refs[facts['old']]}\n")
    inbox.remember_current(store, facts["new"])
    copies.drop(store, facts["gone"])
    inbox.forget_stored(store, facts["gone"])
    for name in files.names_in(store.private_path("cache")):
        if name == "inbox-rows" or name.startswith(GATHERED):
            files.remove(store.private_path("cache", name))
    journal.end(standing)


def _start_generation(store: Store, old: str, ref: str, gone: list[str]) -> None:
    """A commit without a parent: the old tree less what is gone."""
    message = f"roll: {plural(len(gone), 'signal')} went, a new generation\n\nMachine: {store.machine}\n".encode()
    tree = store.git.resolve(f"{old}^{{tree}}")
    stream = [
        f"commit {ref}\ncommitter {NOBODY} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode(), message,
        f'\nM 040000 {tree} ""\n'.encode(), *(f"D {path_of(identity)}\n".encode() for identity in gone), b"\ndone\n",
    ]  # fmt: skip
    keeping.fast_import(store, ref, stream)


def tally_of(store: Store, gone: list[Signal], now: float) -> list[Tally]:
    """What is left: key, type, project, day, session hash, trust; no text."""
    lines = [
        [
            signal["key"], signal["type"], signal["project"]["key"] if signal["project"] else "",
            signal["timestamp"][:10], session_hash(signal["session_id"] or signal["id"]), signal["trust"],
        ]
        for signal in gone
    ]  # fmt: skip
    today = utc(now)
    return [
        {
            "id": random_id("TLY", today), "version": VERSION, "machine": store.machine, "day": today[:10],
            "lines": lines[start : start + _LINES],
        }
        for start in range(0, len(lines), _LINES)
    ]  # fmt: skip
