"""Describe a proposed rule in words: how much it is trusted, and what helps against a finding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding

TRUST_WORDS = {
    "user_typed": "your own words",
    "user_feedback": "your own words, to a tool call",
    "assistant": "not your words: Claude's",
    "tool_output": "not your words: the output of a tool",
    "remote": "not your words: from another machine",
    "imported": "not your words: imported",
}
OWN_WORDS = ("user_typed", "user_feedback")
_WAYS_OUT = {
    "needs-wording": "e to word it, c to let Claude word it", "question": "e to word it", "added": "e to take it out",
    "secret": "e to take it out", "full": "t to choose another target", "mixed-script": "e to retype it",
    "elsewhere": "t and 'global' to use it in all projects",
    "exception": "y to keep both; or t and 'global', then r to replace that rule",
}  # fmt: skip


def find_contradicted_rule(findings: Iterable[Finding]) -> str:
    """Return the one rule that contradicts a proposal, if nothing else prevents it."""
    from reflect_git.candidates.gate import CONTRADICTION, REFUSED  # lists load nothing that compares texts

    against = [found for found in findings if found.kind == REFUSED]
    return _parse_rule_id(against[0]) if [found.code for found in against] == [CONTRADICTION] else ""


def _parse_rule_id(found: Finding) -> str:
    return found.hint.rpartition(" ")[2]


def format_way_out(found: Finding, findings: Iterable[Finding], candidate: str, to: str) -> str:
    """Suggest the keys that help with a finding, else a complete command; empty if nothing has to be done."""
    from reflect_git.candidates.gate import CONTRADICTION

    listed = list(findings)
    if found.code == CONTRADICTION:
        if find_contradicted_rule(listed):
            return "r to replace that rule"
        rules = [_parse_rule_id(each) for each in listed if each.code == CONTRADICTION]
        wanted = " ".join(f"--supersedes {rule}" for rule in rules)
        return f"to replace it: reflect-git approve {candidate} --to {to} {wanted}"
    if found.code == "duplicate":
        return "n to dismiss it, e to reword it"
    return _WAYS_OUT.get(found.code, found.hint) if found.hint else ""
