"""The question that a model passes on to the person, word for word; the hook on its answer takes it apart again."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reflect_git.apply.inert import inert
from reflect_git.apply.targets import GLOBAL
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.review.gate import EXCEPTION
from reflect_git.review.risks import RISK, lowest, risks
from reflect_git.sitting import links
from reflect_git.sitting.approve import FIELDS
from reflect_git.sitting.authority import LABELS, MEANS, Wish
from reflect_git.sitting.gating import exceptions_to_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reflect_git.model.schema import Learning
    from reflect_git.review.candidates import Candidate
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.amend import Amendment
    from reflect_git.sitting.approve import Proposal
    from reflect_git.sitting.review import Sitting

BAR = "---"
_SOURCES = {
    "user_typed": "You said",
    "user_feedback": "You said",
    "assistant": "Claude noted",
    "tool_output": "Seen in the output of a tool",
    "remote": "From another machine",
    "imported": "Imported",
}


def question(
    sitting: Sitting, candidate: Candidate, number: int, count: int, text: str = "", joined: Sequence[Candidate] = (),
    replaced: Sequence[Learning] = (), fields: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:  # fmt: skip
    """As AskUserQuestion takes it. The text between the two bars is what is approved, and of an improvement the
    `fields` that somebody worded for it; nothing else."""
    words, _ = inert(text or candidate.text)
    if not words:
        raise ReflectError("there is no text to ask for", "give one with --text TEXT", "usage", EXIT_USAGE)
    lines = [f"Learning {number} of {count} [{candidate.id}]", BAR, words, BAR]
    lines += _worded({name: inert(fields.get(name, ""))[0] for name in FIELDS})
    lines += [source_of(each) for each in (candidate, *joined)]
    lines += [_replaces(old) for old in replaced]
    lines += warnings_of(words, (candidate, *joined))
    lines += _risks([*_linked(sitting), *exceptions_to_all(sitting, words, replaced)])
    return _passed_on(lines, candidate.target)


def question_to_amend(amendment: Amendment) -> dict[str, Any]:
    """The same for other words of a rule in force."""
    wish = wish_to_amend(amendment)
    return _passed_on([f"Learning 1 of 1 [{wish.subject}]", BAR, wish.text, BAR, *wish.shown], wish.to)


def _passed_on(lines: Sequence[str], target: str) -> dict[str, Any]:
    """With what is proposed as the first option."""
    options = [{"label": label, "description": MEANS[to]} for label, to in LABELS.items()]
    options.sort(key=lambda option: LABELS[option["label"]] != target)
    return {"question": "\n".join(lines), "header": "Learning", "options": options, "multiSelect": False}


def wish_of(proposal: Proposal) -> Wish:
    """What a question must have shown for its answer to approve this: all that comes from elsewhere than the text."""
    request, text = proposal.request, proposal.learning["text"]
    everyone = (request.candidate, *request.joined)
    risky = [line for line in warnings_of(text, everyone) if line.startswith("Risk: ")]
    risky += _risks(found for found in proposal.findings if found.code in (links.CODE, EXCEPTION))
    # No question shows reason and paths: inside Claude Code they are a person's to give at a terminal.
    words = {name: getattr(request, name) for name in (*FIELDS, "reason")}
    own = _worded({**words, "paths": ", ".join(request.paths)})
    shown = [*map(source_of, request.joined), *map(_replaces, proposal.replaced), *risky, *own]
    return Wish(request.candidate.id, text, proposal.to, tuple(shown))


def wish_to_amend(amendment: Amendment) -> Wish:
    """The same of a rule in force: the person sees which words go, and every risk of the new ones."""
    old, new = amendment.old, amendment.new
    shown = [_replaces(old)] if old["text"] != new["text"] else []
    shown += _risks(amendment.findings)
    shown += [f"Reason: {amendment.reason}"] if amendment.reason else []
    return Wish(new["id"], new["text"], amendment.to, tuple(shown))


def _linked(sitting: Sitting) -> list[Finding]:
    """One of the answers goes into the global file; if nothing can, that is told when it is tried."""
    try:
        return links.unfollowed(sitting.store, sitting.place, GLOBAL)
    except ReflectError:
        return []


def _risks(findings: Iterable[Finding]) -> list[str]:
    return [f"Risk: {found.message}" for found in findings if found.kind == RISK]


def _worded(fields: Mapping[str, str]) -> list[str]:
    """What somebody gave a wording of its own: a line each."""
    return [f"{name.capitalize()}: {value}" for name, value in fields.items() if value]


def _replaces(old: Learning) -> str:
    return f"Replaces: {old['text']}"


def source_of(candidate: Candidate) -> str:
    """The words it comes from, and whose they are."""
    quote = "".join(letter for letter in " ".join(candidate.quote.split()) if letter.isprintable())
    return f"{_SOURCES[candidate.trust]}: {quote}"


def warnings_of(text: str, candidates: Sequence[Candidate]) -> list[str]:
    """What a person has to see before this text may be approved."""
    lines = _risks(risks(text, lowest([each.trust for each in candidates])))
    for each in candidates:
        lines += [f"Conflicts with: {inert(other['text'])[0]}" for other in each.conflicts_with]
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def questions(sitting: Sitting, shown: Sequence[Candidate]) -> list[dict[str, Any]]:
    return [question(sitting, candidate, number, len(shown)) for number, candidate in enumerate(shown, 1)]
