"""The question that a model passes on to the person, word for word; the hook on its answer takes it apart again."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reflect_git.apply.inert import inert
from reflect_git.apply.targets import GLOBAL
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.ids import utc_precise
from reflect_git.review.gate import EXCEPTION
from reflect_git.review.risks import RISK, lowest, risks
from reflect_git.sitting import links
from reflect_git.sitting.approve import FIELDS, find_end
from reflect_git.sitting.authority import Wish
from reflect_git.sitting.gating import ADDED, additions, exceptions_to_all
from reflect_git.sitting.question_form import CONFLICT, FOR_BROKEN, Form, keep
from reflect_git.sitting.recurring import find_broken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reflect_git.model.schema import Learning
    from reflect_git.review.candidates import Candidate
    from reflect_git.review.risks import Finding
    from reflect_git.sitting.amend import Amendment
    from reflect_git.sitting.approve import Proposal
    from reflect_git.sitting.recurring import Broken
    from reflect_git.sitting.review import Sitting

SHARPEN = "sharpen"
_QUOTED = 2  # of what was said again
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
    """Build and keep a question. What is approved is the text between the two bars, the day on which it ends, and of an
    improvement the `fields` that somebody worded for it; nothing else."""
    words, _ = inert(text or candidate.text)
    if not words:
        raise ReflectError("there is no text to ask for", "give one with --text TEXT", "usage", EXIT_USAGE)
    mended = {name: inert(fields.get(name, ""))[0] for name in FIELDS}
    everyone = (candidate, *joined)
    mended["until"] = find_end(everyone, words, fields.get("until", ""), utc_precise())
    tail = _tail(sitting, words, everyone, replaced, mended)
    return keep(sitting.store, Form(candidate.id, words, tail, candidate.target), (number, count))


def _tail(
    sitting: Sitting, text: str, candidates: Sequence[Candidate], replaced: Sequence[Learning], words: Mapping[str, str]
) -> tuple[str, ...]:  # fmt: skip
    """Return the lines after the text: what else is written, where it comes from, and every risk."""
    lines = _worded(words)
    lines += [source_of(each) for each in candidates]
    lines += [_replaces(old) for old in replaced]
    lines += warnings_of(text, candidates)
    lines += _risks(
        [*additions(sitting, text, candidates), *_linked(sitting), *exceptions_to_all(sitting, text, replaced)]
    )
    return tuple(lines)


def question_to_amend(sitting: Sitting, amendment: Amendment) -> dict[str, Any]:
    """Build and keep the question for other words of a rule in force."""
    return keep(sitting.store, _form_to_amend(sitting, amendment))


def question_about_broken(sitting: Sitting, one: Broken) -> dict[str, Any]:
    """Build and keep the question about a rule that was broken again, without other words for it."""
    return keep(sitting.store, _form_of_broken(one, one.rule["text"], ()))


def _form_of_broken(one: Broken, text: str, risky: Sequence[str]) -> Form:
    shown = [
        one.headline,
        _in_force(one.rule),
        *(f"You said: {_flat(quote)}" for quote in one.quotes[:_QUOTED]),
        *risky,
    ]
    labels = [label for label, to in FOR_BROKEN.items() if to != SHARPEN or text != one.rule["text"]]
    return Form(one.rule["id"], text, tuple(shown), SHARPEN, tuple(labels))


def wish_about_broken(sitting: Sitting, one: Broken, answer: str) -> Wish:
    """What a question must have shown for `retire` or `leave`, in whatever wording it proposed: the rule as it is."""
    where = sitting.place.keys if one.rule["scope"] != "global" else ()
    return Wish(one.rule["id"], "", answer, (_in_force(one.rule),), tuple(where))


def _in_force(rule: Learning) -> str:
    return f"Rule in force: {rule['text']}"


def wish_of(sitting: Sitting, proposal: Proposal) -> Wish:
    """What a question must have shown for its answer to approve this: all that comes from elsewhere than the text."""
    request, text = proposal.request, proposal.learning["text"]
    everyone = (request.candidate, *request.joined)
    risky = [line for line in warnings_of(text, everyone) if line.startswith("Risk: ")]
    risky += _risks(found for found in proposal.findings if found.code in (links.CODE, EXCEPTION, ADDED))
    words = {name: getattr(request, name) for name in FIELDS}
    words["until"] = proposal.learning["meta"].get("until", "")
    # No question shows reason and paths: inside Claude Code they are a person's to give at a terminal.
    own = _worded({**words, "reason": request.reason, "paths": ", ".join(request.paths)})
    shown = [*map(source_of, request.joined), *map(_replaces, proposal.replaced), *risky, *own]
    tail = _tail(sitting, text, everyone, proposal.replaced, words)
    form = Form(request.candidate.id, text, tail, request.candidate.target)
    return Wish(request.candidate.id, text, proposal.to, tuple(shown), form=form)


def wish_to_amend(sitting: Sitting, amendment: Amendment) -> Wish:
    """The same of a rule in force: the person sees which words go, and every risk of the new ones."""
    form = _form_to_amend(sitting, amendment)
    where = sitting.place.keys if form.to == SHARPEN and amendment.new["scope"] != "global" else ()
    return Wish(form.subject, form.text, form.to, form.tail, tuple(where), form)


def _form_to_amend(sitting: Sitting, amendment: Amendment) -> Form:
    old, new = amendment.old, amendment.new
    broken = next((one for one in find_broken(sitting) if one.rule["id"] == old["id"]), None)
    if broken and new["target"] == old["target"] and not amendment.reason:
        return _form_of_broken(broken, new["text"], _risks(amendment.findings))
    shown = [_replaces(old)] if old["text"] != new["text"] else []
    shown += _risks(amendment.findings)
    shown += [f"Reason: {amendment.reason}"] if amendment.reason else []
    return Form(new["id"], new["text"], tuple(shown), amendment.to)


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
    return f"{_SOURCES[candidate.trust]}: {_flat(candidate.quote)}"


def _flat(quote: str) -> str:
    return "".join(letter for letter in " ".join(quote.split()) if letter.isprintable())


def warnings_of(text: str, candidates: Sequence[Candidate]) -> list[str]:
    """What a person has to see before this text may be approved."""
    lines = _risks(risks(text, lowest([each.trust for each in candidates])))
    for each in candidates:
        lines += [f"{CONFLICT}{inert(other['text'])[0]}" for other in each.conflicts_with]
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def questions(sitting: Sitting, shown: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Build the questions for all that work as a rule; a quote is asked about only in a wording."""
    numbered = enumerate(shown, 1)
    return [question(sitting, each, at, len(shown)) for at, each in numbered if not each.needs_wording]


def unworded(shown: Sequence[Candidate]) -> list[dict[str, str]]:
    """List those that need wording before anybody is asked: what was said, and why it is no rule by itself."""
    return [
        {"id": each.id, "quote": _flat(each.quote), "why": f"it {each.why_no_rule}"}
        for each in shown
        if each.needs_wording
    ]
