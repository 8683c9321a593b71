"""What the store says should be in a file, against what is there. A finding is a question, never a decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reflect_git.apply import finding, improvements, rulesfile
from reflect_git.apply.improvements import Improvement
from reflect_git.apply.rulesfile import RulesFile
from reflect_git.apply.wording import same


@dataclass(frozen=True)
class Finding:
    """Kinds: missing, different, foreign (an id that this store does not know), marker (broken marks, `live` in words).

    `approved` and `live` are the two texts; `line` counts from 1, 0 where there is none.
    """

    kind: str
    id: str
    approved: str = ""
    live: str = ""
    line: int = 0


def of_block(data: bytes | None, expected: Sequence[tuple[str, str]]) -> list[Finding]:
    """For a CLAUDE.md. What differs only as a formatter would have it is no finding."""
    block = finding.find(data)
    entries = block.entries if block else ()
    found = [Finding("marker", "", live=each.words, line=each.line + 1) for each in (block.troubles if block else ())]
    for identity, text in expected:
        live = [entry for entry in entries if entry.id == identity and entry.text]
        if not live:
            found.append(Finding("missing", identity, text))
        found += [
            Finding("different", identity, text, entry.text, entry.start + 1)
            for entry in live
            if not same(entry.text, text)
        ]
    known = {identity for identity, _ in expected}
    found += [
        Finding("foreign", entry.id, live=entry.text, line=entry.start + 1)
        for entry in entries
        if entry.id not in known
    ]
    return found


def of_rules_file(data: bytes | None, rule: RulesFile) -> list[Finding]:
    live = rulesfile.parse(data) if data is not None else None
    if live is None:
        return [Finding("missing", rule.id, rule.text)]
    if live.id != rule.id:
        return [Finding("missing", rule.id, rule.text), Finding("foreign", live.id, live=live.text, line=1)]
    return [] if rulesfile.equal(data or b"", rule) else [Finding("different", rule.id, rule.text, live.text, 1)]


def of_improvements(data: bytes | None, expected: Sequence[Improvement]) -> list[Finding]:
    live = {proposal.id: proposal for proposal in improvements.find(data)}
    found = []
    for item in expected:
        proposal = live.pop(item.id, None)
        if proposal is None:
            found.append(Finding("missing", item.id, item.title))
        elif not improvements.same(proposal, item):
            found.append(Finding("different", item.id, item.title, proposal.text, proposal.start + 1))
    return found + [Finding("foreign", each.id, live=each.text, line=each.start + 1) for each in live.values()]
