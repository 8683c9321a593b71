"""Guards of rules: decide, list, and compile them for this machine.

A guard is a `guarded` decision about a rule. It is in force while the rule is, until an `unguarded` decision, or until
it is reverted, which restores the guard before it. A guard from another machine waits for a yes here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reflect_git.errors import EXIT_DECISION, EXIT_USAGE, ReflectError
from reflect_git.guards.form import describe_matcher, find_problem
from reflect_git.guards.table import Guard
from reflect_git.records.history import session_hash
from reflect_git.records.ids import utc, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.rule_numbers import number_rules
from reflect_git.records.schema import GUARD_KINDS, GUARD_MODES
from reflect_git.redact import redact
from reflect_git.rules.dismiss import find_declines
from reflect_git.store import api
from reflect_git.store.local import firings
from reflect_git.targets.target_files import Target, get_agent_name

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

DECORATIVE_DAYS = 14  # a new rule is not asked about: its approval just offered a guard
DEFAULT_MODE = "hint"
STOP_MODES = ("watch", "deny")  # of a guard for the end of a turn
MODE_HELP = {
    "watch": "only count the calls",
    "hint": "the call runs, and Claude gets the rule as a reminder",
    "ask": "Claude Code asks you first, with the rule as the reason",
    "deny": "the call does not run; Claude gets the rule and what to use instead",
}
STOP_HELP = {
    "watch": "only count the turns",
    "deny": "Claude is sent back once to run the command; this costs a request",
}
NOT_GUARDABLE = "this rule cannot become a guard: it names no command, file or content"
_NOT_GUARDABLE_HINT = "describe the calls: --match 'npm', --path 'src/gen/**' or --content REGEX"
_MAX_INSTEAD_LENGTH = 300


class GuardState(NamedTuple):
    """The guard of one rule. `guard`: in force here, from `decision`. `waiting`: from another machine, not accepted.

    `problem`: why a guard that was decided here is not in force. `number`: of the rule, as PROJ-014.
    """

    rule: Learning
    guard: Guard | None
    decision: Decision | None
    waiting: Decision | None
    problem: str = ""
    number: str = ""

    @property
    def mode(self) -> str:
        """Return the mode in force here, or empty."""
        return self.guard.mode if self.guard else ""


@dataclass(frozen=True)
class GuardPlan:
    """A guard to be decided. `is_derived`: the matcher comes from the rule's text. `former`: the mode until now.

    `origin`: the decision of another machine that this one accepts.
    """

    rule: Learning
    mode: str
    matcher: dict[str, Any]
    instead: str
    is_derived: bool
    former: str = ""
    origin: str = ""

    @property
    def synced_text(self) -> str:
        """Return the parts of the guard that sync, in words."""
        return describe_guard(self.matcher, self.instead)


def describe_guard(matcher: Mapping[str, Any], instead: str) -> str:
    """Return what a guard matches and what to use instead, in a few words."""
    return describe_matcher(matcher) + (f"; instead: {instead}" if instead else "")


def list_guards(history: History, machine: str) -> list[Guard]:
    """List the guards in force on this machine."""
    return [state.guard for state in load_guard_states(history, machine) if state.guard]


def load_guard_states(history: History, machine: str) -> list[GuardState]:
    """Return the state of every rule in force that has a guard here, or one that waits."""
    by_rule: dict[str, list[Decision]] = {}
    for made in history.decisions:
        if made["kind"] in GUARD_KINDS and made["id"] not in history.void_decisions:
            by_rule.setdefault(made["subject"], []).append(made)
    if not by_rule:
        return []
    declined = find_declines(history, machine)
    rules = [rule for rule in history.get_rules_in_force() if rule["id"] in by_rule and rule["id"] not in declined]
    numbers = number_rules(history)
    states = (_build_state(rule, by_rule[rule["id"]], machine, numbers.get(rule["id"], "")) for rule in rules)
    return [state for state in states if state.decision or state.waiting]


def find_guard_state(history: History, machine: str, rule: str) -> GuardState | None:
    """Return the state of one rule's guard; None if it has none."""
    return next((state for state in load_guard_states(history, machine) if state.rule["id"] == rule), None)


def _build_state(rule: Learning, decisions: list[Decision], machine: str, number: str) -> GuardState:
    """Follow the decisions in order. Switching off needs no yes here: without a guard, calls run as usual."""
    active: Decision | None = None
    waiting: Decision | None = None
    accepted = [_get_content(made) for made in decisions if made["kind"] == "guarded" and made["machine"] == machine]
    for made in decisions:
        if made["kind"] == "unguarded":
            active = waiting = None
        elif _get_content(made) in accepted:
            active, waiting = made, None
        else:
            waiting = made
    problem = _find_guard_problem(rule, active) if active else ""
    guard = _build_guard(rule, active, number) if active and not problem else None
    return GuardState(
        rule,
        guard,
        active,
        waiting if waiting and not _find_guard_problem(rule, waiting) else None,
        problem,
        number,
    )


