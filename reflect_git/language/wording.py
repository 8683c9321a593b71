"""Choose the text that is proposed for a group of signals: the person's own sentence, if one works as a rule.

Nothing is rephrased beyond dropping the talk around a sentence. Where no sentence works as a rule by itself, the text
is a quote that still needs wording, and says so. So is a sentence that does not stand for its message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reflect_git.language.parse import frame_of, opposes
from reflect_git.language.rule_form import LONGEST, capital, is_verb, limits, tidy, why_not, why_not_whole
from reflect_git.language.sentences import sentences_in
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.schema import TRUSTS

WRITTEN_LONGEST = 400  # of what somebody wrote down as a rule
_OWN = ("user_typed", "user_feedback")
_FIX = re.compile(r"^`([^`]+)` fails here \(.*\); `([^`]+)` works$", re.DOTALL)
_AFTER = re.compile(r"^`([^`]+)` fails here \(.*\) until `([^`]+)` was run$", re.DOTALL)
_TWICE = re.compile(r"^`([^`]+)` failed twice: (.*)$", re.DOTALL)
_FAILED = re.compile(r"^Bash failed: (.+)$", re.DOTALL)
# Without it, the sentence before would say more than was said.
_CLINGS = re.compile(r"(?:(?:but|and) )?(?:unless|except|only|otherwise|instead|until|if|or|not|never|but)\b", re.I)
_INSTEAD = re.compile(r"(?:just |always )*(?:use|keep|stick (?:to|with)|prefer|take)\b|.*\binstead$", re.I)
_SMALL_TALK = 60  # letters beside a rule that do not count


class Worded(NamedTuple):
    """The proposed text, and why it is not a rule yet; empty if it is one."""

    text: str
    why: str = ""


def worded(signals: Sequence[Mapping[str, Any]]) -> Worded:
    """Word the signals of one candidate: the best sentence as a rule, otherwise the words as they were said."""
    first = spokesman(signals)
    content = " ".join(str(first["content"]).split())
    found = _found_out(content)
    if found:
        return found
    if is_borrowed(signals):
        question, answer = _asked_and_answered(first)
        return Worded(clip(f"{question} {answer}"), "answers a question")
    if first["type"] == "pattern" and first["trust"] == "assistant":
        return Worded(clip(content), "tells what was praised")
    if not _is_said(first):
        return _written(content)
    found_in = list(map(_rule_in, _by_right(signals)))
    return next((rule for rule in found_in if not rule.why), found_in[0])


def spokesman(signals: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the signal with the most trusted and complete statement; the first of equals."""
    return _by_right(signals)[0]


