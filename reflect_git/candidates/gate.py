"""Checks on a text before it becomes a rule: refusals, risks that need a typed `yes`, and notes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache

from reflect_git.candidates.statements import Statement, is_note, is_source
from reflect_git.language.parse import compute_key
from reflect_git.language.sentences import split_line
from reflect_git.language.similarity import contradicts, is_certain_contradiction
from reflect_git.language.wording import clip_text
from reflect_git.language.words import load_table
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.schema import TRUSTS

RISK = "risk"
_FLAGS = re.IGNORECASE | re.DOTALL
_OWN_TRUSTS = ("user_typed", "user_feedback")


class Finding(NamedTuple):
    """One result of the checks.

    `kind` is refused, mended, risk or note. `hint` is what to run or change, if there is anything.
    """

    kind: str
    code: str
    message: str
    hint: str = ""


class RiskPattern(NamedTuple):
    """A kind of risk.

    Any text that matches one of the patterns contains one of the lower-case hints. Compiling all patterns takes 8 ms,
    and most rules contain no hint at all. Patterns without hints are always tried.
    """

    code: str
    description: str
    hints: tuple[str, ...]
    patterns: tuple[str, ...]


RISK_PATTERNS = tuple(
    RiskPattern(one["code"], one["said"], tuple(one["hints"]), tuple(one["patterns"]))
    for one in load_table("risks")["signs"]
)
# "Never disable the tests" is the opposite of a risk, if nothing else is said but that something was wrong.
_PROHIBITION = r"^\s*(?:(?:%s)\s*[,:;—–-]+\s+)?(never|do not|don't|avoid)\b[^.;,!?]*[.!]?\s*$"
_NEGATABLE_RISKS = ("switches-off-safety", "reads-secrets", "widens-permissions")
_LATIN = r"[A-Za-zÀ-ɏ]"
_LOOKALIKE = r"[\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f]"
_SOURCE_NAMES = {
    "assistant": "the assistant",
    "tool_output": "the output of a tool",
    "remote": "another machine",
    "imported": "an import",
}


def find_risks(text: str, trust: str) -> list[Finding]:
    """Return the risks in a text.

    The trust label is mechanical and cannot be argued with. The rest is a list of known attack patterns and never
    complete.
    """
    found = []
    if trust not in _OWN_TRUSTS:
        # The text may be the user's all the same: what it rests on is trusted as little as the least of it.
        message = f"it rests on words that are not your own: from {_SOURCE_NAMES.get(trust, trust)}"
        found.append(Finding(RISK, "trust", message, "read it to the end"))
    words = () if text.isascii() else re.findall(r"\w+", text)
    mixed = next((word for word in words if re.search(_LATIN, word) and re.search(_LOOKALIKE, word)), "")
    if mixed:
        message = f"'{mixed}' mixes letters of two alphabets that look alike"
        found.append(Finding(RISK, "mixed-script", message, "type the word again: --text TEXT"))
    # As a reader takes it: no invisible letters within a word, wide letters as plain ones.
    seen = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    plain = to_lower(seen)
    for sign in RISK_PATTERNS:
        if (not sign.hints or any(hint in plain for hint in sign.hints)) and _matches_risk(sign, seen):
            found.append(Finding(RISK, sign.code, f"it {sign.description}", "approve it only if you mean exactly this"))
    return found


def to_lower(text: str) -> str:
    """Fold a text to lower case as case-insensitive patterns do: they treat the Turkish letters İ and ı as i."""
    return text.replace("İ", "i").replace("ı", "i").lower()


def get_lowest_trust(trusts: list[str]) -> str:
    """Return the lowest trust of the sources; an unknown label counts as the lowest."""
    return max(trusts, key=lambda trust: TRUSTS.index(trust) if trust in TRUSTS else len(TRUSTS))


@cache
def _compile_prohibition() -> re.Pattern[str]:
    return re.compile(_PROHIBITION % "|".join(load_table("wording")["fault"]), re.IGNORECASE)


@cache
def compile_risk(sign: RiskPattern) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in sign.patterns), _FLAGS)


def _matches_risk(sign: RiskPattern, text: str) -> bool:
    pattern = compile_risk(sign)
    if not pattern.search(text):
        return False
    if sign.code not in _NEGATABLE_RISKS:
        return True
    return any(pattern.search(one) and not _compile_prohibition().match(one) for one in split_line(text))


REFUSED, MENDED, NOTE = "refused", "mended", "note"
CONTRADICTION, EXCEPTION = "contradiction", "exception"
MAX_ENTRIES, MANY_ENTRIES = 150, 50
MANY_LINES = 200
LONG_TEXT, MAX_SENTENCES = 400, 3


class Subject(NamedTuple):
    """A text that is about to be written to a target.

    `is_global` means that it applies to all projects. `sources` maps files to the text imported from them.
    """

    text: str
    trust: str
    target: str
    entries: int = 0
    lines: int = 0
    sources: Mapping[str, str] = {}
    is_global: bool = False


def check_subject(
    subject: Subject,
    rules: Sequence[Statement],
    *,
    has_secret: Callable[[str], bool],
    mended: Iterable[str] = (),
    supersedes: Iterable[str] = (),
    everywhere: Collection[str] = (),
) -> list[Finding]:
    """Return all findings, the most serious first.

    `rules` are the rules in force and the statements in the target. `mended` lists what the renderer changed.
    `everywhere` lists the global learnings, to which a project may make an exception.
    """
    replaced = set(supersedes)
    others = [rule for rule in rules if rule.learning is None or rule.learning not in replaced]
    wide = [] if subject.is_global else [rule for rule in others if rule.learning in everywhere]
    return [
        *_find_refusals(subject, others, has_secret, wide),
        *(Finding(MENDED, "mended", what) for what in mended),
        *find_risks(subject.text, subject.trust),
        *find_exceptions(subject.text, wide),
        *_find_notes(subject, others),
    ]


def is_refused(found: Iterable[Finding]) -> bool:
    return any(finding.kind == REFUSED for finding in found)


def is_risky(found: Iterable[Finding]) -> bool:
    return any(finding.kind == RISK for finding in found)


def find_exceptions(text: str, rules: Iterable[Statement]) -> Iterable[Finding]:
    """Yield a risk for each global rule that a project rule with this text would contradict."""
    for rule in rules:
        if is_certain_contradiction(text, rule.text):
            message = format_exception(rule.learning or "", rule.text)
            way = f"to replace that rule in all projects: --to global --supersedes {rule.learning}"
            yield Finding(RISK, EXCEPTION, message, way)


def format_exception(rule: str, text: str) -> str:
    return f"in this project it overrides the global rule '{rule}': {_shorten(text)}"


def _find_refusals(
    subject: Subject, rules: Sequence[Statement], has_secret: Callable[[str], bool], wide: Sequence[Statement]
) -> Iterable[Finding]:
    if has_secret(subject.text):
        yield Finding(REFUSED, "secret", "the text holds a known kind of secret", "take it out: --text TEXT")
    key = compute_key(subject.text)
    for rule in rules:
        where = rule.learning or f"{rule.file}:{rule.line}"
        if rule.key == key and not is_note(rule):
            way = f"reword it: reflect-git edit {where}" if rule.learning else "nothing to do; dismiss it"
            yield Finding(REFUSED, "duplicate", f"'{where}' already says it: {_shorten(rule.text)}", rule.hint or way)
        elif rule.learning and rule not in wide and is_certain_contradiction(subject.text, rule.text):
            message = f"it contradicts '{where}', which is in force: {_shorten(rule.text)}"
            yield Finding(REFUSED, CONTRADICTION, message, f"replace that rule: --supersedes {where}")
    if subject.entries >= MAX_ENTRIES:
        message = f"'{subject.target}' has {subject.entries} entries, and {MAX_ENTRIES} are the most"
        yield Finding(REFUSED, "full", message, "move some with 'reflect-git edit LRN --to rules'")


def _find_notes(subject: Subject, rules: Sequence[Statement]) -> Iterable[Finding]:
    sentences = len(split_line(subject.text))
    if sentences > MAX_SENTENCES:
        yield Finding(NOTE, "sentences", f"{sentences} sentences; rules of 1 to {MAX_SENTENCES} are followed best")
    if len(subject.text) > LONG_TEXT:
        yield Finding(NOTE, "long", f"{len(subject.text)} characters; rules below {LONG_TEXT} are followed best")
    if MANY_ENTRIES <= subject.entries < MAX_ENTRIES:
        yield Finding(NOTE, "entries", f"'{subject.target}' has {subject.entries} entries already")
    if subject.lines >= MANY_LINES:
        yield Finding(NOTE, "lines", f"'{subject.target}' has {subject.lines} lines; Claude follows short files best")
    key = compute_key(subject.text)
    for rule in rules:
        if is_note(rule) and rule.key == key:  # a note is of this machine and Claude's own: a rule is more
            yield Finding(NOTE, "noted", f"Claude Code noted it by itself, too: '{rule.file}:{rule.line}'")
        strict = rule.learning and is_certain_contradiction(subject.text, rule.text)
        if not strict and not is_source(rule, subject.sources) and contradicts(subject.text, rule.text):
            where = rule.learning or f"{rule.file}:{rule.line}"
            yield Finding(NOTE, "conflict", f"it may contradict '{where}': {_shorten(rule.text)}")
    yield Finding(NOTE, "tokens", f"about {estimate_tokens(subject.text)} tokens in every session")


def estimate_tokens(text: str) -> int:
    return max(1, round(len(text) / 4))


def _shorten(text: str) -> str:
    return clip_text(" ".join(text.split()), 100)
