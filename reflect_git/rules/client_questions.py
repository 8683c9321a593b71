"""Build the questions that a model passes to the person verbatim; a hook parses the answers."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reflect_git.candidates.gate import EXCEPTION, RISK, lowest, risks
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import utc_precise
from reflect_git.rules import write_change
from reflect_git.rules.approve import FIELDS, find_end
from reflect_git.rules.approver import CONFLICT, FOR_BROKEN, Form, Wish, keep
from reflect_git.rules.gate import ADDED, additions, additions_to_rule, exceptions_to_all
from reflect_git.rules.recurring import find_broken
from reflect_git.targets.inert import inert
from reflect_git.targets.targets import GLOBAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reflect_git.candidates.gate import Finding
    from reflect_git.candidates.gather import Candidate
    from reflect_git.records.schema import Learning
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.approve import Proposal
    from reflect_git.rules.context import Context
    from reflect_git.rules.recurring import Broken

SHARPEN = "sharpen"
_QUOTED = 2  # quotes shown of what was said again
_SOURCES = {
    "user_typed": "You said",
    "user_feedback": "You said",
    "assistant": "Claude noted",
    "tool_output": "Seen in the output of a tool",
    "remote": "From another machine",
    "imported": "Imported",
}


def question(
    ctx: Context, candidate: Candidate, number: int, count: int, text: str = "", joined: Sequence[Candidate] = (),
    replaced: Sequence[Learning] = (), fields: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:  # fmt: skip
    """Build and store a question.

    Only three things are approved: the text between the two bars, its end date, and the `fields` somebody worded for an
    improvement.
    """
    words, _ = inert(text or candidate.text)
    if not words:
        raise ReflectError("there is no text to ask for", "give one with --text TEXT", "usage", EXIT_USAGE)
    mended = {name: inert(fields.get(name, ""))[0] for name in FIELDS}
    everyone = (candidate, *joined)
    mended["until"] = find_end(everyone, words, fields.get("until", ""), utc_precise())
    tail = _tail(ctx, words, everyone, replaced, mended)
    return keep(ctx.store, Form(candidate.id, words, tail, candidate.target), (number, count))


def _tail(
    ctx: Context, text: str, candidates: Sequence[Candidate], replaced: Sequence[Learning], words: Mapping[str, str]
) -> tuple[str, ...]:  # fmt: skip
    """Return the lines after the text: other written fields, sources, and every risk."""
    lines = _worded(words)
    lines += [source_of(each) for each in candidates]
    lines += [_replaces(old) for old in replaced]
    lines += warnings_of(text, candidates)
    lines += _risks([*additions(ctx, text, candidates), *_linked(ctx), *exceptions_to_all(ctx, text, replaced)])
    return tuple(lines)


def question_to_amend(ctx: Context, amendment: Amendment) -> dict[str, Any]:
    """Build and store the question about a new wording of a rule in force."""
    return keep(ctx.store, _form_to_amend(ctx, amendment))


def question_about_broken(ctx: Context, one: Broken) -> dict[str, Any]:
    """Build and store the question about a rule that was broken again, without a new wording."""
    return keep(ctx.store, _form_of_broken(one, one.rule["text"], ()))


def _form_of_broken(one: Broken, text: str, risky: Sequence[str]) -> Form:
    shown = [
        one.headline,
        _in_force(one.rule),
        *(f"You said: {_flat(quote)}" for quote in one.quotes[:_QUOTED]),
        *risky,
    ]
    labels = [label for label, to in FOR_BROKEN.items() if to != SHARPEN or text != one.rule["text"]]
    return Form(one.rule["id"], text, tuple(shown), SHARPEN, tuple(labels))


def wish_about_broken(ctx: Context, one: Broken, answer: str) -> Wish:
    """Return what a question must have shown for `retire` or `leave`: the current rule, in any proposed wording."""
    where = ctx.place.keys if one.rule["scope"] != "global" else ()
    return Wish(one.rule["id"], "", answer, (_in_force(one.rule),), tuple(where))


def _in_force(rule: Learning) -> str:
    return f"Rule in force: {rule['text']}"


def wish_of(ctx: Context, proposal: Proposal) -> Wish:
    """Return what a question must have shown for its answer to approve this: everything not in the text itself."""
    request, text = proposal.request, proposal.learning["text"]
    everyone = (request.candidate, *request.joined)
    risky = [line for line in warnings_of(text, everyone) if line.startswith("Risk: ")]
    risky += _risks(found for found in proposal.findings if found.code in (write_change.CODE, EXCEPTION, ADDED))
    words = {name: getattr(request, name) for name in FIELDS}
    words["until"] = proposal.learning["meta"].get("until", "")
    # No question shows reason and paths: inside Claude Code only a person at a terminal can give them.
    own = _worded({**words, "reason": request.reason, "paths": ", ".join(request.paths)})
    shown = [*map(source_of, request.joined), *map(_replaces, proposal.replaced), *risky, *own]
    tail = _tail(ctx, text, everyone, proposal.replaced, words)
    form = Form(request.candidate.id, text, tail, request.candidate.target)
    return Wish(request.candidate.id, text, proposal.to, tuple(shown), form=form)


def wish_to_amend(ctx: Context, amendment: Amendment) -> Wish:
    """Return what a question must have shown to amend a rule: the words replaced, and every risk of the new ones."""
    form = _form_to_amend(ctx, amendment)
    where = ctx.place.keys if form.to == SHARPEN and amendment.new["scope"] != "global" else ()
    return Wish(form.subject, form.text, form.to, form.tail, tuple(where), form)


def _form_to_amend(ctx: Context, amendment: Amendment) -> Form:
    old, new = amendment.old, amendment.new
    broken = next((one for one in find_broken(ctx) if one.rule["id"] == old["id"]), None)
    if broken and new["target"] == old["target"] and not amendment.reason:
        risky = [*_risks(amendment.findings), *_risks(additions_to_rule(old, new["text"], broken.quotes))]
        return _form_of_broken(broken, new["text"], risky)
    shown = [_replaces(old)] if old["text"] != new["text"] else []
    shown += _risks(amendment.findings)
    shown += [f"Reason: {amendment.reason}"] if amendment.reason else []
    return Form(new["id"], new["text"], tuple(shown), amendment.to)


def _linked(ctx: Context) -> list[Finding]:
    """Return the risk of a linked global file, which one answer writes to; an error is reported when it is tried."""
    try:
        return write_change.unfollowed(ctx.store, ctx.place, GLOBAL)
    except ReflectError:
        return []


def _risks(findings: Iterable[Finding]) -> list[str]:
    return [f"Risk: {found.message}" for found in findings if found.kind == RISK]


def _worded(fields: Mapping[str, str]) -> list[str]:
    """Return one line for each field that somebody worded."""
    return [f"{name.capitalize()}: {value}" for name, value in fields.items() if value]


def _replaces(old: Learning) -> str:
    return f"Replaces: {old['text']}"


def source_of(candidate: Candidate) -> str:
    """Return the quoted source of a candidate and who said it."""
    return f"{_SOURCES[candidate.trust]}: {_flat(candidate.quote)}"


def _flat(quote: str) -> str:
    """Return a quote on one line, without unprintable characters."""
    return "".join(letter for letter in " ".join(quote.split()) if letter.isprintable())


def warnings_of(text: str, candidates: Sequence[Candidate]) -> list[str]:
    """Return the risks and conflicts a person must see before approving this text."""
    lines = _risks(risks(text, lowest([each.trust for each in candidates])))
    for each in candidates:
        lines += [f"{CONFLICT}{inert(other['text'])[0]}" for other in each.conflicts_with]
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def list_questions(ctx: Context, shown: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Build the questions for candidates that work as a rule; bare quotes need a wording first."""
    numbered = enumerate(shown, 1)
    return [question(ctx, each, at, len(shown)) for at, each in numbered if not each.needs_wording]


def unworded(shown: Sequence[Candidate]) -> list[dict[str, str]]:
    """List candidates that need wording before anybody is asked: the quote, and why it is not a rule."""
    return [
        {"id": each.id, "quote": _flat(each.quote), "why": f"it {each.why_no_rule}"}
        for each in shown
        if each.needs_wording
    ]
