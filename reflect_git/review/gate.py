"""What stands against a text that is about to be approved: refused, mended, a risk, or worth a note."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from reflect_git.model.frames import key_of
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.baseline import Statement, is_note, is_source
from reflect_git.review.likeness import contradicts, is_opposed
from reflect_git.review.risks import RISK, Finding, risks
from reflect_git.review.sentences import split

REFUSED, MENDED, NOTE = "refused", "mended", "note"
CONTRADICTION, EXCEPTION = "contradiction", "exception"
MOST_ENTRIES, MANY_ENTRIES = 150, 50
MANY_LINES = 200
LONG, SENTENCES = 400, 3


class Subject(NamedTuple):
    """A text on its way into a target, for all projects if that `is_global`; `sources`: what was imported for it, by
    file."""

    text: str
    trust: str
    target: str
    entries: int = 0
    lines: int = 0
    sources: Mapping[str, str] = {}
    is_global: bool = False


def findings(
    subject: Subject,
    rules: Sequence[Statement],
    *,
    has_secret: Callable[[str], bool],
    mended: Iterable[str] = (),
    supersedes: Iterable[str] = (),
    everywhere: Collection[str] = (),
) -> list[Finding]:
    """All of them, the gravest first. `rules` are those in force and what the target says; `mended` what the renderer
    changed. `everywhere`: the learnings for all projects, to which a project may make an exception."""
    replaced = set(supersedes)
    others = [rule for rule in rules if rule.learning is None or rule.learning not in replaced]
    wide = [] if subject.is_global else [rule for rule in others if rule.learning in everywhere]
    return [
        *_refusals(subject, others, has_secret, wide),
        *(Finding(MENDED, "mended", what) for what in mended),
        *risks(subject.text, subject.trust),
        *exceptions(subject.text, wide),
        *_notes(subject, others),
    ]


def is_refused(found: Iterable[Finding]) -> bool:
    return any(finding.kind == REFUSED for finding in found)


def is_risky(found: Iterable[Finding]) -> bool:
    return any(finding.kind == RISK for finding in found)


def exceptions(text: str, rules: Iterable[Statement]) -> Iterable[Finding]:
    """Of rules for all projects, those that a project's rule with this text would stand against."""
    for rule in rules:
        if is_opposed(text, rule.text):
            message = instead_of(rule.learning or "", rule.text)
            way = f"to replace that rule in all projects: --to global --supersedes {rule.learning}"
            yield Finding(RISK, EXCEPTION, message, way)


def instead_of(rule: str, text: str) -> str:
    return f"in this project it holds instead of '{rule}', which is for all: {_brief(text)}"


def _refusals(
    subject: Subject, rules: Sequence[Statement], has_secret: Callable[[str], bool], wide: Sequence[Statement]
) -> Iterable[Finding]:
    if has_secret(subject.text):
        yield Finding(REFUSED, "secret", "the text holds a known kind of secret", "take it out: --text TEXT")
    key = key_of(subject.text)
    for rule in rules:
        where = rule.learning or f"{rule.file}:{rule.line}"
        if rule.key == key and not is_note(rule):
            way = f"reword it: reflect-git edit {where}" if rule.learning else "nothing to do; dismiss it"
            yield Finding(REFUSED, "duplicate", f"'{where}' already says it: {_brief(rule.text)}", rule.way or way)
        elif rule.learning and rule not in wide and is_opposed(subject.text, rule.text):
            message = f"it contradicts '{where}', which is in force: {_brief(rule.text)}"
            yield Finding(REFUSED, CONTRADICTION, message, f"replace that rule: --supersedes {where}")
    if subject.entries >= MOST_ENTRIES:
        message = f"'{subject.target}' has {subject.entries} entries, and {MOST_ENTRIES} are the most"
        yield Finding(REFUSED, "full", message, "move some with 'reflect-git edit LRN --to rules'")


def _notes(subject: Subject, rules: Sequence[Statement]) -> Iterable[Finding]:
    sentences = len(split(subject.text))
    if sentences > SENTENCES:
        yield Finding(NOTE, "sentences", f"{sentences} sentences; rules of 1 to {SENTENCES} are followed best")
    if len(subject.text) > LONG:
        yield Finding(NOTE, "long", f"{len(subject.text)} characters; rules below {LONG} are followed best")
    if MANY_ENTRIES <= subject.entries < MOST_ENTRIES:
        yield Finding(NOTE, "entries", f"'{subject.target}' has {subject.entries} entries already")
    if subject.lines >= MANY_LINES:
        yield Finding(NOTE, "lines", f"'{subject.target}' has {subject.lines} lines; Claude follows short files best")
    key = key_of(subject.text)
    for rule in rules:
        if is_note(rule) and rule.key == key:  # a note is of this machine and Claude's own: a rule is more
            yield Finding(NOTE, "noted", f"Claude Code noted it by itself, too: '{rule.file}:{rule.line}'")
        strict = rule.learning and is_opposed(subject.text, rule.text)
        if not strict and not is_source(rule, subject.sources) and contradicts(subject.text, rule.text):
            where = rule.learning or f"{rule.file}:{rule.line}"
            yield Finding(NOTE, "conflict", f"it may contradict '{where}': {_brief(rule.text)}")
    yield Finding(NOTE, "tokens", f"about {tokens(subject.text)} tokens in every session")


def tokens(text: str) -> int:
    return max(1, round(len(text) / 4))


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else f"{flat[:99]}…"