def _by_right(signals: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    def weight(signal: Mapping[str, Any]) -> tuple[int, bool, int]:
        frame = frame_of(str(signal["content"]))
        says = bool(frame and frame.wanted) + bool(frame and frame.unwanted)
        return TRUSTS.index(signal["trust"]), signal["type"] == "failure", -says

    return sorted(signals, key=weight)


def is_borrowed(signals: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the answer means nothing without the assistant's question.

    The text is then not the user's alone.
    """
    signal = spokesman(signals)
    question, answer = _asked_and_answered(signal)
    return bool(question) and (str(signal["content"]).startswith(question[:80]) or len(answer.split()) < 4)


def clip(text: str, limit: int = WRITTEN_LONGEST) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def joined(sentences: Sequence[str]) -> str:
    """Join sentences; the last one has no full stop."""
    text = ""
    for at, one in enumerate(sentences):
        is_wide = one[-1:] >= "\u3040"  # these scripts write their own full stop, without a space behind it
        text += one
        if at < len(sentences) - 1:
            stop = "" if one.endswith((".", "?", "!", "…", "。", "？", "！", ":")) else "。" if is_wide else "."
            text += stop if is_wide else f"{stop} "
    return text


def _is_said(signal: Mapping[str, Any]) -> bool:
    """Return whether a person said it in passing; texts captured by hand or imported were written as rules."""
    return signal["source"]["hook"] != "manual" and signal["trust"] in _OWN


def _written(content: str) -> Worded:
    sentences = sentences_in(content) or [content]
    text = tidy(content) if len(sentences) == 1 else content
    return Worded(clip(text), why_not_whole(text, WRITTEN_LONGEST))


def _rule_in(signal: Mapping[str, Any]) -> Worded:
    """Find the rule in what was captured, if it stands for the whole message."""
    content, context = str(signal["content"]), str(signal["context"])
    said = sentences_in(content) or [content]
    message = [] if context.startswith("asked: ") else sentences_in(context)
    whole = message if said[0] in message else said
    texts = [tidy(sentence) for sentence in whole]
    reasons = [why_not(text, sentence) for text, sentence in zip(texts, whole)]
    rules = [at for at, why in enumerate(reasons) if not why]
    text, why = _together(rules, texts, whole) if rules else ("", reasons[whole.index(said[0])])
    return Worded(clip(" ".join(content.split())) if why else text, why)


def _together(rules: Sequence[int], texts: Sequence[str], said: Sequence[str]) -> Worded:
    """Join the rules, each with the exception or alternative that follows it. More than two are not one rule."""
    found: list[str] = []
    rest = dict(enumerate(said))
    for at in rules:
        rest.pop(at)
        found += [texts[at]] if texts[at] not in found else []
        more = texts[at + 1] if at + 1 < len(said) and at + 1 not in rules else ""
        is_instead = bool(more) and _is_ban(texts[at]) and is_verb(more.split()[0])
        clings = bool(more and _CLINGS.match(said[at + 1]))
        more = capital(said[at + 1].rstrip(" .!")) if clings else more  # with its "but"
        if clings or (is_instead and _INSTEAD.match(more)):
            broken = why_not(f"{texts[at]}, {more[:1].lower()}{more[1:]}")
            if broken:
                return Worded("", broken)
            found.append(more)
            rest.pop(at + 1)
        elif is_instead:  # "don't switch models. go back to the small one"
            return Worded("", "says several things")
    text = joined(found)
    if len(found) > 2 or len(text) > LONGEST:
        return Worded("", "says several things")
    if any(map(limits, rest.values())):
        return Worded("", "is limited by another sentence")
    if sum(map(len, rest.values())) > max(_SMALL_TALK, sum(map(len, said)) // 2):
        return Worded("", "is part of a long message")
    return Worded(text, "" if _keeps_meaning(texts, rules, text) else "is not clear")


def _is_ban(text: str) -> bool:
    frame = frame_of(text)
    return bool(frame and frame.unwanted and not frame.wanted)


def _keeps_meaning(texts: Sequence[str], rules: Sequence[int], text: str) -> bool:
    """Return whether the joined text does not contradict what each sentence says."""
    now = frame_of(text)
    frames = [frame_of(texts[at]) for at in rules]
    return now is None or not any(frame and opposes(frame, now) for frame in frames)


def _asked_and_answered(signal: Mapping[str, Any]) -> tuple[str, str]:
    context = str(signal["context"])
    if not context.startswith("asked: "):
        return "", ""
    question, _, answer = context.removeprefix("asked: ").partition("\nanswered: ")
    return question.strip(), answer.strip()


def _found_out(content: str) -> Worded | None:
    """Word what failed and what works. The cause is a tool's text: it is shown, never proposed."""
    fix = _FIX.match(content)
    if fix:
        return Worded(f"`{fix[1]}` fails here; use `{fix[2]}`")
    after = _AFTER.match(content)
    if after:
        return Worded(f"Run `{after[2]}` first: without it `{after[1]}` fails here")
    failed = _TWICE.match(content) or _FAILED.match(content)
    if failed is None:
        return None
    return Worded(f"`{failed[1].replace('`', chr(39))}` fails here", "tells what happened")
