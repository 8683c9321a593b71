"""Build the questions that a model passes to the person verbatim; a hook parses the answers."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reflect_git.candidates.candidate import format_backtest, format_confidence
from reflect_git.candidates.gate import EXCEPTION, RISK, find_risks, get_lowest_trust
from reflect_git.candidates.matcher import get_candidate_matcher
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.ids import day_number, parse_utc, utc_precise
from reflect_git.rules import write_change
from reflect_git.rules.approve import IMPROVEMENT_FIELDS, choose_end_date
from reflect_git.rules.approver import (
    BROKEN_RULE_LABELS,
    CONFLICT_PREFIX,
    ApprovalRequest,
    QuestionForm,
    store_question,
)
from reflect_git.rules.gate import ADDED, check_additions, check_rule_additions, find_global_exceptions
from reflect_git.rules.guarding.broken_rules import find_broken_rules
from reflect_git.rules.queue import Queue, with_backtest
from reflect_git.targets.safe_text import make_safe
from reflect_git.targets.target_files import GLOBAL_TARGET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reflect_git.candidates.gate import Finding
    from reflect_git.candidates.gather import Candidate
    from reflect_git.records.schema import Learning
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.approve import Proposal
    from reflect_git.rules.context import Context
    from reflect_git.rules.guarding.broken_rules import BrokenRule

SHARPEN, GUARD = "sharpen", "guard"
MANY = 10  # proposed rules, from which on the person first chooses how to go on
_MAX_QUOTES = 2  # quotes shown of what was said again
_SOURCE_LABELS = {
    "user_typed": "You said",
    "user_feedback": "You said",
    "assistant": "Claude noted",
    "tool_output": "Seen in the output of a tool",
    "remote": "From another machine",
    "imported": "Imported",
}


def store_candidate_question(
    ctx: Context, candidate: Candidate, number: int, count: int, text: str = "", joined: Sequence[Candidate] = (),
    replaced: Sequence[Learning] = (), fields: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:  # fmt: skip
    """Build and store a question.

    Only three things are approved: the text between the two bars, its end date, and the `fields` somebody worded for an
    improvement.
    """
    form = build_candidate_form(ctx, candidate, text, joined, replaced, fields)
    return store_question(ctx.store, form, (number, count))


def build_candidate_form(
    ctx: Context, candidate: Candidate, text: str = "", joined: Sequence[Candidate] = (),
    replaced: Sequence[Learning] = (), fields: Mapping[str, str] = MappingProxyType({}),
) -> QuestionForm:  # fmt: skip
    """Return what a question about a candidate, in this wording, has to show."""
    words, _ = make_safe(text or candidate.text)
    if not words:
        raise ReflectError("there is no text to ask for", "give one with --text TEXT", "usage", EXIT_USAGE)
    mended = {name: make_safe(fields.get(name, ""))[0] for name in IMPROVEMENT_FIELDS}
    everyone = (candidate, *joined)
    mended["until"] = choose_end_date(everyone, words, fields.get("until", ""), utc_precise())
    tail = _build_tail(ctx, words, everyone, replaced, mended)
    return QuestionForm(candidate.id, words, tail, candidate.target)


def _build_tail(
    ctx: Context, text: str, candidates: Sequence[Candidate], replaced: Sequence[Learning], words: Mapping[str, str]
) -> tuple[str, ...]:  # fmt: skip
    """Return the lines after the text: other written fields, sources, and every risk."""
    lines = _format_fields(words)
    lines += [format_source(each) for each in candidates]
    lines += _format_evidence(ctx, text, candidates[0])
    lines += [_format_replaced(old) for old in replaced]
    lines += list_warnings(text, candidates)
    lines += _format_risks(
        [
            *check_additions(ctx, text, candidates),
            *_find_global_link_risks(ctx),
            *find_global_exceptions(ctx, text, replaced),
        ]
    )
    return tuple(lines)


def store_amendment_question(ctx: Context, amendment: Amendment) -> dict[str, Any]:
    """Build and store the question about a new wording of a rule in force."""
    return store_question(ctx.store, _build_amendment_form(ctx, amendment), _find_place(ctx, amendment.old["id"]))


def _find_place(ctx: Context, record_id: str) -> tuple[int, int]:
    """Return the position of a rule among those that were broken again."""
    broken = [one.rule["id"] for one in find_broken_rules(ctx)]
    return (broken.index(record_id) + 1, len(broken)) if record_id in broken else (1, 1)


def store_broken_rule_question(ctx: Context, one: BrokenRule) -> dict[str, Any]:
    """Build and store the question about a rule that was broken again, without a new wording."""
    return store_question(
        ctx.store, build_broken_rule_form(one, one.rule["text"], ()), _find_place(ctx, one.rule["id"])
    )


def build_broken_rule_form(one: BrokenRule, text: str, risky: Sequence[str]) -> QuestionForm:
    """Return what a question about a rule that was broken again has to show, in its own or another wording."""
    shown = [
        one.headline,
        _format_rule_in_force(one.rule),
        *(f"You said: {_to_one_line(quote)}" for quote in one.quotes[:_MAX_QUOTES]),
        *([_format_guard(one)] if one.guard else []),
        *risky,
    ]
    left_out = {SHARPEN} if text == one.rule["text"] else set()
    left_out |= set() if one.guard else {GUARD}
    labels = [label for label, to in BROKEN_RULE_LABELS.items() if to not in left_out]
    return QuestionForm(one.rule["id"], text, tuple(shown), SHARPEN, tuple(labels))


def build_broken_rule_request(ctx: Context, one: BrokenRule, answer: str) -> ApprovalRequest:
    """Return what a question must have shown for an answer: the current rule, and for a guard what it matches."""
    where = ctx.place.keys if one.rule["scope"] != "global" else ()
    shown = [_format_rule_in_force(one.rule), *([_format_guard(one)] if answer == GUARD else [])]
    return ApprovalRequest(one.rule["id"], "", answer, tuple(shown), tuple(where))


def _format_guard(one: BrokenRule) -> str:
    return f"A guard would match: {_to_one_line(one.guard)}"


def _format_rule_in_force(rule: Learning) -> str:
    return f"Rule in force: {rule['text']}"


def build_approval_request(ctx: Context, proposal: Proposal) -> ApprovalRequest:
    """Return what a question must have shown for its answer to approve this: everything not in the text itself."""
    request, text = proposal.request, proposal.learning["text"]
    everyone = (request.candidate, *request.joined)
    risky = [line for line in list_warnings(text, everyone) if line.startswith("Risk: ")]
    risky += _format_risks(
        found for found in proposal.findings if found.code in (write_change.LINK_CODE, EXCEPTION, ADDED)
    )
    words = {name: getattr(request, name) for name in IMPROVEMENT_FIELDS}
    words["until"] = proposal.learning["meta"].get("until", "")
    # No question shows reason and paths: inside Claude Code only a person at a terminal can give them.
    own = _format_fields({**words, "reason": request.reason, "paths": ", ".join(request.paths)})
    shown = [*map(format_source, request.joined), *map(_format_replaced, proposal.replaced), *risky, *own]
    tail = _build_tail(ctx, text, everyone, proposal.replaced, words)
    form = QuestionForm(request.candidate.id, text, tail, request.candidate.target)
    return ApprovalRequest(request.candidate.id, text, proposal.to, tuple(shown), form=form)


def build_amendment_request(ctx: Context, amendment: Amendment) -> ApprovalRequest:
    """Return what a question must have shown to amend a rule: the words replaced, and every risk of the new ones."""
    form = _build_amendment_form(ctx, amendment)
    where = ctx.place.keys if form.to == SHARPEN and amendment.new["scope"] != "global" else ()
    return ApprovalRequest(form.subject, form.text, form.to, form.tail, tuple(where), form)


def _build_amendment_form(ctx: Context, amendment: Amendment) -> QuestionForm:
    old, new = amendment.old, amendment.new
    broken = next((one for one in find_broken_rules(ctx) if one.rule["id"] == old["id"]), None)
    if broken and new["target"] == old["target"] and not amendment.reason:
        risky = [
            *_format_risks(amendment.findings),
            *_format_risks(check_rule_additions(old, new["text"], broken.quotes)),
        ]
        return build_broken_rule_form(broken, new["text"], risky)
    shown = [_format_replaced(old)] if old["text"] != new["text"] else []
    shown += _format_risks(amendment.findings)
    shown += [f"Reason: {amendment.reason}"] if amendment.reason else []
    return QuestionForm(new["id"], new["text"], tuple(shown), amendment.to)


def _find_global_link_risks(ctx: Context) -> list[Finding]:
    """Return the risk of a linked global file, which one answer writes to; an error is reported when it is tried."""
    try:
        return write_change.check_link(ctx.store, ctx.place, GLOBAL_TARGET)
    except ReflectError:
        return []


def _format_risks(findings: Iterable[Finding]) -> list[str]:
    return [f"Risk: {found.message}" for found in findings if found.kind == RISK]


def _format_fields(fields: Mapping[str, str]) -> list[str]:
    """Return one line for each field that somebody worded."""
    return [f"{name.capitalize()}: {value}" for name, value in fields.items() if value]


def _format_replaced(old: Learning) -> str:
    return f"Replaces: {old['text']}"


def format_source(candidate: Candidate) -> str:
    """Return the quoted source of a candidate and who said it."""
    return f"{_SOURCE_LABELS[candidate.trust]}: {_to_one_line(candidate.quote)}"


def _format_evidence(ctx: Context, text: str, candidate: Candidate) -> list[str]:
    """Return type, age, confidence and backtest of a candidate in this wording."""
    about = f"{candidate.type}, {_format_age(candidate.last_seen)}, confidence {format_confidence(candidate)}"
    matcher = get_candidate_matcher(candidate, text if text != candidate.text else "")
    if matcher is None:
        return [f"About: {about}", "Backtest: none, because it names no command or file to look for"]
    tried = candidate.backtest
    if isinstance(ctx, Queue) and (tried is None or matcher != candidate.matcher):
        tried = with_backtest(ctx, candidate._replace(matcher=matcher)).backtest
    said = format_backtest(tried) if tried else "not known yet"
    return [f"About: {about}", f"Backtest: {_to_one_line(said)}"]


def _format_age(timestamp: str) -> str:
    days = day_number(time.time()) - day_number(parse_utc(timestamp))
    return "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"


def _to_one_line(quote: str) -> str:
    """Return a quote on one line, without unprintable characters."""
    return "".join(letter for letter in " ".join(quote.split()) if letter.isprintable())


def list_warnings(text: str, candidates: Sequence[Candidate]) -> list[str]:
    """Return the risks and conflicts a person must see before approving this text."""
    lines = _format_risks(find_risks(text, get_lowest_trust([each.trust for each in candidates])))
    for each in candidates:
        lines += [f"{CONFLICT_PREFIX}{make_safe(other['text'])[0]}" for other in each.conflicts_with]
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def list_questions(ctx: Context, shown: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Build the questions for candidates that work as a rule; bare quotes need a wording first."""
    numbered = enumerate(shown, 1)
    return [store_candidate_question(ctx, each, at, len(shown)) for at, each in numbered if not each.needs_wording]


def build_overview_question(count: int) -> dict[str, Any]:
    """Build the question that comes before ten or more others. It decides about no rule, so its answer is not kept."""
    options = [
        ("Go", "one question for each, up to four at a time"),
        ("Summary", "first a list with one line for each"),
        ("Skip all", "not now; they are asked again in the next review"),
    ]
    return {
        "question": f"reflect-git: {count} proposed rules wait. How do you want to go on?", "header": "Review",
        "options": [{"label": label, "description": text} for label, text in options], "multiSelect": False,
    }  # fmt: skip


def list_unworded(shown: Sequence[Candidate]) -> list[dict[str, str]]:
    """List candidates that need wording before anybody is asked: the quote, and why it is not a rule."""
    return [
        {"id": each.id, "quote": _to_one_line(each.quote), "why": f"it {each.why_no_rule}"}
        for each in shown
        if each.needs_wording
    ]
