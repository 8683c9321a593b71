"""Load the sessions, approvals and events of a store, to judge its rules."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from reflect_git.candidates.session_events import BY_HITS, SessionEvents, find_keys
from reflect_git.effect.exposure import Approval, Record, Session
from reflect_git.effect.verdict import Count
from reflect_git.records.ids import utc
from reflect_git.records.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reflect_git.candidates.session_events import RecordedSession
    from reflect_git.effect.exposure import Judged
    from reflect_git.effect.verdict import Pooled
    from reflect_git.records.schema import Learning
    from reflect_git.store.reading.reader import Scan

RECENT_DAYS = 30
LATE, STORED = "late", "stored"
_UNREAD = "improvements"  # a kind of file that no session loads


class RuleEffect(NamedTuple):
    """A rule, its verdict, and what else is known about it.

    `baseline`: whether its counts before the approval were stored then, or are taken from records later. `hits`:
    sessions since the approval in which a call matched what the rule forbids. `since`: sessions since the approval,
    whether or not they loaded the rule. `recent`: as `judged`, with only the last 30 days after the approval.
    """

    rule: Learning
    judged: Judged
    baseline: str
    hits: int
    since: int
    recent: Judged


class Effects(NamedTuple):
    """All rules in any order, and their effect together."""

    rules: list[RuleEffect]
    pooled: Pooled | None


def judge_rules(scan: Scan, aliases: Mapping[str, str]) -> Effects:
    """Judge every rule that was ever approved. `aliases`: from each key of a project to its main one."""
    history = scan.history
    seen = SessionEvents(scan, aliases)
    keys = find_keys(history, dict(zip(scan.columns["id"], scan.columns["key"], strict=True)))
    stored = {made["subject"]: made["meta"].get("baseline") for made in history.decisions if made["kind"] == "approved"}
    hits: dict[str, list[int]] = {}
    for number, session in enumerate(seen.sessions):
        for identity in session.hits:
            hits.setdefault(identity, []).append(number)
    approvals, approved = [], set[str]()
    for identity, rule in history.learnings.items():
        approved |= keys[identity]
        if rule["target"]["kind"] != _UNREAD:
            approvals.append(_read_approval(rule, keys[identity], seen, aliases, stored.get(identity), hits))
    others = {key: sorted(numbers) for key, numbers in seen.events.items() if key not in approved}
    sessions = [Session(one.project, _setup_of(one), one.loaded) for one in seen.sessions]
    record = Record(sessions, approvals, others)
    judged, pooled = record.judge_all()
    recent = seen.count_before(utc(time.time() - RECENT_DAYS * 86400))
    starts = {one.learning: one.start for one in approvals}
    found = []
    for one in judged:
        start, rule = starts[one.learning], history.learnings[one.learning]
        later = sum(number >= start for number in hits.get(one.learning, ()))
        kind = STORED if stored.get(one.learning) else LATE
        since = len(seen.sessions) - start
        found.append(RuleEffect(rule, one, kind, later, since, record.count_recent(one, recent)))
    return Effects(found, pooled)


def _read_approval(
    rule: Learning, keys: Iterable[str], seen: SessionEvents, aliases: Mapping[str, str], stored: Any,
    hits: Mapping[str, list[int]],
) -> Approval:  # fmt: skip
    """Return the approval of a rule with its events.

    Calls that match the rule are counted only if they were counted before the approval as well: a person corrects
    fewer sessions than a matcher finds.
    """
    start = seen.count_before(rule["timestamp"])
    project = rule["project"]["key"] if rule["project"] and rule["scope"] != "global" else ""
    is_valid = isinstance(stored, dict) and all(type(stored.get(name)) is int for name in ("events", "sessions"))
    baseline = Count(stored["events"], stored["sessions"]) if is_valid else None
    if is_valid and stored.get("by") == BY_HITS:
        events = [number for number in hits.get(rule["id"], ()) if number >= start]
    else:
        events = seen.find_events(keys)
    return Approval(rule["id"], start, events, aliases.get(project, project), baseline)


def _setup_of(session: RecordedSession) -> str | None:
    """Return the model, and the client's version without its last part: there is a new one almost every day."""
    if not session.model:
        return None
    return f"{session.model} {'.'.join((session.client or '').split('.')[:2])}"
