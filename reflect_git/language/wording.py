"""Choose the text that is proposed for a group of signals: the person's own sentence, if one works as a rule.

Nothing is rephrased beyond dropping the talk around a sentence. Where no sentence works as a rule by itself, the text
is a quote that still needs wording, and says so. So is a sentence that does not stand for its message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reflect_git.language.parse import opposes, parse_frame
from reflect_git.language.rule_form import (
    RULE_LIMIT,
    capitalize_sentence,
    find_rule_fault,
    find_sentence_fault,
    is_verb,
    may_limit_neighbor,
    tidy_sentence,
)
from reflect_git.language.sentences import split_sentences
from reflect_git.records.ids import count_words
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.schema import TRUSTS

WRITTEN_LIMIT = 400  # of what somebody wrote down as a rule
_USER_TRUSTS = ("user_typed", "user_feedback")
_FIX_PATTERN = re.compile(r"^`([^`]+)` fails here \(.*\); `([^`]+)` works$", re.DOTALL)
_AFTER_PATTERN = re.compile(r"^`([^`]+)` fails here \(.*\) until `([^`]+)` was run$", re.DOTALL)
_TWICE_PATTERN = re.compile(r"^`([^`]+)` failed twice: (.*)$", re.DOTALL)
_FAILED_PATTERN = re.compile(r"^Bash failed: (.+)$", re.DOTALL)
# Without it, the sentence before would say more than was said.
_DEPENDENT_START = re.compile(
    r"(?:(?:but|and) )?(?:unless|except|only|otherwise|instead|until|if|or|not|never|but)\b", re.I
)
_ALTERNATIVE_START = re.compile(r"(?:just |always )*(?:use|keep|stick (?:to|with)|prefer|take)\b|.*\binstead$", re.I)
_MAX_ACKNOWLEDGEMENT_WORDS = 4  # "great, thanks!" before the only other sentence
_FILLER_LIMIT = 60  # letters beside a rule that do not count


class Wording(NamedTuple):
    """The proposed text, and why it is not a rule yet; empty if it is one."""

    text: str
    why: str = ""


def choose_wording(signals: Sequence[Mapping[str, Any]]) -> Wording:
    """Word the signals of one candidate: the best sentence as a rule, otherwise the words as they were said."""
    first = best_signal(signals)
    content = " ".join(str(first["content"]).split())
    found = _word_observation(content)
    if found:
        return found
    if depends_on_question(signals):
        question, answer = _get_question_and_answer(first)
        return Wording(clip_text(f"{question} {answer}"), "answers a question")
    if first["type"] == "pattern" and first["trust"] == "assistant":
        return Wording(clip_text(content), "tells what was praised")
    if not _is_said_in_passing(first):
        return _word_written_rule(content)
    found_in = list(map(_find_rule, _sort_by_trust(signals)))
    return next((rule for rule in found_in if not rule.why), found_in[0])


def best_signal(signals: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the signal with the most trusted and complete statement; the first of equals."""
    return _sort_by_trust(signals)[0]


