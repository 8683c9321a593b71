"""Put verdicts into a table: order, JSON form and wording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reflect_git.effect import verdict
from reflect_git.effect.from_store import RECENT_DAYS, Effects, judge_rules
from reflect_git.records.ids import plural
from reflect_git.rules import project_files
from reflect_git.store import api

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reflect_git.effect.exposure import Judged
    from reflect_git.effect.from_store import RuleEffect
    from reflect_git.effect.verdict import Count, Pooled
    from reflect_git.records.history import History
    from reflect_git.records.schema import Learning
    from reflect_git.rules.project_files import Place
    from reflect_git.store.reading.reader import Scan
    from reflect_git.store.repository import Store

_DIGITS = 4


def as_json(judged: Judged) -> dict[str, Any]:
    """Return a rule and its verdict for scripts."""
    case, found = judged.case, judged.verdict
    return {
        "learning": judged.learning,
        "verdict": f"{found.verdict}: {found.reason}" if found.reason == verdict.NO_BASELINE else found.verdict,
        "ratio": _rounded(found.ratio), "interval": [_rounded(end) for end in found.interval],
        "sessions_before": case.before.sessions, "sessions_after": case.after.sessions,
        "events_before": case.before.events, "events_after": case.after.events, "needs": found.needs,
    }  # fmt: skip


def pooled_json(pooled: Pooled | None) -> dict[str, Any] | None:
    """Return the pooled effect for scripts."""
    if pooled is None:
        return None
    return {
        "ratio": _rounded(pooled.ratio), "interval": [_rounded(end) for end in pooled.interval],
        "events": pooled.events, "expected": _rounded(pooled.expected), "rules": pooled.rules,
    }  # fmt: skip


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def effects_json(found: Effects) -> dict[str, Any]:
    """Return the whole table for scripts."""
    rules = []
    for one in found.rules:
        more = {"reason": one.judged.verdict.reason or None, "baseline": one.baseline, "hits_after": one.hits}
        rules.append({**as_json(one.judged), **more, "text": one.rule["text"]})
    return {"learnings": rules, "pooled": pooled_json(found.pooled)}


def select_rule(found: Effects, prefix: str) -> Effects:
    """Return only the rule that an id or its prefix names, in force or not."""
    by_id = {one.rule["id"]: one for one in found.rules}
    hint = "see the rules with 'reflect-git effect'"
    return found._replace(rules=[by_id[api.find_id_of_kind("a rule", by_id, prefix, by_id, hint)]], pooled=None)


def select_in_force(found: Effects, history: History, place: Place | None) -> Effects:
    """Return the rules in force, those of one project if it is given, the worst first; pooled only for all rules."""
    rules = [rule for rule in history.get_rules_in_force() if "skill" not in rule["meta"]]  # skills have uses instead
    wanted = {rule["id"] for rule in rules if place is None or _is_of(rule, place)}
    shown = sorted((one for one in found.rules if one.rule["id"] in wanted), key=_badness)
    pooled = verdict.pool((one.judged.case, one.judged.verdict) for one in shown)
    return found._replace(rules=shown, pooled=pooled)


def _is_of(rule: Learning, place: Place) -> bool:
    return rule["scope"] != "global" and place.is_in_scope(rule)


def _badness(one: RuleEffect) -> tuple[int, float, str]:
    found = one.judged.verdict
    return verdict.ORDER.index(found.verdict), -(found.ratio or 0.0), one.rule["id"]


def verdict_text(one: RuleEffect) -> str:
    """Return a verdict in words, with what is missing for one."""
    found = one.judged.verdict
    if found.verdict != verdict.NO_EVIDENCE:
        return found.verdict
    if one.since and not one.judged.case.after.sessions:
        return f"{found.verdict}: not loaded in any of {plural(one.since, 'session')} since"
    if found.needs:
        return f"{found.verdict}: about {plural(found.needs, 'more session')}"
    return f"{found.verdict}: {found.reason}"


def counts_text(one: RuleEffect) -> str:
    """Return the counts and the ratio on one line."""
    case, found = one.judged.case, one.judged.verdict
    late = "*" if one.baseline == "late" else ""
    said = f"before: {_share(case.before)}{late}, after: {_share(case.after)}"
    if found.ratio is not None and found.interval[1] is not None and case.before.events:
        said += f"; ratio {_short(found.ratio)} ({_short(found.interval[0])} to {_short(found.interval[1])})"
    if one.hits > case.after.events:
        said += f"; Claude did it in {plural(one.hits, 'session')} since"
    return said


def pooled_text(pooled: Pooled) -> str:
    """Return the effect of all rules in one sentence."""
    low, high = map(_short, pooled.interval)
    return (
        f"all {plural(pooled.rules, 'rule')} with a baseline: {plural(pooled.events, 'session')} with events, "
        f"{pooled.expected:.0f} expected without rules; ratio {_short(pooled.ratio)} ({low} to {high})"
    )


def describe_all(store: Store, env: Mapping[str, str], scan: Scan, folder: str) -> str:
    """Return in one line what the rules in force did together; "" if none of them can be judged."""
    aliases = project_files.load_key_aliases(store, project_files.find_place(store, env, folder))
    return headline(load_effects(scan, aliases))


def headline(found: Effects) -> str:
    """Return in one line what the rules in force did together; "" if none of them can be judged.

    A number only once all sessions show that something was prevented; it is for the last 30 days.
    """
    if not any(one.since for one in found.rules):
        return ""
    recent = verdict.pool((one.recent.case, one.recent.verdict) for one in found.rules)
    if found.pooled and recent and found.pooled.interval[1] < 1 and recent.events < recent.expected:
        low, high = (max(0.0, recent.expected * (1 - end)) for end in reversed(recent.interval))
        number = recent.expected * (1 - recent.ratio)
        if round(number):
            prevented = plural(round(number), "repeat")
            return f"rules prevented about {prevented} in {RECENT_DAYS} days ({low:.0f}–{high:.0f})"
    needs = [one.judged.verdict.needs for one in found.rules if one.judged.verdict.needs]
    if any(one.judged.verdict.verdict != verdict.NO_EVIDENCE for one in found.rules):
        counts = [(name, sum(one.judged.verdict.verdict == name for one in found.rules)) for name in verdict.ORDER]
        return ", ".join(f"{count} {name}" for name, count in counts if count)
    return f"{verdict.NO_EVIDENCE}: about {plural(min(needs), 'more session')}" if needs else verdict.NO_EVIDENCE


def effect_line(one: RuleEffect) -> str:
    """Return verdict and counts of a rule on one line; "" if no session came after its approval."""
    return f"{verdict_text(one)}; {counts_text(one)}" if one.since else ""


def load_effects(scan: Scan, aliases: Mapping[str, str]) -> Effects:
    """Judge the rules in force; empty without loading anything if there are no rules or no recorded sessions."""
    has_sessions = any(one["id"].startswith("EXP-") for one in scan.other_records.values())
    if not scan.history.learnings or not has_sessions:
        return Effects([], None)
    return select_in_force(judge_rules(scan, aliases), scan.history, None)


def load_effect_lines(scan: Scan, aliases: Mapping[str, str]) -> dict[str, str]:
    """Map each rule in force with a session since its approval to its verdict and counts, on one line."""
    found = ((one.rule["id"], effect_line(one)) for one in load_effects(scan, aliases).rules)
    return {record_id: line for record_id, line in found if line}


def _share(count: Count) -> str:
    return f"{count.events} of {plural(count.sessions, 'session')}"


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}" if value < 100 else "> 99"
