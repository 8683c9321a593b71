"""Find rules in force that do not work: the person repeats them, or Claude runs what they forbid.

Evidence counts once per session, from the time the rule got its current wording. `ANSWERS` lists the possible answers.
To add one, add a line there, a key in `cli/review/broken_rules.py` and a command that carries it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git.errors import ReflectError
from reflect_git.records.history import session_hash
from reflect_git.records.ids import utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules.queue import as_queue
from reflect_git.store import api

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning, Signal
    from reflect_git.rules.context import Context
    from reflect_git.rules.guarding.guards import GuardPlan
    from reflect_git.rules.queue import Queue

EXAMINED_SESSIONS = 5  # sessions that are examined
SESSIONS_BEFORE_NEXT_QUESTION = 3  # broken sessions after "leave it" before asking again
_SECOND_LENGTH = len("2026-02-11T10:00:00")
_FRESH_START_KINDS = ("approved", "amended", "guarded")
_MIN_CALL_SESSIONS = 2  # sessions: a single matching call may have been justified
_MAX_GROUPS = 50  # groups of signals that are examined
_MAX_QUOTE_LENGTH = 300  # characters of a quote
_OWN_WORDS = ("user_typed", "user_feedback")
ANSWERS = {
    "sharpen": "reflect-git edit {} --text TEXT",
    "guard": "reflect-git guard {} --mode hint",
    "retire": "reflect-git revert {}",
    "leave": "reflect-git dismiss {}",
}


class BrokenRule(NamedTuple):
    """A broken rule: in how many of the last sessions, and what the person said then, newest first.

    `calls`: ids of the exposure records of sessions in which Claude ran what the rule forbids. `guard`: what a guard of
    it would match; empty if it has one, or cannot have one.
    """

    rule: Learning
    broken: int
    sessions: int
    signals: tuple[Signal, ...]
    calls: tuple[str, ...]
    last_broken: str
    guard: str = ""

    @property
    def headline(self) -> str:
        if self.sessions == 1:
            return "Claude broke this rule in the last session"
        return f"Claude broke this rule in {self.broken} of the last {self.sessions} sessions"

    @property
    def quotes(self) -> list[str]:
        """Return the person's words without duplicates."""
        said = (" ".join(str(one["context"] or one["content"]).split()) for one in self.signals)
        return list(
            dict.fromkeys(one if len(one) <= _MAX_QUOTE_LENGTH else f"{one[: _MAX_QUOTE_LENGTH - 1]}…" for one in said)
        )

    def as_json(self) -> dict[str, Any]:
        rule = self.rule
        return {
            "rule": rule["id"], "text": rule["text"], "target": rule["target"]["path"], "broken": self.broken,
            "sessions": self.sessions, "last": self.last_broken, "said": self.quotes,
            "signals": [one["id"] for one in self.signals],
            "answers": {
                name: command.format(rule["id"]) for name, command in ANSWERS.items() if name != "guard" or self.guard
            },
        }  # fmt: skip


def find_broken_rules(ctx: Context) -> list[BrokenRule]:
    """Return the rules here that need an answer, most recently broken first."""
    history = ctx.scan.history
    rules = {
        one["id"]: one
        for one in history.get_rules_in_force()
        if ctx.place.is_in_scope(one) and one["target"]["kind"] != "improvements"  # Claude does not read improvements
    }
    since = _map_wording_times(rules, history.decisions, history.void_decisions)
    said = _map_repeats(as_queue(ctx), since)
    exposures = [one for one in ctx.scan.other_records.values() if _is_exposure_here(ctx, one)] if rules else []
    found = [_build_broken_rule(ctx, rule, since[name], said.get(name, []), exposures) for name, rule in rules.items()]
    asked = [one for one in found if one and not _is_left_unchanged(ctx, one, exposures)]
    asked = [one._replace(guard=_describe_reminder(ctx, one.rule)) for one in asked]
    return sorted(asked, key=lambda one: one.last_broken, reverse=True)


