"""Numbers of rules: PROJ-014 for rules of projects and of all projects, AGENT-003 for those of one agent.

A rule's number is recorded in the decision that approved it, and never changes. If two machines gave the same number
to two rules before they synced, the rule with the later id gets a suffix: PROJ-014b. The numbers depend on the records
alone, so all machines with the same records have the same numbers.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from reflect_git.records.history import History
    from reflect_git.records.schema import Learning

META = "numbers"  # field of a decision's meta: rule → number
_PROJECT, _AGENT = "PROJ", "AGENT"
_PATTERN = re.compile(r"(PROJ|AGENT)-0*([1-9][0-9]{0,5})([a-z]{0,3})", re.IGNORECASE)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MAX_RECORDED = 500  # numbers in one decision; a record must stay below the size limit


def normalise_number(text: str) -> str:
    """Return a number as it is shown (`proj-14` → `PROJ-014`); empty for other texts."""
    found = _PATTERN.fullmatch(text.strip())
    return f"{found[1].upper()}-{int(found[2]):03d}{found[3].lower()}" if found else ""


def number_rules(history: History) -> dict[str, str]:
    """Map every rule that was ever approved to its number. A rule without a recorded number gets the next free one."""
    return _number(history, history.learnings.values())


def find_numbered_rule(history: History, number: str) -> str:
    """Return the id of the rule with a number; empty if there is none."""
    wanted = normalise_number(number)
    return next((rule for rule, known in number_rules(history).items() if known == wanted), "")


def find_numbers_to_record(history: History, learning: Learning) -> dict[str, str]:
    """Return the numbers that a decision about a rule has to record: its own, and older ones that no decision has."""
    if not _is_numbered(learning):
        return {}
    learnings = {**history.learnings, learning["id"]: learning}
    numbers = _number(history, learnings.values())
    recorded = {rule: claims[-1] for rule, claims in _load_claims(history, learnings).items()}
    own = {learning["id"]: numbers[learning["id"]]}
    missing = {rule: number for rule, number in numbers.items() if recorded.get(rule) != number}
    return {**dict(list(missing.items())[:_MAX_RECORDED]), **own}


def get_heading(learning: Learning) -> str:
    """Return the heading `PROJ-014: Title` of a rule's file; empty in files that are shared with other rules."""
    has_own_file = learning["target"]["kind"] in ("rules", "global-rules")
    return str(learning["meta"].get("heading", "")) if has_own_file else ""


def _is_numbered(learning: Learning) -> bool:
    """Return whether a learning is a rule; an improvement has no number."""
    return learning["target"]["kind"] != "improvements"


def _number(history: History, learnings: Iterable[Learning]) -> dict[str, str]:
    by_id = {learning["id"]: learning for learning in learnings}
    claims = _load_claims(history, by_id)
    groups: dict[str, list[str]] = {}
    for rule in sorted(claims):
        groups.setdefault(_get_base(claims[rule][0]), []).append(rule)
    numbers: dict[str, str] = {}
    for base, rules in groups.items():
        numbers.update(_resolve_claims(base, rules, claims))
    last = {_PROJECT: 0, _AGENT: 0}
    for base in groups:
        prefix, _, digits = base.partition("-")
        last[prefix] = max(last[prefix], int(digits))
    unnumbered = [one for one in by_id.values() if one["id"] not in claims and _is_numbered(one)]
    for learning in sorted(unnumbered, key=lambda one: (one["timestamp"], one["id"])):
        prefix = _AGENT if learning["target"]["kind"] == "agent" else _PROJECT
        last[prefix] += 1
        numbers[learning["id"]] = f"{prefix}-{last[prefix]:03d}"
    return dict(sorted(numbers.items()))


def _load_claims(history: History, learnings: Mapping[str, Any]) -> dict[str, list[str]]:
    """Map each rule to the numbers that decisions recorded for it, oldest first; only those like the first count."""
    claims: dict[str, list[str]] = {}
    for made in history.decisions:
        recorded = made["meta"].get(META)
        for rule, value in recorded.items() if isinstance(recorded, dict) else ():
            number = normalise_number(value) if isinstance(value, str) else ""
            if not number or rule not in learnings:
                continue
            known = claims.setdefault(rule, [])
            if not known or _get_base(known[0]) == _get_base(number):
                known.append(number)
    return claims


def _get_base(number: str) -> str:
    """Return a number without its suffix."""
    return number.rstrip(_LETTERS)


def _resolve_claims(base: str, rules: list[str], claims: Mapping[str, list[str]]) -> dict[str, str]:
    """Give each of the rules that claim one number a number of its own. `rules` are in the order of their ids."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for rule in rules:
        if claims[rule][-1] not in taken:
            found[rule] = claims[rule][-1]
            taken.add(found[rule])
    for rule in rules:
        if rule not in found:
            found[rule] = next(name for name in _list_names(base) if name not in taken)
            taken.add(found[rule])
    return found


def _list_names(base: str) -> Iterable[str]:
    """Yield PROJ-014, PROJ-014b, …, PROJ-014z, PROJ-014ba, …"""
    yield base
    yield from (base + letter for letter in _LETTERS[1:])
    yield from (base + first + second for first in _LETTERS[1:] for second in _LETTERS)
    yield from (base + first + second + third for first in _LETTERS[1:] for second in _LETTERS for third in _LETTERS)
