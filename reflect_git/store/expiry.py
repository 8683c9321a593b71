"""Delete signals after their lifetime. Their text is removed; a line in a tally records that they existed.

A new generation of the inbox branch starts with the remaining signals, and the old branch is deleted. No branch, reflog
or backup holds the expired signals then, so maintenance can remove them from the object store.
"""

from __future__ import annotations

import time

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER
from reflect_git.records import yaml_form
from reflect_git.records.history import session_hash
from reflect_git.records.ids import parse_utc, plural, random_id, utc
from reflect_git.records.schema import VERSION
from reflect_git.store import copies, inbox, index
from reflect_git.store.main import journal, main_branch, ref_updates
from reflect_git.store.repository import INBOX, get_record_id, get_record_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any, Optional

    from reflect_git.records.schema import Signal, Tally
    from reflect_git.store.reading.reader import Snapshot
    from reflect_git.store.repository import Store

    # Returns the key and kind of the incident that a failure belongs to, or None.
    GetIncident = Callable[[Signal], Optional[tuple[str, str]]]

DAY = 86400
DEFAULT_TTL = 14
UNSEEN_TTL = 90
INCIDENT_TYPE_PREFIX = "incident/"  # of the type in the second tally line of a failure, before the kind
CANDIDATE_CACHE_PREFIX = "candidates-"  # prefix of caches that contain text of signals
_MAX_TALLY_LINES = 400  # of a tally, which stays below the size limit of a record
_USER_TRUST = ("user_typed", "user_feedback")


def get_ttl_days(store: Store) -> int:
    """Return the lifetime of a signal in days: reflect.ttl."""
    text = store.get_setting("reflect.ttl", str(DEFAULT_TTL))
    return max(1, int(text)) if text.isdigit() else DEFAULT_TTL


def get_expiry_time(signal: Signal, ttl: int, shown: Collection[str], first_seen: Optional[float] = None) -> float:
    """Return when a signal expires: `ttl` days after it was stored, or first seen if its own date is wrong.

    A promoted signal does not expire. A strong one in the user's own words waits until a person has seen it.
    """
    if signal["status"] == "promoted":
        return float("inf")
    stored = parse_utc(signal["stored"]) if first_seen is None else first_seen
    waits = signal["trust"] in _USER_TRUST and signal["confidence"] >= 2 and signal["status"] == "captured"
    days = max(ttl, UNSEEN_TTL) if waits and signal["id"] not in shown else ttl
    return stored + days * DAY


def find_expired(store: Store, snapshot: Snapshot, now: float, first_seen: Mapping[str, float]) -> list[Signal]:
    """List the expired signals of this machine."""
    ttl, seen = get_ttl_days(store), load_shown_ids(store)
    own = set(list_own_signals(store))
    return [
        s for s in snapshot.signals if s["id"] in own and get_expiry_time(s, ttl, seen, first_seen.get(s["id"])) <= now
    ]


def find_misdated(store: Store, snapshot: Snapshot, now: float) -> list[str]:
    """List signals dated before the store was created, or in the future: the clock was wrong, their age is unknown."""
    born = parse_utc(store.get_setting("reflect.born"))
    stored = ((signal["id"], parse_utc(signal["stored"])) for signal in snapshot.signals)
    return [identity for identity, when in stored if when < born - DAY or when > now + DAY]


def load_shown_ids(store: Store) -> set[str]:
    """Return the ids that a person has seen in a review on this machine."""
    text = files.read_if_exists(store.private_path("shown"), 1 << 24) or b""
    return set(text.decode("ascii", "replace").split())


def list_own_signals(store: Store) -> list[str]:
    """List the ids of the signals in this machine's inbox."""
    return [get_record_id(path) for path in store.git.tree(inbox.ensure_inbox(store), "signals") if get_record_id(path)]


def expire_signals(
    store: Store, gone: list[Signal], now: float, get_incident: Optional[GetIncident] = None,
    digests: Collection[str] = (),
) -> None:  # fmt: skip
    """Delete these signals and digests. The caller holds the lock, and nothing is pending or interrupted."""
    if not gone and not digests:
        return
    old = inbox.ensure_inbox(store)
    if store.git.get_head_branch() == old:  # the user has it checked out, so it cannot be replaced now
        store.log(f"'{old}' is checked out: {plural(len(gone), 'signal')} left for now")
        return
    number = int(old.rpartition("/")[2]) + 1
    facts = {
        "old": old,
        "new": f"{INBOX}{store.machine}/{number:04d}",
        "gone": [*(signal["id"] for signal in gone), *digests],
        "tallies": {
            get_record_path(tally["id"]): yaml_form.emit(tally).decode("utf-8")
            for tally in build_tallies(store, gone, now, get_incident)
        },
    }
    standing = journal.begin(store, "roll", (f"{facts['old']}.lock", f"{facts['new']}.lock", "packed-refs.lock"), facts)
    finish_expiry(store, standing, facts)