def _sort_by_trust(signals: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    def weight(signal: Mapping[str, Any]) -> tuple[int, bool, int]:
        frame = parse_frame(str(signal["content"]))
        says = bool(frame and frame.wanted) + bool(frame and frame.unwanted)
        return TRUSTS.index(signal["trust"]), signal["type"] == "failure", -says

    return sorted(signals, key=weight)


def depends_on_question(signals: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the answer means nothing without the assistant's question.

    The text is then not the user's alone.
    """
    signal = best_signal(signals)
    question, answer = _get_question_and_answer(signal)
    return bool(question) and (str(signal["content"]).startswith(question[:80]) or len(answer.split()) < 4)


def clip_text(text: str, limit: int = WRITTEN_LIMIT) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def join_sentences(sentences: Sequence[str]) -> str:
    """Join sentences; the last one has no full stop."""
    text = ""
    for at, one in enumerate(sentences):
        is_wide = one[-1:] >= "\u3040"  # these scripts write their own full stop, without a space behind it
        text += one
        if at < len(sentences) - 1:
            stop = "" if one.endswith((".", "?", "!", "…", "。", "？", "！", ":")) else "。" if is_wide else "."
            text += stop if is_wide else f"{stop} "
    return text


def _is_said_in_passing(signal: Mapping[str, Any]) -> bool:
    """Return whether a person said it in passing; texts captured by hand or imported were written as rules."""
    return signal["source"]["hook"] != "manual" and signal["trust"] in _USER_TRUSTS


def _word_written_rule(content: str) -> Wording:
    sentences = split_sentences(content) or [content]
    text = tidy_sentence(content) if len(sentences) == 1 else content
    return Wording(clip_text(text), find_sentence_fault(text, WRITTEN_LIMIT))


def _find_rule(signal: Mapping[str, Any]) -> Wording:
    """Find the rule in what was captured, if it stands for the whole message."""
    content, context = str(signal["content"]), str(signal["context"])
    said = split_sentences(content) or [content]
    message = [] if context.startswith("asked: ") else split_sentences(context)
    whole = message if said[0] in message else said
    texts = [tidy_sentence(sentence) for sentence in whole]
    told = whole[1:] if len(whole) > 1 and count_words(whole[0]) <= _MAX_ACKNOWLEDGEMENT_WORDS else whole
    standing = told if len(told) == 1 and signal["meta"].get("standing") else []
    reasons = [find_rule_fault(text, sentence, sentence in standing) for text, sentence in zip(texts, whole)]
    rules = [at for at, why in enumerate(reasons) if not why]
    text, why = _join_rules(rules, texts, whole) if rules else ("", reasons[whole.index(said[0])])
    return Wording(clip_text(" ".join(content.split())) if why else text, why)


def _join_rules(rules: Sequence[int], texts: Sequence[str], said: Sequence[str]) -> Wording:
    """Join the rules, each with the exception or alternative that follows it. More than two are not one rule."""
    found: list[str] = []
    rest = dict(enumerate(said))
    for at in rules:
        rest.pop(at)
        found += [texts[at]] if texts[at] not in found else []
        more = texts[at + 1] if at + 1 < len(said) and at + 1 not in rules else ""
        is_instead = bool(more) and _is_ban(texts[at]) and is_verb(more.split()[0])
        clings = bool(more and _DEPENDENT_START.match(said[at + 1]))
        more = capitalize_sentence(said[at + 1].rstrip(" .!")) if clings else more  # with its "but"
        if clings or (is_instead and _ALTERNATIVE_START.match(more)):
            broken = find_rule_fault(f"{texts[at]}, {more[:1].lower()}{more[1:]}")
            if broken:
                return Wording("", broken)
            found.append(more)
            rest.pop(at + 1)
        elif is_instead:  # "don't switch models. go back to the small one"
            return Wording("", "says several things")
    text = join_sentences(found)
    if len(found) > 2 or len(text) > RULE_LIMIT:
        return Wording("", "says several things")
    if any(map(may_limit_neighbor, rest.values())):
        return Wording("", "is limited by another sentence")
    if sum(map(len, rest.values())) > max(_FILLER_LIMIT, sum(map(len, said)) // 2):
        return Wording("", "is part of a long message")
    return Wording(text, "" if _keeps_meaning(texts, rules, text) else "is not clear")


def _is_ban(text: str) -> bool:
    frame = parse_frame(text)
    return bool(frame and frame.unwanted and not frame.wanted)


def _keeps_meaning(texts: Sequence[str], rules: Sequence[int], text: str) -> bool:
    """Return whether the joined text does not contradict what each sentence says."""
    now = parse_frame(text)
    frames = [parse_frame(texts[at]) for at in rules]
    return now is None or not any(frame and opposes(frame, now) for frame in frames)


def _get_question_and_answer(signal: Mapping[str, Any]) -> tuple[str, str]:
    context = str(signal["context"])
    if not context.startswith("asked: "):
        return "", ""
    question, _, answer = context.removeprefix("asked: ").partition("\nanswered: ")
    return question.strip(), answer.strip()


def _word_observation(content: str) -> Wording | None:
    """Word what failed and what works. The cause is a tool's text: it is shown, never proposed."""
    fix = _FIX_PATTERN.match(content)
    if fix:
        return Wording(f"`{fix[1]}` fails here; use `{fix[2]}`")
    after = _AFTER_PATTERN.match(content)
    if after:
        return Wording(f"Run `{after[2]}` first: without it `{after[1]}` fails here")
    failed = _TWICE_PATTERN.match(content) or _FAILED_PATTERN.match(content)
    if failed is None:
        return None
    return Wording(f"`{failed[1].replace('`', chr(39))}` fails here", "tells what happened")