def _get_content(made: Decision) -> tuple[Any, ...]:
    """Return what a person said yes to. An accepted guard names the decision it accepts."""
    meta = made["meta"]
    return meta.get("of") or made["id"], meta.get("mode"), meta.get("matcher"), meta.get("instead")


def _find_guard_problem(rule: Learning, made: Decision) -> str:
    """Return why a decided guard must not be used, or empty."""
    meta = made["meta"]
    problem = find_problem(meta.get("matcher"))
    if problem or meta.get("mode") not in GUARD_MODES or not isinstance(meta.get("instead", ""), str):
        return f"it is not valid: {problem or 'unknown mode'}"
    if made["text"] == rule["text"] or not meta.get("derived"):
        return ""
    now = derive(rule["text"])
    is_same = now is not None and now["any"] == meta["matcher"]["any"]
    return "" if is_same else "the rule was reworded since"


def _build_guard(rule: Learning, made: Decision, number: str) -> Guard:
    meta = made["meta"]
    project = rule["project"] if rule["scope"] != "global" else None
    agent = get_agent_name(Target(rule["target"]["kind"], rule["target"]["path"]))
    return Guard(
        rule["id"], meta["mode"], meta["matcher"], rule["text"], meta.get("instead", ""),
        project["key"] if project else None, number, agent,
    )  # fmt: skip


def derive(text: str) -> dict[str, Any] | None:
    """Return the matcher that a rule's text describes, or None. The first call reads word lists, 100 ms."""
    from reflect_git.guards.derivation.derive import derive_matcher

    return derive_matcher(text)


def find_rule(ctx: Context, name: str) -> Learning:
    """Return the rule in force that an id or its prefix names."""
    history = ctx.scan.history
    rules = {rule["id"]: rule for rule in history.get_rules_in_force()}
    record_id = api.find_id_of_kind(
        "a rule in force",
        rules,
        name,
        [*history.learnings, *ctx.scan.columns["id"]],
        "list them: reflect-git rules --all",
    )
    return rules[record_id]


def plan_guard(
    ctx: Context, rule: Learning, mode: str = "", matcher: Mapping[str, Any] | None = None, instead: str = ""
) -> GuardPlan:
    """Plan a guard; without a matcher, use that of the present guard, else derive it from the rule's text."""
    if rule["target"]["kind"] == "improvements":
        raise ReflectError("an improvement cannot be guarded", "Claude Code does not read improvements", "guard")
    state = find_guard_state(ctx.scan.history, ctx.store.machine, rule["id"])
    present = state.decision if state and state.guard else None
    is_derived = False
    if matcher is None and present:
        matcher, is_derived = present["meta"]["matcher"], bool(present["meta"].get("derived"))
        instead = instead or str(present["meta"].get("instead", ""))
    elif matcher is None:
        matcher, is_derived = derive(rule["text"]), True
        if matcher is None:
            raise ReflectError(NOT_GUARDABLE, _NOT_GUARDABLE_HINT, "not-guardable", EXIT_DECISION)
    made = {name: value for name, value in matcher.items() if name != "instead"}
    instead = " ".join((instead or str(matcher.get("instead", ""))).split())
    former = state.mode if state else ""
    if "requires" in made:
        chosen = mode or (former if former in STOP_MODES else STOP_MODES[-1])
    else:
        chosen = mode or former or DEFAULT_MODE
    plan = GuardPlan(rule, chosen, made, instead, is_derived, former)
    require_usable(plan)
    return plan


def plan_acceptance(ctx: Context, rule: Learning) -> GuardPlan:
    """Plan to accept the guard that waits for a yes here."""
    state = find_guard_state(ctx.scan.history, ctx.store.machine, rule["id"])
    if state is None or state.waiting is None:
        raise ReflectError(
            f"no guard of '{rule['id']}' waits here", f"to guard it: reflect-git guard {rule['id']}", "nothing"
        )
    meta = state.waiting["meta"]
    origin = str(meta.get("of") or state.waiting["id"])
    return GuardPlan(
        rule, meta["mode"], meta["matcher"], meta.get("instead", ""), bool(meta.get("derived")), state.mode, origin
    )