def plan_reminder(ctx: Context, rule: Learning) -> GuardPlan | None:
    """Return the guard that reminds Claude of a rule; None if it has a guard, or its text names no calls."""
    from reflect_git.rules.guarding.guards import find_guard_state, plan_guard  # few rules are broken again

    state = find_guard_state(ctx.scan.history, ctx.store.machine, rule["id"])
    try:
        return plan_guard(ctx, rule, "hint") if state is None or state.guard is None else None
    except ReflectError:
        return None


def _describe_reminder(ctx: Context, rule: Learning) -> str:
    from reflect_git.rules.guarding.guards import describe_guard

    plan = plan_reminder(ctx, rule)
    return describe_guard(plan.matcher, plan.instead) if plan else ""


def get_broken_rule(ctx: Context, prefix: str) -> BrokenRule:
    """Return the broken rule that an id or its prefix names."""
    listed = {one.rule["id"]: one for one in find_broken_rules(ctx)}
    known = [*ctx.scan.columns["id"], *ctx.scan.other_records]
    try:
        return listed[api.find_id(listed, prefix)]
    except ReflectError:
        record_id = api.find_id(known, prefix)
        hint = f"to reword it: reflect-git edit {record_id}; to take it back: reflect-git revert {record_id}"
        raise ReflectError(f"nothing is asked about '{record_id}'", hint, "no-candidate") from None


def find_repeat_signals(ctx: Context, rule: str) -> list[str]:
    """Return the signals in which a person repeated a rule. A new wording of the rule answers them."""
    return [signal["id"] for one in find_broken_rules(ctx) if one.rule["id"] == rule for signal in one.signals]


def _map_wording_times(rules: Iterable[str], decisions: Iterable[Decision], void: set[str]) -> dict[str, str]:
    """Return when each rule got its current wording or guard: earlier evidence does not count."""
    found = dict.fromkeys(rules, "")
    for made in decisions:
        if made["subject"] in found and made["kind"] in _FRESH_START_KINDS and made["id"] not in void:
            found[made["subject"]] = max(found[made["subject"]], made["timestamp"])
    return found


def _map_repeats(queue: Queue, since: Mapping[str, str]) -> dict[str, list[Signal]]:
    """Map each rule to what the person said since then that repeats it."""
    columns = queue.scan.columns
    rows = {identity: row for row, identity in enumerate(columns["id"])}
    found: dict[str, list[Signal]] = {}
    for candidate in queue.candidates.recurrences[:_MAX_GROUPS]:
        rule = candidate.recurrence_of or ""
        wanted = [
            rows[one]
            for one in candidate.signals
            if rule in since and one in rows
            and columns["status"][rows[one]] == "captured" and columns["trust"][rows[one]] in _OWN_WORDS
            and _is_later(columns["timestamp"][rows[one]], columns["stored"][rows[one]], since[rule])
            and _is_here(queue, columns["project"][rows[one]])
        ]  # fmt: skip
        found.setdefault(rule, []).extend(queue.scan.get_signals(wanted))
    return {rule: sorted(said, key=lambda one: one["timestamp"], reverse=True) for rule, said in found.items()}


def _is_later(said: str, stored: str, since: str) -> bool:
    """Tell whether something was said after a decision.

    Clients record seconds, decisions record milliseconds. Within the same second the time of storing decides.
    """
    return stored > since if said[:_SECOND_LENGTH] == since[:_SECOND_LENGTH] else said > since


def _is_here(ctx: Context, project: Mapping[str, str] | None) -> bool:
    return project is None or not ctx.place.keys or project["key"] in ctx.place.keys


def _is_exposure_here(ctx: Context, record: Mapping[str, Any]) -> bool:
    return str(record["id"]).startswith("EXP-") and _is_here(ctx, record["project"])


def _get_session(signal: Mapping[str, Any]) -> str:
    return session_hash(signal["session_id"] or signal["id"])


def _collect_evidence(
    rule: str, since: str, said: Iterable[Signal], exposures: Iterable[Mapping[str, Any]]
) -> dict[str, str]:
    """Map each session to when the rule was last broken in it."""
    found: dict[str, str] = {}
    for signal in said:
        found[_get_session(signal)] = max(signal["timestamp"], found.get(_get_session(signal), ""))
    for one in exposures:
        if one["hits"].get(rule) and _started_with_rule(one, rule, since):
            found[one["session"]] = max(one["end"], found.get(one["session"], ""))
    return found


