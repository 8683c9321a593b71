"""Group failures into incidents: signals and tally lines with the same fingerprint.

Nothing is stored about an incident but decisions: `muted` and `rootcause`. Its figures are computed each time. A cache
keeps the fingerprints of signals; it is deleted when signals expire, because it contains words of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reflect_git import __version__
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.memory import fingerprint
from reflect_git.platform import files
from reflect_git.records import json_form
from reflect_git.records.history import session_hash
from reflect_git.records.ids import plural, utc_precise
from reflect_git.store import api
from reflect_git.store.expiry import CANDIDATE_CACHE_PREFIX, INCIDENT_TYPE_PREFIX

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Signal
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

KNOWN_AFTER = 2  # sessions: a failure in one session may be work in progress
_CACHE = f"{CANDIDATE_CACHE_PREFIX}incidents"
_REPORTED = "incidents"
_FIELDS = {"Read": "file_path", "Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path", "WebFetch": "url"}
_CACHE_LIMIT = 1 << 28
_ONCE, _MUTED, _LIKE_MUTED = 0.25, 0.1, 0.5


@dataclass(frozen=True)
class Incident:
    """Failures with one cause.

    `cause` is empty when every signal has expired. `muted` is the id of the decision that muted it. `rule` covers it
    since `rule_since`, and `recurrences` counts the sessions in which it happened after that.
    """

    key: str
    kind: str
    cause: str
    count: int
    sessions: int
    first: str
    last: str
    machines: tuple[str, ...]
    agents: tuple[str, ...]
    projects: tuple[str, ...]
    signals: tuple[str, ...]
    muted: str = ""
    rule: str = ""
    rule_since: str = ""
    recurrences: int = 0
    root_causes: tuple[str, ...] = ()
    weight: float = 0.0


_SECONDS = len("2026-02-11T10:00:00")


@dataclass
class _Group:
    """The occurrences of one incident while they are collected."""

    kind: str
    cause: str = ""
    times: list[tuple[str, str]] = field(default_factory=list)  # (time, session)
    machines: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    projects: set[str] = field(default_factory=set)
    signals: list[str] = field(default_factory=list)


def fingerprint_of(signal: Mapping[str, Any]) -> fingerprint.Fingerprint:
    """Return the fingerprint of a stored failure, from its tool, what was tried, and the error."""
    tags, content = signal["tags"], str(signal["content"])
    tool = tags[0] if tags else "tool"
    if content.startswith("loop stopped"):
        return fingerprint.fingerprint("loop", {}, content.partition(": ")[2] or content)
    tried = content.removeprefix(f"{tool} failed").removeprefix(": ")
    if tried == content:  # `npm test` failed twice: …
        tried = content.partition("` failed twice: ")[0].lstrip("`")
    given = {"command" if tool == "Bash" else _FIELDS.get(tool, "path"): tried}
    return fingerprint.fingerprint(tool, given, str(signal["context"]) or content)


def get_incident(signal: Signal) -> tuple[str, str] | None:
    """Return key and kind of the incident that a failure belongs to; None for noise. For tallies."""
    found = fingerprint_of(signal)
    return None if found.noise else (found.key, found.kind)


def load_incidents(store: Store, scan: Scan, project: str = "") -> list[Incident]:
    """Return all incidents, the heaviest first. `project` is a key or a name; then only what happened there counts."""
    groups = _collect(store, scan, project)
    history = scan.history
    muted = find_muted(history)
    causes = find_root_causes(history)
    rules = _rules_by_signal(history)
    quiet = {groups[key].cause.partition(" ")[0] for key in muted if key in groups} - {"other", ""}
    found = [_incident(key, group, muted, causes, rules, quiet) for key, group in groups.items()]
    return sorted(found, key=lambda one: (one.weight, one.last, one.key), reverse=True)


def count_sessions_since(store: Store, scan: Scan, since: Mapping[str, str]) -> dict[str, int]:
    """Return incident → sessions in which it happened after a time. `since`: the time for each key."""
    groups = _collect(store, scan, "")
    return {
        key: len({session for time, session in groups[key].times if time[:_SECONDS] > moment[:_SECONDS][: len(time)]})
        for key, moment in since.items() if key in groups
    }  # fmt: skip


def refresh_cache(store: Store, scan: Scan) -> None:
    """Compute the fingerprints of new failures, so that the next command need not."""
    _marks(store, scan, _failures(scan))


def _failures(scan: Scan) -> list[int]:
    return [row for row in scan.rows if scan.columns["type"][row] == "failure"]


def _collect(store: Store, scan: Scan, project: str) -> dict[str, _Group]:
    """Return key → occurrences, from signals and from the tallies of expired ones."""
    columns, rows = scan.columns, _failures(scan)
    marks = _marks(store, scan, rows)
    names = {one["key"]: one["name"] or one["key"] for one in columns["project"] if one}
    wanted = {key for key, name in names.items() if project in (key, name)} | {project}
    hashes: dict[str, str] = {}
    groups: dict[str, _Group] = {}
    for tally in scan.history.tallies:
        for key, kind, where, day, session, _ in tally["lines"]:
            if kind.startswith(INCIDENT_TYPE_PREFIX) and (not project or where in wanted):
                group = groups.setdefault(key, _Group(kind.removeprefix(INCIDENT_TYPE_PREFIX)))
                group.times.append((day, session))
                group.machines.add(tally["machine"])
                group.projects.update([names.get(where, where)] if where else [])
    for row in rows:
        identity, place = columns["id"][row], columns["project"][row]
        key, kind, cause, agent = marks[identity]
        if not key or (project and (place is None or place["key"] not in wanted)):
            continue
        group = groups.setdefault(key, _Group(kind))
        group.cause = group.cause or cause
        name = columns["session_id"][row] or identity
        session = hashes.get(name) or hashes.setdefault(name, session_hash(name))
        group.times.append((columns["timestamp"][row], session))
        group.machines.add(columns["machine"][row])
        group.agents.update([agent] if agent else [])
        group.projects.update([names[place["key"]]] if place else [])
        group.signals.append(identity)
    return groups


def _incident(
    key: str, group: _Group, muted: Mapping[str, str], causes: Mapping[str, Sequence[Decision]],
    rules: Mapping[str, tuple[str, str]], quiet: set[str],
) -> Incident:  # fmt: skip
    sessions = {session for _, session in group.times}
    behind = [*group.signals, *(str(made["meta"].get("proposed", "")) for made in causes.get(key, ()))]
    rule, since = min((rules[one] for one in behind if one in rules), key=lambda one: one[1], default=("", ""))
    # A tally knows only the day: the day of the approval itself is not counted.
    later = {session for time, session in group.times if rule and time > since[: len(time)]}
    weight = len(sessions) * (_ONCE if len(sessions) < KNOWN_AFTER else 1.0)
    if key in muted:
        weight *= _MUTED
    elif group.cause.partition(" ")[0] in quiet:
        weight *= _LIKE_MUTED
    times = sorted(time for time, _ in group.times)
    return Incident(
        key, group.kind, group.cause, len(times), len(sessions), times[0], times[-1], tuple(sorted(group.machines)),
        tuple(sorted(group.agents)), tuple(sorted(group.projects)), tuple(group.signals), muted.get(key, ""), rule,
        since, len(later), tuple(made["id"] for made in causes.get(key, ())), round(weight, 2),
    )  # fmt: skip


def find_muted(history: History) -> dict[str, str]:
    """Return the key of each muted incident and the decision that muted it."""
    return {
        str(made["meta"].get("key", made["subject"])): made["id"]
        for made in history.decisions
        if made["kind"] == "muted" and made["id"] not in history.void_decisions
    }


def find_root_causes(history: History) -> dict[str, list[Decision]]:
    """Return the root causes that were recorded for each incident, oldest first."""
    found: dict[str, list[Decision]] = {}
    for made in history.decisions:
        if made["kind"] == "rootcause" and made["id"] not in history.void_decisions:
            found.setdefault(made["subject"], []).append(made)
    return found


def _rules_by_signal(history: History) -> dict[str, tuple[str, str]]:
    """Return signal → (rule, time of its approval) for the rules in force."""
    found: dict[str, tuple[str, str]] = {}
    for rule in sorted(history.get_rules_in_force(), key=lambda one: one["timestamp"], reverse=True):
        for identity in rule["signals"]:
            found[identity] = rule["id"], rule["timestamp"]
    return found


def _stamp() -> str:
    """Return a mark that changes with the program and its table of causes."""
    sizes = [os.stat(path) for path in (fingerprint.__file__, fingerprint.TABLE)]
    return f"{__version__} {' '.join(f'{one.st_size}:{one.st_mtime_ns}' for one in sizes)}"


def _marks(store: Store, scan: Scan, rows: Sequence[int]) -> dict[str, list[str]]:
    """Return signal → [key, kind, cause, agent] from the cache, after adding what is new."""
    path = store.private_path("cache", _CACHE)
    stamp = _stamp()
    known: dict[str, list[str]] = {}
    try:
        kept = json_form.loads(files.read_if_exists(path, _CACHE_LIMIT) or b"{}")
        known = kept["marks"] if kept.get("stamp") == stamp else {}
    except (ValueError, RecursionError, AttributeError, KeyError):
        pass
    ids = scan.columns["id"]
    new = [row for row in rows if ids[row] not in known]
    for signal in scan.get_signals(new) if new else ():
        found = fingerprint_of(signal)
        known[signal["id"]] = [found.key, found.kind, found.cause, str(signal["meta"].get("agent", ""))]
    if new:
        present = {ids[row] for row in rows}
        marks = {identity: mark for identity, mark in known.items() if identity in present}
        files.write_atomic(path, json_form.dumps({"stamp": stamp, "marks": marks}), sync=False)
    return known


def find_incident(incidents: Iterable[Incident], prefix: str) -> Incident:
    """Return the incident whose key starts with `prefix`."""
    wanted = prefix.strip().lower()
    matches = [one for one in incidents if wanted and one.key.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise ReflectError(f"no incident '{prefix}'", "list them with 'reflect-git incidents --all'", "unknown-id")
    some = ", ".join(one.key for one in matches[:5]) + (", …" if len(matches) > 5 else "")
    raise ReflectError(f"'{prefix}' is the beginning of {len(matches)} keys", f"one of: {some}", "ambiguous-id")


def mute(store: Store, incidents: Sequence[Incident], by: DecisionAuthor, reason: str = "") -> tuple[list[str], str]:
    """Record that incidents need no attention: one decision each, one commit; return their ids."""
    for one in incidents:
        if one.muted:
            hint = f"to undo that: reflect-git incidents mute --unmute {one.key}"
            raise ReflectError(f"'{one.key}' is already muted", hint, "muted", EXIT_USAGE)
    now = utc_precise()
    made = [
        api.build_decision(
            store, "muted", one.key, by, now, reason=reason, meta={"key": one.key, "sessions": one.sessions}
        )
        for one in incidents
    ]
    return [one["id"] for one in made], api.commit_records(store, made, f"mute: {_title(incidents)}", {})


def unmute(store: Store, incidents: Sequence[Incident], by: DecisionAuthor, reason: str = "") -> tuple[list[str], str]:
    """Revert the decisions that muted incidents: one decision each, one commit; return their ids."""
    for one in incidents:
        if not one.muted:
            raise ReflectError(f"'{one.key}' is not muted", "see 'reflect-git incidents --all'", "muted", EXIT_USAGE)
    now = utc_precise()
    made = [
        api.build_decision(store, "reverted", one.key, by, now, reason=reason, reopens=one.muted, meta={"key": one.key})
        for one in incidents
    ]
    reverted = {"Reverts": [one.muted for one in incidents]}
    return [one["id"] for one in made], api.commit_records(store, made, f"revert: {_title(incidents)}", reverted)


def _title(incidents: Sequence[Incident]) -> str:
    """Return what a commit is about: keys only, because main is shared and nobody approved the text of a failure."""
    return incidents[0].key if len(incidents) == 1 else plural(len(incidents), "incident")


def find_new(store: Store, incidents: Iterable[Incident]) -> list[Incident]:
    """Return the incidents that reached their second session and were not reported yet; no muted or covered ones."""
    reported = _reported(store)
    return [
        one
        for one in incidents
        if one.sessions >= KNOWN_AFTER and not one.muted and not one.rule and one.key not in reported
    ]


def mark_reported(store: Store, incidents: Iterable[Incident]) -> None:
    """Remember on this machine that these incidents were reported."""
    keys = dict.fromkeys([*_reported(store), *(one.key for one in incidents)])
    files.write_atomic(store.private_path(_REPORTED), "".join(f"{key}\n" for key in keys).encode("ascii"))


def _reported(store: Store) -> list[str]:
    return (files.read_if_exists(store.private_path(_REPORTED), 1 << 24) or b"").decode("ascii", "replace").split()