def require_usable(plan: GuardPlan) -> None:
    """Raise if a plan cannot be written: invalid, or with a secret in what would sync."""
    problem = find_problem(plan.matcher)
    if problem:
        raise ReflectError(f"this matcher cannot be used: {problem}", "see docs/guards.md", "usage", EXIT_USAGE)
    if "requires" in plan.matcher and plan.mode not in STOP_MODES:
        hint = f"for the end of a turn: --mode {' or '.join(STOP_MODES)}"
        raise ReflectError(f"this guard cannot {plan.mode}: it is not about a call", hint, "usage", EXIT_USAGE)
    if len(plan.instead) > _MAX_INSTEAD_LENGTH:
        raise ReflectError(f"--instead is longer than {_MAX_INSTEAD_LENGTH} characters", "", "usage", EXIT_USAGE)
    # Not the whole: `describe` adds punctuation of its own. A guard on main is shared with other machines.
    for text in (*_list_texts(plan.matcher), plan.instead):
        if redact(text) != text:
            raise ReflectError(
                "the guard contains what looks like a secret, and guards sync", "match something else", "secret",
                EXIT_DECISION,
            )  # fmt: skip


def _list_texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts: Iterable[Any] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _list_texts(part)]


def write_guard(
    ctx: Context,
    plan: GuardPlan,
    figures: Mapping[str, Any],
    by: DecisionAuthor,
    basis: Mapping[str, str] | None = None,
) -> tuple[str, str]:
    """Write a `guarded` decision in one commit; return the ids of the decision and the commit.

    `figures`: of the backtest that the person saw, as the baseline of its effect. `basis`: the answer in Claude Code.
    """
    meta: dict[str, Any] = {"mode": plan.mode, "matcher": plan.matcher, "instead": plan.instead}
    meta |= {"derived": plan.is_derived, "backtest": dict(figures)}
    meta |= {"of": plan.origin} if plan.origin else {}
    meta |= {"answer": dict(basis)} if basis else {}
    made = api.build_decision(
        ctx.store, "guarded", plan.rule["id"], by, utc_precise(), text=plan.rule["text"], meta=meta
    )
    return made["id"], _commit(ctx, "guard", plan.rule, made)


def plan_unguard(ctx: Context, name: str) -> GuardState:
    """Return the guard to remove; raise if the rule has none."""
    rule = find_rule(ctx, name)
    state = find_guard_state(ctx.scan.history, ctx.store.machine, rule["id"])
    if state is None:
        raise ReflectError(f"'{rule['id']}' has no guard", "list them: reflect-git guards", "nothing")
    return state


def write_unguard(ctx: Context, state: GuardState, by: DecisionAuthor, reason: str = "") -> tuple[str, str]:
    """Write an `unguarded` decision in one commit; return the ids of the decision and the commit."""
    former = (state.decision or state.waiting or {"meta": {}})["meta"].get("mode", "")
    made = api.build_decision(
        ctx.store, "unguarded", state.rule["id"], by, utc_precise(), reason=reason, meta={"mode": former}
    )
    return made["id"], _commit(ctx, "unguard", state.rule, made)


def write_advice(ctx: Context, rule: Learning, by: DecisionAuthor) -> tuple[str, str]:
    """Record that a rule stays without a guard, as advice; return the ids of the decision and the commit."""
    made = api.build_decision(
        ctx.store,
        "unguarded",
        rule["id"],
        by,
        utc_precise(),
        reason="kept as advice",
        meta={"mode": "", "advice": True},
    )
    return made["id"], _commit(ctx, "unguard", rule, made)


def list_advice(history: History) -> set[str]:
    """Return the rules that a person keeps as advice: no guard of theirs was decided since."""
    found: set[str] = set()
    for made in history.decisions:
        if made["kind"] in GUARD_KINDS and made["id"] not in history.void_decisions:
            (found.add if made["meta"].get("advice") is True else found.discard)(made["subject"])
    return found


def _commit(ctx: Context, verb: str, rule: Learning, made: Decision) -> str:
    project = rule["project"] if rule["scope"] != "global" else None
    trailers = {"Learning-Id": [rule["id"]], **({"Project": [project["key"]]} if project else {})}
    trailers["Approved-By"] = [made["by"]["road"]]
    return api.commit_records(ctx.store, [made], f"{verb}: {api.format_title(rule['title'] or rule['text'])}", trailers)


class Firings(NamedTuple):
    """Counts of a guard: fired, obeyed, overridden by the person; and the time of the last firing."""

    fired: int = 0
    obeyed: int = 0
    overridden: int = 0
    last: str = ""


