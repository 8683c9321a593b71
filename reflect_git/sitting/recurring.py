"""Rules in force that do not work: the person says again what a rule says, or Claude runs what it forbids.

Evidence is counted by session, each once, from the moment at which the rule got its words. What a person may answer is
listed in `ANSWERS`; another answer is one more line there, a key in `cli/broken.py` and a command that carries it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.model.counts import plural
from reflect_git.model.ids import utc_precise
from reflect_git.model.tuples import NamedTuple
from reflect_git.store import memory
from reflect_git.store.fold import session_hash

if TYPE_CHECKING:
    from reflect_git.model.schema import By, Decision, Learning, Signal
    from reflect_git.sitting.review import Sitting

LAST = 5  # sessions that are looked at
AGAIN = 3  # broken sessions after "leave it" until it is asked once more
_SECOND = len("2026-02-11T10:00:00")
_CALLS_ALONE = 2  # sessions: one call that a matcher met may have been right
_MOST = 50  # groups of signals that are looked at
_LONGEST = 300  # letters of a quote
_OWN_WORDS = ("user_typed", "user_feedback")
ANSWERS = {
    "sharpen": "reflect-git edit {} --text TEXT",
    "retire": "reflect-git revert {}",
    "leave": "reflect-git dismiss {}",
}


class Broken(NamedTuple):
    """A rule, in how many of the last sessions it was broken, and what the person said then, the newest first.

    `calls` are the figures of sessions in which Claude ran what the rule forbids.
    """

    rule: Learning
    broken: int
    sessions: int
    said: tuple[Signal, ...]
    calls: tuple[str, ...]
    last: str

    @property
    def headline(self) -> str:
        return f"Claude broke this rule in {self.broken} of the last {plural(self.sessions, 'session')}"

    @property
    def quotes(self) -> list[str]:
        """The person's words, each once."""
        said = (" ".join(str(one["context"] or one["content"]).split()) for one in self.said)
        return list(dict.fromkeys(one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…" for one in said))

    def as_json(self) -> dict[str, Any]:
        rule = self.rule
        return {
            "rule": rule["id"], "text": rule["text"], "target": rule["target"]["path"], "broken": self.broken,
            "sessions": self.sessions, "last": self.last, "said": self.quotes,
            "signals": [one["id"] for one in self.said],
            "answers": {name: command.format(rule["id"]) for name, command in ANSWERS.items()},
        }  # fmt: skip


def find_broken(sitting: Sitting) -> list[Broken]:
    """Return the rules of this place that need an answer, the one that was broken last first."""
    history = sitting.scan.history
    rules = {
        one["id"]: one
        for one in history.in_force()
        if sitting.place.reaches(one) and one["target"]["kind"] != "improvements"  # Claude does not read those
    }
    since = _since(rules, history.decisions, history.void)
    said = _repeated(sitting, since)
    exposures = [one for one in sitting.scan.others.values() if _is_exposure_here(sitting, one)] if rules else []
    found = [_judge(sitting, rule, since[name], said.get(name, []), exposures) for name, rule in rules.items()]
    asked = [one for one in found if one and not _is_left(sitting, one, exposures)]
    return sorted(asked, key=lambda one: one.last, reverse=True)


def find_one(sitting: Sitting, prefix: str) -> Broken:
    """Return the broken rule that an id, or the beginning of one, names."""
    listed = {one.rule["id"]: one for one in find_broken(sitting)}
    known = [*sitting.scan.columns["id"], *sitting.scan.others]
    try:
        return listed[memory.find(listed, prefix)]
    except ReflectError:
        identity = memory.find(known, prefix)
        hint = f"to reword it: reflect-git edit {identity}; to take it back: reflect-git revert {identity}"
        raise ReflectError(f"nothing is asked about '{identity}'", hint, "no-candidate") from None


def _since(rules: Iterable[str], decisions: Iterable[Decision], void: set[str]) -> dict[str, str]:
    """When each rule got the words it has: what came before says nothing about them."""
    found = dict.fromkeys(rules, "")
    for made in decisions:
        if made["subject"] in found and made["kind"] in ("approved", "amended") and made["id"] not in void:
            found[made["subject"]] = max(found[made["subject"]], made["timestamp"])
    return found


def _repeated(sitting: Sitting, since: Mapping[str, str]) -> dict[str, list[Signal]]:
    """Rule → what the person said since that the rule says."""
    columns = sitting.scan.columns
    rows = {identity: row for row, identity in enumerate(columns["id"])}
    found: dict[str, list[Signal]] = {}
    for candidate in sitting.gathered.recurrences[:_MOST]:
        rule = candidate.recurrence_of or ""
        wanted = [
            rows[one]
            for one in candidate.signals
            if rule in since and one in rows
            and columns["status"][rows[one]] == "captured" and columns["trust"][rows[one]] in _OWN_WORDS
            and _is_later(columns["timestamp"][rows[one]], columns["stored"][rows[one]], since[rule])
            and _is_here(sitting, columns["project"][rows[one]])
        ]  # fmt: skip
        found.setdefault(rule, []).extend(sitting.scan.whole(wanted))
    return {rule: sorted(said, key=lambda one: one["timestamp"], reverse=True) for rule, said in found.items()}


def _is_later(said: str, stored: str, since: str) -> bool:
    """Tell whether something was said after a decision. Clients note seconds and decisions have milliseconds, so within
    one second the time of storing tells."""
    return stored > since if said[:_SECOND] == since[:_SECOND] else said > since


def _is_here(sitting: Sitting, project: Mapping[str, str] | None) -> bool:
    return project is None or not sitting.place.keys or project["key"] in sitting.place.keys


def _is_exposure_here(sitting: Sitting, record: Mapping[str, Any]) -> bool:
    return str(record["id"]).startswith("EXP-") and _is_here(sitting, record["project"])


def _name(signal: Mapping[str, Any]) -> str:
    return session_hash(signal["session_id"] or signal["id"])


def _evidence(rule: str, since: str, said: Iterable[Signal], exposures: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Session → when the rule was last broken in it."""
    found: dict[str, str] = {}
    for signal in said:
        found[_name(signal)] = max(signal["timestamp"], found.get(_name(signal), ""))
    for one in exposures:
        if one["hits"].get(rule) and _had_it(one, rule, since):
            found[one["session"]] = max(one["end"], found.get(one["session"], ""))
    return found


def _had_it(exposure: Mapping[str, Any], rule: str, since: str) -> bool:
    """Began the session with the rule? Where nobody noted what it read, it is taken for granted."""
    read = exposure["rules"]
    return exposure["start"][:_SECOND] > since[:_SECOND] and (
        not read or any(rule in listed for listed in read.values())
    )


def _judge(
    sitting: Sitting, rule: Learning, since: str, said: list[Signal], exposures: list[Mapping[str, Any]]
) -> Broken | None:  # fmt: skip
    evidence = _evidence(rule["id"], since, said, exposures)
    if not evidence:
        return None
    sessions = dict(_sessions(sitting, rule, since, exposures))
    for name, moment in evidence.items():
        sessions[name] = max(moment, sessions.get(name, ""))
    last = sorted(sessions, key=lambda name: sessions[name])[-LAST:]
    broken = [name for name in last if name in evidence]
    if len(broken) < (1 if said else _CALLS_ALONE):
        return None
    calls = tuple(one["id"] for one in exposures if one["hits"].get(rule["id"]) and _had_it(one, rule["id"], since))
    return Broken(rule, len(broken), len(last), tuple(said), calls, max(evidence[name] for name in broken))


def _sessions(
    sitting: Sitting, rule: Learning, since: str, exposures: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """(Session, its end) of each session here that could have broken the rule, as far as anybody noted one."""
    columns, behind = sitting.scan.columns, set(rule["signals"])
    names = ("session_id", "id", "timestamp", "stored", "project")
    for name, identity, moment, stored, project in zip(*(columns[each] for each in names), strict=True):
        if _is_later(moment, stored, since) and name and identity not in behind and _is_here(sitting, project):
            yield session_hash(name), moment
    yield from ((one["session"], one["end"]) for one in exposures if _had_it(one, rule["id"], since))


def _is_left(sitting: Sitting, one: Broken, exposures: Iterable[Mapping[str, Any]]) -> bool:
    """Did a person say "leave it", and was it broken in fewer than three sessions since?"""
    history, rule = sitting.scan.history, one.rule["id"]
    left = [
        made["timestamp"]
        for made in history.decisions
        if made["kind"] == "dismissed" and made["meta"].get("rule") == rule and made["id"] not in history.void
    ]
    if not left:
        return False
    evidence = _evidence(
        rule, left[-1], [said for said in one.said if _is_later(said["timestamp"], said["stored"], left[-1])], exposures
    )
    return len(evidence) < AGAIN


def leave(sitting: Sitting, one: Broken, by: By, basis: Mapping[str, str] | None = None) -> tuple[list[str], str]:
    """Remember that the rule stays as it is: a decision for each thing that was said, one commit.

    Returns the ids of the decisions and of the commit.
    """
    by_key: dict[str, list[str]] = {}
    for signal in one.said:
        by_key.setdefault(signal["key"], []).append(signal["id"])
    project = one.rule["project"] if one.rule["scope"] != "global" else None
    meta: dict[str, Any] = {"rule": one.rule["id"], "projects": [project["key"]] if project else None}
    meta |= {"answer": dict(basis)} if basis else {}
    now, made = utc_precise(), []
    # Not the rule as a subject: a no to it would be a no to the signals behind it.
    for key, signals in by_key.items() or {"": [one.calls[-1]]}.items():
        said = {"signals": signals[1:], **meta}
        made.append(memory.decision(sitting.store, "dismissed", signals[0], by, now, key=key or None, meta=said))
    named = {"Signal-Id": [said["id"] for said in one.said][:20]}
    commit = memory.record(sitting.store, made, f"dismiss: {one.rule['id']} stays as it is", named)
    return [each["id"] for each in made], commit