def finish_expiry(store: Store, path: str, facts: Mapping[str, Any]) -> None:
    """Delete the signals, or continue after a kill: every step knows whether it was done.

    If not even the first step succeeds, the journal is removed: captures must not wait until the user's git is ready.
    """
    tallies = {name: text.encode("utf-8") for name, text in facts["tallies"].items()}
    if tallies:  # digests leave none
        try:
            subject = f"roll: {_count_gone(facts['gone'])} went"
            main_branch.commit_files(store, tallies, f"{subject}\n\nMachine: {store.machine}\n")
        except (ReflectError, OSError):
            if not main_branch.has_files(store, tallies):
                journal.end(path)
            raise
    _replace_inbox(store, path, facts)


def _count_gone(gone: Collection[str]) -> str:
    signals = sum(identity.startswith("SIG-") for identity in gone)
    digests = len(gone) - signals
    parts = [plural(signals, "signal")] if signals or not digests else []
    return ", ".join([*parts, *([plural(digests, "digest")] if digests else [])])


def _replace_inbox(store: Store, standing: str, facts: Mapping[str, Any]) -> None:
    """Replace the inbox branch by a new generation without the expired signals."""
    refs = store.git.refs(f"{INBOX}{store.machine}/")
    if facts["old"] in refs:
        if facts["new"] not in refs:
            _start_generation(store, refs[facts["old"]], facts["new"], facts["gone"])
        ref_updates.update(store, f"delete {facts['old']} {refs[facts['old']]}\n")
    inbox.cache_current_ref(store, facts["new"])
    copies.delete_copies(store, facts["gone"])
    inbox.remove_from_stored(store, facts["gone"])
    for name in files.list_names(store.private_path("cache")):
        if name == "inbox-rows" or name.startswith(CANDIDATE_CACHE_PREFIX):
            files.remove(store.private_path("cache", name))
    index.delete(store)
    journal.end(standing)


def _start_generation(store: Store, old: str, ref: str, gone: list[str]) -> None:
    """Commit the old tree without the expired signals, with no parent."""
    message = f"roll: {_count_gone(gone)} went, a new generation\n\nMachine: {store.machine}\n".encode()
    tree = store.git.resolve(f"{old}^{{tree}}")
    stream = [
        f"commit {ref}\ncommitter {COMMITTER} {max(0, int(time.time()))} +0000\ndata {len(message)}\n".encode(),
        message,
        f'\nM 040000 {tree} ""\n'.encode(),
        *(f"D {get_record_path(identity)}\n".encode() for identity in gone),
        b"\ndone\n",
    ]
    ref_updates.fast_import(store, ref, stream)


def build_tallies(
    store: Store, gone: list[Signal], now: float, get_incident: Optional[GetIncident] = None
) -> list[Tally]:  # fmt: skip
    """Return the tallies of these signals: key, type, project, day, session hash, trust; no text.

    A failure that belongs to an incident gets a second line with the incident's key. It has six texts like the others,
    because older programs refuse a line with more.
    """
    lines = []
    for signal in gone:
        rest = [
            signal["project"]["key"] if signal["project"] else "", signal["timestamp"][:10],
            session_hash(signal["session_id"] or signal["id"]), signal["trust"],
        ]  # fmt: skip
        lines.append([signal["key"], signal["type"], *rest])
        found = get_incident(signal) if get_incident and signal["type"] == "failure" else None
        if found:
            lines.append([found[0], f"{INCIDENT_TYPE_PREFIX}{found[1]}", *rest])
    today = utc(now)
    return [
        {
            "id": random_id("TLY", today), "version": VERSION, "machine": store.machine, "day": today[:10],
            "lines": lines[start : start + _MAX_TALLY_LINES],
        }
        for start in range(0, len(lines), _MAX_TALLY_LINES)
    ]  # fmt: skip