def load_firings(store: Store, records: Iterable[Mapping[str, Any]]) -> dict[str, Firings]:
    """Map each rule to what its guard did: in recorded sessions of all machines, and since then here by the log.

    `records`: session figures, and others, which are ignored. Figures have the time of the session's end. The log,
    which is kept as long as signals, has that of each firing.
    """
    found: dict[str, Firings] = {}
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for one in records:
        for rule, counts in (one.get("guards") or {}).items() if one["id"].startswith("EXP-") else ():
            counted[one["session"]][rule] += counts[0]
            found[rule] = _add_firings(found.get(rule), counts, one["end"])
    last: dict[str, str] = {}
    for name in firings.list_logs(store):
        rows = firings.parse_rows(firings.read_log(store, name))
        for row in rows:
            last[row["learning"]] = max(str(row.get("time", "")), last.get(row["learning"], ""))
        known = counted[session_hash(name.removesuffix(".jsonl"))]
        for rule, counts in firings.count_outcomes(_drop_counted(rows, known), {}).items():
            found[rule] = _add_firings(found.get(rule), counts, "")
    return {rule: one._replace(last=last.get(rule, one.last)) for rule, one in found.items()}


def _drop_counted(rows: Iterable[dict[str, Any]], counted: Counter[str]) -> list[dict[str, Any]]:
    """Return the lines of a log that are not in the session's figures yet: these have the first lines of each rule."""
    left = []
    for row in rows:
        if counted[row["learning"]] > 0:
            counted[row["learning"]] -= row.get("outcome") != firings.IGNORED
        else:
            left.append(row)
    return left


def _add_firings(known: Firings | None, counts: Sequence[int], moment: str) -> Firings:
    known = known or Firings()
    fired, obeyed, overridden = counts
    return Firings(
        known.fired + fired, known.obeyed + obeyed, known.overridden + overridden, max(known.last, moment)
    )  # fmt: skip


def format_firings(counts: Firings) -> str:
    """Return `fired 4, obeyed 3, overridden 1`; the parts after the first only if they can say something."""
    said = f"fired {counts.fired}" + (f", obeyed {counts.obeyed}" if counts.fired else "")
    return said + (f", overridden {counts.overridden}" if counts.overridden else "")


def describe_rule_parts(store: Store, scan: Scan, rules: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Map each rule to its three parts: trigger, enforcement, verification; and to why it is decorative, or None.

    Trigger: the matcher of its guard, else the one that its text describes. Verification: by a guard's firings, by
    calls that its matcher counts, or by how often the person repeats it.
    """
    history = scan.history
    states = {state.rule["id"]: state for state in load_guard_states(history, store.machine)}
    counts = load_firings(store, scan.other_records.values()) if states else {}
    keyed = {made["subject"] for made in history.decisions if made["key"]}
    advice = list_advice(history)
    found = {}
    for record_id in rules:
        rule, state = history.learnings[record_id], states.get(record_id)
        guard = state.guard if state else None
        is_read = rule["target"]["kind"] != "improvements"
        matcher = guard.matcher if guard else derive(rule["text"]) if is_read else None
        ways = (("firings", guard), ("calls", rule["matcher"]), ("repeats", record_id in keyed))
        way = next((name for name, is_there in ways if is_there), None)
        fired = counts.get(record_id, Firings())
        if not is_read or guard or record_id in advice:
            why = None
        elif matcher:
            why = "it could be guarded, and is not"
        else:
            why = None if way else "it names no command, file or content, and nothing counts whether it is followed"
        found[record_id] = {
            "trigger": {"matcher": matcher, "text": describe_matcher(matcher)} if matcher else None,
            "enforcement": guard.mode if guard else None,
            "verification": {"by": way, **fired._asdict(), "last": fired.last or None} if way else None,
            "decorative": why, "kept_as_advice": record_id in advice,
        }  # fmt: skip
    return found


def find_decorative_rules(
    store: Store, scan: Scan, rules: Iterable[Learning], now: float
) -> list[tuple[Learning, str]]:
    """Return the decorative rules of some weeks' standing, oldest first, and why each is decorative."""
    states = {state.rule["id"] for state in load_guard_states(scan.history, store.machine) if state.guard}
    done, before = states | list_advice(scan.history), utc(now - DECORATIVE_DAYS * 86400)
    plain = [one for one in rules if "skill" not in one["meta"]]  # a skill is used or not, and nothing enforces it
    old = sorted((one for one in plain if one["timestamp"] < before and one["id"] not in done), key=_get_time)
    parts = describe_rule_parts(store, scan, [one["id"] for one in old]) if old else {}
    return [(one, str(parts[one["id"]]["decorative"])) for one in old if parts[one["id"]]["decorative"]]


def _get_time(rule: Learning) -> str:
    return rule["timestamp"]
