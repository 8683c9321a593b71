"""Decide whether a change that nobody is asked about may be made now.

For some time after a file was changed, no automatic change touches it again: the person should see the effect of one
change before the next. A pinned rule is never taken back automatically. Both are computed from records, so they hold on
every machine and after a revert.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reflect_git.errors import EXIT_DECISION, ReflectError
from reflect_git.records.ids import parse_utc, utc, utc_precise
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.store import api, policy
from reflect_git.targets.target_files import Target

if TYPE_CHECKING:
    from reflect_git.records.history import History
    from reflect_git.records.schema import Decision, DecisionAuthor, Learning
    from reflect_git.rules.context import Context
    from reflect_git.store.repository import Store

COOLDOWN_SETTING = "reflect.cooldown"
# Policies that allow changes without a question, and the value with which they do.
AUTOMATIC_POLICIES = {"reflect.autopilot": "own-words", "reflect.autorevert": "apply", "reflect.sync.apply": "auto"}
AUTOMATIC_CHANNELS = ("autopilot", "autorevert", "own-machine")
_DEFAULT_COOLDOWN = 30 * 60
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_FILE_CHANGES = ("approved", "amended", "applied", "reverted", "superseded")
PINNED = "pinned"


class Block(NamedTuple):
    """The reason why an automatic change waits. `until`: when it may be made; "" for as long as the rule is pinned."""

    reason: str
    until: str = ""


def get_cooldown(store: Store) -> int:
    """Return for how many seconds after a change a file is left alone."""
    text = str(store.get_setting(COOLDOWN_SETTING) or "")
    number, unit = text[:-1], text[-1:]
    if text == "0":
        return 0
    return int(number) * _UNITS[unit] if number.isascii() and number.isdigit() and unit in _UNITS else _DEFAULT_COOLDOWN


def find_last_change(
    history: History, target: Mapping[str, Any], project_key: str | None, machine: str | None = None
) -> Decision | None:
    """Return the last decision that changed a file; None if there is none. `machine`: only decisions made there.

    Decisions that were taken back count too: they changed the file, and so did taking them back.
    """
    wanted = _identify_file(target, project_key)
    found = None
    for made in history.decisions:
        if made["kind"] not in _FILE_CHANGES or made["target"] is None or machine not in (None, made["machine"]):
            continue
        rule = history.learnings.get(made["subject"])
        project = rule["project"] if rule else None
        if _identify_file(made["target"], project["key"] if project else None) == wanted:
            found = made
    return found


def _identify_file(target: Mapping[str, Any], project_key: str | None) -> tuple[str, str]:
    return "" if Target(target["kind"], target["path"]).is_global else project_key or "", target["path"]


def find_cooldown(
    store: Store, history: History, target: Mapping[str, Any], project_key: str | None, now: str = "",
    machine: str | None = None,
) -> Block | None:  # fmt: skip
    """Return why an automatic change of this file has to wait now; None if it may be made.

    `target`: a record's target, with kind and path. `project_key`: of the project, None for a global file.
    """
    length = get_cooldown(store)
    last = find_last_change(history, target, project_key, machine) if length else None
    if last is None:
        return None
    changed, moment = parse_utc(last["timestamp"]), parse_utc(now or utc_precise())
    if abs(moment - changed) >= length:  # a wrong clock must not block it for years
        return None
    until = utc(changed + length)
    return Block(f"cooldown: '{target['path']}' was changed less than {format_length(length)} ago", until)


def format_length(seconds: int) -> str:
    """Return a duration in the largest unit that divides it: 30m, 4h."""
    for unit in "wdhm":
        if seconds % _UNITS[unit] == 0:
            return f"{seconds // _UNITS[unit]}{unit}"
    return f"{seconds}s"


def find_block(store: Store, history: History, rule: Learning, now: str = "") -> Block | None:
    """Return why this rule must not be changed or taken back automatically now; None if it may."""
    if rule["id"] in history.get_pins():
        return Block("pinned")
    project = rule["project"] if rule["scope"] != "global" else None
    return find_cooldown(store, history, rule["target"], project["key"] if project else None, now)


def get_priority(score: float) -> int:
    """Return how soon a person should look at a change that waits, from 1 to 5, by the mean score of sessions."""
    return min(5, max(1, round(5 - score)))


def is_anything_automatic(store: Store, decisions: Iterable[Decision]) -> bool:
    """Tell whether a policy lets the program change files without a question. Only decided policies count."""
    said = policy.get_decided(store, decisions)
    return any(said.get(key) == value for key, value in AUTOMATIC_POLICIES.items())


def describe_cooldown(ctx: Context, rule: Learning, channel: str) -> str:
    """Return a note for a person who changes a file during its cooldown; "" if nothing automatic could come between."""
    history = ctx.scan.history
    if channel in AUTOMATIC_CHANNELS:
        return ""
    project = rule["project"] if rule["scope"] != "global" else None
    last = find_last_change(history, rule["target"], project["key"] if project else None)
    is_relevant = last is not None and last["by"]["road"] in AUTOMATIC_CHANNELS
    if not is_relevant and not is_anything_automatic(ctx.store, history.decisions):
        return ""
    found = find_cooldown(ctx.store, history, rule["target"], project["key"] if project else None)
    return f"{found.reason}; automatic changes wait" if found else ""


def plan_pin(ctx: Context, name: str) -> Learning:
    """Return the rule in force to pin; raise if it is pinned already."""
    rule = _find_rule(ctx, name)
    if rule["id"] in ctx.scan.history.get_pins():
        hint = f"to end it: reflect-git unpin {rule['id']}"
        raise ReflectError(f"'{rule['id']}' is already pinned", hint, "pinned", EXIT_DECISION)
    return rule


def write_pin(ctx: Context, rule: Learning, by: DecisionAuthor, reason: str = "") -> tuple[str, str]:
    """Pin a rule in one commit; return the ids of the decision and the commit."""
    made = api.build_decision(ctx.store, PINNED, rule["id"], by, utc_precise(), reason=reason)
    return made["id"], _commit(ctx, "pin", rule, [made])


def plan_unpin(ctx: Context, name: str) -> Learning:
    """Return the pinned rule; raise if it is not pinned."""
    rule = _find_rule(ctx, name)
    if rule["id"] not in ctx.scan.history.get_pins():
        raise ReflectError(f"'{rule['id']}' is not pinned", f"to pin it: reflect-git pin {rule['id']}", "nothing")
    return rule


def write_unpin(ctx: Context, rule: Learning, by: DecisionAuthor, reason: str = "") -> tuple[str, str]:
    """End every pin of a rule in one commit; return the ids of the last decision and the commit."""
    history, now = ctx.scan.history, utc_precise()
    pins = [
        one
        for one in history.decisions
        if one["kind"] == PINNED and one["subject"] == rule["id"] and one["id"] not in history.void_decisions
    ]
    made = [
        api.build_decision(ctx.store, "reverted", rule["id"], by, now, reason=reason, reopens=one["id"]) for one in pins
    ]
    return made[-1]["id"], _commit(ctx, "unpin", rule, made)


def _find_rule(ctx: Context, name: str) -> Learning:
    history = ctx.scan.history
    rules = {rule["id"]: rule for rule in history.get_rules_in_force()}
    known = [*history.learnings, *ctx.scan.columns["id"]]
    return rules[api.find_id_of_kind("a rule in force", rules, name, known, "list them: reflect-git rules --all")]


def _commit(ctx: Context, verb: str, rule: Learning, made: list[Decision]) -> str:
    project = rule["project"] if rule["scope"] != "global" else None
    trailers = {"Learning-Id": [rule["id"]], **({"Project": [project["key"]]} if project else {})}
    trailers["Approved-By"] = [made[0]["by"]["road"]]
    return api.commit_records(ctx.store, made, f"{verb}: {api.format_title(rule['title'] or rule['text'])}", trailers)
