"""What stands against a text that is to go into a file here: the gate, asked of the rules and files of the place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reflect_git.adapters import live, redact
from reflect_git.apply import finding, targets
from reflect_git.apply.inert import inert
from reflect_git.errors import ReflectError
from reflect_git.model.frames import key_of
from reflect_git.review import gate
from reflect_git.review.gate import Subject
from reflect_git.review.risks import RISK, Finding
from reflect_git.sitting.declining import declined

if TYPE_CHECKING:
    from reflect_git.apply.targets import Target
    from reflect_git.model.schema import Learning, Signal
    from reflect_git.review.candidates import Candidate
    from reflect_git.sitting.places import Place
    from reflect_git.sitting.review import Sitting

ADDED = "added"  # the code of a risk: a wording has more than the words it rests on
_COMPARED = 50  # of the sentences that one rule rests on
_OPENING = Finding(
    gate.NOTE,
    "opening",
    f"the new file begins with '{targets.AGENTS_IMPORT.strip()}', or Claude Code would not read "
    f"{targets.AGENTS_FILE} any more",
)
_UNREAD = Finding(
    gate.NOTE,
    "unread",
    f"Claude Code does not read {targets.AGENTS_FILE} where there is a {targets.PROJECT_FILES[0]} that does not import "
    f"it: add a line '{targets.AGENTS_IMPORT.strip()}' there",
)


def findings_on(
    sitting: Sitting, text: str, trust: str, target: Target, before: bytes | None, mended: Sequence[str],
    supersedes: Sequence[str], sources: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:  # fmt: skip
    """What the gate says, of what holds here. A rule of ours stands in the store and in its file: what it stands
    against is told once."""
    found = gate.findings(
        _subject(text, trust, target, before)._replace(sources=sources or {}), _rules(sitting), mended=mended,
        has_secret=lambda words: bool(_secrets(words)), supersedes=supersedes,
        everywhere=[one["id"] for one in sitting.scan.history.in_force() if one["scope"] == "global"],
    )  # fmt: skip
    found += _elsewhere(sitting, text, target)
    found += [_OPENING] if before is None and target.opening else []
    is_unread = target.kind == "agents" and _hides_agents(sitting.place)
    found += [_UNREAD] if is_unread else []
    is_free = is_unread or not _is_always_read(target)
    return tuple(dict.fromkeys(one for one in found if one.code != "tokens" or not is_free))


def exceptions_to_all(sitting: Sitting, text: str, replaced: Sequence[Learning]) -> list[Finding]:
    """The rules for all projects that a project's rule with this text would stand against."""
    from reflect_git.review.baseline import Statement

    gone = {old["id"] for old in replaced}
    wide = [one for one in sitting.scan.history.in_force() if one["scope"] == "global" and one["id"] not in gone]
    return list(gate.exceptions(text, [Statement(one["target"]["path"], 0, one["text"], one["id"]) for one in wide]))


def additions(sitting: Sitting, text: str, candidates: Sequence[Candidate]) -> list[Finding]:
    """Return a risk for all that a model's wording has and the words of its signals do not have."""
    first = candidates[0]
    if not first.needs_wording and text in (first.text, inert(first.text)[0]):
        return []
    from reflect_git.review.quotes import find_additions

    scan, wanted = sitting.scan, {one for each in candidates for one in each.signals}
    signals = scan.whole(row for row in scan.rows if scan.columns["id"][row] in wanted)
    said = list(dict.fromkeys(str(signal["content"]) for signal in signals))[:_COMPARED]
    around = list(dict.fromkeys(map(_message_of, signals)))[:_COMPARED]
    way = "approve it only if you mean this too; otherwise word it without: --text TEXT"
    return [Finding(RISK, ADDED, found, way) for found in find_additions(said, text, around)]


def _message_of(signal: Signal) -> str:
    """Return the message that a signal was found in; of an answer, without the assistant's question."""
    context = str(signal["context"])
    return context.partition("\nanswered: ")[2] if context.startswith("asked: ") else context


def secret_fields(learning: Learning, way: str = "") -> list[Finding]:
    """An improvement has more words than its text, and a secret may be in any of them. What a field has from the text
    is told of the text."""
    told = _secrets(learning["text"])
    fields = {"title": learning["title"], **learning["meta"].get("improvement", {})}
    return [
        Finding(
            gate.REFUSED, "secret", f"the {name} holds a known kind of secret", way or f"give another: --{name} TEXT"
        )
        for name, value in fields.items()
        if any(all(one not in known for known in told) for one in _secrets(str(value)))
    ]


def _secrets(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in redact.find(text)]


def _is_always_read(target: Target) -> bool:
    """Claude Code reads a proposal never, and the file of a folder only when it works there."""
    return target.form != "improvements" and target.kind != "dir"


def _hides_agents(place: Place) -> bool:
    """Whether the project has a CLAUDE.md that neither imports AGENTS.md nor is a link to it."""
    main, agents = (os.path.join(place.root, name) for name in (targets.PROJECT_FILES[0], targets.AGENTS_FILE))
    if os.path.realpath(main) == os.path.realpath(agents):
        return False
    try:
        said = live.read(main)
    except (ReflectError, OSError):
        return False
    return said is not None and targets.AGENTS_FILE.encode() not in said


def _subject(text: str, trust: str, target: Target, before: bytes | None) -> Subject:
    block = finding.find(before) if target.form == "block" else None
    entries = len(block.entries) if block else 0
    lines = (before or b"").count(b"\n")
    return Subject(text, trust, target.path, entries, lines, is_global=target.is_global)


def _rules(sitting: Sitting) -> list[Any]:
    from reflect_git.review.baseline import Statement

    noes = ways_back(sitting)
    own = [
        Statement(one["target"]["path"], 0, one["text"], one["id"], way=noes.get(one["id"], ""))
        for one in sitting.scan.history.in_force()
        if sitting.place.reaches(one)
    ]
    return [*own, *sitting.said]


def _elsewhere(sitting: Sitting, text: str, target: Target) -> list[Finding]:
    """A rule of another project holds there and nowhere else: that it says the same is worth knowing, no more."""
    away = [one for one in sitting.scan.history.in_force() if not sitting.place.reaches(one)]
    key = key_of(text) if away else ""
    same = [one for one in away if key_of(one["text"]) == key]
    names = {one["project"]["name"]: one["timestamp"][:10] for one in same if one["project"]}
    told = ", ".join(f"'{name}' since {day}" for name, day in sorted(names.items()))
    way = "" if target.is_global else "to have it in all projects: --to global"
    return [Finding(gate.NOTE, "elsewhere", f"the same rule is in force in {told}", way)] if names else []


def ways_back(sitting: Sitting) -> dict[str, str]:
    """Rules in force that a person declined for this machine → what to do to have them here."""
    noes = declined(sitting.scan.history, sitting.store.machine)
    return {one: f"you declined it here; take it after all: reflect-git revert {no['id']}" for one, no in noes.items()}
