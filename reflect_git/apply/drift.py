"""What the store says should be in a file, against what is there. A finding is a question, never a decision."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reflect_git.adapters import markdown
from reflect_git.apply import finding, improvements, rulesfile
from reflect_git.apply import page as pages
from reflect_git.apply.improvements import Improvement, Proposal
from reflect_git.apply.plan import Item, Rule
from reflect_git.apply.rulesfile import RulesFile
from reflect_git.apply.wording import normal, same
from reflect_git.model.tuples import NamedTuple

_HEADING = re.compile(r"#{3,6} \[[0-9-]+\] (.+)")
_FIELD = re.compile(r"\*\*([A-Za-z ]+)\*\*: ?(.*)")
_FIELDS = {"Impact": "impact", "Details": "details", "Suggested action": "action", "Confidence": "confidence"}


class Finding(NamedTuple):
    """Kinds: missing, different, foreign (an id that this store does not know), marker (broken marks, `live` in words).

    `approved` and `live` are the two texts; `line` counts from 1, 0 where there is none.
    """

    kind: str
    id: str
    approved: str = ""
    live: str = ""
    line: int = 0

    def is_same(self, other: Finding) -> bool:
        """Does it say of the same entry the same, but for what a formatter changes?"""
        return (self.kind, self.id, normal(self.live)) == (other.kind, other.id, normal(other.live))


def line_of_text(data: bytes | None, found: Finding) -> int:
    """The line on which its words begin, below the comment or the front matter with its id; `found.line` where nothing
    is below."""
    lines = list(pages.read(data).lines)
    start = max(found.line - 1, markdown.front_matter(lines))
    below = enumerate(map(str.strip, lines[start:]), start + 1)
    return next((at for at, line in below if line and not finding.ID.match(line)), found.line)


def of_file(form: str, data: bytes | None, items: Sequence[Item]) -> list[Finding]:
    """For a target of any form: its bytes against the learnings that belong into it."""
    if form == "improvements":
        return of_improvements(data, [item for item in items if isinstance(item, Improvement)])
    rules = [item for item in items if isinstance(item, Rule)]
    if form == "block":
        return of_block(data, [(rule.id, rule.text) for rule in rules])
    if not rules:
        live = rulesfile.parse(data or b"")
        return [Finding("foreign", live.id, live=live.text, line=1)] if live else []
    return [found for rule in rules for found in of_rules_file(data, RulesFile(rule.id, rule.text, rule.paths))]


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
            found.append(Finding("missing", item.id, improvements.text_of(item)))
        elif not improvements.same(proposal, item):
            approved = improvements.text_of(item)
            found.append(Finding("different", item.id, approved, proposal.text, proposal.start + 1))
    return found + [Finding("foreign", each.id, live=each.text, line=each.start + 1) for each in live.values()]


def fields_of(proposal: Proposal) -> dict[str, str]:
    """Title and fields of an improvement as they stand in a file."""
    found = {}
    for line in proposal.text.splitlines():
        if heading := _HEADING.fullmatch(line):
            found["title"] = heading[1]
        elif (field := _FIELD.fullmatch(line)) and field[1] in _FIELDS:
            found[_FIELDS[field[1]]] = field[2]
    return found