def _started_with_rule(exposure: Mapping[str, Any], rule: str, since: str) -> bool:
    """Tell whether the session started with the rule. If nobody recorded what it read, assume that it did."""
    read = exposure["rules"]
    return exposure["start"][:_SECOND_LENGTH] > since[:_SECOND_LENGTH] and (
        not read or any(rule in listed for listed in read.values())
    )


def _build_broken_rule(
    ctx: Context, rule: Learning, since: str, said: list[Signal], exposures: list[Mapping[str, Any]]
) -> BrokenRule | None:  # fmt: skip
    """Return the rule with its evidence, or None if there is too little."""
    evidence = _collect_evidence(rule["id"], since, said, exposures)
    if not evidence:
        return None
    sessions = dict(_list_sessions(ctx, rule, since, exposures))
    for name, moment in evidence.items():
        sessions[name] = max(moment, sessions.get(name, ""))
    last = sorted(sessions, key=lambda name: sessions[name])[-EXAMINED_SESSIONS:]
    broken = [name for name in last if name in evidence]
    if len(broken) < (1 if said else _MIN_CALL_SESSIONS):
        return None
    calls = tuple(
        one["id"] for one in exposures if one["hits"].get(rule["id"]) and _started_with_rule(one, rule["id"], since)
    )
    return BrokenRule(rule, len(broken), len(last), tuple(said), calls, max(evidence[name] for name in broken))


def _list_sessions(
    ctx: Context, rule: Learning, since: str, exposures: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Yield (session, end) for each recorded session here that could have broken the rule."""
    columns, behind = ctx.scan.columns, set(rule["signals"])
    names = ("session_id", "id", "timestamp", "stored", "project")
    for name, record_id, moment, stored, project in zip(*(columns[each] for each in names), strict=True):
        if _is_later(moment, stored, since) and name and record_id not in behind and _is_here(ctx, project):
            yield session_hash(name), moment
    yield from ((one["session"], one["end"]) for one in exposures if _started_with_rule(one, rule["id"], since))


def _is_left_unchanged(ctx: Context, one: BrokenRule, exposures: Iterable[Mapping[str, Any]]) -> bool:
    """Tell whether a person chose "leave it" and the rule was broken in fewer than three sessions since."""
    history, rule = ctx.scan.history, one.rule["id"]
    left = [
        made["timestamp"]
        for made in history.decisions
        if made["kind"] == "dismissed" and made["meta"].get("rule") == rule and made["id"] not in history.void_decisions
    ]
    if not left:
        return False
    evidence = _collect_evidence(
        rule,
        left[-1],
        [said for said in one.signals if _is_later(said["timestamp"], said["stored"], left[-1])],
        exposures,
    )
    return len(evidence) < SESSIONS_BEFORE_NEXT_QUESTION


def leave_unchanged(
    ctx: Context, one: BrokenRule, by: DecisionAuthor, basis: Mapping[str, str] | None = None
) -> tuple[list[str], str]:
    """Record that the rule stays unchanged: a decision for each repeated statement, one commit.

    Return the ids of the decisions and of the commit.
    """
    by_key: dict[str, list[str]] = {}
    for signal in one.signals:
        by_key.setdefault(signal["key"], []).append(signal["id"])
    project = one.rule["project"] if one.rule["scope"] != "global" else None
    meta: dict[str, Any] = {"rule": one.rule["id"], "projects": [project["key"]] if project else None}
    meta |= {"answer": dict(basis)} if basis else {}
    now, made = utc_precise(), []
    # The rule itself is not the subject: dismissing it would dismiss the signals behind it.
    for key, signals in by_key.items() or {"": [one.calls[-1]]}.items():
        said = {"signals": signals[1:], **meta}
        made.append(api.build_decision(ctx.store, "dismissed", signals[0], by, now, key=key or None, meta=said))
    named = {"Signal-Id": [said["id"] for said in one.signals][:20]}
    commit = api.commit_records(ctx.store, made, f"dismiss: {one.rule['id']} stays as it is", named)
    return [each["id"] for each in made], commit
