"""List the recorded sessions in order, and the sessions in which each key was seen.

Unattended sessions are left out, because nobody could correct anything in them. Expired signals count by their tallies.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from reflect_git.records.history import session_hash
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reflect_git.records.history import History
    from reflect_git.store.reading.reader import Scan

BY_HITS = "hits"  # a baseline that counts calls which a matcher matches; others count what the person said
_SECOND = len("2026-02-11T10:00:00")
NO_PROJECT = "-"  # of a session outside of any project
_NEW_TOKENS = ("input", "output", "cache_write")  # what is read from the cache was counted when it was written
_NO_KEYS = "summary"  # the type of signals that describe a whole session


class RecordedSession(NamedTuple):
    """The figures of one session, from all its exposure records.

    `name`: its hash. `typed`: messages of the person. `tokens`: read for the first time and written; None if unknown.
    `versions`: of each file with rules of ours that it loaded.
    """

    start: str
    project: str
    model: str | None
    client: str | None
    loaded: frozenset[str]
    hits: frozenset[str]
    name: str = ""
    typed: int = 0
    corrections: int = 0
    failures: int = 0
    interruptions: int = 0
    tokens: int | None = None
    versions: Mapping[str, int] = {}


class SessionEvents:
    """All sessions, oldest first, and for each key the numbers of the sessions in which it was seen."""

    def __init__(self, scan: Scan, aliases: Mapping[str, str]) -> None:
        found: dict[str, RecordedSession] = {}
        for one in scan.other_records.values():
            if one["id"].startswith("EXP-") and one["attended"]:
                made = _read_session(one, aliases)
                known = found.get(one["session"])
                found[one["session"]] = _merge(known, made) if known else made
        order = sorted(found, key=lambda name: (found[name].start, name))
        self.sessions = [found[name] for name in order]
        self.starts = [one.start[:_SECOND] for one in self.sessions]
        self.events = _find_events(scan, {name: number for number, name in enumerate(order)})

    def count_before(self, moment: str) -> int:
        """Return how many sessions began before a moment, or in the same second."""
        return bisect_right(self.starts, moment[:_SECOND])

    def find_events(self, keys: Iterable[str]) -> list[int]:
        """Return the sessions in which one of these keys was seen."""
        return sorted({number for key in keys for number in self.events.get(key, ())})

    def count_baseline(self, keys: Iterable[str], project: str, moment: str) -> dict[str, Any]:
        """Count the sessions before a moment in which a rule could apply, and those with an event.

        They are the sessions of one project if its keys were seen in one project only. `project`: that of the rule, if
        nothing was seen yet; "" for all.
        """
        last = self.count_before(moment)
        events = self.find_events(keys)
        events = events[: bisect_left(events, last)]
        projects = {self.sessions[number].project for number in events} or {project}
        units = [one for one in self.sessions[:last] if len(projects) > 1 or projects <= {one.project, ""}]
        return {"since": units[0].start if units else None, "sessions": len(units), "events": len(events)}


def _read_session(one: Mapping[str, Any], aliases: Mapping[str, str]) -> RecordedSession:
    project = one["project"]["key"] if one["project"] else NO_PROJECT
    loaded = frozenset([rule for listed in one["rules"].values() for rule in listed])
    used = one.get("tokens")
    return RecordedSession(
        one["start"], aliases.get(project, project), one["model"], one["client"], loaded, frozenset(one["hits"]),
        one["session"], one["typed"], one["corrections"], sum(one["failures"].values()), one["interruptions"],
        sum(used.get(name, 0) for name in _NEW_TOKENS) if used else None, one.get("versions") or {},
    )  # fmt: skip


def _merge(one: RecordedSession, other: RecordedSession) -> RecordedSession:
    """Return a session that was resumed: each record has the figures of one part."""
    first, last = sorted((one, other), key=lambda each: each.start)
    known = [each.tokens for each in (one, other) if each.tokens is not None]
    return last._replace(
        start=first.start, loaded=one.loaded | other.loaded, hits=one.hits | other.hits,
        typed=one.typed + other.typed, corrections=one.corrections + other.corrections,
        failures=one.failures + other.failures, interruptions=one.interruptions + other.interruptions,
        tokens=sum(known) if known else None, versions={**first.versions, **last.versions},
    )  # fmt: skip


def _find_events(scan: Scan, numbers: Mapping[str, int]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for line in scan.history.tally_lines:
        number = numbers.get(line[4])
        if number is not None and line[1] != _NO_KEYS:
            found[line[0]].add(number)
    columns, known = scan.columns, dict[str, "int | None"]()
    for key, kind, session in zip(columns["key"], columns["type"], columns["session_id"], strict=True):
        if not session or kind == _NO_KEYS:
            continue
        if session not in known:
            known[session] = numbers.get(session_hash(session))
        number = known[session]
        if number is not None:
            found[key].add(number)
    return found


def find_keys(history: History, key_of: Mapping[str, str]) -> dict[str, set[str]]:
    """Map each rule, in force or not, to the keys of its decisions and of the signals that it answers.

    `key_of`: id → key of the signals that still exist.
    """
    found: dict[str, set[str]] = {identity: set() for identity in history.learnings}
    for made in history.decisions:
        rule = made["subject"] if made["subject"] in found else made["meta"].get("rule")
        if rule not in found:
            continue
        if made["key"]:
            found[rule].add(made["key"])
        signals: Sequence[str] = history.get_signals(made)
        found[rule].update(key_of[one] for one in signals if one in key_of)
    return found
